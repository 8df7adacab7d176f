"""The program of LPBoost against the whole of it solved at once."""

import numpy as np
import pytest
from scipy.optimize import linprog

import core
from core.boosting.boosted_classifier import BinaryProblem
from core.boosting.lpboost import MarginProgram
from core.boosting.rule_table import RuleTable

_OUTPUTS = np.array([-1.0, 1.0])


def problem_of(n_rows, n_rules, seed, n_alike=1):
    """A problem and what rules say, -1 or 1, (row, rule); each row is there `n_alike` times."""
    rng = np.random.default_rng(seed)
    signs = np.repeat(rng.choice([-1.0, 1.0], n_rows), n_alike)
    noise = np.repeat(rng.normal(size=(n_rows, n_rules)), n_alike, axis=0)
    outputs = np.where(0.6 * signs[:, np.newaxis] + noise > 0, 1.0, -1.0)
    return BinaryProblem(signs, rng.dirichlet(np.full(len(signs), 5.0)), rng), outputs


def program_of(problem, outputs, outlier_share, **limits):
    """The program, and the table that it takes its rules from."""
    table = RuleTable(outputs.shape[1], len(outputs), 2)
    for column in outputs.T:
        table.add((column > 0).astype(np.uint8), _OUTPUTS)
    return MarginProgram(table, problem, outlier_share, **limits)


def limits_of(problem, outlier_share):
    return (
        np.ones(len(problem.row_shares))
        if outlier_share is None
        else np.minimum(problem.row_shares / outlier_share, 1.0)
    )


def dense_margin(problem, outputs, limits):
    """The soft margin with every row's shortfall as a variable, solved from nothing."""
    n_rows, n_rules = outputs.shape
    cost = np.concatenate([np.zeros(n_rules), [-1.0], limits])  # rule weights, margin, shortfalls
    falls_short = np.hstack([-problem.signs[:, np.newaxis] * outputs, np.ones((n_rows, 1)), -np.eye(n_rows)])
    is_average = np.concatenate([np.ones(n_rules), np.zeros(n_rows + 1)])[np.newaxis, :]
    bounds = [(0, None)] * n_rules + [(None, None)] + [(0, None)] * n_rows
    return -linprog(cost, A_ub=falls_short, b_ub=np.zeros(n_rows), A_eq=is_average, b_eq=[1.0], bounds=bounds).fun


def check_optimal(solution, problem, outputs, limits):
    """Feasible on both sides, and of one value: an optimum, however it was found."""
    assert (solution.rule_weights >= 0).all()
    assert (solution.row_weights >= 0).all()
    assert solution.rule_weights.sum() == pytest.approx(1)
    assert solution.row_weights.sum() == pytest.approx(1)
    assert (solution.row_weights <= limits + 1e-9).all()
    assert (problem.signs * solution.row_weights @ outputs).max() == pytest.approx(solution.margin, abs=1e-12)
    margins = problem.signs * (outputs @ solution.rule_weights)
    best = max(margin - limits @ np.maximum(0, margin - margins) for margin in margins)
    assert best == pytest.approx(solution.margin, abs=1e-8)


@pytest.mark.parametrize("outlier_share", [0.02, 0.1, 0.5, None])
@pytest.mark.parametrize(("n_rows", "n_rules", "n_alike"), [(2, 3, 1), (60, 15, 1), (60, 15, 4), (300, 60, 1)])
def test_every_round_is_the_dense_optimum(outlier_share, n_rows, n_rules, n_alike):
    problem, outputs = problem_of(n_rows, n_rules, 0, n_alike)
    limits = limits_of(problem, outlier_share)
    program, before = program_of(problem, outputs, outlier_share), -np.inf
    for n_known in range(1, n_rules + 1):
        program.add_rule()
        solution = program.solve()
        assert solution.margin >= before - 1e-8
        before = solution.margin
        check_optimal(solution, problem, outputs[:, :n_known], limits)
        if n_known < 5 or n_known == n_rules:
            assert solution.margin == pytest.approx(dense_margin(problem, outputs[:, :n_known], limits), abs=1e-8)


def test_rules_that_say_the_same_or_are_always_right():
    problem, outputs = problem_of(40, 6, 1)
    outputs = np.column_stack([outputs, outputs[:, 0], -outputs[:, 1], problem.signs, problem.signs])
    program, limits = program_of(problem, outputs, 0.2), limits_of(problem, 0.2)
    for n_known in range(1, outputs.shape[1] + 1):
        program.add_rule()
        check_optimal(program.solve(), problem, outputs[:, :n_known], limits)
    assert program.solution.margin == pytest.approx(1)


def test_what_is_computed_anew_is_what_was_there():
    problem, outputs = problem_of(120, 30, 2)
    program = program_of(problem, outputs, 0.1)
    for _ in range(30):
        program.add_rule()
        program.solve()
    simplex, found = program._simplex, program.solution
    copies = [array.copy() for array in simplex._dictionary]
    for array in (simplex._dictionary.entries, simplex._dictionary.value, simplex._dictionary.gradient):
        array += 1e-3  # far enough off that nothing of it may be used
    program._rebuild()
    for kept, anew in zip(copies, simplex._dictionary, strict=True):
        np.testing.assert_allclose(anew[..., : kept.shape[-1]][:31], kept[:31], atol=1e-9)
    assert simplex.run(0).n_steps == 0
    np.testing.assert_allclose(simplex.row_weights(), found.row_weights, atol=1e-9)


def test_a_program_that_gives_up_says_so_and_keeps_the_last_optimum():
    problem, outputs = problem_of(80, 20, 3)
    program = program_of(problem, outputs, 0.1, iteration_limit=12)
    for _ in range(2):
        program.add_rule()
        last = program.solve()
    for _ in range(18):
        program.add_rule()
    with pytest.raises(core.SolverFailed, match="teration limit") as failure:
        program.solve()
    assert failure.value.solution is program.solution is last


def test_the_last_optimum_stays_where_nothing_is_precise(monkeypatch):
    problem, outputs = problem_of(80, 5, 4)
    program = program_of(problem, outputs, 0.1)
    program.add_rule()
    first = program.solve()
    monkeypatch.setattr("core.boosting.lpboost._MAX_GAP", -1.0)
    monkeypatch.setattr("core.boosting.lpboost._MAX_GAP_REBUILT", -1.0)
    program.add_rule()
    with pytest.raises(core.SolverFailed, match="not precise"):
        program.solve()
    assert program.solution is first
