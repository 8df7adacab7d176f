"""Lost connections and busy answers: what is sent again, and that a job is queued once."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from bristlecone import Busy, Client, ConnectionFailed, NotFound
from bristlecone.calls import Call, json_of
from tests.service_process import RunningService, free_port

#: Does something with a client's connection and the one to the service.
Behavior = Callable[[socket.socket, socket.socket], None]


class Proxy:
    """Passes one request of each connection to the service, or misbehaves as often as it is told to."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.faults: list[Behavior] = []
        self.n_connections = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.n_connections += 1
            fault = self.faults.pop(0) if self.faults else pass_on
            with connection, socket.create_connection(("127.0.0.1", self._target_port)) as service:
                fault(connection, service)


def _request(connection: socket.socket) -> bytes:
    """Return one request, and ask the service to close the connection after it."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    n_bytes = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < n_bytes:
        body += connection.recv(65536)
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + body


def _answer(service: socket.socket) -> bytes:
    received = b""
    while part := service.recv(65536):
        received += part
    return received


def pass_on(connection: socket.socket, service: socket.socket) -> None:
    service.sendall(_request(connection))
    connection.sendall(_answer(service))


def lose_answer(connection: socket.socket, service: socket.socket) -> None:
    service.sendall(_request(connection))
    _answer(service)


def be_busy(connection: socket.socket, service: socket.socket) -> None:
    _request(connection)
    connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture
def proxy(service: RunningService) -> Iterator[Proxy]:
    proxy = Proxy(service.port)
    yield proxy
    proxy.close()


@pytest.fixture
def distant(proxy: Proxy) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{proxy.port}") as client:
        yield client


@pytest.mark.parametrize("fault", [lose_answer, be_busy])
def test_a_job_is_queued_once(distant: Client, client: Client, proxy: Proxy, columns, fault: Behavior) -> None:
    dataset = client.upload(columns, "repaid")
    before = len(client.jobs())
    proxy.faults = [fault, fault]
    job = distant.train(dataset, {"kind": "tree"})
    assert proxy.n_connections == 3
    assert len(client.jobs()) == before + 1
    job.wait(300)


def test_what_may_be_done_twice_only_by_harm_is_not_sent_again(distant: Client, proxy: Proxy) -> None:
    proxy.faults = [lose_answer]
    with pytest.raises(ConnectionFailed, match="got no answer"):
        distant.run(json_of(Call("POST", "/predict", json={})))
    assert proxy.n_connections == 1


def test_a_service_that_stays_busy_is_an_error(proxy: Proxy) -> None:
    proxy.faults = [be_busy] * 3
    with Client(f"http://127.0.0.1:{proxy.port}", retries=2) as client, pytest.raises(Busy):
        client.jobs()
    assert proxy.n_connections == 3


def test_no_service_at_all() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", retries=1) as client, pytest.raises(ConnectionFailed):
        client.models()


def test_a_removal_whose_answer_is_lost_is_done(distant: Client, client: Client, proxy: Proxy, columns) -> None:
    model = distant.model(client.train(columns, {"kind": "tree"}, target="repaid").wait(300).id)
    proxy.faults = [lose_answer]
    model.delete()
    with pytest.raises(NotFound):
        client.model(model.id)
    with pytest.raises(NotFound):
        model.delete()
