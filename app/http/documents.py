"""GET /openapi.json, and GET /docs, the page that shows it, with the files that the page needs."""

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from app.access.scopes import Scope, needs
from app.http.compression import accepts_gzip
from app.http.entity_tags import names_tag, not_modified

PATH = "/openapi.json"
_VIEWER = Path(__file__).with_name("viewer")
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
#: The viewer sets styles from its script, and its style sheet has pictures inside.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False)


# In a thread, because making the document takes longer than the event loop may be busy.
@router.get(PATH)
@needs(Scope.READ, in_browsers=True)
def openapi_document(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())


@router.get("/docs")
@needs(Scope.READ, in_browsers=True)
def page(request: Request) -> Response:
    return _viewer_file("index.html", request)


@router.get("/docs/{name}")
@needs(Scope.READ, in_browsers=True)
def page_file(name: Literal["swagger-ui-bundle.js", "swagger-ui.css", "start.js"], request: Request) -> Response:
    return _viewer_file(name, request)


class _StoredFile(NamedTuple):
    """File in both codings. They are made once, because compressing takes longer than an answer may."""

    plain: bytes
    compressed: bytes
    sha256: str


@cache
def _stored(name: str) -> _StoredFile:
    plain = (_VIEWER / name).read_bytes()
    return _StoredFile(plain, gzip.compress(plain, mtime=0), hashlib.sha256(plain).hexdigest())


def _viewer_file(name: str, request: Request) -> Response:
    file = _stored(name)
    compresses = accepts_gzip(request.headers.get("accept-encoding", ""))
    etag = f'W/"{file.sha256}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Content-Security-Policy": _PAGE_POLICY}
    if names_tag(request.headers.get("if-none-match"), etag.removeprefix("W/")):
        return not_modified(etag, headers)
    if compresses:
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    content = file.compressed if compresses else file.plain
    return Response(content, media_type=_MEDIA_TYPES[Path(name).suffix], headers=headers)
