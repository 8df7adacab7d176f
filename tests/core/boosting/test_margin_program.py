"""Incremental linear program of LPBoost, compared with one dense solution."""

import numpy as np
import pytest
from scipy.optimize import linprog

import core
from core.boosting.boosted_classifier import BinaryProblem
from core.boosting.lpboost import MarginProgram
from core.boosting.rule_table import RuleTable

_OUTPUTS = np.array([-1.0, 1.0])


def random_problem(n_rows, n_rules, seed, n_copies=1):
    """Return a problem with `n_copies` copies of each row, and rule outputs of -1 or 1, (row, rule)."""
    rng = np.random.default_rng(seed)
    signs = np.repeat(rng.choice([-1.0, 1.0], n_rows), n_copies)
    noise = np.repeat(rng.normal(size=(n_rows, n_rules)), n_copies, axis=0)
    outputs = np.where(0.6 * signs[:, np.newaxis] + noise > 0, 1.0, -1.0)
    return BinaryProblem(signs, rng.dirichlet(np.full(len(signs), 5.0)), rng), outputs


def margin_program(problem, outputs, outlier_share, **limits):
    """Return the program over a rule table of these outputs."""
    table = RuleTable(outputs.shape[1], len(outputs), 2)
    for column in outputs.T:
        table.add((column > 0).astype(np.uint8), _OUTPUTS)
    return MarginProgram(table, problem, outlier_share, **limits)


def row_weight_limits(problem, outlier_share):
    return (
        np.ones(len(problem.row_shares))
        if outlier_share is None
        else np.minimum(problem.row_shares / outlier_share, 1.0)
    )


def dense_margin(problem, outputs, limits):
    """Return the soft margin from one linear program with a shortfall variable per row."""
    n_rows, n_rules = outputs.shape
    cost = np.concatenate([np.zeros(n_rules), [-1.0], limits])  # rule weights, margin, shortfalls
    shortfall_rows = np.hstack([-problem.signs[:, np.newaxis] * outputs, np.ones((n_rows, 1)), -np.eye(n_rows)])
    weights_sum = np.concatenate([np.ones(n_rules), np.zeros(n_rows + 1)])[np.newaxis, :]
    bounds = [(0, None)] * n_rules + [(None, None)] + [(0, None)] * n_rows
    return -linprog(cost, A_ub=shortfall_rows, b_ub=np.zeros(n_rows), A_eq=weights_sum, b_eq=[1.0], bounds=bounds).fun


def check_optimal(solution, problem, outputs, limits):
    """Check that the solution is primal and dual feasible with equal values, hence optimal."""
    assert (solution.rule_weights >= 0).all()
    assert (solution.row_weights >= 0).all()
    assert solution.rule_weights.sum() == pytest.approx(1)
    assert solution.row_weights.sum() == pytest.approx(1)
    assert (solution.row_weights <= limits + 1e-9).all()
    assert (problem.signs * solution.row_weights @ outputs).max() == pytest.approx(solution.margin, abs=1e-12)
    margins = problem.signs * (outputs @ solution.rule_weights)
    soft_margin = max(margin - limits @ np.maximum(0, margin - margins) for margin in margins)
    assert soft_margin == pytest.approx(solution.margin, abs=1e-8)


@pytest.mark.parametrize("outlier_share", [0.02, 0.1, 0.5, None])
@pytest.mark.parametrize(("n_rows", "n_rules", "n_copies"), [(2, 3, 1), (60, 15, 1), (60, 15, 4), (300, 60, 1)])
def test_every_round_matches_the_dense_optimum(outlier_share, n_rows, n_rules, n_copies):
    problem, outputs = random_problem(n_rows, n_rules, 0, n_copies)
    limits = row_weight_limits(problem, outlier_share)
    program, before = margin_program(problem, outputs, outlier_share), -np.inf
    for n_added in range(1, n_rules + 1):
        program.add_rule()
        solution = program.solve()
        assert solution.margin >= before - 1e-8
        before = solution.margin
        check_optimal(solution, problem, outputs[:, :n_added], limits)
        if n_added < 5 or n_added == n_rules:
            assert solution.margin == pytest.approx(dense_margin(problem, outputs[:, :n_added], limits), abs=1e-8)


def test_duplicate_and_perfect_rules():
    problem, outputs = random_problem(40, 6, 1)
    outputs = np.column_stack([outputs, outputs[:, 0], -outputs[:, 1], problem.signs, problem.signs])
    program, limits = margin_program(problem, outputs, 0.2), row_weight_limits(problem, 0.2)
    for n_added in range(1, outputs.shape[1] + 1):
        program.add_rule()
        check_optimal(program.solve(), problem, outputs[:, :n_added], limits)
    assert program.solution.margin == pytest.approx(1)


def test_rebuilt_dictionary_equals_the_updated_one():
    problem, outputs = random_problem(120, 30, 2)
    program = margin_program(problem, outputs, 0.1)
    for _ in range(30):
        program.add_rule()
        program.solve()
    simplex, solution = program._simplex, program.solution
    copies = [array.copy() for array in simplex._dictionary]
    for array in (simplex._dictionary.entries, simplex._dictionary.value, simplex._dictionary.gradient):
        array += 1e-3  # large enough to show if any old value is used
    program._rebuild()
    for before, after in zip(copies, simplex._dictionary, strict=True):
        np.testing.assert_allclose(after[..., : before.shape[-1]][:31], before[:31], atol=1e-9)
    assert simplex.run(0).n_steps == 0
    np.testing.assert_allclose(simplex.row_weights(), solution.row_weights, atol=1e-9)


def test_solver_failure_is_raised_and_keeps_the_last_optimum():
    problem, outputs = random_problem(80, 20, 3)
    program = margin_program(problem, outputs, 0.1, iteration_limit=12)
    for _ in range(2):
        program.add_rule()
        last = program.solve()
    for _ in range(18):
        program.add_rule()
    with pytest.raises(core.SolverFailed, match="teration limit") as failure:
        program.solve()
    assert failure.value.solution is program.solution is last


def test_imprecise_solution_keeps_the_last_optimum(monkeypatch):
    problem, outputs = random_problem(80, 5, 4)
    program = margin_program(problem, outputs, 0.1)
    program.add_rule()
    first = program.solve()
    monkeypatch.setattr("core.boosting.lpboost._MAX_GAP", -1.0)
    monkeypatch.setattr("core.boosting.lpboost._MAX_GAP_REBUILT", -1.0)
    program.add_rule()
    with pytest.raises(core.SolverFailed, match="not precise"):
        program.solve()
    assert program.solution is first
