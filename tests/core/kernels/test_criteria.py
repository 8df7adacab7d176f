"""Criteria, and their tables of functions of integer weights."""

import typing

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import core
from core.growth.growing import with_tables_for
from core.kernels.criteria import dispatch, powers
from core.kernels.criteria.catalog import CRITERIA, Criterion
from core.kernels.criteria.norm import power_of_weight, tabled_power
from core.kernels.criteria.sides import EMPTY_SIDE, TABLE_LENGTH
from core.kernels.growth.partition import TreeRows
from tests.core import oracles
from tests.core.kernels.criteria_by_hand import ONE_OF_EACH, node_impurity, split_gain


def test_every_criterion_has_one_row_and_one_example():
    examples = [type(criterion) for criterion in ONE_OF_EACH]
    assert sorted(examples, key=repr) == sorted(CRITERIA, key=repr)
    assert set(typing.get_args(Criterion)) == set(CRITERIA)


@pytest.mark.parametrize("kind", CRITERIA)
def test_trusted_tables_are_fields_that_come_with_a_flag(kind):
    table = CRITERIA[kind].trusted_table
    assert ("only_tabled" in kind._fields) == (table is not None)
    assert table is None or table in kind._fields


#: Criteria with an impurity for pure nodes: credal sets contain other classes, corrected labels need not have length 1.
PURE_NODES_ARE_IMPURE = {"Credal", "SignedGini"}


@pytest.mark.parametrize(
    "criterion",
    [c for c in ONE_OF_EACH if type(c).__name__ not in PURE_NODES_ARE_IMPURE],
    ids=lambda c: type(c).__name__,
)
def test_pure_nodes_have_impurity_zero_exactly(criterion):
    for weight in [0.1, 1.0, 3.7e5]:
        assert node_impurity(criterion, np.array([0.0, weight])) == 0.0
    side, class_weights = EMPTY_SIDE, np.zeros(2)
    for added in [0.1, 0.2, 0.3, 7.0]:
        side = dispatch.with_weight(criterion, side, class_weights, 1, added)
    assert dispatch.side_risk(criterion, side, class_weights) == 0.0


def test_only_corrected_labels_need_all_classes():
    kinds = {type(c).__name__ for c in ONE_OF_EACH if dispatch.needs_all_classes(c)}
    assert kinds == {"SignedGini"}


@pytest.mark.parametrize("loss", ["entropy", "credal"])
def test_tables_of_integer_weights_leave_results_bit_identical(loss):
    tabled = core.parse_loss(loss).criterion(3)
    untabled = tabled._replace(weighted_logs=np.zeros(1))
    for weights in random_integer_weights():
        assert node_impurity(tabled, weights) == node_impurity(untabled, weights)


@pytest.mark.parametrize("loss", ["entropy", {"kind": "gce", "q": 0.3}, {"kind": "gce", "q": 0.95}], ids=str)
def test_trees_of_integer_weights_need_only_tables(loss):
    checked = core.parse_loss(loss).criterion(3)
    for weights in random_integer_weights(TABLE_LENGTH):
        rows = TreeRows(np.arange(3), np.arange(3), weights)
        trusted = with_tables_for(checked, rows)
        assert (trusted.only_tabled, checked.only_tabled) == (True, False)
        assert node_impurity(trusted, weights) == pytest.approx(node_impurity(checked, weights), rel=1e-14)


@pytest.mark.parametrize("weights", [[1.0, 2.5, 1.0], [1.0, TABLE_LENGTH - 1.0, 1.0]])
def test_fractions_and_large_weights_are_not_read_from_tables(weights):
    checked = core.parse_loss("entropy").criterion(2)
    rows = TreeRows(np.arange(3), np.array([0, 1, 1]), np.array(weights))
    assert not with_tables_for(checked, rows).only_tabled
    assert with_tables_for(core.parse_loss("gini").criterion(2), rows) == core.parse_loss("gini").criterion(2)


@pytest.mark.parametrize("order", [1.02, 2.0, np.nextafter(3.0, 2.0), 3.0, 10 / 3, 25.0])
def test_powers_of_any_weight_are_exact_without_a_table(order):
    criterion = core.GeneralizedCrossEntropy(1.0 - 1.0 / order).criterion(2)._replace(order=order)
    criterion = criterion._replace(fraction=powers.PowerTables(*powers.new_power_tables(order % 1.0)))
    assert power_of_weight(criterion, 0.0) == 0.0
    for exponent in np.random.default_rng(0).uniform(-12, 32, 500):
        weight = 2.0**exponent
        assert power_of_weight(criterion, weight) == pytest.approx(weight**order, rel=1e-14)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0, 7.5, TABLE_LENGTH - 1.0, TABLE_LENGTH - 0.5, float(TABLE_LENGTH)])
def test_powers_of_weights_inside_and_outside_the_table_match_the_formula(weight):
    criterion = core.GeneralizedCrossEntropy().criterion(2)
    assert tabled_power(criterion, weight) == pytest.approx(weight**criterion.order, rel=1e-14)


# Growth with random cuts takes long to compile, and hardly depends on the loss.
@pytest.mark.parametrize(("loss", "splitter"), [("entropy", "best"), ("entropy", "random"), ("gce", "best")])
def test_trees_are_the_same_with_and_without_tables(loss, splitter):
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(0, 40, (600, 6)), rng.integers(0, 4, 600), rng.integers(1, 5, 600)
    model = core.TreeClassifier(loss=loss, splitter=splitter, random_state=0)
    integer = model.fit(X, y, weights).tree_
    fractional = model.fit(X, y, weights * 0.7).tree_
    assert_array_equal(integer.feature, fractional.feature)
    assert_array_equal(integer.threshold, fractional.threshold)


@pytest.mark.parametrize("q", [0.004, 0.999])
def test_gains_of_cuts_near_the_limits_of_q_match_the_formula(q):
    """No test grows a tree with random cuts and these criteria, since it would have to be compiled."""
    criterion = core.GeneralizedCrossEntropy(q).criterion(3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        left, right = (rng.integers(0, 17, 3) * rng.integers(0, 2, 3) / 8 + [0.125, 0, 0] for _ in range(2))
        gain = split_gain(criterion, node_impurity(criterion, left + right), left, right)
        expected = oracles.gain("gce", left.tolist(), right.tolist(), 3, q=q)
        assert gain == pytest.approx(expected, abs=1e-9)


def random_integer_weights(end=4 * TABLE_LENGTH):
    rng = np.random.default_rng(0)
    return [np.floor(rng.uniform(1, end ** rng.uniform(0.1, 1.0), 3)) for _ in range(100)]


@pytest.mark.parametrize("exponent", [0.0, 0.04, 0.3, 0.5, 0.99])
def test_powers_from_tables_match_the_power_function(exponent):
    tables = powers.PowerTables(*powers.new_power_tables(exponent))
    rng = np.random.default_rng(0)
    edges = [2.2250738585072014e-308, 1e-250, np.nextafter(1.0, 0.0), 1.0, np.nextafter(2.0, 0.0), 1.7e308]
    for x in [*edges, *rng.uniform(1, 2, 1000), *2.0 ** rng.uniform(-800, 800, 1000)]:
        assert powers.power_of(tables, float(x)) == pytest.approx(float(x) ** exponent, rel=1e-15)


@pytest.mark.parametrize("mass", [0.3, 1.0, 2.7])
def test_free_mass_is_added_to_the_lightest_classes_present_or_absent(mass):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n_classes = int(rng.integers(2, 7))
        weights = np.round(rng.uniform(0, 4, n_classes), int(rng.integers(0, 3))) * (rng.uniform(size=n_classes) < 0.7)
        weights[0] += 0.2
        criterion = core.CredalEntropy(mass).criterion(n_classes)
        expected = oracles.upper_entropy(list(weights), n_classes, mass)
        for listed in (weights, weights[weights > 0]):
            assert node_impurity(criterion, listed) == pytest.approx(expected, rel=1e-12, abs=1e-14)
