"""What is said of noise from probabilities, against noise that is known."""

import numpy as np
import pytest

import core
from tests.core.noise.noisy_votes import drawn
from tests.shared_material import reference

UNEVEN = [[0.9, 0.1, 0.0], [0.15, 0.6, 0.25], [0.05, 0.15, 0.8]]
ONE_SIDED = [[0.7, 0.3], [0.0, 1.0]]


def uniform(rate, n_classes):
    return core.TransitionMatrix.uniform(rate, range(n_classes)).rows


@pytest.mark.parametrize("learnt_from", ["clean labels", "given labels"])
@pytest.mark.parametrize(
    ("transition", "most_within_one"),
    [(UNEVEN, 0.9), (ONE_SIDED, 0.95), (uniform(0.3, 2), 0.9), (uniform(0.2, 6), 0.95)],
    ids=["uneven", "one sided", "two classes", "six classes"],
)
def test_the_truth_is_within_the_stated_error_as_often_as_it_says(transition, most_within_one, learnt_from):
    distances, of_rates = [], []
    for seed in range(20):
        votes = drawn(transition, 1500, seed)
        seen = votes.probabilities if learnt_from == "clean labels" else votes.probabilities @ np.asarray(transition)
        found = core.estimate_transition(seen, votes.given)
        possible = np.asarray(transition) > 0
        distances.append((np.abs(found.transition.rows - transition) / found.standard_error)[possible])
        of_rates.append(abs(found.noise_rate - np.mean(votes.clean != votes.given)) / found.noise_rate_error)
    assert 0.5 <= np.mean(np.array(distances) < 1) <= most_within_one
    assert np.mean(np.array(distances) < 2) >= 0.8
    assert 0.35 <= np.mean(np.array(of_rates) < 1) <= 0.9
    assert np.mean(np.array(of_rates) < 2) >= 0.7


def test_the_share_of_wrong_labels_is_known_better_than_the_rate_they_are_drawn_with():
    votes = drawn(uniform(0.3, 3), 3000, 0)
    found = core.estimate_transition(votes.probabilities, votes.given)
    assert found.noise_rate_error < 0.7 * found.standard_error[0, 0]
    assert found.standard_error[0, 0] == pytest.approx(np.sqrt(0.3 * 0.7 / 3000), rel=0.3)


def test_noise_alike_for_all_classes_leaves_the_matrix_without_shapes_of_its_own():
    votes = drawn(uniform(0.2, 4), 4000, 0)
    found = core.estimate_transition(votes.probabilities, votes.given)
    off_diagonal = found.transition.rows[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(off_diagonal, off_diagonal[0], atol=1e-9)
    np.testing.assert_allclose(found.standard_error[0, 1], found.standard_error[0, 0] / 3)


def test_classes_that_are_harder_to_tell_than_others_are_not_taken_for_noisier_ones():
    rng = np.random.default_rng(0)
    votes = rng.dirichlet(np.full(4, 0.5), 6000)
    powers = (4 * votes + 1e-3) ** [1.0, 1.0, 6.0, 6.0]
    clean = (rng.random((6000, 1)) >= (powers / powers.sum(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]).sum(axis=1)
    given = np.where(rng.random(6000) < 0.2, (clean + rng.integers(1, 4, 6000)) % 4, clean)
    found = core.estimate_transition(votes, given)
    np.testing.assert_allclose(found.transition.rows, uniform(0.2, 4), atol=0.02)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_uniform_noise_is_found_and_hard_rows_are_not_taken_for_it(rate):
    votes = drawn(uniform(rate, 5), 6000, 0, spread=3.0)
    found = core.estimate_transition(votes.probabilities, votes.given)
    np.testing.assert_allclose(found.transition.rows, uniform(rate, 5), atol=0.035)
    assert np.mean(votes.probabilities.argmax(1) != votes.clean) > 0.15
    np.testing.assert_allclose(found.priors, np.bincount(votes.clean) / 6000, atol=4 * found.priors_error.max())


def test_priors_pushed_through_the_matrix_are_the_shares_of_given_labels():
    votes = drawn(UNEVEN, 4000, 1)
    found = core.estimate_transition(votes.probabilities, votes.given)
    np.testing.assert_allclose(found.priors @ found.transition.rows, np.bincount(votes.given) / 4000, atol=0.01)


def test_reference_noise_is_read_off_sure_rows():
    for case in reference("noise.json")["pushforward"]:
        joint = np.round(40_000 * np.array(case["p"])[:, np.newaxis] * np.array(case["T"])).astype(int)
        clean, given = (np.repeat(side.ravel(), joint.ravel()) for side in np.indices(joint.shape))
        found = core.estimate_transition(np.eye(len(joint))[clean], given)
        np.testing.assert_allclose(found.transition.rows, case["T"], atol=0.01)
        np.testing.assert_allclose(found.priors, case["p"], atol=0.001)
        np.testing.assert_allclose(np.bincount(given) / len(given), case["p_noisy"], atol=0.001)


def test_the_order_of_rows_and_columns_does_not_matter():
    votes = drawn(UNEVEN, 1000, 2)
    rows, columns = np.random.default_rng(0).permutation(1000), np.array([2, 0, 1])
    straight = core.estimate_transition(votes.probabilities, votes.given)
    mixed = core.estimate_transition(votes.probabilities[rows][:, columns], votes.given[rows], classes=columns)
    assert mixed.transition.classes.tolist() == [2, 0, 1]
    np.testing.assert_allclose(mixed.transition.rows, straight.transition.rows[columns][:, columns], atol=1e-6)
    np.testing.assert_allclose(mixed.standard_error, straight.standard_error[columns][:, columns], rtol=1e-3)


def test_rows_without_votes_are_passed_over():
    votes = drawn(UNEVEN, 800, 3)
    holes = votes.probabilities.copy()
    holes[::4] = np.nan
    kept = np.arange(800) % 4 != 0
    some = core.estimate_transition(holes, votes.given)
    assert some.transition == core.estimate_transition(votes.probabilities[kept], votes.given[kept]).transition


def test_a_class_that_no_row_has_is_named_or_numbered():
    votes = drawn(uniform(0.1, 3), 300, 4)
    probabilities = np.pad(votes.probabilities, ((0, 0), (0, 1)))
    found = core.estimate_transition(probabilities, votes.given)
    assert found.transition.classes.tolist() == [0, 1, 2, 3]
    assert found.priors[3] < 0.01
    names = np.array(["a", "b", "c", "d"])
    assert core.estimate_transition(probabilities, names[votes.given], classes=names).transition.classes[3] == "d"
    with pytest.raises(core.InvalidInput, match=r"4 columns and y has 3 .*classes="):
        core.estimate_transition(probabilities, names[votes.given])


def test_one_class_has_no_noise():
    found = core.estimate_transition(np.ones((5, 1)), ["only"] * 5)
    assert (found.transition.rows.tolist(), found.noise_rate, found.noise_rate_error) == ([[1.0]], 0.0, 0.0)
    assert np.isfinite(found.standard_error).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_no_share_is_known_less_than_by_a_half(n_classes):
    """Of a class of one row, and of probabilities that tell nothing, the likelihood is nearly flat."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        given = np.append(rng.integers(0, n_classes - 1, rng.integers(1, 6)), n_classes - 1)
        votes = rng.dirichlet(np.full(n_classes, 0.5), len(given))
        found = core.estimate_transition(votes, given, classes=range(n_classes))
        errors = np.r_[found.standard_error.ravel(), found.priors_error, found.noise_rate_error]
        assert ((errors >= 0) & (errors <= 0.5)).all()


HALVES = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("probabilities", "y", "classes", "named"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], [0, 1], None, "row 0 of probabilities sums to 0.9"),
        ([[1.5, -0.5], [0.5, 0.5]], [0, 1], None, "negative"),
        ([[np.inf, 0.5], [0.5, 0.5]], [0, 1], None, "infinite"),
        ([[0.5, np.nan], [0.5, 0.5]], [0, 1], None, "row 0 .* mixes NaN and numbers"),
        ([[np.nan, np.nan]] * 2, [0, 1], None, "all rows of probabilities are NaN"),
        (HALVES, [0, 1, 1], None, "2 rows and y has 3 labels"),
        ([0.5, 0.5], [0, 1], None, r"shape \(2,\)"),
        ([], [], None, r"shape \(0,\)"),
        ([["a", "b"]], [0], None, "not numbers"),
        (HALVES, ["a", "b"], ["a", "a"], "name each column once"),
        (HALVES, ["a", "c"], ["a", "b"], "'c'"),
        (HALVES, [0, 2], [0, 1], "2"),
    ],
    ids=str,
)
def test_bad_probabilities_are_refused(probabilities, y, classes, named):
    for judge in (core.estimate_transition, core.rank_label_issues):
        with pytest.raises(core.InvalidInput, match=named):
            judge(probabilities, y, classes)
