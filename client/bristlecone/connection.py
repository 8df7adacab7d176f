"""Address and headers of the service."""

import os
from importlib.metadata import version
from typing import Any

DEFAULT_URL = "http://127.0.0.1:8000"

#: A proxy of the environment cannot reach a service on this machine.
_WITHOUT_PROXY = {f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")}


def connection_options(url: str | None, key: str | None) -> dict[str, Any]:
    """Return the arguments of an httpx client. None means the environment variable."""
    url = url or os.environ.get("BRISTLECONE_URL") or DEFAULT_URL
    key = key or os.environ.get("BRISTLECONE_API_KEY")
    headers = {"User-Agent": f"bristlecone-client/{version('bristlecone-client')}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": url, "headers": headers, "follow_redirects": False, "mounts": _WITHOUT_PROXY}
