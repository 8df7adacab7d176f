"""Rule for texts that the databases can store."""


def without_nul(text: str) -> str:
    """Return the text. Raises ValueError if it has a NUL character, which PostgreSQL cannot store."""
    if "\0" in text:
        raise ValueError("text cannot contain a NUL character; remove it")
    return text
