"""Compilation of the kernels that the demo's models need, in a process of its own beside the starting service.

The API and the worker compile what every service needs. Without this process, the first jobs would compile the rest one
after the other.
"""

from core import TreeClassifier
from core.service_api import warm_up_fit


def main() -> None:
    """Compile the split search for the losses of the demo; forests use the same compiled code as trees."""
    for loss in ("entropy", "ne"):
        warm_up_fit(TreeClassifier(loss=loss))


if __name__ == "__main__":
    main()
