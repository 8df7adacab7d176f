"""POST /train: the kinds of evaluation."""

import uuid
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.training.train_requests import TREE, n_jobs, refused
from tests.factories import FEATURES, make_dataset


class TestAccepted:
    @pytest.mark.parametrize(
        ("evaluation", "filled_in"),
        [
            ({"kind": "none"}, {}),
            ({"kind": "holdout", "stratify": False}, {"test_fraction": 0.2}),
            ({"kind": "cross_validation"}, {"folds": 5}),
            ({"kind": "cross_validation", "folds": 100}, {}),
        ],
    )
    def test_every_kind_of_evaluation(
        self, client: TestClient, dataset_id: str, evaluation: dict[str, Any], filled_in: dict[str, Any]
    ) -> None:
        body = {"dataset_id": dataset_id, "model": TREE, "evaluation": evaluation}
        response = client.post("/train", json=body)
        assert response.status_code == 202, response.text
        assert response.json()["request"]["evaluation"] == evaluation | filled_in

    def test_a_test_data_set_with_more_columns_and_fewer_classes(self, client: TestClient) -> None:
        context = client.app.state.context
        three = [{"label": label, "count": 30} for label in "abc"]
        more = [*FEATURES, {**FEATURES[0], "name": "noted"}]
        test = str(make_dataset(context, classes=three[1:], features=more[::-1]))
        evaluation = {"kind": "dataset", "dataset_id": test}
        body = {"dataset_id": str(make_dataset(context, classes=three)), "model": TREE, "evaluation": evaluation}
        response = client.post("/train", json=body)
        assert response.status_code == 202, response.text
        assert client.delete(f"/datasets/{test}").status_code == 409


class TestRefused:
    def test_a_holdout_of_too_few_rows(self, client: TestClient) -> None:
        dataset_id = str(make_dataset(client.app.state.context, n_rows=3))
        assert refused(client, {"dataset_id": dataset_id, "model": TREE}) == (
            "invalid_training_request",
            ["/evaluation/test_fraction"],
        )

    def test_a_holdout_that_leaves_less_than_one_row_of_each_class(self, client: TestClient) -> None:
        classes = [{"label": label, "count": 30} for label in "abc"]
        dataset_id = str(make_dataset(client.app.state.context, n_rows=90, classes=classes))
        body = {"dataset_id": dataset_id, "model": TREE, "evaluation": {"kind": "holdout", "test_fraction": 0.98}}
        response = client.post("/train", json=body)
        assert (response.status_code, response.json()["code"]) == (422, "invalid_training_request")
        assert "leaves 2 training rows" in response.json()["detail"]
        assert n_jobs(client) == 0
        body["evaluation"] = {"kind": "holdout", "test_fraction": 0.9}
        assert client.post("/train", json=body).status_code == 202

    @pytest.mark.parametrize(
        ("changes", "folds", "pointer", "reason"),
        [
            ({"n_rows": 4}, 5, "/evaluation/folds", "5 folds of 4 rows"),
            (
                {"classes": [{"label": 0, "count": 99}, {"label": "rare", "count": 1}]},
                2,
                "/evaluation",
                "these classes have a single row: 'rare'.",
            ),
            (
                {"n_rows": 5000, "classes": [{"label": k, "count": 5} for k in range(1000)]},
                6,
                "/evaluation/folds",
                "6 folds of 1000 classes are too many, since a confusion matrix of each is stored; ask for at most 5",
            ),
        ],
    )
    def test_folds_that_are_not_possible(
        self, client: TestClient, changes: dict[str, Any], folds: int, pointer: str, reason: str
    ) -> None:
        evaluation = {"kind": "cross_validation", "folds": folds}
        body = {"dataset_id": str(make_dataset(client.app.state.context, **changes)), "model": TREE}
        response = client.post("/train", json={**body, "evaluation": evaluation})
        assert response.status_code == 422, response.text
        assert response.json()["code"] == "invalid_training_request"
        (error,) = response.json()["errors"]
        assert error["pointer"] == pointer
        assert error["detail"].startswith(reason)
        assert n_jobs(client) == 0

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"features": []}, "the test data set lacks 'x1', 'x2'"),
            (
                {"features": [FEATURES[0], {"name": "x2", "kind": "categorical", "categories": ["a"]}]},
                "the feature 'x2' is categorical in the test data set and numeric in the training data",
            ),
            (
                {"classes": [{"label": label, "count": 1} for label in (0, 2, 3)]},
                "the test data set has classes that the training data lacks: 2, 3; remove their rows",
            ),
            (
                {"classes": [{"label": label, "count": 1} for label in ("0", "1")]},
                "the test data set has classes that the training data lacks: '0', '1'; they are text, and those of the "
                "training data are numbers, such as 0.",
            ),
        ],
    )
    def test_a_test_data_set_that_does_not_fit(
        self, client: TestClient, dataset_id: str, changes: dict[str, Any], reason: str
    ) -> None:
        other = str(make_dataset(client.app.state.context, **changes))
        body = {"dataset_id": dataset_id, "model": TREE, "evaluation": {"kind": "dataset", "dataset_id": other}}
        response = client.post("/train", json=body)
        assert (response.status_code, response.json()["code"]) == (422, "incompatible_test_dataset")
        (error,) = response.json()["errors"]
        assert error["pointer"] == "/evaluation/dataset_id"
        assert error["detail"].startswith(reason)
        assert n_jobs(client) == 0

    def test_the_training_data_are_no_test_data(self, client: TestClient) -> None:
        context = client.app.state.context
        same = {"sha256": "ab" * 32}
        dataset_id, other = (str(make_dataset(context, **same)) for _ in range(2))
        for test in (dataset_id, other):
            body = {"dataset_id": dataset_id, "model": TREE, "evaluation": {"kind": "dataset", "dataset_id": test}}
            assert refused(client, body) == ("incompatible_test_dataset", ["/evaluation/dataset_id"])

    @pytest.mark.parametrize(
        ("signs", "formats", "is_refused"),
        [
            ((True, False), ("CSV", "CSV"), True),
            ((False, True), ("CSV", "CSV"), True),
            ((True, True), ("CSV", "CSV"), False),
            ((True, False), ("CSV", "Parquet"), False),
            ((False, True), ("Parquet", "CSV"), False),
        ],
    )
    def test_percent_signs_in_one_of_two_tables_of_text(
        self, client: TestClient, signs: tuple[bool, bool], formats: tuple[str, str], is_refused: bool
    ) -> None:
        context = client.app.state.context
        dataset_id, test = (
            str(
                make_dataset(
                    context,
                    reading={"format": file_format},
                    features=[{**FEATURES[0], "reading": {"percent": True} if has_signs else {}}, FEATURES[1]],
                )
            )
            for has_signs, file_format in zip(signs, formats, strict=True)
        )
        body = {"dataset_id": dataset_id, "model": TREE, "evaluation": {"kind": "dataset", "dataset_id": test}}
        response = client.post("/train", json=body)
        assert (response.status_code == 422) == is_refused, response.text
        assert not is_refused or "have percent signs in th" in response.json()["detail"]

    def test_an_unknown_test_data_set(self, client: TestClient, dataset_id: str) -> None:
        evaluation = {"kind": "dataset", "dataset_id": str(uuid.uuid4())}
        body = {"dataset_id": dataset_id, "model": TREE, "evaluation": evaluation}
        assert refused(client, body, 404) == ("dataset_not_found", ["/evaluation/dataset_id"])
