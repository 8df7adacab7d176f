"""References that were looked up, for as long as they certainly mean the same models."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from app.storage.generation import Generation
from app.trained_models.records import ModelIdentity

#: Age from which one request looks a reference up again, while the others use what is known.
REFRESH_SECONDS = 1.0
#: Age from which a reference is unknown. Within it, changes by other machines count.
MAX_AGE_SECONDS = 2.0
MAX_REFERENCES = 10_000


@dataclass
class _Known:
    """Model of a reference, as of a generation of the registry. looked_up: on the monotonic clock."""

    model: ModelIdentity
    generation: int
    looked_up: float
    is_refreshing: bool = False


class ReferenceCache:
    """Models by the references that clients use.

    A change by any process of this machine counts at once, because it changes the generation. A change by another
    machine counts after `MAX_AGE_SECONDS`, and so does one whose process was killed right after its commit.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._known: dict[str, _Known] = {}
        self._lock = Lock()

    def known(self, reference: str) -> ModelIdentity | None:
        """Return the model of a reference, or None if it must be looked up. Takes no lock and asks no database."""
        known = self._current(reference)
        if known is None:
            return None
        age = time.monotonic() - known.looked_up
        if age > REFRESH_SECONDS and not known.is_refreshing:
            known.is_refreshing = True
            return None
        return known.model if age <= MAX_AGE_SECONDS else None

    def resolve(self, reference: str, look_up: Callable[[str], ModelIdentity]) -> ModelIdentity:
        """Return the model of a reference, from `look_up` if what is known is old. Raises what `look_up` raises."""
        known = self._current(reference)
        if known is not None and time.monotonic() - known.looked_up <= REFRESH_SECONDS:
            return known.model
        return self.looked_up(reference, look_up)

    def looked_up(self, reference: str, look_up: Callable[[str], ModelIdentity]) -> ModelIdentity:
        """Return the model that `look_up` finds now, and remember it."""
        # Read before the database is: a change that is committed meanwhile makes the entry invalid.
        generation, began = self._generation.current(), time.monotonic()
        model = look_up(reference)
        with self._lock:
            self._known.pop(reference, None)
            self._known[reference] = _Known(model, generation, began)
            if len(self._known) > MAX_REFERENCES:
                del self._known[next(iter(self._known))]
        return model

    def _current(self, reference: str) -> _Known | None:
        known = self._known.get(reference)
        return known if known is not None and known.generation == self._generation.current() else None
