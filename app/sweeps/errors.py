"""Errors of sweeps."""

from app.errors import Invalid, NotFound


class SweepNotFound(NotFound):
    code, title = "sweep_not_found", "Sweep not found"


class InvalidSweep(Invalid):
    """The models and the noise of a sweep make too many cells, or equal ones."""

    code, title = "invalid_sweep", "Invalid sweep"
