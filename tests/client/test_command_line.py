"""The commands that use a service, as a user calls them."""

import csv
import gzip
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bristlecone import Client
from tests.service_process import RunningService, free_port


@pytest.fixture
def table(tmp_path: Path, columns: dict[str, list[Any]]) -> Path:
    path = tmp_path / "loans.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def bristlecone(service: RunningService | str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    url = service if isinstance(service, str) else service.url
    command = [sys.executable, "-m", "bristlecone", *map(str, arguments), "--url", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_from_a_file_to_predictions(service: RunningService, table: Path, tmp_path: Path) -> None:
    trained = bristlecone(service, "train", table, "--target", "repaid", "--name", "cli", "--set", "n_fits=2")
    assert trained.returncode == 0, trained.stderr
    scores, reason = trained.stdout.splitlines()
    assert re.fullmatch(r"cli:1  accuracy by given labels 0\.\d+, by true labels \(estimate\) 0\.\d+ ± 0\.\d+", scores)
    assert "of the given labels out of bag" in reason
    (listed,) = [line for line in bristlecone(service, "models").stdout.splitlines() if line.startswith("cli:1 ")]
    assert listed.split()[1:3] == ["auto", "holdout"]
    output = tmp_path / "predicted.csv"
    predicted = bristlecone(service, "predict", table, "--model", "cli", "--out", output)
    assert (predicted.returncode, predicted.stdout) == (0, ""), predicted.stderr
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert len(rows) == 300
    assert list(rows[0]) == ["label", "p.no", "p.yes"]
    closed = subprocess.run(
        f"{sys.executable} -m bristlecone models --url {service.url} | true",
        shell=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        capture_output=True,
        check=True,
    )
    assert closed.stderr == b""
    labels = list(csv.reader(io.StringIO(bristlecone(service, "predict", table, "--model", "cli", "--labels").stdout)))
    assert labels == [["label"], *([row["label"]] for row in rows)]


def test_upload_prints_an_id_that_other_commands_take(service: RunningService, table: Path, tmp_path: Path) -> None:
    uploaded = bristlecone(service, "upload", table, "--target", "repaid", "--exclude", "since")
    dataset_id = uploaded.stdout.strip()
    assert "300 rows" in uploaded.stderr
    issues = tmp_path / "issues.csv"
    audited = bristlecone(service, "audit", dataset_id, "--output", issues)
    assert "labels are wrong by estimate" in audited.stdout
    assert issues.read_text().startswith("row,given_label,suggested_label,quality\n")
    swept = bristlecone(service, "sweep", dataset_id, "--kinds", "tree", "--rates", 0, 0.4, "--repeats", 2)
    assert [line.split()[0] for line in swept.stdout.splitlines()] == ["model", "tree", "tree"]


def test_a_file_in_another_encoding_is_read_as_told(service: RunningService, table: Path) -> None:
    table.write_bytes(table.read_text(encoding="utf-8").replace("repaid", "zurückgezahlt", 1).encode("cp1252"))
    told = bristlecone(service, "upload", table, "--target", "zurückgezahlt", "--encoding", "cp1252")
    assert told.returncode == 0, told.stderr
    untold = bristlecone(service, "upload", table, "--target", "zurückgezahlt")
    assert (untold.returncode, "cp1252" in untold.stderr) == (1, True)


def test_training_on_a_file_reads_it_as_told_and_prints_the_warnings(service: RunningService, tmp_path: Path) -> None:
    rates = ["-" if row % 9 == 0 else row % 5 for row in range(120)]
    rows = [f"{row * 7 % 50 + 1}'000;{row % 28 + 1}.3.2024;{rate};{row % 2}" for row, rate in enumerate(rates)]
    file = tmp_path / "told-export.csv"
    file.write_text("\n".join(["paid;signed;rate;leak;y", *(f"{row};{row[-1]}" for row in rows), ""]))
    marks = ("--thousands", "'", "--dates", "%d.%m.%Y", "--nulls", "-", "--nulls", "n/k", "--delimiter", ";")
    trained = bristlecone(
        service, "train", file, "--target", "y", "--kind", "tree", "--types", "rate=categorical", *marks
    )
    assert trained.returncode == 0, trained.stderr
    assert "note: column 'leak' alone tells all 120 labels." in trained.stderr
    with Client(service.url) as client:
        (dataset,) = client.datasets(name_contains="told-export")
        kinds = [each["kind"] for each in client.dataset(dataset.id).features]
    assert kinds == ["numeric", "datetime", "categorical", "numeric"]


def test_options_of_an_upload_are_refused_without_one(service: RunningService) -> None:
    refused = bristlecone(service, "train", "some-id", "--exclude", "leak")
    assert refused.returncode == 1
    assert "--exclude is for the upload of a file; give --target and the file as well" in refused.stderr


def test_kinds_of_columns_are_pairs(service: RunningService, table: Path) -> None:
    refused = bristlecone(service, "upload", table, "--target", "repaid", "--types", "categorical")
    assert refused.returncode == 2
    assert "'categorical' must be COLUMN=KIND, such as zip=categorical" in refused.stderr
    unknown = bristlecone(service, "upload", table, "--target", "repaid", "--types", "a=b=text")
    assert unknown.returncode == 1
    assert "a=b" in unknown.stderr


def test_predictions_of_a_file_that_lacks_a_column(service: RunningService, table: Path, tmp_path: Path) -> None:
    trained = bristlecone(service, "train", table, "--target", "repaid", "--name", "lacking", "--kind", "tree")
    assert trained.returncode == 0, trained.stderr
    pd.read_csv(table).drop(columns="job").to_csv(tmp_path / "lacking.csv", index=False)
    predict = ("predict", tmp_path / "lacking.csv", "--model", "lacking")
    refused = bristlecone(service, *predict)
    assert (refused.returncode, "on_missing=missing" in refused.stderr) == (1, True)
    assert len(bristlecone(service, *predict, "--on-missing", "missing").stdout.splitlines()) == 301
    compressed = tmp_path / "lacking.csv.gz"
    compressed.write_bytes(gzip.compress((tmp_path / "lacking.csv").read_bytes()))
    predict_compressed = ("predict", compressed, "--model", "lacking", "--on-missing", "missing")
    assert len(bristlecone(service, *predict_compressed).stdout.splitlines()) == 301
    compressed.write_bytes(compressed.read_bytes()[:-20])
    broken = bristlecone(service, *predict_compressed)
    assert broken.returncode == 1
    assert "'lacking.csv.gz' cannot be decompressed; compress the file again: " in broken.stderr
    no_answer = bristlecone(service, *predict, "--out", tmp_path / "predicted.tsv")
    assert no_answer.returncode == 1
    assert "use one of .csv, .ndjson, .jsonl, .json, .parquet, .arrows" in no_answer.stderr


def test_files_in_another_encoding(service: RunningService, table: Path, tmp_path: Path) -> None:
    renamed = pd.read_csv(table).rename(columns={"job": "größe"})
    renamed.to_csv(tmp_path / "german.csv", index=False, encoding="cp1252")
    options = (tmp_path / "german.csv", "--encoding", "cp1252")
    trained = bristlecone(service, "train", *options, "--target", "repaid", "--name", "german", "--kind", "tree")
    assert trained.returncode == 0, trained.stderr
    assert len(bristlecone(service, "predict", *options, "--model", "german").stdout.splitlines()) == 301


def test_doctor_says_what_is_wrong(service: RunningService) -> None:
    healthy = bristlecone(service, "doctor")
    assert healthy.returncode == 0, healthy.stdout
    assert all(line.startswith("ok") for line in healthy.stdout.splitlines())
    nobody = bristlecone(f"http://127.0.0.1:{free_port()}", "doctor")
    assert nobody.returncode == 1
    assert "bristlecone serve" in nobody.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "{table}", "--model", "nobody"), "model_not_found"),
        (("train", "{table}", "--target", "repaid", "--set", "n_estimators"), "NAME=VALUE"),
        (("upload", "missing.csv", "--target", "y"), "No such file"),
    ],
)
def test_errors_are_one_line(service: RunningService, table: Path, arguments: tuple[str, ...], message: str) -> None:
    failed = bristlecone(service, *(argument.format(table=table) for argument in arguments))
    assert failed.returncode == 1
    assert failed.stderr.startswith("bristlecone: ")
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


def test_start_does_not_load_the_library() -> None:
    program = "import sys; from bristlecone import command_line; print('core' in sys.modules, 'numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
