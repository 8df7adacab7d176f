"""Kernel ridge regression against its textbook formulas, and on rows that are hard to compare."""

import itertools

import numpy as np
import pytest

import core
from core.kernel_ridge import fitting
from core.kernel_ridge.fitting import MAX_LANDMARKS, fit_kernel_ridge
from core.kernel_ridge.row_encoding import encode, row_encoding
from core.monitoring import NullMonitor, stopping_with
from core.validation.training_data import training_data


def table(n_rows=90, n_features=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, np.arange(n_rows) % n_classes


def checked(X, y, **parameters):
    return training_data(core.TreeClassifier(**parameters), X, y, None, None)


def fitted(X, y, weights=None, n_threads=1, **parameters):
    data = checked(X, y, **parameters)
    if weights is not None:
        data = data._replace(weights=weights)
    targets = np.eye(len(np.unique(y)))[data.labels.codes]
    return fit_kernel_ridge(data, targets, np.arange(X.shape[1]), np.random.default_rng(0), n_threads)


def similarities(X, others, width):
    return np.exp(-np.sum((X[:, np.newaxis] - others) ** 2, axis=2) / width)


@pytest.mark.parametrize("n_rows", [90, 91, 93], ids=str)
def test_scores_are_those_of_the_textbook_for_one_of_the_penalties(n_rows):
    X, y = table(n_rows)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, n_rows)
    result = fitted(X, y, weights)
    model, left_out = result.model, result.left_out_scores
    points = (X - X.mean(axis=0)) / X.std(axis=0)
    targets = np.eye(3)[y] - np.average(np.eye(3)[y], axis=0, weights=weights)
    K = similarities(points, points, model.width)
    matches = []
    for penalty in fitting._PENALTIES:
        diagonal = np.diag(penalty * weights.sum() / weights)
        expected = K @ np.linalg.solve(K + diagonal, targets) + model.priors
        matches.append(np.allclose(model.scores(X), expected, atol=1e-5))
        if not matches[-1]:
            continue
        for row in (0, n_rows // 2, n_rows - 1):
            others = np.arange(n_rows) != row
            dual = np.linalg.solve((K + diagonal)[np.ix_(others, others)], targets[others])
            np.testing.assert_allclose(left_out[row], K[row, others] @ dual + model.priors, atol=1e-5)
    assert sum(matches) == 1


@pytest.mark.parametrize("is_noisy", [False, True], ids=["light penalty", "heavy penalty"])
def test_the_errors_of_left_out_rows_choose_the_width_and_the_penalty(monkeypatch, is_noisy):
    X, y = table(120)
    if not is_noisy:
        y = (X[:, 0] + X[:, 1] > 0).astype(int)
    targets = np.eye(len(np.unique(y)))[y]
    error = np.mean((fitted(X, y).left_out_scores - targets) ** 2)
    others = []
    for width, penalty in itertools.product(fitting._WIDTHS, fitting._PENALTIES):
        monkeypatch.setattr(fitting, "_WIDTHS", (width,))
        monkeypatch.setattr(fitting, "_PENALTIES", (penalty,))
        monkeypatch.setattr(fitting, "_FIRST_PENALTY", 0)
        others.append(np.mean((fitted(X, y).left_out_scores - targets) ** 2))
    assert error == pytest.approx(min(others), abs=1e-12)
    assert np.argmin(others) % len(fitting._PENALTIES) != 3  # where the descent begins


def test_other_targets_keep_the_width_and_the_penalty():
    X, y = table(121)
    result = fitted(X, y)
    again = result.with_targets(result.targets)
    assert again.model.coefficients.tobytes() == result.model.coefficients.tobytes()
    assert again.left_out_scores.tobytes() == result.left_out_scores.tobytes()
    others = result.with_targets(result.targets[:, ::-1])
    assert others.model.width == result.model.width
    np.testing.assert_allclose(others.model.scores(X), result.model.scores(X)[:, ::-1], atol=1e-12)


@pytest.mark.parametrize("placeholder", [-1e4, -2e4, -99999.0, -1e9], ids=str)
def test_placeholders_far_from_all_other_numbers_give_finite_scores(placeholder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    X[rng.random(X.shape) < 0.15] = placeholder  # too many to be outliers
    result = fitted(X, y)
    assert np.isfinite(result.left_out_scores).all()
    assert np.isfinite(result.model.scores(X)).all()


@pytest.mark.parametrize("spread", [0.1, 0.03, 0.01, 0.005], ids=str)
def test_rows_in_two_tight_clusters_are_told_apart(spread):
    rng = np.random.default_rng(0)
    within = rng.normal(size=(500, 4))
    y = (within.sum(axis=1) > 0).astype(int)
    X = np.where(rng.random(500) < 0.3, 1.0, -1.0)[:, np.newaxis] + spread * within
    result = fitted(X, y)
    assert np.mean(result.left_out_scores.argmax(axis=1) == y) > 0.9
    assert np.mean(result.model.scores(X).argmax(axis=1) == y) > 0.9


@pytest.mark.parametrize("placeholder", [-2500.0, -9999.0, 1e7], ids=str)
def test_few_placeholders_cost_little(placeholder):
    X, _ = table(300, 6)
    y = (X.sum(axis=1) > 0).astype(int)
    accuracy = np.mean(fitted(X, y).left_out_scores.argmax(axis=1) == y)
    X[np.random.default_rng(0).random(X.shape) < 0.01] = placeholder
    assert np.mean(fitted(X, y).left_out_scores.argmax(axis=1) == y) > accuracy - 0.05


def test_rows_that_are_nearly_equal_have_a_width_that_a_file_may_have():
    X, y = table(60)
    X[:8] = 1e12 * (-1.0) ** np.arange(8)[:, np.newaxis]  # too many to be outliers
    model = fitted(X, y).model
    assert (model.encoding.scales > 1e10).all()
    assert model.width > 2.0**-60


def test_many_rows_share_few_landmarks_and_are_predicted_well():
    X, _ = table(2001, 4)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    ridge = fitted(X[:1501], y[:1501])
    assert ridge.model.landmarks.shape == (4, MAX_LANDMARKS)
    assert np.mean(ridge.model.scores(X[1501:]).argmax(axis=1) == y[1501:]) > 0.9
    assert np.mean(ridge.left_out_scores.argmax(axis=1) == y[:1501]) > 0.9
    np.testing.assert_allclose(ridge.left_out_scores.sum(axis=1), 1.0, atol=1e-6)


def test_any_number_of_threads_gives_the_same_bytes():
    X, y = table(1501)
    one, three = fitted(X, y), fitted(X, y, n_threads=3)
    assert one.model.coefficients.tobytes() == three.model.coefficients.tobytes()
    assert one.left_out_scores.tobytes() == three.left_out_scores.tobytes()
    assert one.model.scores(X).tobytes() == one.model.scores(X, 3).tobytes()


def test_a_missing_number_is_at_the_mean_and_a_missing_category_is_a_category():
    X, y = table(60, 2)
    X[:, 1] = np.arange(60) % 4
    X[5] = np.nan
    data = checked(X, y, categorical_features=[1])
    encoding = row_encoding(data.X, data.is_categorical, np.arange(2))
    points = encode(data.X, encoding)
    assert points[5].tolist() == [0.0, -1.0]
    assert points[[0, 1, 2, 3], 1].tolist() == [0.0, 1.0, 2.0, 3.0]
    known = points[np.arange(60) != 5, 0]
    assert (known.mean(), known.std()) == (pytest.approx(0.0, abs=1e-6), pytest.approx(1.0))


@pytest.mark.parametrize("placeholder", [-9999.0, 1e7, 1.7e308], ids=str)
@pytest.mark.parametrize("share", [0.01, 0.08])
def test_placeholders_count_as_missing_and_do_not_change_the_scale(placeholder, share):
    X, _ = table(500, 1)
    is_placeholder = np.random.default_rng(3).random(500) < share
    no_categories = np.zeros(1, dtype=np.bool_)
    encoding = row_encoding(np.where(is_placeholder[:, np.newaxis], placeholder, X), no_categories, np.arange(1))
    usual = X[~is_placeholder]
    assert encoding.centers[0] == pytest.approx(usual.mean())
    assert encoding.scales[0] == pytest.approx(usual.std())
    assert encode(np.array([[placeholder]]), encoding).item() == 0.0


def test_long_tails_rare_values_and_groups_of_rows_are_not_outliers():
    rng = np.random.default_rng(0)
    group = rng.normal(size=1000) + 1e4 * (rng.random(1000) < 0.2)
    X = np.column_stack([rng.exponential(size=1000), 100.0 * (rng.random(1000) < 0.05), group])
    encoding = row_encoding(X, np.zeros(3, dtype=np.bool_), np.arange(3))
    np.testing.assert_allclose(encoding.scales, X.std(axis=0))


def test_the_only_row_with_a_flag_keeps_it():
    X = (np.arange(5000) == 7).astype(float)[:, np.newaxis]
    points = encode(X, row_encoding(X, np.zeros(1, dtype=np.bool_), np.arange(1)))
    assert points[7].item() == 8.0


def test_numbers_count_as_missing_beyond_25_standard_deviations():
    X, _ = table(500, 1)
    encoding = row_encoding(X, np.zeros(1, dtype=np.bool_), np.arange(1))
    deviations = np.array([7.0, 8.5, 24.9, -24.9, 25.1, -25.1])
    points = encode(encoding.centers + encoding.scales * deviations[:, np.newaxis], encoding)
    np.testing.assert_allclose(points[:, 0], [7.0, 8.0, 8.0, -8.0, 0.0, 0.0], rtol=1e-6)


@pytest.mark.parametrize(("distance", "counts"), [(19.9, True), (20.1, False)])
def test_numbers_count_up_to_20_interquartile_ranges_beyond_the_quartiles(distance, counts):
    values = np.append(np.arange(99.0), 0.0)
    low, high = np.quantile(values, (0.25, 0.75), method="inverted_cdf")
    values[99] = high + distance * (high - low)
    encoding = row_encoding(values[:, np.newaxis], np.zeros(1, dtype=np.bool_), np.arange(1))
    assert encoding.centers[0] == pytest.approx(values.mean() if counts else values[:99].mean())


def test_a_regression_learns_beside_placeholders():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    X[rng.random(X.shape) < 0.01] = 1e7
    ridge = fitted(X[:600], y[:600])
    assert np.mean(ridge.model.scores(X[600:]).argmax(axis=1) == y[600:]) > 0.85


def test_categories_alone_are_learned():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (200, 2)).astype(float)
    y = (codes[:, 0] >= 3).astype(int)
    ridge = fitted(codes, y, categorical_features=[0, 1])
    assert np.mean(ridge.model.scores(codes).argmax(axis=1) == y) > 0.98


@pytest.mark.parametrize("extreme", [1e300, 4e307, 1e-300], ids=str)
def test_numbers_of_any_size_give_finite_scores(extreme):
    X, y = table(60)
    X[:, 1] *= extreme
    X[0, 2], X[1, 2] = extreme, -extreme
    ridge = fitted(X, y)
    assert np.isfinite(ridge.model.scores(X)).all()
    assert np.isfinite(ridge.model.scores(np.full((1, 3), 1.7e308))).all()


def test_rows_that_are_all_alike_have_no_regression():
    X, y = table(60)
    assert fitted(np.ones_like(X), y) is None
    assert fitted(np.full_like(X, np.nan), y) is None


def test_duplicated_rows_and_labels_that_follow_a_feature_exactly_are_possible():
    X, _ = table(60)
    X = np.repeat(np.round(X[:20]), 3, axis=0)
    assert np.isfinite(fitted(X, (X[:, 0] > 0).astype(int)).left_out_scores).all()


def test_a_dozen_rows_have_no_regression():
    X, y = table(12)
    assert fitted(X, y) is None


def test_rows_are_compared_by_the_chosen_features_only():
    X, y = table(60, 5)
    data = checked(X, y)
    chosen = np.array([1, 3])
    ridge = fit_kernel_ridge(data, np.eye(3)[data.labels.codes], chosen, np.random.default_rng(0))
    others = X.copy()
    others[:, [0, 2, 4]] = np.random.default_rng(5).normal(size=(60, 3))
    assert ridge.model.scores(X).tobytes() == ridge.model.scores(others).tobytes()
    without = fit_kernel_ridge(
        checked(X[:, chosen], y), np.eye(3)[data.labels.codes], np.arange(2), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(ridge.model.scores(X), without.model.scores(X[:, chosen]))


def test_single_rows_are_predicted_as_in_a_table():
    X, y = table(61)
    X[:, 1] = np.arange(61) % 4
    model = fitted(X, y, categorical_features=[1]).model
    rows = np.concatenate([model.scores(X[row : row + 1]) for row in range(61)])
    np.testing.assert_array_equal(rows, model.scores(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_in_any_memory_layout_have_the_same_scores(dtype):
    X, y = table(61, 4)
    X = X.astype(np.float32).astype(dtype)
    model = fitted(X, y).model
    read_only = X.copy()
    read_only.flags.writeable = False
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], read_only, X.astype(np.float64)):
        assert model.scores(rows).tobytes() == model.scores(X).tobytes()
    assert model.scores(X[:0]).shape == (0, 3)


def test_predictions_stop_at_the_flag():
    X, y = table(1200)
    model = fitted(X, y).model
    with pytest.raises(core.FitStopped), stopping_with(NullMonitor(np.ones(1, dtype=np.uint8))):
        model.scores(X)


def test_a_fit_stops_at_the_flag():
    data = checked(*table())
    with pytest.raises(core.FitStopped):
        fit_kernel_ridge(
            data,
            np.eye(3)[data.labels.codes],
            np.arange(3),
            np.random.default_rng(0),
            stop_flag=np.ones(1, dtype=np.uint8),
        )
