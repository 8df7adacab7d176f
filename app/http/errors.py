"""Errors of requests that are refused before a route sees them."""

from app.errors import ServiceError, TooManyRequests, Unavailable


class HostNotAllowed(ServiceError):
    status, code, title = 421, "host_not_allowed", "Host not allowed"


class CrossSiteRequest(ServiceError):
    status, code, title = 403, "cross_site_request", "Cross-site request"


class RequestTimeout(ServiceError):
    status, code, title = 408, "request_timeout", "Request timeout"


class MalformedRequest(ServiceError):
    status, code, title = 400, "bad_request", "Bad Request"


class HeadTooLarge(ServiceError):
    status, code, title = 431, "head_too_large", "Head too large"


class RateLimitExceeded(TooManyRequests):
    code, title = "rate_limit_exceeded", "Too many requests in a minute"

    def __init__(self, detail: str, retry_after_seconds: float) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class ServerBusy(Unavailable):
    code, title = "server_busy", "Server busy"
    retry_after_seconds = 5


class DatabaseUnavailable(Unavailable):
    code = "database_unavailable"
    retry_after_seconds = 5
