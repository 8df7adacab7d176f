"""Errors of requests without the right key, and of commands about keys."""

from app.errors import Conflict, NotFound, ServiceError


class Unauthenticated(ServiceError):
    status, code, title = 401, "unauthenticated", "Unauthenticated"


class Forbidden(ServiceError):
    status, code, title = 403, "forbidden", "Forbidden"


class KeyNotFound(NotFound):
    code, title = "key_not_found", "Unknown API key"


class KeyInUse(Conflict):
    code, title = "key_in_use", "API key in use"
