"""Label audits and rankings of label issues, from probabilities and from features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import average_precision_score

import core
from core import service_api
from core.forests.noise_estimation_forest import min_rows
from core.noise.estimation import fit_noise
from core.noise.label_probabilities import check_label_probabilities
from tests.core.noise.noisy_votes import draw_noisy_votes
from tests.core.noise.test_noise_estimation import UNEVEN, uniform


def blobs(n_rows=400, rate=0.2, seed=0):
    """Return X, clean labels and noisy labels of three well-separated groups."""
    rng = np.random.default_rng(seed)
    clean = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 4)) + 4.0 * np.eye(3, 4)[clean]
    noisy = np.where(rng.random(n_rows) < rate, (clean + rng.integers(1, 3, n_rows)) % 3, clean)
    return X, clean, noisy


def small_forest(**parameters):
    return core.ForestClassifier(**{"n_estimators": 60, "min_samples_leaf": 5, **parameters})


def test_issues_are_exactly_the_flips_for_perfect_probabilities():
    votes = draw_noisy_votes(UNEVEN, 900, 0)
    issues = core.rank_label_issues(np.eye(3)[votes.clean], votes.labels)
    np.testing.assert_array_equal(issues.is_issue, votes.clean != votes.labels)
    np.testing.assert_array_equal(issues.suggested, votes.clean)
    assert issues.quality[issues.is_issue].max() < 0.5 < issues.quality[~issues.is_issue].min()


def test_quality_is_calibrated():
    votes = draw_noisy_votes(uniform(0.3, 4), 8000, 1)
    quality = core.rank_label_issues(votes.probabilities, votes.labels).quality
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        near = np.abs(quality - level) < 0.1
        assert np.mean((votes.labels == votes.clean)[near]) == pytest.approx(quality[near].mean(), abs=0.1)


def test_quality_ranks_class_conditional_flips_better_than_the_label_probability():
    transition = np.array([[0.95, 0.05], [0.4, 0.6]])
    votes = draw_noisy_votes(transition, 4000, 2)
    wrong, probabilities = votes.clean != votes.labels, votes.probabilities @ transition
    quality = core.rank_label_issues(probabilities, votes.labels).quality
    label_probability = probabilities[np.arange(4000), votes.labels]
    assert average_precision_score(wrong, -quality) > average_precision_score(wrong, -label_probability) + 0.02


def test_issues_do_not_depend_on_the_row_order():
    votes = draw_noisy_votes(UNEVEN, 700, 3)
    order = np.random.default_rng(0).permutation(700)
    original = core.rank_label_issues(votes.probabilities, votes.labels)
    permuted = core.rank_label_issues(votes.probabilities[order], votes.labels[order])
    np.testing.assert_allclose(permuted.quality, original.quality[order], atol=1e-6)
    np.testing.assert_array_equal(permuted.suggested, original.suggested[order])
    np.testing.assert_array_equal(permuted.is_issue, original.is_issue[order])


def test_rows_without_votes_are_never_issues():
    votes = draw_noisy_votes(uniform(0.3, 3), 600, 4)
    probabilities = votes.probabilities.copy()
    probabilities[::5] = np.nan
    issues = core.rank_label_issues(probabilities, votes.labels)
    assert not issues.is_issue[::5].any()
    np.testing.assert_array_equal(issues.suggested[::5], votes.labels[::5])
    assert ((issues.quality >= 0) & (issues.quality <= 1)).all()
    assert issues.quality[::5] == pytest.approx(0.7, abs=0.1)


def test_clean_confident_labels_have_no_issues():
    probabilities = np.tile([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]], (40, 1))
    y = np.arange(120) % 3
    issues = core.rank_label_issues(probabilities, y)
    assert not issues.is_issue.any()
    np.testing.assert_array_equal(issues.suggested, y)
    assert issues.quality.min() > 0.5


def test_quality_is_close_to_one_where_no_label_is_expected_to_be_wrong():
    generator = np.random.default_rng(0)
    y = np.arange(300) % 3
    probabilities = generator.dirichlet((1, 1, 1), 300) + 4 * np.eye(3)[y]
    issues = core.rank_label_issues(probabilities / 5, y)
    assert 0.9 < issues.quality.min() < issues.quality.max() < 1
    others = np.where(np.eye(3, dtype=bool)[y], 0.0, probabilities)
    margins = probabilities[np.arange(300), y] - others.max(axis=1)
    assert np.corrcoef(issues.quality.argsort().argsort(), margins.argsort().argsort())[0, 1] > 0.9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_quality_claims_less_certainty_with_few_rows(n_classes):
    changes = []
    for n_rows in (100, 10_000):
        votes = draw_noisy_votes(uniform(0.3, n_classes), n_rows, 5)
        noise = fit_noise(check_label_probabilities(votes.probabilities, votes.labels, np.arange(n_classes)))
        estimated = noise.model.posterior(votes.probabilities, votes.labels)[np.arange(n_rows), votes.labels]
        quality = core.rank_label_issues(votes.probabilities, votes.labels, np.arange(n_classes)).quality
        sides = np.where(estimated < 0.5, 1.0, -1.0)
        changes.append((sides * (quality - estimated)).mean())
        assert quality.mean() == pytest.approx(estimated.mean(), abs=0.02)
    assert changes[0] > 0.005 > 0.002 > abs(changes[1])


def test_many_clean_labels_of_separate_classes_are_not_doubted():
    generator = np.random.default_rng(0)
    y = np.arange(10_000) % 2
    of_others = generator.beta(1, 15, 10_000) / 2
    probabilities = np.where(np.eye(2, dtype=bool)[y], 1 - of_others[:, np.newaxis], of_others[:, np.newaxis])
    assert (1 - core.rank_label_issues(probabilities, y).quality).sum() < 2


def test_rows_with_equal_votes_have_equal_quality_where_no_label_is_wrong():
    generator = np.random.default_rng(0)
    y = np.arange(300) % 3
    probabilities = np.round(generator.dirichlet((1, 1, 1), 300) * 4) / 20 + 0.8 * np.eye(3)[y]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    quality = core.rank_label_issues(probabilities, y).quality
    order = generator.permutation(300)
    np.testing.assert_allclose(
        core.rank_label_issues(probabilities[order], y[order]).quality, quality[order], atol=1e-6
    )


def test_labels_of_a_class_without_votes_are_not_doubted():
    y = np.arange(200) % 2
    probabilities = np.eye(2)[y]
    probabilities[::2] = np.nan
    assert core.rank_label_issues(probabilities, y).quality.min() > 0.9


def test_audit_finds_flipped_labels():
    X, clean, noisy = blobs()
    names = np.array(["ash", "birch", "cedar"])
    audit = core.audit_labels(X, names[noisy], random_state=0)
    wrong = clean != noisy
    assert audit.method == "out_of_bag"
    assert abs(audit.n_wrong - wrong.sum()) < 3 * audit.n_wrong_error
    assert average_precision_score(wrong, -audit.issues.quality) > 0.97
    assert np.mean(audit.issues.suggested == names[clean]) > 0.97
    assert audit.given_counts.tolist() == np.bincount(noisy).tolist()
    assert audit.issue_counts.sum() == audit.issues.is_issue.sum()
    expected = [pair.n_rows for pair in audit.confused]
    assert expected == sorted(expected, reverse=True)
    assert sum(expected) == pytest.approx(audit.n_wrong, rel=0.1)
    assert all(pair.clean != pair.given and pair.n_rows_error > 0 for pair in audit.confused)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_clean_data_have_no_false_alarms(load):
    X, y = load(return_X_y=True)
    audit = core.audit_labels(X, y, random_state=0)
    assert audit.issues.is_issue.sum() <= 1
    assert audit.n_wrong <= 2 * audit.n_wrong_error + 1
    assert audit.n_wrong_error < 0.05 * len(y)


@pytest.mark.parametrize("folds", [None, 3])
def test_results_are_identical_for_any_number_of_threads(folds):
    X, _, noisy = blobs(200)
    audits = [core.audit_labels(X, noisy, small_forest(), folds, random_state=5, n_jobs=n) for n in (1, 2, 3)]
    assert len({audit.probabilities.tobytes() for audit in audits}) == 1
    assert len({audit.issues.quality.tobytes() for audit in audits}) == 1
    assert len({audit.noise.standard_error.tobytes() for audit in audits}) == 1


@pytest.mark.parametrize(
    "estimator", [core.TreeClassifier(min_samples_leaf=8), small_forest(bootstrap=False)], ids=["tree", "no bootstrap"]
)
def test_models_without_out_of_bag_votes_use_folds(estimator):
    X, clean, noisy = blobs()
    audit = core.audit_labels(X, noisy, estimator, random_state=0)
    assert audit.method == "folds"
    assert not hasattr(estimator, "classes_")
    np.testing.assert_allclose(audit.probabilities.sum(axis=1), 1.0)
    assert average_precision_score(clean != noisy, -audit.issues.quality) > 0.8


def test_single_row_class_has_zero_out_of_fold_probability():
    X, _, noisy = blobs(100, rate=0.0)
    noisy[7] = 9
    audit = core.audit_labels(X, noisy, small_forest(), folds=4, random_state=0)
    assert audit.classes.tolist() == [0, 1, 2, 9]
    assert audit.probabilities[7, 3] == 0.0


def test_rows_without_out_of_bag_votes_are_counted_apart_and_no_issues():
    X, _, noisy = blobs(120)
    with pytest.warns(UserWarning, match="out-of-bag votes"):
        audit = core.audit_labels(X, noisy, small_forest(n_estimators=3), random_state=0)
    without_votes = np.isnan(audit.probabilities).any(axis=1)
    assert without_votes.any()
    assert not audit.issues.is_issue[without_votes].any()
    assert audit.n_judged == 120 - without_votes.sum()
    assert audit.n_wrong == pytest.approx(120 * audit.noise.noise_rate)
    assert audit.n_wrong_error > 120 * audit.noise.noise_rate_error


def test_class_weights_are_rejected():
    X, _, noisy = blobs(100)
    with pytest.raises(core.InvalidParameter, match=r"class_weight is \{0: 0\}; it is not supported"):
        core.audit_labels(X, noisy, small_forest(class_weight={0: 0}), random_state=0)


def test_one_class_has_no_issues():
    audit = core.audit_labels(np.arange(30.0)[:, np.newaxis], ["same"] * 30, random_state=0)
    assert (audit.n_wrong, audit.confused, audit.issues.is_issue.any()) == (0.0, (), False)
    assert (audit.issues.quality == 1).all()


@pytest.mark.parametrize("folds", [1, 0, True, 2.5, 1000], ids=str)
def test_invalid_folds_are_rejected(folds):
    X, _, noisy = blobs(50)
    with pytest.raises(core.InvalidParameter, match="folds is"):
        core.audit_labels(X, noisy, folds=folds)


def test_unsupported_estimators_are_rejected():
    with pytest.raises(core.InvalidParameter, match="rank_label_issues"):
        core.audit_labels([[0.0], [1.0]], [0, 1], estimator="forest")


def test_rows_and_labels_must_have_equal_lengths():
    for folds in (None, 2):
        with pytest.raises(core.InvalidInput, match="40"):
            core.audit_labels(np.zeros((40, 1)), [0, 1, 0] * 13, folds=folds)


def separated_groups(n_rows, n_classes, seed):
    """Return X and correct labels of well-separated groups of equal size."""
    labels = np.arange(n_rows) % n_classes
    centers = 4.0 * np.column_stack([labels % 4, labels // 4])
    return centers + 0.3 * np.random.default_rng(seed).normal(size=(n_rows, 2)), labels


@pytest.mark.parametrize("n_classes", [2, 3, 4, 6, 8, 12])
def test_small_clean_data_have_no_false_alarms(n_classes):
    for n_rows in (min_rows(n_classes), min_rows(n_classes) + 5):
        audits = [core.audit_labels(*separated_groups(n_rows, n_classes, seed), random_state=seed) for seed in range(3)]
        assert [int(audit.issues.is_issue.sum()) for audit in audits] == [0, 0, 0]
        assert max(audit.noise.noise_rate for audit in audits) < 0.02


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "message"),
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
def test_too_few_rows_are_rejected(n_rows, n_classes, message, folds):
    with pytest.raises(core.InvalidInput, match=f"{n_rows} rows of {n_classes} classes are too few .*{message}"):
        core.audit_labels(*separated_groups(n_rows, n_classes, 0), folds=folds)


def test_standard_errors_of_a_single_row_class_are_at_most_one_half():
    X, labels = separated_groups(30, 2, 0)
    labels[7] = 2
    noise = core.audit_labels(X, labels, random_state=0).noise
    for errors in (noise.standard_error, noise.priors_error, noise.noise_rate_error):
        assert 0 < np.max(errors) <= 0.5


@pytest.mark.parametrize("distance", [0.0, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_noise_rate_agrees_with_the_transition_matrix(n_classes, distance):
    """Both imply the same fraction of wrong labels, for informative and uninformative features."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, n_classes, min_rows(n_classes) + 4 * seed)
        labels[:n_classes] = np.arange(n_classes)
        X = rng.normal(size=(len(labels), 3)) + distance * np.eye(n_classes, 3)[labels]
        noise = core.audit_labels(X, labels, random_state=seed).noise
        matrix_rate = 1 - noise.priors @ np.diag(noise.transition.rows)
        assert abs(matrix_rate - noise.noise_rate) <= 3 * noise.noise_rate_error + 0.1


class PhaseRecorder:
    """Monitor that records the phases in order."""

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
def test_monitor_receives_the_announced_phases(estimator, folds):
    X, _, noisy = blobs(150)
    monitor = PhaseRecorder()
    core.audit_labels(X, noisy, estimator, folds, random_state=0, monitor=monitor)
    assert list(monitor.phases) == list(service_api.audit_phases(estimator, folds))


@pytest.mark.parametrize("folds", [None, 3])
def test_unlabeled_rows_get_suggestions_and_change_nothing_else(folds):
    X, _, noisy = blobs()
    new_X, new_clean, _ = blobs(seed=7)
    plain = core.audit_labels(X, noisy, small_forest(), folds, random_state=0)
    audit = core.audit_labels(X, noisy, small_forest(), folds, random_state=0, X_unlabeled=new_X)
    assert np.mean(audit.unlabeled_suggested == new_clean) > 0.95
    assert plain.unlabeled_suggested is None
    without_more = core.audit_labels(X, noisy, small_forest(), folds, random_state=0, X_unlabeled=new_X[:0])
    assert without_more.unlabeled_suggested.shape == (0,)
    assert audit.issues.quality.tobytes() == plain.issues.quality.tobytes()


@pytest.mark.parametrize("folds", [None, 3])
def test_frames_of_numbers_keep_their_names(folds):
    X, _, noisy = blobs(200)
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_name = core.TreeClassifier(categorical_features=["d"], min_samples_leaf=5, random_state=0)
    audit = core.audit_labels(frame.round(), noisy, by_name, folds=3, random_state=0, X_unlabeled=frame.round())
    assert len(audit.unlabeled_suggested) == 200
    with pytest.raises(core.InvalidInput, match="feature names"):
        core.audit_labels(frame, noisy, folds=folds, random_state=0, X_unlabeled=frame[list("dcba")])
    nullable = frame.astype("Float64").mask(frame > 5)
    missing = frame.mask(frame > 5)
    pair = [core.audit_labels(each, noisy, folds=folds, random_state=0).n_wrong for each in (nullable, missing)]
    assert pair[0] == pair[1]
