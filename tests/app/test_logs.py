"""Lines of the log: no text of a client can end one and begin another, or steer the terminal that shows it."""

import json
import logging

from app.logs import Correlation, LogFormat, configure_logging, correlation, log_event

FORGED = "x\n2026-01-01T00:00:00.000Z INFO app [-] forged\r\x1b[2J\x85\u2028y"


def test_text_of_clients_stays_in_its_line(capsys) -> None:
    configure_logging()
    logging.getLogger("app").warning("cannot read %s", FORGED)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "\\x0a2026" in lines[0]
    assert "\x1b" not in lines[0]


def test_lines_of_traces_are_indented(capsys) -> None:
    configure_logging()
    try:
        raise ValueError(FORGED)
    except ValueError:
        logging.getLogger("app").exception("failed")
    text = capsys.readouterr().err
    first, *others = text.splitlines()
    assert first.endswith("failed")
    assert others
    assert all(line.startswith("    ") for line in others)
    assert "\x1b" not in text


def test_lines_of_json_have_fields_and_stay_one_line(capsys) -> None:
    configure_logging(LogFormat.JSON)
    token = correlation.set(Correlation("request-7", "job-1", 2, "dataset-3"))
    try:
        raise ValueError(FORGED)
    except ValueError:
        logging.getLogger("app").exception("cannot read %s", FORGED)
    log_event(logging.getLogger("app"), "alias_moved", actor="ops", name=FORGED, from_model=None)
    correlation.reset(token)
    logging.getLogger("app").info("idle")
    text = capsys.readouterr().err
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == 3
    assert not {"\x1b", "\x85", "\u2028", "\r"} & set(text)
    error, event, idle = lines
    ids = {"request_id": "request-7", "job_id": "job-1", "attempt": 2, "dataset_id": "dataset-3"}
    assert ids.items() <= error.items()
    assert "Traceback" in error["exception"]
    assert (event["event"], event["actor"], event["name"], event["from_model"]) == ("alias_moved", "ops", FORGED, None)
    assert set(idle) == {"time", "level", "logger", "message"}


def test_text_lines_name_the_request_of_a_job(capsys) -> None:
    configure_logging()
    token = correlation.set(Correlation("request-7", "job-1", 2))
    log_event(logging.getLogger("app"), "alias_moved", name=FORGED)
    correlation.reset(token)
    (line,) = capsys.readouterr().err.splitlines()
    assert "[job job-1 attempt 2 request request-7] alias_moved name=" in line
