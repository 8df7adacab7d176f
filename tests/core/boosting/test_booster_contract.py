"""What the boosters promise as classifiers: scikit-learn's own checks."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

import core

BOOSTERS = [core.ESTIMATORS[kind](n_rounds=10, random_state=0) for kind in core.ESTIMATORS if "boost" in kind]
_SURE_LEAVES = (
    "wants class 0 predicted nearly everywhere on overlapping blobs whose other rows weigh 1e-7 as much; "
    "a rule keeps its leaves of those rows whatever they weigh"
)
_EQUAL_SPLITS = (
    "has 15 rows in three blobs that several splits tell apart equally well, and rounding decides between them; "
    "on rows without such ties the two fits are equal, as test_boosters.py and test_rmboost.py show"
)
EXPECTED_FAILURES = {type(e).__name__: {"check_class_weight_classifiers": _SURE_LEAVES} for e in BOOSTERS}
for name in ("LogitBoostClassifier", "RMBoostClassifier"):
    EXPECTED_FAILURES[name]["check_sample_weight_equivalence_on_dense_data"] = _EQUAL_SPLITS


with warnings.catch_warnings():
    # The contract is kept without scikit-learn's base class; that it is kept is what the checks find out.
    warnings.filterwarnings("ignore", message=".*does not inherit from `sklearn.base.BaseEstimator`")
    scikit_learn_checks = parametrize_with_checks(
        BOOSTERS, expected_failed_checks=lambda e: EXPECTED_FAILURES[type(e).__name__]
    )


@scikit_learn_checks
def test_scikit_learn_checks(estimator, check):
    check(estimator)
