"""Which labels are called wrong, from probabilities and from features."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import average_precision_score

import core
from core import service_api
from core.forests.noise_estimation_forest import min_rows
from tests.core.noise.noisy_votes import drawn
from tests.core.noise.test_noise_estimation import UNEVEN, uniform


def blobs(n_rows=400, rate=0.2, seed=0):
    """X, clean and given labels of three groups that hardly overlap."""
    rng = np.random.default_rng(seed)
    clean = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 4)) + 4.0 * np.eye(3, 4)[clean]
    given = np.where(rng.random(n_rows) < rate, (clean + rng.integers(1, 3, n_rows)) % 3, clean)
    return X, clean, given


def small_forest(**parameters):
    return core.ForestClassifier(**{"n_estimators": 60, "min_samples_leaf": 5, **parameters})


def test_a_perfect_matrix_finds_exactly_the_flips():
    votes = drawn(UNEVEN, 900, 0)
    issues = core.rank_label_issues(np.eye(3)[votes.clean], votes.given)
    np.testing.assert_array_equal(issues.is_issue, votes.clean != votes.given)
    np.testing.assert_array_equal(issues.suggested, votes.clean)
    assert issues.quality[issues.is_issue].max() < 0.5 < issues.quality[~issues.is_issue].min()


def test_quality_is_a_probability():
    votes = drawn(uniform(0.3, 4), 8000, 1)
    quality = core.rank_label_issues(votes.probabilities, votes.given).quality
    for low in (0.1, 0.3, 0.5, 0.7, 0.9):
        near = np.abs(quality - low) < 0.1
        assert np.mean((votes.given == votes.clean)[near]) == pytest.approx(quality[near].mean(), abs=0.1)


def test_flips_of_uneven_noise_are_ranked_better_than_by_the_given_class():
    transition = np.array([[0.95, 0.05], [0.4, 0.6]])
    votes = drawn(transition, 4000, 2)
    wrong, of_given = votes.clean != votes.given, votes.probabilities @ transition
    quality = core.rank_label_issues(of_given, votes.given).quality
    plain = of_given[np.arange(4000), votes.given]
    assert average_precision_score(wrong, -quality) > average_precision_score(wrong, -plain) + 0.02


def test_rows_in_another_order_give_the_same_verdicts_in_that_order():
    votes = drawn(UNEVEN, 700, 3)
    order = np.random.default_rng(0).permutation(700)
    straight = core.rank_label_issues(votes.probabilities, votes.given)
    mixed = core.rank_label_issues(votes.probabilities[order], votes.given[order])
    np.testing.assert_allclose(mixed.quality, straight.quality[order], atol=1e-6)
    np.testing.assert_array_equal(mixed.suggested, straight.suggested[order])
    np.testing.assert_array_equal(mixed.is_issue, straight.is_issue[order])


def test_a_row_without_votes_is_never_an_issue():
    votes = drawn(uniform(0.3, 3), 600, 4)
    probabilities = votes.probabilities.copy()
    probabilities[::5] = np.nan
    issues = core.rank_label_issues(probabilities, votes.given)
    assert not issues.is_issue[::5].any()
    np.testing.assert_array_equal(issues.suggested[::5], votes.given[::5])
    assert ((issues.quality >= 0) & (issues.quality <= 1)).all()
    assert issues.quality[::5] == pytest.approx(0.7, abs=0.1)


def test_without_noise_rows_are_ordered_by_margin():
    probabilities = np.tile([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]], (40, 1))
    y = np.arange(120) % 3
    issues = core.rank_label_issues(probabilities, y)
    assert not issues.is_issue.any()
    np.testing.assert_array_equal(issues.suggested, y)
    assert issues.quality.min() > 0.5


def test_an_audit_finds_what_was_flipped():
    X, clean, given = blobs()
    names = np.array(["ash", "birch", "cedar"])
    audit = core.audit_labels(X, names[given], random_state=0)
    wrong = clean != given
    assert audit.method == "out_of_bag"
    assert abs(audit.n_wrong - wrong.sum()) < 3 * audit.n_wrong_error
    assert average_precision_score(wrong, -audit.issues.quality) > 0.97
    assert np.mean(audit.issues.suggested == names[clean]) > 0.97
    assert audit.given_counts.tolist() == np.bincount(given).tolist()
    assert audit.issue_counts.sum() == audit.issues.is_issue.sum()
    expected = [pair.n_rows for pair in audit.confused]
    assert expected == sorted(expected, reverse=True)
    assert sum(expected) == pytest.approx(audit.n_wrong, rel=0.1)
    assert all(pair.clean != pair.given and pair.n_rows_error > 0 for pair in audit.confused)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_clean_data_raise_no_alarm(load):
    X, y = load(return_X_y=True)
    audit = core.audit_labels(X, y, random_state=0)
    assert audit.issues.is_issue.sum() <= 1
    assert audit.n_wrong <= 2 * audit.n_wrong_error + 1
    assert audit.n_wrong_error < 0.05 * len(y)


@pytest.mark.parametrize("folds", [None, 3])
def test_threads_change_no_byte(folds):
    X, _, given = blobs(200)
    audits = [core.audit_labels(X, given, small_forest(), folds, random_state=5, n_jobs=n) for n in (1, 2, 3)]
    assert len({audit.probabilities.tobytes() for audit in audits}) == 1
    assert len({audit.issues.quality.tobytes() for audit in audits}) == 1
    assert len({audit.noise.standard_error.tobytes() for audit in audits}) == 1


@pytest.mark.parametrize(
    "estimator", [core.TreeClassifier(min_samples_leaf=8), small_forest(bootstrap=False)], ids=["tree", "no bootstrap"]
)
def test_models_that_leave_no_rows_out_are_asked_by_folds(estimator):
    X, clean, given = blobs()
    audit = core.audit_labels(X, given, estimator, random_state=0)
    assert audit.method == "folds"
    assert not hasattr(estimator, "classes_")
    np.testing.assert_allclose(audit.probabilities.sum(axis=1), 1.0)
    assert average_precision_score(clean != given, -audit.issues.quality) > 0.8


def test_a_class_of_one_row_is_judged_by_models_that_never_saw_it():
    X, _, given = blobs(100, rate=0.0)
    given[7] = 9
    audit = core.audit_labels(X, given, small_forest(), folds=4, random_state=0)
    assert audit.classes.tolist() == [0, 1, 2, 9]
    assert audit.probabilities[7, 3] == 0.0


def test_rows_in_every_bag_are_not_judged():
    X, _, given = blobs(120)
    with pytest.warns(UserWarning, match="out-of-bag votes"):
        audit = core.audit_labels(X, given, small_forest(n_estimators=3), random_state=0)
    without = np.isnan(audit.probabilities).any(axis=1)
    assert without.any()
    assert not audit.issues.is_issue[without].any()
    assert audit.n_judged == 120 - without.sum()
    assert audit.n_wrong == pytest.approx(120 * audit.noise.noise_rate)
    assert audit.n_wrong_error > 120 * audit.noise.noise_rate_error


def test_class_weights_are_refused():
    X, _, given = blobs(100)
    with pytest.raises(core.InvalidParameter, match=r"class_weight is \{0: 0\}; it is not supported"):
        core.audit_labels(X, given, small_forest(class_weight={0: 0}), random_state=0)


def test_one_class_has_no_issues():
    audit = core.audit_labels(np.arange(30.0)[:, np.newaxis], ["same"] * 30, random_state=0)
    assert (audit.n_wrong, audit.confused, audit.issues.is_issue.any()) == (0.0, (), False)
    assert (audit.issues.quality == 1).all()


@pytest.mark.parametrize("folds", [1, 0, True, 2.5, 1000], ids=str)
def test_bad_folds_are_refused(folds):
    X, _, given = blobs(50)
    with pytest.raises(core.InvalidParameter, match="folds is"):
        core.audit_labels(X, given, folds=folds)


def test_other_estimators_are_refused():
    with pytest.raises(core.InvalidParameter, match="rank_label_issues"):
        core.audit_labels([[0.0], [1.0]], [0, 1], estimator="forest")


def test_rows_and_labels_must_be_as_many():
    for folds in (None, 2):
        with pytest.raises(core.InvalidInput, match="40"):
            core.audit_labels(np.zeros((40, 1)), [0, 1, 0] * 13, folds=folds)


def far_apart(n_rows, n_classes, seed):
    """X and right labels of groups of one size, no row of which is near another group."""
    labels = np.arange(n_rows) % n_classes
    corners = 4.0 * np.column_stack([labels % 4, labels // 4])
    return corners + 0.3 * np.random.default_rng(seed).normal(size=(n_rows, 2)), labels


@pytest.mark.parametrize("n_classes", [2, 3, 4, 6, 8, 12])
def test_few_rows_with_right_labels_raise_no_alarm(n_classes):
    for n_rows in (min_rows(n_classes), min_rows(n_classes) + 5):
        audits = [core.audit_labels(*far_apart(n_rows, n_classes, seed), random_state=seed) for seed in range(3)]
        assert [int(audit.issues.is_issue.sum()) for audit in audits] == [0, 0, 0]
        assert max(audit.noise.noise_rate for audit in audits) < 0.02


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "words"),
    [
        (2, 2, "20 are needed"),
        (19, 2, "20 are needed"),
        (20, 7, "21 are needed"),
        (59, 20, "60 are needed"),
        (1, 1, "20 are needed"),
    ],
    ids=str,
)
@pytest.mark.parametrize("folds", [None, 2])
def test_fewer_rows_are_not_judged(n_rows, n_classes, words, folds):
    with pytest.raises(core.InvalidInput, match=f"{n_rows} rows of {n_classes} classes are too few .*{words}"):
        core.audit_labels(*far_apart(n_rows, n_classes, 0), folds=folds)


def test_a_class_of_one_row_has_errors_of_shares():
    X, labels = far_apart(30, 2, 0)
    labels[7] = 2
    noise = core.audit_labels(X, labels, random_state=0).noise
    for errors in (noise.standard_error, noise.priors_error, noise.noise_rate_error):
        assert 0 < np.max(errors) <= 0.5


@pytest.mark.parametrize("apart", [0.0, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_rate_of_few_rows_is_that_of_the_matrix_beside_it(n_classes, apart):
    """Whatever the features tell, the shares of wrong labels that both state are one share."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, n_classes, min_rows(n_classes) + 4 * seed)
        labels[:n_classes] = np.arange(n_classes)
        X = rng.normal(size=(len(labels), 3)) + apart * np.eye(n_classes, 3)[labels]
        noise = core.audit_labels(X, labels, random_state=seed).noise
        of_matrix = 1 - noise.priors @ np.diag(noise.transition.rows)
        assert abs(of_matrix - noise.noise_rate) <= 3 * noise.noise_rate_error + 0.1


class Heard:
    """A monitor that remembers the phases in their order."""

    def __init__(self):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.phases = {}

    def begin(self, phase, total, unit):
        self._phase = phase
        self.phases[phase] = total

    def advance(self, completed):
        assert completed <= self.phases[self._phase]


@pytest.mark.parametrize("folds", [None, 3])
@pytest.mark.parametrize(
    "estimator",
    [small_forest(), core.TreeClassifier(), core.AdaBoostClassifier(n_rounds=4), small_forest(loss="adaptive_ne")],
    ids=str,
)
def test_a_monitor_hears_the_phases_that_were_announced(estimator, folds):
    X, _, given = blobs(150)
    monitor = Heard()
    core.audit_labels(X, given, estimator, folds, random_state=0, monitor=monitor)
    assert list(monitor.phases) == list(service_api.audit_phases(estimator, folds))
