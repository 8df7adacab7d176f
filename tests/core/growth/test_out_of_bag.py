"""Out-of-bag votes compared with samples that are drawn in plain Python, the score, and the choice of lambda."""

import weakref

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

import core
from core.growth.binning import bin_features
from core.growth.out_of_bag import Bootstrap, OutOfBagVotes, merge_votes, out_of_bag_votes
from core.losses.catalog import SquaredError
from core.randomness import SeedTree
from tests.core.growth.grown_trees import node_bytes

_WORD = 2**64


class PlainGenerator:
    """SplitMix64 in Python integers."""

    def __init__(self, state):
        self.state = state

    def below(self, bound):
        self.state = (self.state + 0x9E3779B97F4A7C15) % _WORD
        word = self.state
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % _WORD
        return ((word ^ (word >> 31)) >> 32) * bound >> 32


def plain_samples(seed, n_trees, drawable_rows):
    """Yield the rows that the sample of each tree contains; `can_be_drawn` lists the rows of positive weight."""
    states = SeedTree(seed).kernel_states(n_trees)[:, 0].tolist()
    for state in states:
        generator = PlainGenerator(state)
        drawn = {drawable_rows[generator.below(len(drawable_rows))] for _ in drawable_rows}
        yield drawn


def plain_votes(forest, X, seed, drawable_rows):
    """Return for each row the mean prediction of the trees that exclude it."""
    total = [[0.0] * len(forest.classes_) for _ in X]
    n_votes = [0] * len(X)
    drawn_by_tree = plain_samples(seed, len(forest.estimators_), drawable_rows)
    for tree, drawn in zip(forest.estimators_, drawn_by_tree, strict=True):
        predictions = tree.predict_proba(X).tolist()
        for row in set(range(len(X))) - drawn:
            total[row] = [a + b for a, b in zip(total[row], predictions[row], strict=True)]
            n_votes[row] += 1
    return np.array([[v / n if n else np.nan for v in row] for row, n in zip(total, n_votes, strict=True)])


def noisy_blobs(n_rows=300, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    clean = (X[:, 0] > 0) * 1 + (X[:, 1] > 0.7) * (n_classes - 2)
    return X, np.where(rng.random(n_rows) < 0.2, rng.integers(0, n_classes, n_rows), clean)


def forest(**parameters):
    return core.ForestClassifier(**{"n_estimators": 40, "oob_score": True, "random_state": 3, **parameters})


def test_votes_come_from_trees_that_exclude_the_row():
    X, y = noisy_blobs()
    X[::7, 2] = np.nan
    fitted = forest().fit(X, y)
    expected = plain_votes(fitted, X, 3, list(range(len(X))))
    assert fitted.oob_decision_function_.tobytes() == expected.tobytes()
    assert fitted.oob_score_ == accuracy_score(y, fitted.classes_[expected.argmax(axis=1)])


def test_rows_of_weight_zero_are_in_no_sample():
    X, y = noisy_blobs()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0 + np.arange(len(y)) % 2)
    fitted = forest().fit(X, y, weights)
    expected = plain_votes(fitted, X, 3, np.flatnonzero(weights).tolist())
    assert fitted.oob_decision_function_.tobytes() == expected.tobytes()
    has_no_weight = weights == 0
    np.testing.assert_allclose(expected[has_no_weight], fitted.predict_proba(X[has_no_weight]), atol=1e-12)


def test_score_uses_sample_weights_but_not_class_weights():
    X, y = noisy_blobs()
    weights = np.random.default_rng(1).random(len(y))
    fitted = forest(class_weight={0: 5.0, 1: 0.0, 2: 1.0}).fit(X, y, weights)
    predicted = fitted.classes_[fitted.oob_decision_function_.argmax(axis=1)]
    assert fitted.oob_score_ == pytest.approx(accuracy_score(y, predicted, sample_weight=weights), abs=1e-12)
    assert fitted.oob_score_ != pytest.approx(accuracy_score(y, predicted), abs=1e-4)


def test_rows_in_every_sample_have_no_votes_and_are_ignored():
    X, y = noisy_blobs()
    with pytest.warns(UserWarning, match="out-of-bag votes"):
        fitted = forest(n_estimators=2).fit(X, y)
    votes = fitted.oob_decision_function_
    assert votes.tobytes() == plain_votes(fitted, X, 3, list(range(len(X)))).tobytes()
    voted = ~np.isnan(votes).any(axis=1)
    assert 0 < voted.sum() < len(y)
    assert fitted.oob_score_ == accuracy_score(y[voted], fitted.classes_[votes[voted].argmax(axis=1)])


def test_single_row_has_no_out_of_bag_votes():
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        fitted = forest().fit([[1.0]], ["only"])
    assert np.isnan(fitted.oob_score_)
    assert np.isnan(fitted.oob_decision_function_).tolist() == [[True]]


def test_votes_of_parts_are_merged_to_those_of_the_whole():
    mean = np.array([[0.5, 0.5], [1.0, 0.0], [np.nan, np.nan], [np.nan, np.nan]])
    other = np.array([[0.0, 1.0], [np.nan, np.nan], [0.3, 0.7], [np.nan, np.nan]])
    merged = merge_votes([OutOfBagVotes(mean, np.array([3, 2, 0, 0])), OutOfBagVotes(other, np.array([1, 0, 4, 0]))])
    assert merged.n_trees.tolist() == [4, 2, 4, 0]
    np.testing.assert_allclose(merged.mean, [[0.375, 0.625], [1.0, 0.0], [0.3, 0.7], [np.nan, np.nan]])


def test_votes_on_some_rows_are_those_of_the_whole():
    X, y = noisy_blobs()
    trees, vote = forest().fit(X, y).trees_, SquaredError().vote
    bootstrap = Bootstrap(np.ones(len(X)), SeedTree(3).kernel_states(len(trees)))
    numbers = np.arange(7, len(X), 5)
    whole = out_of_bag_votes(X, trees, vote, bootstrap)
    some = out_of_bag_votes(X[numbers], trees, vote, bootstrap, numbers=numbers)
    np.testing.assert_array_equal(some.mean, whole.mean[numbers])
    np.testing.assert_array_equal(some.n_trees, whole.n_trees[numbers])
    assert 0 < some.n_trees.min() < some.n_trees.max() < len(trees)


def test_score_estimates_the_accuracy_on_new_rows():
    X, y = noisy_blobs(8000)
    fitted = forest(n_estimators=100).fit(X[:4000], y[:4000])
    assert fitted.oob_score_ == pytest.approx(fitted.score(X[4000:], y[4000:]), abs=0.03)
    assert fitted.score(X[:4000], y[:4000]) > fitted.oob_score_ + 0.03


@pytest.mark.parametrize("layout", [np.asfortranarray, np.ascontiguousarray, lambda X: X.astype(np.float32)])
def test_results_do_not_depend_on_threads_or_memory_layout(layout):
    X, y = noisy_blobs(900)
    X = np.round(X * 8) / 8
    results = {
        (model.oob_score_, model.oob_decision_function_.tobytes())
        for n_jobs in [1, 2, 3]
        for model in [forest(n_jobs=n_jobs, loss="adaptive_ne").fit(layout(X), y), forest(loss="ane").fit(X, y)]
    }
    assert len(results) == 1


def test_size_of_copied_blocks_does_not_change_the_votes(monkeypatch):
    X, y = noisy_blobs()
    whole = forest().fit(X, y).oob_decision_function_
    monkeypatch.setattr("core.growth.out_of_bag.ROWS_PER_GATHER", 16)
    assert forest().fit(X, y).oob_decision_function_.tobytes() == whole.tobytes()


def test_score_does_not_change_the_trees():
    X, y = noisy_blobs()
    scored, plain = forest().fit(X, y), forest(oob_score=False).fit(X, y)
    assert node_bytes(scored) == node_bytes(plain)
    assert not hasattr(plain, "oob_score_")


def test_fit_deletes_optional_attributes_of_an_earlier_fit():
    X, y = noisy_blobs()
    model = forest(loss="ane", n_estimators=20).fit(X, y)
    assert {"lambda_", "tuning_scores_", "oob_score_", "oob_decision_function_"} <= set(vars(model))
    model.set_params(loss="gini", oob_score=False).fit(X, y)
    assert not {"lambda_", "tuning_scores_", "oob_score_", "oob_decision_function_"} & set(vars(model))


def test_out_of_bag_score_requires_bootstrap():
    X, y = noisy_blobs(50)
    with pytest.raises(core.InvalidParameter, match=r"oob_score.*set bootstrap=True") as refusal:
        forest(bootstrap=False).fit(X, y)
    assert refusal.value.code == "invalid_parameter"


def adaptive(**parameters):
    return {"kind": "adaptive_ne", "grid": [0.0, 0.5, 1.0], **parameters}


def test_tuning_scores_are_the_out_of_bag_scores_of_each_lambda():
    X, y = noisy_blobs()
    model = forest(loss=adaptive()).fit(X, y)
    for lambda_, score in model.tuning_scores_.items():
        plain = forest(loss={"kind": "ne", "lambda": lambda_}).fit(X, y)
        assert score == pytest.approx(plain.oob_score_, abs=1e-12)
    assert model.oob_score_ == pytest.approx(model.tuning_scores_[model.lambda_], abs=1e-12)


def test_tuning_uses_the_weights_of_the_fit():
    X, y = noisy_blobs()
    weights = np.random.default_rng(1).random(len(y))
    classes = {0: 5.0, 1: 0.5, 2: 1.0}
    model = forest(loss=adaptive(grid=[0.5]), class_weight=classes).fit(X, y, weights)
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    row_weights = weights * np.array([classes[k] for k in y])
    assert model.tuning_scores_[0.5] == pytest.approx(
        accuracy_score(y, predicted, sample_weight=row_weights), abs=1e-12
    )


def test_auto_selects_out_of_bag_with_bootstrap_and_holdout_without():
    X, y = noisy_blobs()

    def scores(selection, **parameters):
        return forest(oob_score=False, loss=adaptive(selection=selection), **parameters).fit(X, y).tuning_scores_

    assert scores("auto") == scores("out_of_bag") != scores("holdout")
    assert scores("auto", bootstrap=False) == scores("holdout", bootstrap=False)


@pytest.mark.parametrize("estimator", [core.TreeClassifier(), core.ForestClassifier(bootstrap=False)], ids=repr)
def test_out_of_bag_selection_requires_bootstrap(estimator):
    X, y = noisy_blobs(50)
    estimator.set_params(loss=adaptive(selection="out_of_bag"))
    for operation in [lambda: estimator.fit(X, y), estimator.phases]:
        with pytest.raises(core.InvalidLoss, match=r'out_of_bag.*"holdout"'):
            operation()


def test_equal_scores_choose_the_larger_lambda():
    X, y = np.zeros((40, 1)), np.arange(40) % 4 == 0
    model = forest(loss=adaptive(grid=[1.0, 0.25, 0.5]), n_estimators=20).fit(X, y)
    assert len(set(model.tuning_scores_.values())) == 1
    assert model.lambda_ == 1.0


@pytest.mark.parametrize("loss", ["gini", "adaptive_ne"])
def test_bins_are_freed_before_the_votes(monkeypatch, loss):
    bins, states = [], []

    def tracked_bin_features(*arguments):
        features = bin_features(*arguments)
        bins.extend([weakref.ref(features.codes), weakref.ref(features.codes_by_row)])
        return features

    def checked_votes(*arguments):
        states.append([array() is None for array in bins])
        return out_of_bag_votes(*arguments)

    monkeypatch.setattr("core.growth.growth_problem.bin_features", tracked_bin_features)
    monkeypatch.setattr("core.forests.forest.out_of_bag_votes", checked_votes)
    forest(loss=loss).fit(*noisy_blobs())
    assert states == [[True, True]]


class StopsAfterTrees:
    """Monitor that stops the fit after `n_trees` trees."""

    def __init__(self, n_trees):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.n_trees = n_trees

    def begin(self, phase, total, unit):
        pass

    def advance(self, completed):
        self.stop_flag[0] = completed == self.n_trees


def test_fit_can_be_stopped_during_the_votes():
    X, y = noisy_blobs()
    model = forest()
    with pytest.raises(core.FitStopped):
        model.fit(X, y, monitor=StopsAfterTrees(model.n_estimators))
    assert not hasattr(model, "trees_")
    assert not hasattr(model, "oob_score_")
