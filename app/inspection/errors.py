"""Errors of inspections of trained models."""

from app.errors import NotFound


class TreeNotFound(NotFound):
    """The model has fewer trees."""

    code, title = "tree_not_found", "Tree not found"
