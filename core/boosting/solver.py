"""The solver of LPBoost's linear programs: HiGHS, by the simplex method, going on from where it stopped."""

from typing import Any

import highspy

from core.exceptions import SolverFailed

#: How far the solver's answers may be from feasible, on both sides.
SOLVER_TOLERANCE = 1e-9
UNLIMITED = 2**31 - 1


def new_solver(iteration_limit: int = UNLIMITED) -> Any:
    """A solver without a program, silent, in one thread: its answers depend on nothing else."""
    solver = highspy.Highs()
    options = {
        "output_flag": False,
        "threads": 1,
        "solver": "simplex",
        "presolve": "off",  # presolving gives up what the last run knew
        "primal_feasibility_tolerance": SOLVER_TOLERANCE,
        "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        "simplex_iteration_limit": iteration_limit,
    }
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver


def run_to_optimum(solver: Any, last_solution: Any) -> None:
    """Solve what the solver holds. Raises SolverFailed with `last_solution`."""
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        solver.clearSolver()  # once more without what was known, which may have been what stood in the way
        solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverFailed(solver.modelStatusToString(status), last_solution)
