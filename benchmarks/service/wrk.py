"""Requests from the load generator `wrk`, on kept connections."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOW_TO_GET = "wrk is not installed; get it with apt-get install wrk, or brew install wrk"
#: Connections for a part of the load, so that several requests can arrive at the same moment.
_PATIENT_CONNECTIONS = 32

_SCRIPT = """
local paths = {{ {paths} }}
local number = 0
request = function()
  number = number % #paths + 1
  return wrk.format("GET", paths[number])
end
"""
_PAUSES = """
function delay()
  return math.random(0, {milliseconds})
end
"""
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


@dataclass(frozen=True)
class Load:
    """Outcome of one run."""

    requests_per_second: float
    p99_seconds: float


def is_installed() -> bool:
    return shutil.which("wrk") is not None


def full_load(url: str, paths: Sequence[str], seconds: int, connections: int = 8) -> Load:
    """Send the next request on each connection as soon as the last one was answered; take the paths in turn."""
    return _run(url, _script(paths), seconds, connections)


def partial_load(url: str, paths: Sequence[str], seconds: int, requests_per_second: float) -> Load:
    """Send about so many requests per second, with pauses of random lengths before each of them."""
    mean_pause = _PATIENT_CONNECTIONS / requests_per_second
    pauses = _PAUSES.format(milliseconds=max(1, round(2 * 1000 * mean_pause)))
    return _run(url, _script(paths) + pauses, seconds, _PATIENT_CONNECTIONS)


def _script(paths: Sequence[str]) -> str:
    return _SCRIPT.format(paths=", ".join(f'"{path}"' for path in paths))


def _run(url: str, script: str, seconds: int, connections: int) -> Load:
    with tempfile.TemporaryDirectory(prefix="wrk-") as folder:
        file = Path(folder) / "requests.lua"
        file.write_text(script)
        command = ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s"]
        command += ["--latency", "--script", str(file), url]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return _load(output)


def _load(output: str) -> Load:
    """Read the report of wrk. Raises SystemExit if requests failed."""
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"requests failed:\n{output}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    slowest = re.search(r"99%\s+([\d.]+)(us|ms|s|m)\b", output)
    if rate is None or slowest is None:
        raise SystemExit(f"wrk reported no latencies:\n{output}")
    return Load(float(rate[1]), float(slowest[1]) * _UNITS[slowest[2]])
