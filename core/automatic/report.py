"""The leaderboard of a search as a table of text."""

from core.automatic.decision import Choice

_HEADER = ("rank", "forest", "max_features", "min_samples_leaf", "out-of-bag accuracy", "with many trees", "votes")


def leaderboard_table(choice: Choice) -> str:
    """Return the leaderboard, best first, with a line for each candidate."""
    lines = [_HEADER, *(_cells(choice, position) for position in range(len(choice.leaderboard)))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cells(choice: Choice, position: int) -> tuple[str, ...]:
    scored = choice.leaderboard[position]
    candidate = scored.candidate
    return (
        str(position + 1),
        candidate.kind.replace("_", " "),
        str(candidate.max_features),
        str(candidate.min_samples_leaf),
        f"{scored.score:.4f} ± {scored.score_error:.4f}",
        f"{scored.expected_score:.4f}",
        "yes" if position < choice.n_chosen else "no",
    )
