"""Incremental linear program of minimax boosting, compared with published vectors and one dense solution."""

import numpy as np
import pytest
from scipy.optimize import linprog

import core
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.linear_programs.minimax_simplex import MinimaxSimplex
from core.boosting.rule_table import RuleTable
from core.kernels.simplex.dictionary import OPTIMAL
from tests.shared_material import reference


def rule_table(outputs, n_rules=None):
    """Return a rule table of these outputs, (row, rule)."""
    table = RuleTable(n_rules or outputs.shape[1], len(outputs), 256)
    for column in outputs.T:
        values, leaves = np.unique(column, return_inverse=True)
        table.add(leaves.astype(np.uint8), values)
    return table


def dense_risk(outputs, signs, row_shares, regularization):
    """Return the minimax risk from one linear program over all rows and rules."""
    tau = (signs * row_shares) @ outputs
    signed_outputs = np.hstack([outputs, -outputs])
    cost = np.concatenate([regularization - tau, regularization + tau])
    margin_rows = np.vstack([signed_outputs, -signed_outputs])
    solution = linprog(cost, A_ub=margin_rows, b_ub=np.full(2 * len(outputs), 0.5), method="highs")
    return 0.5 + solution.fun


def check_optimal(program, outputs, signs, row_shares, regularization, atol=1e-7):
    """Check primal and dual feasibility, equal values and complementary slackness, hence optimality."""
    solution = program.solution
    alpha, beta = np.maximum(solution.margin_duals, 0), np.maximum(-solution.margin_duals, 0)
    mu, active_outputs = solution.rule_weights, outputs[:, solution.rules]
    margins = active_outputs @ mu
    assert np.abs(margins).max(initial=0.0) <= 0.5 + atol
    edges = active_outputs.T @ (signs * row_shares - alpha + beta)
    assert np.abs(edges).max(initial=0.0) <= regularization + atol
    np.testing.assert_allclose(program.edges(), edges, atol=1e-12)
    primal = 0.5 - (signs * row_shares) @ margins + regularization * np.abs(mu).sum()
    assert solution.minimax_risk == pytest.approx(primal, abs=atol)
    assert solution.minimax_risk == pytest.approx((1 - (alpha + beta).sum()) / 2, abs=atol)
    used = np.abs(mu) > atol
    np.testing.assert_allclose(edges[used], regularization * np.sign(mu[used]), atol=atol)


def test_published_programs_are_solved():
    cases = reference("rmboost_lp.json")["cases"]
    for case in cases:
        outputs, signs = np.array(case["U"], dtype=np.float64), np.array(case["y"], dtype=np.float64)
        row_shares = np.full(len(signs), 1 / len(signs))
        program = MinimaxProgram(rule_table(outputs), signs, row_shares, case["lambda"])
        for rule in range(outputs.shape[1]):
            program.add_rule(rule)
        solution = program.solve()
        assert solution.minimax_risk == pytest.approx(case["R"], abs=1e-9), case["name"]
        check_optimal(program, outputs, signs, row_shares, case["lambda"])
        if "mu_low" in case:
            assert (solution.rule_weights >= np.array(case["mu_low"]) - 2e-6).all()
            assert (solution.rule_weights <= np.array(case["mu_high"]) + 2e-6).all()
        if case["weights_unique"]:
            expected = np.array(case["one_solution"]["weights"])
            np.testing.assert_allclose(np.abs(program.signed_weights()), expected, atol=1e-7)
    assert len(cases) > 5


@pytest.mark.parametrize("kind", ["signs", "grid"])
@pytest.mark.parametrize(("n_rows", "n_rules"), [(5, 3), (40, 12), (300, 25), (2000, 15)])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_round_matches_the_dense_optimum(kind, n_rows, n_rules, seed):
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], n_rows)
    noise = rng.normal(size=(n_rows, n_rules))
    score = 0.7 * signs[:, np.newaxis] + noise
    outputs = np.sign(score) if kind == "signs" else np.round(np.tanh(score), 2)
    row_shares = rng.dirichlet(np.ones(n_rows)) if seed else np.full(n_rows, 1 / n_rows)
    regularization = 1 / np.sqrt(n_rows)
    program = MinimaxProgram(rule_table(outputs), signs, row_shares, regularization)
    previous_risk = 0.5
    for rule in range(n_rules):
        program.add_rule(rule)
        risk = program.solve().minimax_risk
        assert risk <= previous_risk + 1e-9
        previous_risk = risk
        if rule < 5 or rule == n_rules - 1:
            assert risk == pytest.approx(
                dense_risk(outputs[:, : rule + 1], signs, row_shares, regularization), abs=1e-6
            )
            check_optimal(program, outputs, signs, row_shares, regularization)
    working_set = program._rows
    assert len(working_set) == len(np.unique(working_set))


def test_dropping_slack_rules_leaves_the_optimum_unchanged():
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], 200)
    outputs = np.round(np.tanh(0.5 * signs[:, np.newaxis] + rng.normal(size=(200, 30))), 2)
    row_shares = np.full(200, 1 / 200)
    program = MinimaxProgram(rule_table(outputs), signs, row_shares, 0.1)
    for rule in range(29):
        program.add_rule(rule)
    risk = program.solve().minimax_risk
    slack = np.abs(program.edges()) < 0.1 - 1e-6
    assert slack.any()
    assert (program.solution.rule_weights[slack] == 0).all()
    program.drop_rules(slack)
    check_optimal(program, outputs, signs, row_shares, 0.1)
    assert program.solve().minimax_risk == pytest.approx(risk, abs=1e-9)
    program.add_rule(29)
    assert program.solve().minimax_risk == pytest.approx(
        dense_risk(outputs[:, program.solution.rules], signs, row_shares, 0.1), abs=1e-7
    )


def test_solver_failure_is_raised_and_keeps_the_last_optimum():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], 50)
    outputs = np.round(np.tanh(signs[:, np.newaxis] + rng.normal(size=(50, 10))), 2)
    program = MinimaxProgram(rule_table(outputs), signs, np.full(50, 1 / 50), 0.05, iteration_limit=3)
    program.add_rule(0)
    solved = program.solve()
    for rule in range(1, 10):
        program.add_rule(rule)
    with pytest.raises(core.SolverFailed, match="teration limit") as failure:
        program.solve()
    assert failure.value.solution.minimax_risk == solved.minimax_risk
    assert "teration" in failure.value.status


@pytest.mark.parametrize("seed", range(4))
def test_nearly_identical_rules(seed):
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], 100)
    outputs = (0.5 * signs + 0.3 * rng.choice([-1, 1], 100))[:, np.newaxis] + 1e-7 * rng.choice(
        [-1.0, 0.0, 1.0], (100, 4)
    )
    row_shares = np.full(100, 0.01)
    program = MinimaxProgram(rule_table(outputs), signs, row_shares, 0.1)
    for rule in range(4):
        program.add_rule(rule)
        risk = program.solve().minimax_risk
        assert risk == pytest.approx(dense_risk(outputs[:, : rule + 1], signs, row_shares, 0.1), abs=1e-6)


def test_adding_a_rule_never_raises_the_risk():
    rng = np.random.default_rng(8)
    signs = rng.choice([-1.0, 1.0], 300)
    outputs = np.round(np.tanh(0.5 * signs[:, np.newaxis] + rng.normal(size=(300, 60))), 1)
    program = MinimaxProgram(rule_table(outputs), signs, np.full(300, 1 / 300), 0.05)
    risks = []
    for rule in range(60):
        program.add_rule(rule)
        risks.append(program.solve().minimax_risk)
    assert np.diff(risks).max() <= 1e-8


def test_rebuilt_dictionary_gives_the_same_solution():
    rng = np.random.default_rng(5)
    signs = rng.choice([-1.0, 1.0], 150)
    outputs = np.round(np.tanh(0.5 * signs[:, np.newaxis] + rng.normal(size=(150, 20))), 2)
    simplex = MinimaxSimplex(0.1)
    simplex.add_rows(np.empty((150, 0)))
    for rule in range(20):
        simplex.add_rule(signs @ outputs[:, rule] / 150, outputs[:, rule])
    assert simplex.run(10_000).status == OPTIMAL
    weights, duals = simplex.weights(), simplex.margin_duals()
    assert (weights != 0).sum() > 5
    for array in (simplex._dictionary.entries, simplex._dictionary.gradient):
        array[:] = rng.normal(size=array.shape)
    assert simplex.drift(outputs @ weights) > 1e-3
    simplex.rebuild(outputs)
    outcome = simplex.run(10_000)
    assert (outcome.status, outcome.n_steps) == (OPTIMAL, 0)
    assert simplex.drift(outputs @ simplex.weights()) < 1e-13
    np.testing.assert_allclose(simplex.weights(), weights, atol=1e-12)
    np.testing.assert_allclose(simplex.margin_duals(), duals, atol=1e-12)
    assert 0.5 - simplex.gain() == pytest.approx(dense_risk(outputs, signs, np.full(150, 1 / 150), 0.1), abs=1e-8)
