"""A page of another origin in a real browser: it can neither change anything, nor read what the service answers."""

import http.server
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from app.settings import Settings
from tests.real_server import real_server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium: apt-get install --no-install-recommends chromium"),
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]

PAGE = """<!doctype html><body><script>
const service = "SERVICE";
const form = new FormData();
form.append("file", new Blob(["x,y\\n1,a\\n2,b\\n"], {type: "text/csv"}), "t.csv");
form.append("target", "y");
const tries = {
  upload: () => fetch(service + "/datasets", {method: "POST", mode: "no-cors", body: form}),
  cancel: () => fetch(service + "/jobs/00000000-0000-0000-0000-000000000000/cancel", {method: "POST", mode: "no-cors"}),
  train: () => fetch(service + "/train", {method: "POST", body: "{}", headers: {"Content-Type": "application/json"}}),
  read: () => fetch(service + "/jobs").then(answer => answer.text()),
};
(async () => {
  const outcomes = [];
  for (const [name, attempt] of Object.entries(tries)) {
    try { const answer = await attempt(); outcomes.push(name + ":" + (answer.type || answer)); }
    catch (error) { outcomes.push(name + ":refused"); }
  }
  document.body.textContent = outcomes.join(" ");
  document.title = "done";
})();
</script></body>"""


def _seen_by(page: str, folder: Path) -> str:
    """Return the document that a browser has after it has run the page, which another port of this machine serves."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *arguments) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server", f"--user-data-dir={folder}"]
        url = f"http://127.0.0.1:{server.server_port}/"
        command = [CHROMIUM, *options, "--virtual-time-budget=20000", "--dump-dom", url]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=180)
        server.shutdown()
    return shown.stdout


def test_a_page_of_another_port_changes_nothing(settings: Settings, tmp_path: Path) -> None:
    with real_server(settings) as server:
        shown = _seen_by(PAGE.replace("SERVICE", f"http://127.0.0.1:{server.port}"), tmp_path / "profile")
        assert "upload:refused cancel:refused train:refused read:refused" in shown
        assert server.get("/datasets").json()["items"] == []


def test_a_page_that_the_settings_list_may_use_the_service(settings: Settings, tmp_path: Path) -> None:
    with real_server(settings, cors_origins=("*",)) as server:
        shown = _seen_by(PAGE.replace("SERVICE", f"http://127.0.0.1:{server.port}"), tmp_path / "profile")
        assert "train:cors" in shown
        assert len(server.get("/datasets").json()["items"]) == 1
