"""Text form of a class label, for object keys and other places that only hold text."""


def label_text(label: str | int | float | bool) -> str:
    """Return the label as JSON writes it, without the quotes of a string."""
    return str(label).lower() if isinstance(label, bool) else str(label)
