"""What can go wrong with sweeps."""

from app.errors import Invalid, NotFound


class SweepNotFound(NotFound):
    code, title = "sweep_not_found", "Sweep not found"


class InvalidSweep(Invalid):
    """Its models and noises make too many cells, or two that are the same."""

    code, title = "invalid_sweep", "Invalid sweep"
