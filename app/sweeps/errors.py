"""Errors of sweeps."""

from app.errors import Invalid, NotFound


class SweepNotFound(NotFound):
    code, title = "sweep_not_found", "Sweep not found"


class InvalidSweep(Invalid):
    """Grid with too many cells, or with equal ones."""

    code, title = "invalid_sweep", "Invalid sweep"
