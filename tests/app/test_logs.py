"""Lines of the log: no text of a client can end one and begin another, or steer the terminal that shows it."""

import logging

from app.logs import configure_logging

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
