"""The comparison of methods of consensus, on a small crowd and a tiny table in place of the images."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import core
from benchmarks.accuracy import annotators, simulated_annotators, training_on_consensus
from tests.core.annotators.crowds import draw_crowd


@pytest.fixture
def folder(tmp_path):
    """Folder of one crowd and of 300 images of three classes, each with three labels."""
    crowd = draw_crowd(0, n_items=100)
    names = ("item", "annotator", "label")
    texts = ([str(value) for value in column] for column in crowd.answers)
    parquet.write_table(pa.table(dict(zip(names, texts, strict=True))), tmp_path / "crowd_dog.answers.parquet")
    truth = {"item": [str(item) for item in range(100)], "label": [str(label) for label in crowd.truth]}
    parquet.write_table(pa.table(truth), tmp_path / "crowd_dog.truth.parquet")
    random, correct = np.random.default_rng(0), np.arange(300) % 3
    images = {f"x{number}": 3.0 * (correct == number) + random.normal(size=300) for number in range(3)}
    images["target_clean"] = correct
    for name in annotators.PEOPLE:
        images[name] = np.where(random.random(300) < 0.2, (correct + 1) % 3, correct)
    parquet.write_table(pa.table(images), tmp_path / f"{annotators.IMAGES}.parquet")
    return tmp_path


def test_command_prints_both_tables_and_skips_what_is_missing(folder, capsys):
    annotators.main(["--data", str(folder), "--rows", "200", "--draws", "2", "--jobs", "1"])
    printed = capsys.readouterr()
    assert "| dog | 100 | 20 | 3 | 5 |" in printed.out
    assert "crowd_duck.answers.parquet is not in" in printed.err
    assert printed.out.count("| 200 | ") == 2


def test_predictions_from_features_help_where_answers_are_few(folder):
    images = annotators.read_images(folder)
    majority, confusion, together = annotators.image_scores(images, n_answers=2, seed=0, n_jobs=1)
    assert together.accuracy > max(majority.accuracy, confusion.accuracy) + 0.05
    assert together.log_loss < confusion.log_loss


def test_models_are_trained_on_each_kind_of_labels(folder, monkeypatch, capsys):
    monkeypatch.setattr(training_on_consensus, "N_TEST_ROWS", 100)
    training_on_consensus.main(["--data", str(folder), "--rows", "120", "--draws", "2", "--jobs", "1"])
    heading, _, *lines = capsys.readouterr().out.splitlines()
    assert heading.split(" | ")[2:] == [*training_on_consensus.LABELS[:-1], "correct labels |"]
    assert [line[:9] for line in lines] == ["| 120 | 2", "| 120 | 3"]
    correct = [float(line.split("|")[-2].split("±")[0]) for line in lines]
    assert min(correct) > 80


@pytest.mark.parametrize("name", ["95 and 5 %", "10 of 20 answer one class", "30 % confusing items"])
def test_simulated_crowds_are_what_their_names_say(name):
    crowd = simulated_annotators.CROWDS[name]
    drawn = simulated_annotators.draw(crowd, seed=0)
    item, annotator, label = drawn.answers
    assert np.bincount(item).tolist() == [crowd.n_answers] * crowd.n_items
    assert len(set(zip(item.tolist(), annotator.tolist(), strict=True))) == len(item)
    np.testing.assert_allclose(np.bincount(drawn.truth) / crowd.n_items, crowd.shares, atol=0.05)
    right = np.bincount(annotator, label == drawn.truth[item]) / np.bincount(annotator)
    np.testing.assert_allclose(right, drawn.reliability, atol=0.12)
    n_constant = sum(len(set(label[annotator == who])) == 1 for who in range(crowd.n_annotators))
    assert n_constant == crowd.n_spammers


def test_simulated_crowds_have_a_line_each(monkeypatch, capsys):
    names = ("three equal classes", "95 and 5 %")
    few = {name: simulated_annotators.CROWDS[name]._replace(n_items=60) for name in names}
    monkeypatch.setattr(simulated_annotators, "CROWDS", few)
    simulated_annotators.main(["--draws", "1"])
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[2:]] == [
        f"| {name}" for name in names
    ]


def test_a_score_is_the_share_of_right_labels_and_the_log_loss():
    found = core.consensus(([0, 0, 1, 1], [0, 1, 0, 1], ["a", "b", "b", "b"]), method="majority")
    scored = annotators.score(found, np.array(["a", "b"]))
    assert scored.accuracy == 1.0
    assert scored.log_loss == pytest.approx(np.log(2) / 2)
    assert str(scored) == "100.0, 0.35"
