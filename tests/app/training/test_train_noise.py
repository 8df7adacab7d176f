"""POST /train: noise put into labels, and corrections for it."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from core import ESTIMATORS
from tests.app.training.train_requests import TREE, n_jobs, refused

CORRECTION = {"kind": "forward", "transition": [[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]]}


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
    def test_corrections(self, client: TestClient, three: str, model: str, kind: str) -> None:
        correction = {**CORRECTION, "kind": kind}
        body = {"dataset_id": three, "model": {"kind": model}, "noise": {"correction": correction}}
        assert client.post("/train", json=body).json()["request"]["noise"]["correction"] == correction


class TestRefused:
    def test_noise_that_leaves_nothing_to_learn(self, client: TestClient, dataset_id: str) -> None:
        body = {"dataset_id": dataset_id, "model": TREE, "noise": {"inject": {"kind": "uniform", "rate": 0.5}}}
        assert refused(client, body) == ("invalid_noise", ["/noise/inject/rate"])

    @pytest.mark.parametrize(
        ("inject", "key", "words"),
        [
            ({"kind": "uniform", "rate": 0.7}, "rate", "below 0.666667"),
            ({"kind": "adversarial", "rate": 0.7}, "rate", "below 0.666667"),
            ({"kind": "pairwise", "rates": [0.1, 0.2]}, "kind", "3 classes; it swaps exactly 2"),
            ({"kind": "one_sided", "class": "d", "rate": 0.1}, "class", "'d'; the classes are 'a', 'b', 'c'"),
            ({"kind": "matrix", "transition": [[0.9, 0.1], [0.2, 0.8]]}, "transition", "2 x 2"),
            ({"kind": "matrix", "transition": [[0.9, 0.1, 0]]}, "transition", "must be square"),
            ({"kind": "matrix", "transition": [[0.9, 0.1], [1]]}, "transition", "not a table of numbers"),
            ({"kind": "matrix", "transition": [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.6]]}, "transition", "sums to 1.1"),
        ],
        ids=str,
    )
    def test_noise_that_does_not_suit_the_classes(
        self, client: TestClient, three: str, inject: dict[str, Any], key: str, words: str
    ) -> None:
        body = {"dataset_id": three, "model": TREE, "noise": {"inject": inject}}
        assert refused(client, body) == ("invalid_noise", [f"/noise/inject/{key}"])
        assert words in client.post("/train", json=body).json()["detail"]
        assert n_jobs(client) == 0

    @pytest.mark.parametrize(
        ("model", "correction", "pointer", "words"),
        [
            (TREE, {"transition": [[0.9, 0.1], [0.2, 0.8]]}, "/transition", "2 x 2 and the labels have 3 classes"),
            (TREE, {"transition": [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.6]]}, "/transition", "sums to 1.1"),
            (TREE, {"transition": [[1, 0, 0]]}, "/transition", "must be square"),
            (TREE, {"transition": [[0.2, 0.4, 0.4]] * 3}, "/transition", "condition number"),
            (TREE, {"transition": "estimate"}, "/transition", "cannot be estimated"),
            ({"kind": "forest", "loss": "ne"}, {"kind": "backward"}, "/kind", "'ne' needs probabilities"),
            ({"kind": "tree", "loss": "ane"}, {"kind": "backward"}, "/kind", "'adaptive_ne' needs probabilities"),
            *(
                ({"kind": kind}, {}, "", f"{kind!r} takes no correction")
                for kind in ESTIMATORS
                if kind not in ("tree", "forest", "extra_trees")
            ),
        ],
        ids=str,
    )
    def test_corrections_that_cannot_be_made(
        self, client: TestClient, three: str, model: Any, correction: dict[str, Any], pointer: str, words: str
    ) -> None:
        body = {"dataset_id": three, "model": model, "noise": {"correction": {**CORRECTION, **correction}}}
        assert refused(client, body) == ("invalid_noise", [f"/noise/correction{pointer}"])
        assert words in client.post("/train", json=body).json()["detail"]
        assert n_jobs(client) == 0

    def test_a_correction_needs_rows_of_every_class(self, client: TestClient, three: str) -> None:
        model = {"kind": "tree", "class_weight": {"b": 0}}
        body = {"dataset_id": three, "model": model, "noise": {"correction": CORRECTION}}
        assert refused(client, body) == ("invalid_training_request", ["/model/class_weight/b"])
