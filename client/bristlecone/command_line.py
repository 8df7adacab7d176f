"""Commands that use a running service: upload, train, predict, audit, sweep, models and doctor.

`bristlecone` has them all where only this package is installed. Where the service is installed as well, its command
line has these and its own.
"""

import argparse
import contextlib
import csv
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bristlecone.client import Client, Model
from bristlecone.doctor import examine
from bristlecone.errors import BristleconeError
from bristlecone.frames import Columns
from bristlecone.media_types import ANSWERED, PREDICTED, media_type_of
from bristlecone.predictions import predict_file
from bristlecone.results import Dataset
from bristlecone.upload_options import add_upload_options, upload_fields

Command = Callable[[Client, argparse.Namespace], int]

#: Exit code of a command whose output nobody reads any more, as the shell reports a program that SIGPIPE ended.
_PIPE_CLOSED = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0, 1 if it failed, 2 if the command line is wrong."""
    if find_spec("app") is not None and find_spec("app.cli") is not None:
        whole: Callable[[Sequence[str] | None], int] = import_module("app.cli").main
        return whole(arguments)
    parser = argparse.ArgumentParser(prog="bristlecone", description="Use a Bristlecone service.")
    add_commands(parser.add_subparsers(required=True, metavar="COMMAND"))
    return run(parser.parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    """Run a command that `add_commands` has added."""
    command: Command = options.client_command
    try:
        with Client(options.url, options.key) as client:
            code = command(client, options)
            # Here rather than at the end of the process, where nothing could handle an error.
            sys.stdout.flush()
            return code
    except BrokenPipeError:
        _discard_output()
        return _PIPE_CLOSED
    except (BristleconeError, OSError, ValueError, TypeError) as error:
        print(f"bristlecone: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _discard_output() -> None:
    """Discard what is buffered, so that the end of the process does not fail to write it into a closed pipe."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to a parser; each sets `client_command`."""
    for name, command, line, add_arguments in _COMMANDS:
        parser = commands.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        add_arguments(parser)
        parser.add_argument(
            "--url", help="address of the service; default: BRISTLECONE_URL, else http://127.0.0.1:8000"
        )
        # No --key: other users of a machine see the arguments of its processes.
        parser.set_defaults(client_command=command, key=None)


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", metavar="FILE", help="file to upload, or the id of an uploaded data set without --target"
    )
    parser.add_argument("--target", help="column with the labels")
    add_upload_options(parser)
    parser.add_argument("--seed", type=int, default=0)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", help="kind of the model; default: auto, or forest if --loss is given")
    parser.add_argument("--loss", help="loss of a tree or forest, such as adaptive_ne")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter, such as n_estimators=200; repeatable",
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    _add_data(parser)
    _add_model(parser)
    parser.add_argument("--name", help="name of the model")


def _add_upload(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="FILE")
    parser.add_argument("--target", required=True, help="column with the labels")
    add_upload_options(parser)
    parser.add_argument("--name", help="name of the data set; default: that of the file")


def _add_predict(parser: argparse.ArgumentParser) -> None:
    endings = ", ".join(PREDICTED)
    parser.add_argument("data", metavar="FILE", help=f"table, by its ending one of {endings}, also with .gz")
    parser.add_argument("--model", metavar="NAME", required=True, help="id, name, name:version or @alias")
    parser.add_argument("--out", metavar="FILE", help="file to write, in the form of its ending; default: CSV here")
    parser.add_argument("--labels", action="store_true", help="write no probabilities")
    parser.add_argument("--encoding", metavar="NAME", help="encoding of a text file that is not UTF-8, such as cp1252")
    parser.add_argument("--on-missing", choices=["error", "missing"], help="what a column that the file lacks is")
    parser.add_argument("--on-unknown", choices=["error", "missing"], help="what a category unknown to the model is")


def _add_audit(parser: argparse.ArgumentParser) -> None:
    _add_data(parser)
    parser.add_argument("--output", metavar="FILE", help="CSV file for the rows whose labels are suspected")


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    _add_data(parser)
    parser.add_argument("--kinds", nargs="+", default=["forest"], help="kinds of the models; default: forest")
    parser.add_argument("--rates", nargs="+", type=float, default=[0.0, 0.2, 0.4], help="rates of uniform noise")
    parser.add_argument("--repeats", type=int, default=5)


def _add_nothing(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def _upload(client: Client, options: argparse.Namespace) -> int:
    dataset = _uploaded(client, options, name=options.name)
    print(dataset.id)
    print(f"{dataset.name}: {dataset.n_rows} rows, {len(dataset.features)} features", file=sys.stderr)
    return 0


def _uploaded(client: Client, options: argparse.Namespace, name: str | None = None) -> Dataset:
    """Upload the file that a command names, and print the warnings. name: of the data set."""
    dataset = client.upload(options.data, options.target, name=name, **upload_fields(options))
    for warning in dataset.warnings:
        print(f"note: {warning['detail']}", file=sys.stderr)
    return dataset


def _data(client: Client, options: argparse.Namespace) -> Dataset | str:
    if options.target is not None:
        return _uploaded(client, options)
    given = next(iter(upload_fields(options)), None)
    if given is not None:
        raise ValueError(f"--{given} is for the upload of a file; give --target and the file as well")
    return str(options.data)


def _train(client: Client, options: argparse.Namespace) -> int:
    parameters = dict(_parameter(text) for text in options.set)
    loss = {"loss": options.loss} if options.loss else {}
    kind = options.kind or ("forest" if options.loss else "auto")
    job = client.train(
        _data(client, options), {"kind": kind, **loss, **parameters}, name=options.name, seed=options.seed
    )
    model = job.wait()
    given, true = _accuracies(model)
    print(f"{model.name}:{model.version}  accuracy by given labels {given}, by true labels (estimate) {true}")
    if model.choice:
        print(model.choice["reason"])
    return 0


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text!r} has no value; write NAME=VALUE, for example n_estimators=200")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _accuracies(model: Model) -> tuple[str, str]:
    """Return the accuracy on held-out rows by their given labels, and by their true labels as estimated."""
    test, corrected = model.metrics.get("test") or {}, model.metrics.get("test_corrected") or {}
    given = f"{test['accuracy']:.3f}" if "accuracy" in test else "not evaluated"
    if corrected.get("accuracy") is None:
        return given, "not estimated"
    return given, f"{corrected['accuracy']:.3f} ± {corrected['standard_error']:.3f}"


def _evaluation_kind(model: Model) -> str:
    return str((model.evaluation or {}).get("kind", "unknown"))


def _predict(client: Client, options: argparse.Namespace) -> int:
    output = "labels" if options.labels else "probabilities"
    lenient = {"on_missing": options.on_missing, "on_unknown": options.on_unknown}
    parameters = {"model": options.model, "output": output, "extra": "ignore"}
    parameters |= {name: value for name, value in lenient.items() if value is not None}
    accept = "text/csv" if options.out is None else media_type_of(options.out, ANSWERED)
    predicted = client.run(predict_file(Path(options.data), parameters, accept, options.encoding))
    if options.out is None:
        sys.stdout.buffer.write(predicted)
        sys.stdout.flush()
    else:
        Path(options.out).write_bytes(predicted)
    return 0


def _write_csv(columns: Columns, path: str | None) -> None:
    with open(path, "w", newline="", encoding="utf-8") if path else _Terminal() as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


class _Terminal:
    """Standard output that a `with` block does not close."""

    def __enter__(self) -> Any:
        return sys.stdout

    def __exit__(self, *error: object) -> None:
        sys.stdout.flush()


def _audit(client: Client, options: argparse.Namespace) -> int:
    report = client.audit(_data(client, options), seed=options.seed).wait()
    error = f" ± {report.noise_rate_error:.1%}" if report.noise_rate_error is not None else ""
    print(
        f"{report.noise_rate:.1%}{error} of {report.n_rows} labels are wrong by estimate; {report.n_issues} suspected"
    )
    if report.warning:
        print(f"warning: {report.warning}")
    names = ("row", "given_label", "suggested_label", "quality")
    if options.output:
        _write_csv({name: [issue[name] for issue in report.issues] for name in names}, options.output)
    else:
        _print_table(names, [[issue[name] for name in names] for issue in report.issues[:10]])
    return 0


def _sweep(client: Client, options: argparse.Namespace) -> int:
    models = [{"kind": kind} for kind in options.kinds]
    noise = [{"kind": "uniform", "rate": rate} for rate in options.rates]
    report = client.sweep(_data(client, options), models, noise, repeats=options.repeats, seed=options.seed).wait()
    rows = report.rows()
    _print_table(("model", "noise", "accuracy", "sd"), [list(row.values()) for row in rows])
    return 0


def _models(client: Client, options: argparse.Namespace) -> int:
    models = client.models()
    rows = [
        [f"{one.name}:{one.version}", one.raw["kind"], _evaluation_kind(one), *_accuracies(one), one.id]
        for one in models
    ]
    _print_table(("model", "kind", "evaluation", "by given labels", "by true labels", "id"), rows)
    return 0


def _doctor(client: Client, options: argparse.Namespace) -> int:
    findings = examine(client)
    for finding in findings:
        print(f"{'ok  ' if finding.is_good else 'FAIL'}  {finding.text}")
    return 0 if all(finding.is_good for finding in findings) else 1


def _print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    texts = [
        list(names),
        *([f"{value:.4g}" if isinstance(value, float) else str(value) for value in row] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


_COMMANDS: tuple[tuple[str, Command, str, Callable[[argparse.ArgumentParser], None]], ...] = (
    ("upload", _upload, "upload a table and print the id of its data set", _add_upload),
    ("train", _train, "train a model on a file or an uploaded data set", _add_train),
    ("predict", _predict, "predict the rows of a file", _add_predict),
    ("audit", _audit, "estimate how many labels are wrong, and which", _add_audit),
    ("sweep", _sweep, "compare models under increasing label noise", _add_sweep),
    ("models", _models, "list the trained models", _add_nothing),
    ("doctor", _doctor, "check the service and the connection to it", _add_nothing),
)
