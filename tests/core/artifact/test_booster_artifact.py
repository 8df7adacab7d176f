"""Artifact files of boosters: round trips, and refusal of changed headers."""

import hashlib
import json

import numpy as np
import pytest

import core
from tests.core.artifact.artifact_files import arrays_in, build_artifact, split_artifact, with_array

BOOSTERS = [kind for kind in core.ESTIMATORS if "boost" in kind]


def fitted_booster(kind, n_classes=2, **parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], np.linspace(-1, 1, n_classes + 1)[1:-1])
    return core.ESTIMATORS[kind](n_rounds=6, random_state=0, **parameters).fit(X, np.array(list("abc"))[y]), X


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", BOOSTERS)
def test_round_trip(kind, n_classes, tmp_path):
    model, X = fitted_booster(kind, n_classes)
    core.save(model, tmp_path / "model", schema={"a": 1})
    loaded = core.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.rule_outputs(X).tobytes() == model.rule_outputs(X).tobytes()
    assert loaded.feature_importances_.tobytes() == model.feature_importances_.tobytes()
    assert (loaded.n_rounds_, loaded.stop_reason_, loaded.schema_) == (model.n_rounds_, model.stop_reason_, {"a": 1})
    core.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_fit_summary_of_minimax_boosting_is_kept(tmp_path):
    model, _ = fitted_booster("rmboost", rule_output="confidence")
    core.save(model, tmp_path / "model")
    loaded = core.load(tmp_path / "model")
    assert loaded.minimax_risk_ == model.minimax_risk_
    assert loaded.risk_path_.tolist() == model.risk_path_.tolist()
    assert loaded.certificate(0.1, 0.2) == model.certificate(0.1, 0.2)
    assert loaded.get_params() == {**model.get_params(), "n_jobs": None}


def test_model_without_rules_is_readable(tmp_path):
    model, X = fitted_booster("rmboost", regularization=2.0)
    core.save(model, tmp_path / "model")
    assert (core.load(tmp_path / "model").predict_proba(X) == 0.5).all()


def rewrite_header(path, change):
    """Return the file with its header changed by `change` and a matching checksum."""
    content = path.read_bytes()[:-32]
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[16 : 16 + length])
    change(header)
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    content = content[:16] + text.ljust(length) + content[16 + length :]
    assert len(text) <= length
    path.write_bytes(content + hashlib.sha256(content).digest())


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["boosted"]["weights"].pop(),
        lambda header: header["boosted"]["weights"].__setitem__(0, "x"),
        lambda header: header["boosted"]["columns"].__setitem__(0, 1),
        lambda header: header["boosted"]["columns"].__setitem__(0, -1),
        lambda header: header["boosted"]["columns"].__setitem__(0, []),
        lambda header: header["boosted"]["found"].pop("risk_path"),
        lambda header: header["boosted"]["found"].update(regularization="nan"),
        lambda header: header["boosted"]["found"].update(regularization=0.0),
        lambda header: header["boosted"]["found"].update(class_risks=[-5.0]),
        lambda header: header["boosted"]["found"].update(n_rows=0),
        lambda header: header["boosted"]["found"].update(most_leaves=1),
        lambda header: header["boosted"]["found"].update(stop_reason=[1, 2]),
        lambda header: header["boosted"]["found"].__setitem__("n_rows", -1),
        lambda header: header["boosted"]["found"].__setitem__("class_risks", []),
        lambda header: header.pop("boosted"),
        lambda header: header.__setitem__("kind", "adaboost"),
        lambda header: header["arrays"].pop(),
    ],
)
def test_changed_headers_are_refused(change, tmp_path):
    model, _ = fitted_booster("rmboost")
    core.save(model, tmp_path / "model")
    rewrite_header(tmp_path / "model", change)
    with pytest.raises(core.ArtifactError):
        core.load(tmp_path / "model")


@pytest.mark.parametrize("weight", [1e308, -1e308, 2.0**101, 1e400, None, "1", True])
@pytest.mark.parametrize("kind", ["adaboost", "rmboost", "robustboost"])
def test_weights_whose_sums_overflow_are_refused(kind, weight, tmp_path):
    """Scores of infinity minus infinity would become probabilities of NaN."""
    model, _ = fitted_booster(kind)
    core.save(model, tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    header, _, _ = split_artifact(content)
    header["boosted"]["weights"][0] = weight
    header.pop("arrays")
    (tmp_path / "model").write_bytes(build_artifact(header, arrays_in(content)))
    with pytest.raises(core.ArtifactError):
        core.load(tmp_path / "model")


@pytest.mark.parametrize("output", [1e308, -1e308, 2.0**101, np.nan, np.inf])
def test_outputs_whose_sums_overflow_are_refused(output, tmp_path):
    model, _ = fitted_booster("logitboost")
    core.save(model, tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(with_array(content, "rule_outputs", lambda array: array.__setitem__(0, output)))
    with pytest.raises(core.ArtifactError, match="outputs"):
        core.load(tmp_path / "model")
