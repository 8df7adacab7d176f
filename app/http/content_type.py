"""Headers about the form of a body: its media type with its parameters, and whether it is compressed."""

from fastapi import Request
from python_multipart.multipart import parse_options_header

from app.errors import UnsupportedMediaType


def media_type_of(request: Request) -> str:
    """Return the media type of the body, without parameters, in lower case; "" if the request names none."""
    return _parsed(request)[0].decode("latin-1").lower()


def is_json(media_type: str) -> bool:
    """Return whether bodies of this media type are JSON documents."""
    return media_type == "application/json" or (media_type.startswith("application/") and media_type[-5:] == "+json")


def require_not_compressed(request: Request) -> None:
    """Raise UnsupportedMediaType if the header says that the body is compressed."""
    encoding = request.headers.get("content-encoding", "")
    if encoding.lower() not in ("", "identity"):
        raise UnsupportedMediaType.at(
            "header/Content-Encoding",
            f"the body is compressed with {encoding!r:.100}; send it as it is, or upload the compressed table with "
            "POST /datasets, and name the data set",
        )


def boundary_of(request: Request) -> bytes:
    """Return the text between the parts of a multipart body; empty if the header names none."""
    return _parsed(request)[1].get(b"boundary", b"")


def text_encoding_of(request: Request) -> str | None:
    """Return the encoding that `Content-Type: text/csv; charset=…` names.

    None without a name, for media types other than texts, and for UTF-8, which is the default.
    """
    charset = _parsed(request)[1].get(b"charset", b"").decode("latin-1").strip()
    is_other = charset.lower() not in ("", "utf-8", "utf8")
    return charset if is_other and media_type_of(request).startswith("text/") else None


def _parsed(request: Request) -> tuple[bytes, dict[bytes, bytes]]:
    return parse_options_header(request.headers.get("content-type"))
