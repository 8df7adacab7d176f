"""The rounds of robust minimax boosting: rule -> linear program -> weights (Mazuelas and Alvarez 2025, Algorithm 1).

Steps 14 to 16, which drop rules, are not as printed: a rule goes when |sum_i w_i ytilde_i h(x_i)| < lambda, with the
absolute value, and only after R strictly fell. As printed, rules of negative weight would go and R could rise; and
where R stands still, which rules that say -1 or 1 often make it do, the same rules could come and go for ever.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule, resampled
from core.boosting.boosted_classifier import BinaryProblem
from core.boosting.linear_program import MARGIN_LIMIT, MARGIN_TOLERANCE, MinimaxProgram
from core.boosting.rule_table import RuleTable
from core.boosting.rules import Rule


class RoundLimits(NamedTuple):
    """When the rounds end, and what happens in them."""

    n_rounds: int
    n_leaves: int
    regularization: float  # lambda
    resamples: bool
    drops_rules: bool


class MinimaxRounds(NamedTuple):
    """What the rounds came to."""

    rules: list[Rule]
    weights: NDArray[np.float64]  # (rule,)
    minimax_risk: float
    risk_path: NDArray[np.float64]  # (round,), R after each
    stop_reason: str  # "edge" or "n_rounds"


def run_rounds(
    problem: BinaryProblem,
    learner: BaseLearner,
    limits: RoundLimits,
    outputs_of: Callable[[GrownRule], NDArray[np.float64]],
) -> MinimaxRounds:
    """Algorithm 1. `outputs_of` says what the leaves of a tree say, (leaf,) in [-1, 1].

    Raises SolverFailed and FitStopped.
    """
    table = RuleTable(limits.n_rounds, len(problem.signs), limits.n_leaves)
    program = MinimaxProgram(table, problem.signs, problem.shares, limits.regularization)
    rules: list[Rule] = []
    risk_path: list[float] = []
    stop_reason = "n_rounds"
    for number in range(limits.n_rounds):
        signed = program.signed_weights()
        grown = learner.grow(resampled(signed, problem.generator) if limits.resamples else signed)
        outputs = outputs_of(grown)
        table.add(grown.leaves, outputs)
        if table.average(signed, number) <= limits.regularization:
            stop_reason = "edge"
            break
        rules.append(grown.rule(outputs))
        program.add_rule(number)
        risk_path.append(min(program.solve().minimax_risk, risk_path[-1] if risk_path else MARGIN_LIMIT))
        if limits.drops_rules:
            _drop_slack(program, risk_path, limits.regularization)
    solution = program.solution
    kept = [rules[rule] for rule in solution.rules]
    return MinimaxRounds(kept, solution.rule_weights, solution.minimax_risk, np.array(risk_path), stop_reason)


def _drop_slack(program: MinimaxProgram, risk_path: list[float], regularization: float) -> None:
    before = risk_path[-2] if len(risk_path) > 1 else MARGIN_LIMIT
    if risk_path[-1] >= before - MARGIN_TOLERANCE:
        return
    slack = np.abs(program.edges()) < regularization - MARGIN_TOLERANCE
    if slack.any():
        program.drop_rules(slack)
