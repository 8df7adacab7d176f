"""Consensus of annotators: true labels, confusion matrices with errors, known labels, predictions, real crowds."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.special import softmax

import core
from core.annotators import expectation_maximization
from tests.core.annotators.crowds import accuracy, draw_crowd
from tests.shared_material import shared_path

MODELS = ("one_coin", "dawid_skene", "glad")


def shares_of_answers(crowd):
    counts = np.zeros((len(crowd.truth), crowd.confusion.shape[1]))
    np.add.at(counts, (crowd.answers[0], crowd.answers[2]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def log_joint(answers, confusion):
    """Return the log-likelihood of the answers to each item for each true class, (item, class)."""
    item, annotator, label = answers
    logs = np.zeros((item.max() + 1, confusion.shape[1]))
    np.add.at(logs, item, np.log(confusion[annotator, :, label]))
    return logs


def test_majority_is_the_share_of_the_answers():
    answers = (["b", "b", "b", "a", "a"], ["x", "y", "z", "x", "z"], ["dog", "cat", "dog", "dog", "cat"])
    found = core.consensus(answers, method="majority")
    assert found.items.tolist() == ["a", "b"]
    assert found.classes.tolist() == ["cat", "dog"]
    np.testing.assert_allclose(found.probabilities, [[1 / 2, 1 / 2], [1 / 3, 2 / 3]])
    assert found.labels.tolist() == ["cat", "dog"]
    assert found.n_answers.tolist() == [2, 3]
    assert found.n_answers_given.tolist() == [2, 1, 2]
    assert len(found.log_likelihood) == 0


@pytest.mark.parametrize("method", MODELS)
def test_models_find_more_true_labels_than_the_majority(method):
    crowds = [draw_crowd(seed) for seed in range(5)]
    found = np.mean([accuracy(core.consensus(crowd.answers, method=method).labels, crowd.truth) for crowd in crowds])
    majority = [accuracy(shares_of_answers(crowd).argmax(axis=1), crowd.truth) for crowd in crowds]
    assert found > np.mean(majority) + 0.005


def test_one_coin_of_two_equal_classes_has_the_probabilities_of_the_formula():
    crowd = draw_crowd(3, n_classes=2)
    found = core.consensus(crowd.answers, method="one_coin")
    item, annotator, label = crowd.answers
    # With one rate for both classes, the reliability is the rate of the model, up to the prior.
    log_odds = np.log(found.reliability / (1 - found.reliability))[annotator] * np.where(label == 1, 1, -1)
    score = np.bincount(item, log_odds) / found.dispersion
    found_odds = np.log(found.probabilities[:, 1] / found.probabilities[:, 0])
    assert np.corrcoef(score, found_odds)[0, 1] > 0.995


def test_probabilities_follow_from_the_confusion_matrices():
    crowd = draw_crowd(1)
    found = core.consensus(crowd.answers)
    logs = log_joint(crowd.answers, found.confusion)
    shares = (found.probabilities.sum(axis=0) + 1) / (len(crowd.truth) + 3)
    assert found.dispersion == pytest.approx(1.0, abs=0.05)
    expected = softmax(logs / found.dispersion + np.log(shares), axis=1)
    np.testing.assert_allclose(found.probabilities, expected, atol=0.01)
    assert found.converged
    assert found.log_likelihood[-1] == pytest.approx(np.log((np.exp(logs) * shares).sum(axis=1)).sum(), rel=1e-3)


@pytest.mark.parametrize("method", MODELS)
def test_extrapolated_steps_end_where_plain_ones_do(method, monkeypatch):
    answers = draw_crowd(3, n_items=150, n_answers=3).answers
    extrapolated = core.consensus(answers, method=method)
    monkeypatch.setattr(expectation_maximization, "_extrapolated", lambda start, first, second: second)
    monkeypatch.setattr(expectation_maximization, "TOLERANCE", 1e-8)
    monkeypatch.setattr(expectation_maximization, "MAX_ITERATIONS", 3000)
    plain = core.consensus(answers, method=method)
    np.testing.assert_allclose(extrapolated.probabilities, plain.probabilities, atol=2e-3)
    assert len(extrapolated.log_likelihood) < len(plain.log_likelihood) / 2


@pytest.mark.parametrize("shares", [(0.95, 0.05), (0.99, 0.01), (0.9, 0.07, 0.03)])
def test_rare_classes_do_not_grow(shares):
    crowds = [draw_crowd(seed, n_items=1500, n_answers=3, shares=shares) for seed in range(3)]
    found = [accuracy(core.consensus(crowd.answers, len(shares)).labels, crowd.truth) for crowd in crowds]
    majority = [accuracy(shares_of_answers(crowd).argmax(axis=1), crowd.truth) for crowd in crowds]
    assert np.mean(found) > np.mean(majority) + 0.03


@pytest.mark.parametrize("method", core.CONSENSUS_METHODS[:-1])
@pytest.mark.parametrize("n_classes", [3, 50])
def test_reliabilities_do_not_depend_on_the_number_of_classes(method, n_classes):
    crowd = draw_crowd(2, n_items=400, n_classes=n_classes)
    item, annotator, label = crowd.answers
    right = [np.mean((label == crowd.truth[item])[annotator == number]) for number in range(20)]
    found = core.consensus(crowd.answers, n_classes, method)
    assert np.mean(found.reliability) == pytest.approx(np.mean(right), abs=0.05)


def test_errors_of_annotators_who_are_hardly_ever_wrong_do_not_vanish():
    items, annotators = np.divmod(np.arange(2000), 2)
    found = core.consensus((items, annotators, items % 2))
    assert found.reliability.min() > 0.999
    assert found.reliability_error.min() > 1e-4


def test_standard_errors_cover_the_truth():
    inside, inside_reliability = [], []
    for seed in range(10):
        crowd = draw_crowd(seed, n_answers=4)
        found = core.consensus(crowd.answers)
        item, annotator, _ = crowd.answers
        rates = crowd.confusion[annotator, crowd.truth[item], crowd.truth[item]]
        reliability = np.bincount(annotator, rates) / np.bincount(annotator)
        inside.append(np.abs(found.confusion - crowd.confusion) < 2 * found.confusion_error)
        inside_reliability.append(np.abs(found.reliability - reliability) < 2 * found.reliability_error)
    assert 0.93 < np.mean(inside) < 0.99
    assert 0.91 < np.mean(inside_reliability) < 0.99


def test_an_annotator_who_is_always_wrong_is_understood():
    random = np.random.default_rng(0)
    truth = random.integers(2, size=200)
    answers = np.stack([truth, np.where(random.random(200) < 0.1, 1 - truth, truth), 1 - truth], axis=1)
    items, annotators = np.divmod(np.arange(600), 3)
    found = core.consensus((items, annotators, answers.ravel()))
    assert accuracy(found.labels, truth) == 1.0
    assert found.reliability[2] < 0.05


def test_annotators_with_few_answers_are_taken_to_be_like_all_together():
    crowd = draw_crowd(4, n_answers=6)
    item, annotator, label = crowd.answers
    answers = (np.append(item, 0), np.append(annotator, 99), np.append(label, crowd.truth[0]))
    found = core.consensus(answers)
    assert found.annotators[-1] == 99
    pooled = np.average(found.reliability[:-1], weights=found.n_answers_given[:-1])
    assert found.reliability[-1] == pytest.approx(pooled, abs=0.08)
    assert found.reliability_error[-1] > 2 * found.reliability_error[:-1].max()


@pytest.mark.parametrize("method", core.CONSENSUS_METHODS[:-1])
def test_the_order_of_the_answers_does_not_matter(method):
    crowd = draw_crowd(5, n_items=100)
    order = np.random.default_rng(0).permutation(len(crowd.answers[0]))
    one, other = (
        core.consensus(answers, method=method)
        for answers in (crowd.answers, tuple(column[order] for column in crowd.answers))
    )
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_identifiers_and_labels_may_be_text_or_series():
    crowd = draw_crowd(6, n_items=50)
    item, annotator, label = crowd.answers
    texts = core.consensus(tuple([f"{value:03}" for value in column] for column in crowd.answers))
    frame = pd.DataFrame({"item": item, "annotator": annotator, "label": label})
    numbers = core.consensus((frame["item"], frame["annotator"], frame["label"]))
    np.testing.assert_array_equal(texts.probabilities, numbers.probabilities)
    assert texts.labels.tolist() == [f"{label:03}" for label in numbers.labels]


def test_classes_that_nobody_answered_can_be_possible():
    found = core.consensus(([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]), n_classes=3)
    assert found.classes.tolist() == [0, 1, 2]
    assert found.labels.tolist() == [0, 0]
    assert (found.probabilities > 0).all()


class TestGold:
    """True labels that are known of some items."""

    def test_it_may_be_a_series_and_its_items_may_be_dates(self):
        items = np.array(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"], dtype="M8[D]")
        answers, gold = (items, [0, 1, 0, 1], ["a", "b", "b", "a"]), {items[0]: "b", items[2]: "a"}
        for each in (gold, pd.Series(gold)):
            assert core.consensus(answers, gold=each).labels.tolist() == ["b", "a"]

    def test_they_are_certain(self):
        crowd = draw_crowd(7)
        wrong = int(np.flatnonzero(core.consensus(crowd.answers).labels != crowd.truth)[0])
        for method in core.CONSENSUS_METHODS[:-1]:
            found = core.consensus(crowd.answers, method=method, gold={wrong: int(crowd.truth[wrong])})
            assert found.labels[wrong] == crowd.truth[wrong]
            np.testing.assert_array_equal(found.probabilities[wrong], np.eye(3)[crowd.truth[wrong]])

    def test_they_show_that_most_annotators_are_wrong(self):
        random = np.random.default_rng(1)
        truth = random.integers(2, size=300)
        # Three annotators answer what others would call the opposite, two are right.
        rates = np.array([0.1, 0.1, 0.1, 0.9, 0.9])
        answers = np.where(random.random((300, 5)) < rates, truth[:, np.newaxis], 1 - truth[:, np.newaxis])
        items, annotators = np.divmod(np.arange(1500), 5)
        columns = (items, annotators, answers.ravel())
        assert accuracy(core.consensus(columns).labels, truth) < 0.2
        gold = {item: int(truth[item]) for item in range(40)}
        found = core.consensus(columns, gold=gold)
        assert accuracy(found.labels[40:], truth[40:]) > 0.95


class TestDispersion:
    """Annotators who err on the same items."""

    def test_single_answers_keep_their_weight(self):
        """The dependence of many answers to some items does not devalue the only answers to others."""
        random = np.random.default_rng(2)
        truth, n_answers = random.integers(2, size=400), np.where(np.arange(400) < 200, 30, 1)
        # Two thirds of the annotators of an item repeat what the first of them says.
        item = np.repeat(np.arange(400), n_answers)
        annotator = np.concatenate([random.choice(40, n, replace=False) for n in n_answers])
        label = np.where(random.random(len(item)) < 0.8, truth[item], 1 - truth[item])
        first = np.searchsorted(item, item)
        label = np.where(random.random(len(item)) < 0.67, label[first], label)
        found = core.consensus((item, annotator, label))
        assert found.dispersion > 2
        assert found.probabilities[200:].max(axis=1).mean() > 0.7

    def test_copies_of_annotators_are_no_more_evidence(self):
        crowd = draw_crowd(8, n_items=400, n_answers=3)
        item, annotator, label = crowd.answers
        copies = np.arange(4)
        copied = (np.repeat(item, 4), (annotator[:, np.newaxis] * 4 + copies).ravel(), np.repeat(label, 4))
        once, often = core.consensus(crowd.answers), core.consensus(copied)
        assert once.dispersion < 1.1
        assert often.dispersion > 2
        independent = softmax(log_joint(copied, often.confusion), axis=1)
        excess, of_independent = (
            table.max(axis=1).mean() - accuracy(often.labels, crowd.truth)
            for table in (often.probabilities, independent)
        )
        assert excess < 0.7 * of_independent
        # Four copies do not halve the errors, as four times as many answers would.
        assert often.reliability_error.mean() > 0.8 * once.reliability_error.mean()


class TestWithFeatures:
    """Predictions of a model as further evidence."""

    def predictions(self, truth, sharpness, seed=0):
        random = np.random.default_rng(seed)
        return softmax(sharpness * np.eye(3)[truth] + random.normal(size=(len(truth), 3)), axis=1)

    def test_good_predictions_help(self):
        crowd = draw_crowd(9, n_answers=2)
        predictions = self.predictions(crowd.truth, 2.5)
        found = core.consensus(crowd.answers, method="with_features", probabilities=predictions)
        without = accuracy(core.consensus(crowd.answers).labels, crowd.truth)
        assert (
            accuracy(found.labels, crowd.truth) > max(without, accuracy(predictions.argmax(axis=1), crowd.truth)) + 0.03
        )

    def test_overconfident_predictions_are_calibrated(self):
        crowd = draw_crowd(10, n_answers=3)
        predictions = self.predictions(crowd.truth, 2.0)
        sharp = predictions**6 / (predictions**6).sum(axis=1, keepdims=True)
        plain, sharpened = (
            core.consensus(crowd.answers, method="with_features", probabilities=table).probabilities
            for table in (predictions, sharp)
        )
        assert np.abs(plain - sharpened).mean() < 0.02

    def test_useless_predictions_do_not_harm(self):
        crowd = draw_crowd(11, n_answers=3)
        useless = self.predictions(np.random.default_rng(3).permutation(crowd.truth), 3.0)
        found = core.consensus(crowd.answers, method="with_features", probabilities=useless)
        without = core.consensus(crowd.answers)
        assert accuracy(found.labels, without.labels) > 0.97

    def test_rows_may_lack_predictions(self):
        crowd = draw_crowd(12, n_answers=3)
        predictions = self.predictions(crowd.truth, 2.5)
        predictions[::2] = np.nan
        found = core.consensus(crowd.answers, method="with_features", probabilities=predictions)
        without = core.consensus(crowd.answers)
        assert np.isfinite(found.probabilities).all()
        assert np.mean(found.labels == without.labels) > 0.9
        assert accuracy(found.labels[1::2], crowd.truth[1::2]) > accuracy(without.labels[1::2], crowd.truth[1::2])


def test_hardly_comparable_answers_are_warned_of():
    crowd = draw_crowd(13, n_items=300, n_answers=1)
    item, annotator, label = crowd.answers
    answers = (np.append(item, [0, 1]), np.append(annotator, [97, 98]), np.append(label, [0, 1]))
    with pytest.warns(UserWarning, match="only 2 of 300 items have a second answer"):
        core.consensus(answers, method="one_coin")
    core.consensus(answers, method="majority")


def test_an_end_without_convergence_is_warned_of(monkeypatch):
    monkeypatch.setattr(expectation_maximization, "MAX_ITERATIONS", 2)
    with pytest.warns(UserWarning, match="has not converged"):
        found = core.consensus(draw_crowd(1).answers)
    assert not found.converged
    assert len(found.log_likelihood) == 3


ITEMS, ANNOTATORS, LABELS = [0, 0, 1, 1], [0, 1, 0, 1], ["a", "b", "b", "b"]
PREDICTIONS = [[0.5, 0.5], [0.2, 0.8]]
REFUSED = {
    "two columns": (((ITEMS, LABELS), {}), "a tuple of length 2; pass a tuple of three columns"),
    "a frame": ((pd.DataFrame({"item": ITEMS}), {}), "of type DataFrame"),
    "lengths": (((ITEMS, ANNOTATORS[:3], LABELS), {}), "4 items, 3 annotators and 4 labels"),
    "nothing": ((([], [], []), {}), "at least one answer"),
    "a table": (((np.zeros((4, 2)), ANNOTATORS, LABELS), {}), "the items of the answers cannot be used"),
    "lists": (((ITEMS, ANNOTATORS, np.array([[1], [2, 3], [1], [1]], dtype=object)), {}), "unhashable"),
    "a missing label": (((ITEMS, ANNOTATORS, ["a", None, "b", "b"]), {}), "labels .* first of which is entry 1"),
    "a missing item": ((([0.0, np.nan, 1.0, 1.0], ANNOTATORS, LABELS), {}), "items of the answers are missing in 1"),
    "two opinions": (((ITEMS, [0, 0, 0, 1], LABELS), {}), "annotator 0 answered item 0 more than once"),
    "one class": (((ITEMS, ANNOTATORS, ["a"] * 4), {}), "all answers are 'a'; .* n_classes="),
    "text with n_classes": (((ITEMS, ANNOTATORS, LABELS), {"n_classes": 3}), "label 'a'; with n_classes=3"),
    "a number beyond": (((ITEMS, ANNOTATORS, [0, 1, 5, 1]), {"n_classes": 3}), "label 5; .* 0 to 2"),
    "booleans": (((ITEMS, ANNOTATORS, [True, False, True, True]), {"n_classes": 2}), "label False; with n_classes=2"),
    "gold as a list": (((ITEMS, ANNOTATORS, LABELS), {"gold": [(0, "a")]}), r"type list; .* dict\(zip"),
    "gold that contradicts itself": (
        ((ITEMS, ANNOTATORS, LABELS), {"gold": pd.Series(["a", "b"], index=[0, 0])}),
        "different labels for the same item",
    ),
    "a list as a label": (((ITEMS, ANNOTATORS, LABELS), {"gold": {0: ["a"]}}), "labels of gold cannot be used"),
    "many classes": (((ITEMS, ANNOTATORS, [0, 1, 1, 1]), {"n_classes": 10**9}), "at most 50,000,000"),
    "an unknown item": (((ITEMS, ANNOTATORS, LABELS), {"gold": {7: "a"}}), "item 7, which nobody answered"),
    "an unknown class": (((ITEMS, ANNOTATORS, LABELS), {"gold": {1: "c"}}), "item 1 is 'c'"),
    "single answers": ((([0, 1, 2], [0, 0, 1], ["a", "b", "b"]), {}), "no item .* more than one answer"),
    "a shape": (
        ((ITEMS, ANNOTATORS, LABELS), {"method": "with_features", "probabilities": [[1.0, 0.0]]}),
        r"shape \(1, 2\); it must be \(2, 2\)",
    ),
    "a sum": (
        ((ITEMS, ANNOTATORS, LABELS), {"method": "with_features", "probabilities": [[1.0, 1.0], [1.0, 0.0]]}),
        "row 0 of probabilities sums to 2",
    ),
    "masked": (
        (
            (ITEMS, ANNOTATORS, LABELS),
            {"method": "with_features", "probabilities": np.ma.masked_less(PREDICTIONS, 0.3)},
        ),
        "masked values",
    ),
    "complex numbers": (
        ((ITEMS, ANNOTATORS, LABELS), {"method": "with_features", "probabilities": np.eye(2) * (1 + 0j)}),
        "values that are not numbers",
    ),
    "many cells": (((np.arange(8000) // 2, np.arange(8000), np.arange(8000) % 100), {}), "at most 50,000,000"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused(name):
    (answers, arguments), message = REFUSED[name]
    with pytest.raises(core.InvalidInput, match=message):
        core.consensus(answers, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": np.array([1, 2])}, "it must be one of majority"),
        ({"method": "GLAD"}, "did you mean 'glad'"),
        *(({"n_classes": n}, "it must be an integer of at least 2") for n in (0, -3, 1, True, 2.0, "3", np.nan, [2])),
        ({"method": "dawid-skene"}, "'dawid-skene'; .* did you mean 'dawid_skene'"),
        ({"method": "with_features"}, "'with_features' with no probabilities"),
        ({"method": "glad", "probabilities": PREDICTIONS}, "'glad' with probabilities"),
    ],
)
def test_bad_methods_are_refused(arguments, message):
    with pytest.raises(core.InvalidParameter, match=message):
        core.consensus((ITEMS, ANNOTATORS, LABELS), **arguments)


@pytest.mark.parametrize(("name", "lowest"), [("duck", 0.88), ("product", 0.93), ("dog", 0.83), ("face", 0.635)])
def test_answers_of_people(name, lowest):
    answers, true = (
        pq.read_table(shared_path("data", f"crowd_{name}.{part}.parquet")).to_pydict() for part in ("answers", "truth")
    )
    found = core.consensus((answers["item"], answers["annotator"], answers["label"]))
    truth = dict(zip(true["item"], true["label"], strict=True))
    assert accuracy(found.labels, np.array([truth[item] for item in found.items.tolist()])) >= lowest
    assert found.converged
