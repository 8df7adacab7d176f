"""How a class label is written where only text is possible: as an object key, in a header."""


def label_text(label: str | int | float | bool) -> str:
    """As JSON would write the label, without the quotes of a string."""
    return str(label).lower() if isinstance(label, bool) else str(label)
