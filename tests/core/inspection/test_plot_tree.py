"""Pictures of trees: texts, places and colors of the boxes."""

import sys

import numpy as np
import pytest

import core


@pytest.fixture
def axes():
    matplotlib = pytest.importorskip("matplotlib", reason="plot_tree needs the optional package matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


@pytest.fixture
def tree():
    X = np.array([[0.0, 1], [1, 1], [2, 0], [3, 1], [4, 0], [5, 0]])
    return core.TreeClassifier(loss="entropy").fit(X, ["a", "a", "b", "b", "a", "a"])


def test_every_node_has_a_box_with_its_numbers(axes, tree):
    boxes = core.plot_tree(tree, ax=axes, class_names=True, node_ids=True)
    assert len(boxes) == tree.tree_.node_count
    assert boxes[0].get_text().splitlines() == [
        "node #0", "feature_0 <= 1.500", "entropy = 0.637", "samples = 6", "value = [4, 2]", "class = a",
    ]  # fmt: skip


def test_options_of_the_texts(axes, tree):
    plain = core.plot_tree(tree, ax=axes, impurity=False, proportion=True, label="none", feature_names=["x", "z"])
    assert plain[0].get_text().splitlines() == ["x <= 1.500", "100.0%", "[0.667, 0.333]"]
    rooted = core.plot_tree(tree, ax=axes, label="root", impurity=False)
    assert "samples = 6" in rooted[0].get_text()
    assert "samples" not in rooted[1].get_text()


def test_boxes_of_a_level_do_not_overlap(axes, tree):
    boxes = core.plot_tree(tree, ax=axes)
    axes.figure.canvas.draw()
    extents = [box.get_bbox_patch().get_window_extent() for box in boxes]
    for i, one in enumerate(extents):
        assert all(not one.overlaps(other) for other in extents[i + 1 :])


def test_deeper_branches_are_truncated(axes, tree):
    boxes = core.plot_tree(tree, ax=axes, max_depth=0)
    assert [box.get_text().strip() for box in boxes[1:]] == ["(...)", "(...)"]


@pytest.mark.parametrize("invalid", [{"max_depth": -1}, {"precision": 1.5}, {"label": "some"}], ids=str)
def test_invalid_arguments_are_refused(tree, invalid):
    with pytest.raises(core.InvalidParameter, match=next(iter(invalid))):
        core.plot_tree(tree, **invalid)


def test_an_infinite_depth_is_refused_in_favor_of_none(tree):
    with pytest.raises(core.InvalidParameter, match=r"max_depth is inf; it must be .* or None \(no limit\)"):
        core.plot_tree(tree, max_depth=np.inf)


def test_filled_boxes_have_the_color_of_their_class(axes, tree):
    colors = [box.get_bbox_patch().get_facecolor() for box in core.plot_tree(tree, ax=axes, filled=True)]
    leaves = np.flatnonzero(tree.tree_.children_left < 0)
    by_class = {int(np.argmax(tree.tree_.value[leaf])): colors[leaf] for leaf in leaves}
    assert len(set(by_class.values())) == 2
    assert all(colors[leaf] == by_class[int(np.argmax(tree.tree_.value[leaf]))] for leaf in leaves)


def test_splits_of_categories_name_their_set(axes):
    pandas = pytest.importorskip("pandas", reason="names of categories come in data frames")
    frame = pandas.DataFrame({"job": ["cook", "pilot", "nurse"]})
    boxes = core.plot_tree(core.TreeClassifier().fit(frame, ["no", "yes", "no"]), ax=axes)
    assert boxes[0].get_text().splitlines()[0] in ("job in {pilot}", "job not in {pilot}", "job in {cook, nurse}")


def test_a_tree_of_one_leaf(axes):
    assert len(core.plot_tree(core.TreeClassifier().fit([[0.0]], [1]), ax=axes, filled=True, rounded=True)) == 1


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch, tree):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'bristlecone\[plot\]'"):
        core.plot_tree(tree)


def test_names_of_classes_may_be_an_array(axes):
    tree = core.TreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    boxes = core.plot_tree(tree, ax=axes, class_names=np.array(["good", "bad"]))
    assert any("good" in box.get_text() for box in boxes)
