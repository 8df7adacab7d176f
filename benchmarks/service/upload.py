"""Memory of the API while a large CSV file is uploaded: `python -m benchmarks.service.upload [--gigabytes 2]`.

The file is made while it is sent, so that this needs disk space only where the service stores the data set. Memory is
the peak above that of the idle service. The target is 150 MB for the API process; a child process reads the upload.
"""

import http.client
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_service import MEBIBYTE, Answer, HostileService

MAX_BYTES = 16 * 2**30
TARGET_BYTES = 150_000_000
_BOUNDARY = "large-upload"
_ROWS_PER_BLOCK = 10_000
_HEAD = (
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="target"\r\n\r\ny\r\n'
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="large.csv"\r\n\r\n'
).encode()
_TAIL = f"\r\n--{_BOUNDARY}--\r\n".encode()


def block(n_features: int) -> bytes:
    """Return the text of some rows, of which the file is a repetition."""
    rng = np.random.default_rng(0)
    X, y = rng.random((_ROWS_PER_BLOCK, n_features)), rng.integers(0, 2, _ROWS_PER_BLOCK)
    rows = (",".join(f"{value:.6f}" for value in row) + f",{label}\n" for row, label in zip(X, y, strict=True))
    return "".join(rows).encode()


def body(text: bytes, n_features: int, n_blocks: int) -> Iterator[bytes]:
    yield _HEAD
    yield ",".join([*(f"x{number}" for number in range(n_features)), "y\n"]).encode()
    for _ in range(n_blocks):
        yield text
    yield _TAIL


def uploaded(service: HostileService, text: bytes, n_features: int, n_blocks: int) -> Sequence[Answer]:
    """Send the file and return the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=3600)
    headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
    connection.request("POST", "/datasets", body(text, n_features, n_blocks), headers, encode_chunked=True)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return [Answer(response.status, content, len(content))]


def main() -> None:
    parser = options.program_parser("benchmarks.service.upload", __doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--features", type=int, default=20)
    arguments = parser.parse_args()
    text = block(arguments.features)
    n_blocks = max(1, round(arguments.gigabytes * 1e9 / len(text)))
    with HostileService(CHECKOUT, MAX_BYTES) as service:
        measured = service.measure(lambda: uploaded(service, text, arguments.features, n_blocks))
        [answer] = measured.answers
        kept = "met" if measured.api_process_bytes <= TARGET_BYTES else "missed"
        print(
            f"{n_blocks * len(text) / 1e9:.2f} GB, {n_blocks * _ROWS_PER_BLOCK:,} rows: answer {answer.outcome} after "
            f"{measured.seconds:.0f} s; API process {measured.api_process_bytes / MEBIBYTE:.0f} MiB above idle "
            f"({kept}), with its children {measured.api_bytes / MEBIBYTE:.0f} MiB; longest health check "
            f"{measured.health_seconds:.2f} s"
        )


if __name__ == "__main__":
    main()
