"""POST /train: noise injection and corrections."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from core import ESTIMATORS
from tests.app.training.train_requests import TREE, n_jobs, refused, wide_dataset

CORRECTION = {"kind": "forward", "transition": [[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]]}
ESTIMATE = {"transition": "estimate"}


def two_classes(n_rows: int) -> dict[str, Any]:
    return {"columns": {"x": list(range(n_rows)), "y": [row % 2 for row in range(n_rows)]}, "target": "y"}


class TestAccepted:
    @pytest.mark.parametrize(
        "inject",
        [
            {"kind": "one_sided", "class": "b", "rate": 0.5},
            {"kind": "matrix", "transition": [[0.9, 0.1, 0], [0, 1, 0], [0.2, 0.2, 0.6]]},
            {"kind": "class_conditional"},
            {"kind": "adversarial", "rate": 0.1},
        ],
        ids=str,
    )
    def test_every_kind_of_noise(self, client: TestClient, three: str, inject: dict[str, Any]) -> None:
        body = {"dataset_id": three, "model": TREE, "noise": {"inject": inject}}
        assert client.post("/train", json=body).json()["request"]["noise"] == {"inject": inject, "correction": None}

    def test_noise_of_two_classes(self, client: TestClient, dataset_id: str) -> None:
        for inject in ({"kind": "pairwise", "rates": [0.1, 0.3]}, {"kind": "one_sided", "class": 1, "rate": 0.2}):
            body = {"dataset_id": dataset_id, "model": TREE, "noise": {"inject": inject}}
            assert client.post("/train", json=body).json()["request"]["noise"]["inject"] == inject

    @pytest.mark.parametrize("kind", ["forward", "backward"])
    @pytest.mark.parametrize("model", ["tree", "forest", "extra_trees"])
    @pytest.mark.parametrize("transition", [CORRECTION["transition"], "estimate"], ids=["matrix", "estimate"])
    def test_corrections(self, client: TestClient, three: str, model: str, kind: str, transition: Any) -> None:
        correction = {"kind": kind, "transition": transition}
        body = {"dataset_id": three, "model": {"kind": model}, "noise": {"correction": correction}}
        assert client.post("/train", json=body).json()["request"]["noise"]["correction"] == correction


class TestRefused:
    def test_a_rate_at_which_labels_carry_no_information(self, client: TestClient, dataset_id: str) -> None:
        body = {"dataset_id": dataset_id, "model": TREE, "noise": {"inject": {"kind": "uniform", "rate": 0.5}}}
        assert refused(client, body) == ("invalid_noise", ["/noise/inject/rate"])

    @pytest.mark.parametrize(
        ("inject", "key", "words"),
        [
            ({"kind": "uniform", "rate": 0.7}, "rate", "below 0.666667"),
            ({"kind": "adversarial", "rate": 0.7}, "rate", "below 0.666667"),
            ({"kind": "pairwise", "rates": [0.1, 0.2]}, "kind", "exactly 2 classes, and the labels have 3 classes"),
            ({"kind": "one_sided", "class": "d", "rate": 0.1}, "class", "'d'; the classes are 'a', 'b', 'c'"),
            ({"kind": "matrix", "transition": [[0.9, 0.1], [0.2, 0.8]]}, "transition", "2 x 2"),
            ({"kind": "matrix", "transition": [[0.9, 0.1, 0]]}, "transition", "must be square"),
            ({"kind": "matrix", "transition": [[0.9, 0.1], [1]]}, "transition", "not square: row 1 of 2 has length 1"),
            ({"kind": "matrix", "transition": [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.6]]}, "transition", "sums to 1.1"),
        ],
        ids=str,
    )
    def test_noise_that_is_incompatible_with_the_classes(
        self, client: TestClient, three: str, inject: dict[str, Any], key: str, words: str
    ) -> None:
        body = {"dataset_id": three, "model": TREE, "noise": {"inject": inject}}
        assert refused(client, body) == ("invalid_noise", [f"/noise/inject/{key}"])
        assert words in client.post("/train", json=body).json()["detail"]
        assert n_jobs(client) == 0

    @pytest.mark.parametrize(
        ("n_classes", "n_features", "words"), [(300, 700, "1.5e+13 steps"), (3, 6700, "134,670,000 cells")], ids=str
    )
    def test_too_many_classes_and_features_for_distances(
        self, client: TestClient, n_classes: int, n_features: int, words: str
    ) -> None:
        wide = wide_dataset(client, n_classes, n_features)
        body = {"dataset_id": wide, "model": TREE, "noise": {"inject": {"kind": "class_conditional"}}}
        assert refused(client, body) == ("invalid_noise", ["/noise/inject/kind"])
        assert words in client.post("/train", json=body).json()["detail"]
        body["noise"] = {"inject": {"kind": "uniform", "rate": 0.1}}
        assert client.post("/train", json=body).status_code == 202

    @pytest.mark.parametrize(
        ("model", "correction", "pointer", "words"),
        [
            (TREE, {"transition": [[0.9, 0.1], [0.2, 0.8]]}, "/transition", "2 x 2 and the labels have 3 classes"),
            (TREE, {"transition": [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.6]]}, "/transition", "sums to 1.1"),
            (TREE, {"transition": [[1, 0, 0]]}, "/transition", "must be square"),
            (TREE, {"transition": [[0.2, 0.4, 0.4]] * 3}, "/transition", "condition number"),
            ({"kind": "forest", "loss": "ne"}, {"kind": "backward"}, "/kind", "the loss is 'ne'"),
            ({"kind": "tree", "loss": "ane"}, {"kind": "backward"}, "/kind", "the loss is 'adaptive_ne'"),
            ({"kind": "forest", "loss": "ne"}, {**ESTIMATE, "kind": "backward"}, "/kind", "the loss is 'ne'"),
            *(
                ({"kind": kind}, correction, "", f"{kind!r} does not support correction")
                for kind in ESTIMATORS
                if kind not in ("tree", "forest", "extra_trees")
                for correction in ({}, ESTIMATE)
            ),
        ],
        ids=str,
    )
    def test_corrections_that_are_not_possible(
        self, client: TestClient, three: str, model: Any, correction: dict[str, Any], pointer: str, words: str
    ) -> None:
        body = {"dataset_id": three, "model": model, "noise": {"correction": {**CORRECTION, **correction}}}
        assert refused(client, body) == ("invalid_noise", [f"/noise/correction{pointer}"])
        assert words in client.post("/train", json=body).json()["detail"]
        assert n_jobs(client) == 0

    @pytest.mark.parametrize("transition", [CORRECTION["transition"], "estimate"], ids=["matrix", "estimate"])
    def test_a_correction_needs_rows_of_every_class(self, client: TestClient, three: str, transition: Any) -> None:
        model = {"kind": "tree", "class_weight": {"b": 0}}
        body = {"dataset_id": three, "model": model, "noise": {"correction": {**CORRECTION, "transition": transition}}}
        assert refused(client, body) == ("invalid_training_request", ["/model/class_weight/b"])

    def test_too_few_rows_to_estimate_from(self, client: TestClient) -> None:
        body = {"data": two_classes(19), "model": TREE, "noise": {"correction": {**CORRECTION, **ESTIMATE}}}
        body["evaluation"] = {"kind": "none"}
        assert refused(client, body) == ("invalid_noise", ["/noise/correction/transition"])
        assert "19 rows of 2 classes are too few" in client.post("/train", json=body).json()["detail"]

    @pytest.mark.parametrize(
        ("evaluation", "enough"),
        [
            ({"kind": "none"}, 20),
            ({"kind": "holdout"}, 25),
            ({"kind": "holdout", "test_fraction": 0.01}, 21),
            ({"kind": "holdout", "test_fraction": 0.5, "stratify": False}, 40),
            ({"kind": "cross_validation"}, 25),
            ({"kind": "cross_validation", "folds": 2}, 40),
            ({"kind": "cross_validation", "folds": 3}, 30),
        ],
        ids=str,
    )
    def test_the_smallest_training_part_must_have_enough_rows(
        self, client: TestClient, evaluation: dict[str, Any], enough: int
    ) -> None:
        body = {"model": TREE, "noise": {"correction": {**CORRECTION, **ESTIMATE}}, "evaluation": evaluation}
        too_few = body | {"data": two_classes(enough - 1)}
        assert refused(client, too_few) == ("invalid_noise", ["/noise/correction/transition"])
        assert "in training 19 rows" in client.post("/train", json=too_few).json()["detail"]
        assert n_jobs(client) == 0
        assert client.post("/train", json=body | {"data": two_classes(enough)}).status_code == 202

    @pytest.mark.parametrize("transition", ["estimated", "", None, 0.2], ids=str)
    def test_a_transition_that_is_neither_a_matrix_nor_estimate(
        self, client: TestClient, three: str, transition: Any
    ) -> None:
        correction = {"kind": "forward", "transition": transition}
        code, pointers = refused(client, {"dataset_id": three, "model": TREE, "noise": {"correction": correction}})
        assert code == "invalid_request"
        assert {pointer.split("/transition")[0] for pointer in pointers} == {"/noise/correction"}
