"""Warnings about the labels of an upload: missing, misspelled, rare, or hardly classes."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile

from app.datasets.target_profiling import TargetProfile, missing_texts_sentence, numbers_of_labels
from app.datasets.upload_warnings import MAX_ROWS, UploadWarning
from app.errors import some_of

_MANY_CLASSES = 100
#: A label that differs from another in a letter, and has so many times fewer rows, is probably the other, misspelled.
_TIMES_FEWER = 20
#: Shorter words differ in a letter because they are codes: grade A, stage II.
_MIN_LETTERS = 3
#: Classes that are compared with each other, as many as can be in a moment.
_MAX_COMPARED = 200


def target_warnings(name: str, target: TargetProfile) -> Iterator[UploadWarning]:
    """Yield what the user should check about the labels."""
    if target.n_unlabeled:
        rows = "1 row has" if target.n_unlabeled == 1 else f"{target.n_unlabeled:,} rows have"
        detail = (
            f"{rows} no label in {name!r}; models are trained and scored on the other {target.n_labeled:,}, and audits "
            "suggest labels"
        )
        if target.missing_texts:
            detail = f"{detail}. {missing_texts_sentence(target.missing_texts)}"
        yield UploadWarning(name, "unlabeled_rows", detail, target.unlabeled)
    yield from _variants(name, target)
    yield from _misspelled(name, target)
    if numbers_of_labels(target.labels) is not None:
        detail = (
            f"the labels of {name!r} are numbers with local marks, such as {some_of(target.labels)}; they stay text, "
            "in the order of text. Write them with a decimal point and without thousands marks if numbers are meant"
        )
        yield UploadWarning(name, "labels_are_numbers", detail, sorted(target.first_rows)[:MAX_ROWS])
    if len(target.labels) > _MANY_CLASSES:
        detail = (
            f"the target {name!r} has {len(target.labels)} classes; check that it is not a quantity or an identifier, "
            "and group rare values"
        )
        yield UploadWarning(name, "many_classes", detail)
    yield from _rare_classes(name, target)


def _rare_classes(name: str, target: TargetProfile) -> Iterator[UploadWarning]:
    if rare := [index for index, count in enumerate(target.counts) if count == 1]:
        detail = (
            f"the target {name!r} has classes with a single row: {some_of([target.labels[index] for index in rare])}; "
            "they cannot be both learned and tested. Add rows, or merge them with other classes"
        )
        rows = sorted(target.first_rows[index] for index in rare)[:MAX_ROWS]
        yield UploadWarning(name, "rare_classes", detail, rows)


def _variants(name: str, target: TargetProfile) -> Iterator[UploadWarning]:
    """Yield a warning if labels differ only in case or blanks."""
    alike: dict[str, list[int]] = defaultdict(list)
    for index, label in enumerate(target.labels):
        if isinstance(label, str):
            alike["".join(label.split()).casefold()].append(index)
    groups = [indices for indices in alike.values() if len(indices) > 1][:MAX_ROWS]
    if groups:
        listed = "; ".join(" and ".join(_counted(target, index) for index in indices) for indices in groups)
        rows = sorted(target.first_rows[index] for indices in groups for index in indices)[:MAX_ROWS]
        detail = (
            f"labels of {name!r} differ only in case or blanks and count as different classes: {listed}. Write them "
            "alike if they mean the same"
        )
        yield UploadWarning(name, "similar_labels", detail, rows)


def _counted(target: TargetProfile, index: int) -> str:
    label, count = str(target.labels[index]), target.counts[index]
    return f"{label[:80]!r} ({count:,} row{'s' if count > 1 else ''})"


def _misspelled(name: str, target: TargetProfile) -> Iterator[UploadWarning]:
    """Yield a warning if a rare label differs from a frequent one in a letter."""
    pairs = list(_misspelled_pairs(target)) if len(target.labels) <= _MAX_COMPARED else []
    if pairs:
        shown = [f"{_counted(target, rare)} and {_counted(target, common)}" for rare, common in pairs[:MAX_ROWS]]
        detail = (
            f"labels of {name!r} that differ in a letter count as different classes: {'; '.join(shown)}. Correct the "
            "rare ones if they are misspelled"
        )
        rows = sorted(target.first_rows[rare] for rare, _ in pairs)[:MAX_ROWS]
        yield UploadWarning(name, "similar_labels", detail, rows)


def _misspelled_pairs(target: TargetProfile) -> Iterator[tuple[int, int]]:
    texts = [(index, label) for index, label in enumerate(target.labels) if isinstance(label, str)]
    for rare, text in texts:
        for common, other in texts:
            if target.counts[rare] * _TIMES_FEWER <= target.counts[common] and _is_misspelled(text, other):
                yield rare, common
                break


def _is_misspelled(one: str, other: str) -> bool:
    """Return whether labels differ in one letter of one word, and not only in case."""
    if one.casefold() == other.casefold() or len(one.split()) != len(other.split()):
        return False
    different = [pair for pair in zip(one.split(), other.split(), strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and min(map(len, different[0])) >= _MIN_LETTERS and _differ_in_a_letter(*different[0])


def _differ_in_a_letter(one: str, other: str) -> bool:
    """Return whether one letter is changed, added or left out. Digits are no letters: a2 is not a misspelled a1."""
    n_before = _n_in_common(one, other)
    rest, other_rest = one[n_before:], other[n_before:]
    n_after = _n_in_common(rest[::-1], other_rest[::-1])
    changed, other_changed = rest[: len(rest) - n_after], other_rest[: len(other_rest) - n_after]
    return max(len(changed), len(other_changed)) == 1 and (changed + other_changed).isalpha()


def _n_in_common(one: str, other: str) -> int:
    """Return how many letters are equal from the beginning on."""
    return sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], zip(one, other, strict=False)))
