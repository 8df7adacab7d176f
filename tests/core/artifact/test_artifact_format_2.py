"""Files of format 2, which have no sets of categories: loading, saving in the newest format, and refusal."""

import numpy as np
import pytest

import core
from tests.core.artifact.artifact_files import arrays_in, build_artifact, fitted_model, split_artifact, training_rows
from tests.core.artifact.older_formats import save_as_format_2
from tests.core.growth.grown_trees import node_bytes


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bristlecone"


@pytest.mark.parametrize("kind", ["tree", "forest", "adaboost"])
def test_loaded_model_equals_the_saved_one(path, kind):
    X, y = training_rows()
    model = core.AdaBoostClassifier(n_rounds=3).fit(X, y) if kind == "adaboost" else fitted_model(kind)
    save_as_format_2(model, path)
    loaded = core.load(path)
    assert node_bytes(loaded) == node_bytes(model)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.is_categorical_ is None
    assert loaded.get_params() == {**model.get_params(), "n_jobs": None}
    core.save(loaded, path)
    assert split_artifact(path.read_bytes())[0]["format"] == 4


def test_sets_of_categories_are_refused(path):
    core.save(fitted_model("tree"), path)
    header, _, _ = split_artifact(path.read_bytes())
    path.write_bytes(build_artifact({**header, "format": 2}, arrays_in(path.read_bytes())))
    with pytest.raises(core.ArtifactError, match="format 2"):
        core.load(path)


def test_a_threshold_that_is_not_a_number_is_refused(path):
    save_as_format_2(fitted_model("tree"), path)
    header, _, _ = split_artifact(path.read_bytes())
    arrays = {name: array.copy() for name, array in arrays_in(path.read_bytes()).items()}
    arrays["threshold"][0] = np.nan
    path.write_bytes(build_artifact(header, arrays))
    with pytest.raises(core.ArtifactError, match="not a number"):
        core.load(path)
