"""Uploads are read in a child process, whose crash, memory and time concern nobody else."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.datasets import remote_reader as reading
from app.datasets.errors import TooManyUploads, UnreadableFile, UploadReaderLost, UploadTooSlow
from app.datasets.formats import PlainFile
from app.datasets.options import UploadOptions
from app.datasets.remote_reader import refuse_when_full, remote_reader
from app.errors import DecodedTooLarge
from app.operations.forked_client import ChildEnded, ForkServer
from app.operations.forked_tasks import ChildLimits
from app.settings import MEBIBYTE, Limits
from tests.app.datasets.tables import parquet
from tests.service_process import wait_until

OPTIONS = UploadOptions(target="y", name="table")

#: A child that does what its requests say.
ODD_CHILD = """
import os, time
from app.operations.forked_tasks import serve

def handle(request):
    match request["do"]:
        case "crash":
            os.abort()
        case "sleep":
            time.sleep(60)
        case "allocate":
            return {"size": len(bytearray(request["bytes"]))}
        case "write":
            with open(request["path"], "wb") as out:
                out.write(bytes(request["bytes"]))
    return {"pid": os.getpid()}

serve(handle)
"""


@pytest.fixture
def odd_server(tmp_path, monkeypatch):
    (tmp_path / "odd_child.py").write_text(ODD_CHILD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = ForkServer("odd_child")
    yield server
    server.stop()


def child_limits(**changes):
    return ChildLimits(**{"seconds": 60.0, "memory_bytes": 64 * MEBIBYTE, "file_bytes": MEBIBYTE} | changes)


@contextmanager
def files_limited(pid, n_files):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (n_files, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def settled_files(pid):
    """Return the limit at which a process has no files left. Just after an answer, it may still close one."""

    def highest():
        time.sleep(0.01)
        return max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))

    return 1 + min(highest() for _ in range(20))


def was_refused(server):
    """Return whether a conversation failed for want of resources."""
    try:
        with server.conversation(child_limits()) as talk:
            talk.ask({"do": "nothing"})
    except ChildEnded as ended:
        return ended.was_lost
    return False


def _is_reader(process: psutil.Process) -> bool:
    """Return whether this is a living child of the server of readers."""
    try:
        return process.ppid() != os.getpid() and "reader_process" in " ".join(process.cmdline())
    except psutil.Error:
        return False


class TestForkServer:
    def test_each_conversation_has_a_child_of_its_own(self, odd_server):
        with odd_server.conversation(child_limits()) as one, odd_server.conversation(child_limits()) as other:
            pids = {talk.ask({"do": "nothing"})["pid"] for talk in (one, other, one)}
        assert len(pids) == 2
        wait_until(lambda: not any(psutil.pid_exists(pid) for pid in pids), 10, "the children ending")

    def test_a_crash_ends_one_child(self, odd_server):
        with odd_server.conversation(child_limits()) as talk, odd_server.conversation(child_limits()) as other:
            with pytest.raises(ChildEnded) as caught:
                talk.ask({"do": "crash"})
            assert caught.value.exit_code == -signal.SIGABRT
            assert other.ask({"do": "nothing"})["pid"]

    def test_the_deadline(self, odd_server):
        with odd_server.conversation(child_limits(seconds=0.2)) as talk, pytest.raises(ChildEnded) as caught:
            talk.ask({"do": "sleep"})
        assert caught.value.ran_out_of_time

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
    def test_the_limit_of_memory(self, odd_server):
        with odd_server.conversation(child_limits()) as talk:
            assert talk.ask({"do": "allocate", "bytes": 48 * MEBIBYTE}) == {"size": 48 * MEBIBYTE}
            with pytest.raises(ChildEnded):
                talk.ask({"do": "allocate", "bytes": 80 * MEBIBYTE})

    def test_the_limit_of_files(self, odd_server, tmp_path):
        path = tmp_path / "written"
        with odd_server.conversation(child_limits()) as talk, pytest.raises(ChildEnded):
            talk.ask({"do": "write", "path": str(path), "bytes": 2 * MEBIBYTE})
        assert path.stat().st_size <= MEBIBYTE

    def test_a_dead_server_is_replaced(self, odd_server):
        with odd_server.conversation(child_limits()) as talk:
            child = psutil.Process(talk.ask({"do": "nothing"})["pid"])
            child.parent().kill()
            with pytest.raises(ChildEnded) as caught:
                talk.ask({"do": "sleep"})
            assert caught.value.exit_code is None
        wait_until(lambda: not child.is_running(), 10, "the child dying with its server")
        with odd_server.conversation(child_limits()) as talk:
            assert talk.ask({"do": "nothing"})["pid"] != child.pid

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux sets the limits of another process")
    @pytest.mark.parametrize("n_more_files", [0, 1, 2])
    def test_no_more_files(self, odd_server, n_more_files):
        with odd_server.conversation(child_limits()) as talk:
            server = psutil.Process(talk.ask({"do": "nothing"})["pid"]).parent()
            with files_limited(server.pid, settled_files(server.pid) + n_more_files):
                assert was_refused(odd_server)
            assert talk.ask({"do": "nothing"})["pid"]
        with odd_server.conversation(child_limits()) as talk:
            assert psutil.Process(talk.ask({"do": "nothing"})["pid"]).parent() == server

    def test_no_more_processes(self, tmp_path, monkeypatch):
        # Root has no limit.
        poor = (
            "import resource\n"
            "if os.getuid() == 0: os.setuid(65534)\n"
            "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
            "serve"
        )
        (tmp_path / "odd_child.py").write_text(poor.join(ODD_CHILD.rsplit("serve", 1)))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        server = ForkServer("odd_child")
        try:
            assert was_refused(server)
            process = server._process
            assert was_refused(server)
            assert server._process is process
            assert process.poll() is None
        finally:
            server.stop()

    def test_no_more_files_of_the_client(self, odd_server):
        odd_server.start()
        top = 1 + max(int(name) for name in os.listdir("/dev/fd"))
        refused = []
        for n_files in (3, *range(top, top + 6)):
            with files_limited(os.getpid(), n_files):
                refused.append(was_refused(odd_server))
        assert refused[0]
        assert not was_refused(odd_server)

    def test_a_server_that_does_not_listen(self, tmp_path, monkeypatch):
        (tmp_path / "deaf_child.py").write_text("import os, time\nos.close(0)\nopen('deaf', 'w')\ntime.sleep(60)\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        server = ForkServer("deaf_child")
        try:
            server.start()
            wait_until((tmp_path / "deaf").exists, 60, "the server closing its socket")
            assert was_refused(server)
        finally:
            server._process.kill()
            server.stop()

    def test_nothing_is_left_when_the_client_is_killed(self, odd_server, tmp_path):
        program = (
            "import sys, time\n"
            "from app.operations.forked_client import ForkServer\n"
            "from app.operations.forked_tasks import ChildLimits\n"
            "with ForkServer('odd_child').conversation(ChildLimits(60.0, 2**26, 2**20)) as talk:\n"
            "    print(talk.ask({'do': 'nothing'})['pid'], flush=True)\n"
            "    talk.ask({'do': 'sleep'})\n"
        )
        root = Path(__file__).parents[3]
        path = os.pathsep.join([str(tmp_path), str(root)])
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as client:
            child = psutil.Process(int(client.stdout.readline()))
            server = child.parent()
            client.kill()
        wait_until(lambda: not (child.is_running() or server.is_running()), 10, "child and server ending")


def table_file(tmp_path, **columns):
    content = parquet(y=[0, 1] * 500, **columns)
    (tmp_path / "file").write_bytes(content)
    return PlainFile(tmp_path / "file", "", len(content))


N_ROWS = 400_000


def wide_table():
    values = np.random.default_rng(0).random(N_ROWS).astype("float32")
    columns = {f"x{number}": values for number in range(40)}
    return pa.table({**columns, "y": np.arange(N_ROWS) % 2})


def in_one_batch(path, max_chunksize):
    table = wide_table()
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
        out.write_table(table, max_chunksize=max_chunksize)


def in_one_row_group(path, row_group_size):
    pq.write_table(wide_table(), path, row_group_size=row_group_size)


class TestRemoteReader:
    def test_deadline_of_an_upload(self, tmp_path):
        file = table_file(tmp_path, x=np.arange(1000.0))
        reader = remote_reader(Limits(max_upload_seconds=0.001))
        with pytest.raises(UploadTooSlow, match="BRISTLECONE_MAX_UPLOAD_SECONDS"), reader as remote:
            remote.ingest(file, None, OPTIONS, tmp_path / "canonical")

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
    @pytest.mark.parametrize(("written", "n_mebibytes"), [(in_one_batch, 96), (in_one_row_group, 184)])
    def test_memory_of_an_upload_and_the_way_out(self, tmp_path, written, n_mebibytes):
        def ingested(n_rows_together):
            written(tmp_path / "file", n_rows_together)
            with remote_reader(Limits(max_decoded_bytes=n_mebibytes * MEBIBYTE)) as remote:
                return remote.ingest(PlainFile(tmp_path / "file", "", 0), None, OPTIONS, tmp_path / "canonical")

        # The second one where pyarrow crashes instead of reporting that it got no memory, as with 91 to 94 MiB.
        with pytest.raises((DecodedTooLarge, UnreadableFile), match="BRISTLECONE_MAX_DECODED_BYTES") as caught:
            ingested(None)
        assert "`row_group_size=10_000`" in caught.value.detail
        assert "`max_chunksize=10_000`" in caught.value.detail
        assert ingested(10_000).n_rows == N_ROWS

    @pytest.mark.parametrize(
        ("number", "error", "words"),
        [
            (signal.SIGSEGV, UnreadableFile, "damaged, .*BRISTLECONE_MAX_DECODED_BYTES"),
            (signal.SIGABRT, UnreadableFile, "damaged, .*BRISTLECONE_MAX_DECODED_BYTES"),
            (signal.SIGKILL, UploadReaderLost, "ended from outside"),
        ],
    )
    def test_death_of_the_child(self, tmp_path, number, error, words):
        file = table_file(tmp_path, x=np.arange(1000.0))
        with remote_reader(Limits()) as remote:
            remote.prepare(file, tmp_path / "plain", None, None)
            for child in psutil.Process().children(recursive=True):
                if _is_reader(child):
                    child.send_signal(number)
            with pytest.raises(error, match=words):
                remote.ingest(file, None, OPTIONS, tmp_path / "canonical")

    def test_a_fault_of_the_system_is_no_fault_of_the_file(self, tmp_path):
        file = table_file(tmp_path, x=np.arange(1000.0))
        with remote_reader(Limits()) as remote, pytest.raises(OSError, match="No such file"):
            remote.ingest(file, None, OPTIONS, tmp_path / "missing" / "canonical")

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux sets the limits of another process")
    def test_an_upload_without_a_process(self, tmp_path):
        file = table_file(tmp_path, x=np.arange(1000.0))

        def prepare():
            with remote_reader(Limits()) as remote:
                remote.prepare(file, tmp_path / "plain", None, None)

        prepare()
        with files_limited(reading._server._process.pid, 3), pytest.raises(UploadReaderLost) as caught:
            prepare()
        assert caught.value.status == 503
        assert caught.value.retry_after_seconds
        prepare()


class TestSlots:
    def test_the_rest_is_refused(self, monkeypatch):
        monkeypatch.setattr(reading, "MAX_WAITING", 0)
        with remote_reader(Limits(max_concurrent_uploads=1)):
            with pytest.raises(TooManyUploads, match="BRISTLECONE_MAX_CONCURRENT_UPLOADS") as caught:
                remote_reader(Limits(max_concurrent_uploads=1)).__enter__()
            with pytest.raises(TooManyUploads):
                refuse_when_full(Limits(max_concurrent_uploads=1))
            refuse_when_full(Limits(max_concurrent_uploads=2))
            assert caught.value.retry_after_seconds
            with remote_reader(Limits(max_concurrent_uploads=2)):
                pass

    def test_others_wait_until_one_has_ended(self):
        order = []

        def upload():
            with remote_reader(Limits(max_concurrent_uploads=1)):
                order.append("second")

        with remote_reader(Limits(max_concurrent_uploads=1)):
            waiting = threading.Thread(target=upload)
            waiting.start()
            time.sleep(0.2)
            order.append("first")
        waiting.join()
        assert order == ["first", "second"]

    def test_waiting_ends(self, monkeypatch):
        monkeypatch.setattr(reading, "WAIT_SECONDS", 0.05)
        with remote_reader(Limits(max_concurrent_uploads=1)), pytest.raises(TooManyUploads):
            remote_reader(Limits(max_concurrent_uploads=1)).__enter__()
