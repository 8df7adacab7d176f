"""Features that name who gave each label, as tables of answers of several people have them."""

import re
from collections.abc import Iterable, Iterator

from app.datasets.ignoring import words_of_name
from app.datasets.upload_warnings import UploadWarning

_ANNOTATOR = re.compile(
    r"_*(?:(?:annotator|labell?er|rater|turker|crowd[ ._-]?worker)(?:[ ._-]?(?:id|name|email|no))?"
    r"|(?:worker|coder)[ ._-]?id|(?:annotated|labell?ed|rated|coded)[ ._-]by)"
)
_WAY_OUT = (
    "models learn how each person answers, which does not help with new rows: leave the column out with `exclude`"
)
_ITEMS = (
    "If several people labeled the same item, name the column of the items in `group`; otherwise answers to one item "
    "confirm each other"
)


def annotator_warnings(features: Iterable[str], has_groups: bool) -> Iterator[UploadWarning]:
    """Yield a warning for each feature whose name says that it names who gave the label."""
    for name in features:
        if _ANNOTATOR.fullmatch(words_of_name(name)):
            detail = f"column {name!r} seems to name who gave each label. From it, {_WAY_OUT}"
            yield UploadWarning(name, "annotator_column", detail if has_groups else f"{detail}. {_ITEMS}")
