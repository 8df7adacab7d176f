"""Minimax boosting: optimality of its rounds, certificate and refused input."""

from itertools import product

import numpy as np
import pyarrow.parquet as parquet
import pytest

import core
from core.boosting.certificate import FittedClassifier, certify, estimation_error, optimization_error, tree_vc_dimension
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.rule_table import RuleTable
from tests.core.boosting.test_minimax_program import dense_risk
from tests.shared_material import reference, shared_path


def noisy_problem(n_rows=300, seed=0, rate=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(int)
    return X, np.where(rng.random(n_rows) < rate, 1 - y, y)


@pytest.mark.parametrize("rule_output", ["sign", "confidence"])
@pytest.mark.parametrize("resample", [False, True])
def test_risk_matches_the_dense_program_and_never_rises(rule_output, resample):
    X, y = noisy_problem()
    model = core.RMBoostClassifier(n_rounds=40, rule_output=rule_output, resample=resample, random_state=0).fit(X, y)
    outputs, signs = model.rule_outputs(X), np.where(y == 1, 1.0, -1.0)
    assert np.abs(outputs).max() <= 1
    expected = dense_risk(outputs, signs, np.full(len(y), 1 / len(y)), 1 / np.sqrt(len(y)))
    assert model.minimax_risk_ == pytest.approx(expected, abs=1e-6)
    assert model.risk_path_[-1] == pytest.approx(model.minimax_risk_, abs=1e-9)
    assert (np.diff(model.risk_path_) <= 0).all()
    assert model.risk_path_[0] < 0.5
    assert len(model.risk_path_) == model.n_rounds_ == 40
    np.testing.assert_allclose(model.decision_function(X), outputs @ model.rule_weights_, atol=1e-12)
    assert np.abs(model.decision_function(X)).max() <= 0.5 + 1e-7


def test_dropping_rules_keeps_the_optimum():
    X, y = noisy_problem(n_rows=120)
    parameters = {"n_rounds": 60, "rule_output": "confidence", "random_state": 0}
    model = core.RMBoostClassifier(**parameters).fit(X, y)
    complete = core.RMBoostClassifier(**parameters, drop_rules=False).fit(X, y)
    assert len(complete.rules_) == complete.n_rounds_
    assert len(model.rules_) < model.n_rounds_
    assert model.minimax_risk_ == pytest.approx(complete.minimax_risk_, abs=0.01)
    outputs, signs = model.rule_outputs(X), np.where(y == 1, 1.0, -1.0)
    expected = dense_risk(outputs, signs, np.full(len(y), 1 / len(y)), 1 / np.sqrt(len(y)))
    assert model.minimax_risk_ == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_rules_with_small_edges_are_kept(seed):
    """With weak features and many wrong labels, the edge of the second rule is between lambda and 2 lambda."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (2000, 6))
    y = rng.random(2000) < np.clip(0.5 + 0.09 * X.sum(axis=1), 0, 1)
    regularized, vertex = (
        core.RMBoostClassifier(max_leaf_nodes=2, dual_solution=dual_solution, drop_rules=False).fit(X, y)
        for dual_solution in ("even", "vertex")
    )
    assert regularized.minimax_risk_ < vertex.minimax_risk_ + 0.001


@pytest.mark.parametrize("flip_rate", [0.0, 0.4])
def test_rules_are_distinct(flip_rate):
    X, y = noisy_problem(n_rows=600)
    y = np.where(np.random.default_rng(0).random(600) < flip_rate, 1 - y, y)
    for n_leaves in (2, 6):
        model = core.RMBoostClassifier(n_rounds=40, max_leaf_nodes=n_leaves, drop_rules=False).fit(X, y)
        assert len(np.unique(model.rule_outputs(X), axis=1).T) == len(model.rules_)


def stump_outputs(X):
    """Return the outputs of all rules that split one feature once, up to their sign, (row, rule)."""
    cuts = [np.where(X[:, f] <= c, 1.0, -1.0) for f in range(X.shape[1]) for c in np.unique(X[:, f])]
    return np.unique(np.column_stack(cuts), axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_exact_base_learner_reaches_the_optimum_over_all_stumps(seed):
    """If the base learner finds the most violated rule, Algorithm 1 stops at the optimum over all rules."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(60, 3)).astype(float)
    signs = np.where(X[:, 0] + X[:, 1] + rng.normal(0, 2, 60) > 7, 1.0, -1.0)
    row_shares, regularization = np.full(60, 1 / 60), 0.05
    pool = stump_outputs(X)
    table = RuleTable(200, 60, 2)
    program = MinimaxProgram(table, signs, row_shares, regularization)
    for number in range(200):
        edges = program.signed_weights() @ pool
        best = int(np.abs(edges).argmax())
        if abs(edges[best]) <= regularization + 1e-7:
            break
        column = np.sign(edges[best]) * pool[:, best]
        table.add((column > 0).astype(np.uint8), np.array([-1.0, 1.0]))
        program.add_rule(number)
        program.solve()
    assert number < 200 - 1
    assert program.solution.minimax_risk == pytest.approx(dense_risk(pool, signs, row_shares, regularization), abs=1e-6)


def test_small_edge_stops_the_rounds():
    X, y = noisy_problem()
    model = core.RMBoostClassifier(regularization=0.4, rule_output="confidence", random_state=0).fit(X, y)
    assert model.stop_reason_ == "edge"
    assert model.n_rounds_ < 200


def test_regularization_of_one_selects_no_rule():
    X, y = noisy_problem()
    model = core.RMBoostClassifier(regularization=1.0).fit(X, y)
    assert (model.n_rounds_, model.stop_reason_, model.minimax_risk_) == (0, "edge", 0.5)
    assert (model.predict_proba(X) == 0.5).all()
    assert (model.predict(X) == 0).all()
    assert model.rule_weights_.tolist() == [0.0]


def test_predictions_follow_the_margin():
    X, y = noisy_problem()
    model = core.RMBoostClassifier(n_rounds=10, random_state=0).fit(X, np.where(y == 1, "yes", "no"))
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], np.clip(0.5 + scores, 0, 1))
    assert ((model.predict(X) == "yes") == (scores > 0)).all()
    assert model.score(X, np.where(y == 1, "yes", "no")) > 0.8


def test_integer_weights_equal_repeated_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = X[:, 0] + rng.normal(size=150) > 0
    weights = rng.integers(1, 4, len(y))
    parameters = {"n_rounds": 10, "regularization": 0.1, "random_state": 0}
    weighted = core.RMBoostClassifier(**parameters).fit(X, y, sample_weight=weights)
    repeated = core.RMBoostClassifier(**parameters).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.risk_path_, repeated.risk_path_, atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_multiclass_fit_is_one_versus_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=240), [-0.5, 0.5])
    model = core.RMBoostClassifier(n_rounds=12, rule_output="confidence", random_state=0).fit(X, y)
    binary = core.RMBoostClassifier(n_rounds=12, rule_output="confidence", random_state=0).fit(X, y == 0)
    assert model.class_risks_.shape == (3,)
    assert model.class_risks_[0] == pytest.approx(binary.minimax_risk_, abs=1e-9)
    assert model.minimax_risk_ == pytest.approx(model.class_risks_.sum())
    assert model.risk_path_[-1] == pytest.approx(model.minimax_risk_, abs=1e-7)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities.argmax(axis=1) == model.decision_function(X).argmax(axis=1)).all()
    assert model.score(X, y) > 0.75
    with pytest.raises(core.InvalidInput, match="exactly 2"):
        model.certificate()


@pytest.mark.parametrize(
    ("name", "n_classes", "max_error_rate"), [("wine", 3, 0.2), ("vehicle", 4, 0.4), ("optdigits", 10, 0.3)]
)
def test_real_multiclass_data_sets(name, n_classes, max_error_rate):
    table = parquet.read_table(shared_path("data", f"{name}.parquet"))
    names = [column for column in table.schema.names if not column.startswith(("target", "meta"))]
    X = np.column_stack([table[column].to_numpy() for column in names]).astype(np.float64)
    y = table["target"].to_numpy(zero_copy_only=False)
    train, test = np.arange(len(y)) % 4 != 0, np.arange(len(y)) % 4 == 0
    model = core.RMBoostClassifier(n_rounds=15, random_state=0).fit(X[train], y[train])
    assert len(model.class_risks_) == n_classes
    assert model.minimax_risk_ == pytest.approx(model.class_risks_.sum())
    assert np.mean(model.predict(X[test]) != y[test]) < max_error_rate


def test_equal_seeds_give_equal_bytes_for_any_number_of_threads():
    X, y = noisy_problem()
    one, two = (
        core.RMBoostClassifier(n_rounds=10, resample=True, max_features=2, random_state=7, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()
    assert one.risk_path_.tobytes() == two.risk_path_.tobytes()


def test_missing_values_are_supported():
    X, y = noisy_problem()
    X[::7, 0] = np.nan
    model = core.RMBoostClassifier(n_rounds=5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), model.rule_outputs(X) @ model.rule_weights_, atol=1e-12)


class StopsAtThirdTree:
    """Monitor that requests a stop at the third tree."""

    def __init__(self):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.heard = []

    def begin(self, phase, total, unit):
        self.heard.append((phase, total))

    def advance(self, completed):
        self.stop_flag[0] = completed >= 3


def test_monitor_is_told_of_rounds_and_can_stop_them():
    X, y = noisy_problem()
    monitor = StopsAtThirdTree()
    with pytest.raises(core.FitStopped):
        core.RMBoostClassifier(n_rounds=9).fit(X, y, monitor=monitor)
    assert monitor.heard == [("boosting", 9)]
    assert core.RMBoostClassifier(n_rounds=9).phases() == {"boosting": 9}


@pytest.mark.parametrize(
    "invalid",
    [{"n_rounds": 0}, {"regularization": 0.0}, {"regularization": -1}, {"max_leaf_nodes": 257}, {"loss": "ane"}],
    ids=str,
)
def test_invalid_parameters_are_refused(invalid):
    X, y = noisy_problem(n_rows=20)
    with pytest.raises(core.InvalidParameter):
        core.RMBoostClassifier(**invalid).fit(X, y)


def test_invalid_rows_are_refused():
    X, y = noisy_problem(n_rows=20)
    with pytest.raises(core.InvalidInput, match="one class"):
        core.RMBoostClassifier().fit(X, np.zeros(20))
    with pytest.raises(core.InvalidInput, match="one class"):
        core.RMBoostClassifier().fit(X, y, sample_weight=y)
    with pytest.raises(core.InvalidInput, match="weight zero"):
        core.RMBoostClassifier().fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(core.InvalidInput, match="negative"):
        core.RMBoostClassifier().fit(X, y, sample_weight=-np.ones(20))


def test_bounds_match_the_published_values():
    vectors = reference("bounds.json")
    for case in vectors["vc_dimension"]:
        assert tree_vc_dimension(case["t"], case["d"]) == pytest.approx(case["D"], rel=1e-12)
    for case in vectors["full"]:
        dimension = tree_vc_dimension(case["t"], case["d"])
        fitted = FittedClassifier(case["R"], case["mu_l1"], case["lambda"], case["n"], dimension)
        certificate = certify(fitted, case["delta"], case["P_noise"])
        assert estimation_error(dimension, case["n"], case["delta"]) == pytest.approx(case["eps_est"], rel=1e-10)
        assert certificate.optimization == pytest.approx(case["eps_delta"], rel=1e-10)
        assert certificate.bound == pytest.approx(case["rhs20"], rel=1e-10)
    assert len(vectors["full"]) > 5


def test_certificate_terms_add_up_to_the_bound():
    X, y = noisy_problem(n_rows=2000)
    model = core.RMBoostClassifier(n_rounds=5, max_leaf_nodes=2).fit(X, y)
    certificate = model.certificate(delta=0.1, noise_rate=0.1)
    norm = np.abs(model.rule_weights_).sum()
    assert certificate.noise == pytest.approx(0.2 * norm)
    assert certificate.regularization == pytest.approx(-norm / np.sqrt(2000))
    assert certificate.bound == pytest.approx(sum(certificate[:5]))
    assert model.certificate().noise == 0
    assert certificate.is_vacuous == (certificate.bound >= 1)
    small_sample = core.RMBoostClassifier(n_rounds=5).fit(X[:40], y[:40]).certificate()
    assert small_sample.bound == np.inf
    assert small_sample.is_vacuous
    for invalid in [
        {"delta": 0},
        {"delta": 1},
        {"delta": "a"},
        {"delta": None},
        {"noise_rate": -0.1},
        {"noise_rate": "x"},
    ]:
        with pytest.raises(core.InvalidParameter):
            model.certificate(**invalid)
    deviation = np.sqrt(np.log(2 / 0.1) / (2 * 2000))
    assert certificate.safe_bound == pytest.approx(certificate.bound + norm * deviation)
    assert model.set_params(max_leaf_nodes=9).certificate(delta=0.1, noise_rate=0.1) == certificate


def test_certificate_requires_equal_row_weights():
    X, y = noisy_problem(n_rows=300)
    weighted = core.RMBoostClassifier(n_rounds=3, class_weight={0: 1.0, 1: 9.0}).fit(X, y)
    with pytest.raises(core.InvalidInput, match="class_weight"):
        weighted.certificate()
    assert weighted.fit_summary().certificate is None
    equal_weights = core.RMBoostClassifier(n_rounds=3).fit(X, y, sample_weight=np.full(300, 3.0))
    assert equal_weights.fit_summary().certificate is not None


def test_memory_is_not_reserved_for_all_rounds_in_advance():
    X, y = noisy_problem(n_rows=60)
    model = core.RMBoostClassifier(n_rounds=10**9, max_leaf_nodes=2).fit(X, y)
    assert model.stop_reason_ == "edge"


def test_optimization_error_is_zero_for_small_weights():
    for norm, delta in product([0.0, 0.3, 0.5], [0.01, 0.1]):
        assert optimization_error(norm, 20.0, 100, delta) == 0
