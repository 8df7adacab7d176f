"""Items of lists are bounded by constants, whatever the requests were that made them."""

from fastapi.testclient import TestClient

from tests.app.trained_models.made import make_trained_model
from tests.factories import make_dataset, make_job

N = 200
MATRIX = [[1 / N] * N] * N
MAX_ITEM_BYTES = 3_000


def _item(client: TestClient, path: str) -> dict:
    response = client.get(path)
    assert response.status_code == 200, response.text
    [item] = response.json()["items"]
    assert len(response.content) < MAX_ITEM_BYTES
    return item


def test_jobs_have_no_request(client: TestClient) -> None:
    request = {"name": "made", "noise": {"inject": {"kind": "matrix", "transition": MATRIX}}}
    job_id = make_job(client.app.state.context, request=request)
    item = _item(client, "/jobs")
    job = client.get(f"/jobs/{job_id}").json()
    assert job.pop("request") == request
    assert item == job


def test_data_sets_have_counts(client: TestClient) -> None:
    feature = {"missing": 0, "min": None, "max": None, "mean": None, "distinct": N}
    texts = [f"category {i}" for i in range(N)]
    features = [feature | {"name": f"x{i}", "kind": "categorical", "categories": texts} for i in range(N)]
    features.append(feature | {"name": "other", "kind": "numeric", "categories": None})
    roles = {"weight": None, "group": "g", "exclude": [f"left out {i}" for i in range(N)]}
    classes = [{"label": f"class {i}", "count": 2} for i in range(N)]
    warnings = [{"column": "x", "code": "nearly_numeric", "detail": "…", "rows": [1]}] * N
    values = {"features": features, "roles": roles, "classes": classes, "warnings": warnings, "reading": {"a": texts}}
    dataset_id = make_dataset(client.app.state.context, **values)
    item = _item(client, "/datasets")
    assert item["n_features"] == {"numeric": 1, "categorical": N}
    assert item["roles"] == {"weight": None, "group": "g", "exclude": None}
    assert (item["n_classes"], item["classes"], item["n_warnings"]) == (N, None, N)
    assert "features" not in item
    whole = client.get(f"/datasets/{dataset_id}").json()
    assert (whole["roles"], whole["classes"]) == (roles, classes)
    assert {name: item[name] for name in item.keys() & whole.keys() - {"roles", "classes"}}.items() <= whole.items()


def test_what_is_small_is_listed(client: TestClient) -> None:
    roles = {"weight": None, "group": None, "exclude": ["a", "b"]}
    make_dataset(client.app.state.context, roles=roles, warnings=[])
    item = _item(client, "/datasets")
    assert item["roles"] == roles
    assert item["classes"] == [{"label": 0, "count": 50}, {"label": 1, "count": 50}]
    assert item["n_features"] == {"numeric": 2}
    assert item["n_warnings"] == 0


def test_models_have_numbers(client: TestClient) -> None:
    scores = {"accuracy": 0.5, "roc_auc": None, "confusion": MATRIX}
    corrected = {"accuracy": 0.5, "reason": None, "classes": [{"label": 1}] * N, "transition": MATRIX}
    metrics = {"test": scores, "train_noisy": scores, "test_corrected": corrected, "folds": [{"test": scores}] * 5}
    noise = {
        "injected": {"kind": "matrix", "transition": MATRIX, "flipped_rows": 3, "observed_rate": 0.1},
        "correction": {"kind": "forward", "transition": MATRIX},
        "estimated": {"rate": 0.1, "standard_error": 0.01, "transition": MATRIX},
    }
    parameters = {"n_estimators": 5, "class_weight": {f"class {i}": 1.0 for i in range(N)}}
    made = make_trained_model(client.app.state.context, metrics=metrics, noise=noise, parameters=parameters)
    item = _item(client, "/models")
    numbers = {"accuracy": 0.5, "roc_auc": None}
    assert item["metrics"] == {
        "test": numbers,
        "train_noisy": numbers,
        "test_corrected": {"accuracy": 0.5, "reason": None},
    }
    assert item["parameters"] == {"n_estimators": 5}
    assert item["noise"]["injected"] == noise["injected"] | {"transition": None}
    assert item["noise"]["correction"] == {"kind": "forward", "transition": None}
    assert item["noise"]["estimated"]["transition"] is None
    assert (item["target"], item["n_classes"], item["n_features"]) == ("y", 2, 2)
    whole = client.get(f"/models/{made.id}").json()
    assert (whole["metrics"], whole["parameters"]) == (metrics, parameters)


def test_a_correction_whose_matrix_was_estimated(client: TestClient) -> None:
    noise = {"injected": {"kind": "uniform", "rate": 0.2}, "correction": {"kind": "forward", "transition": "estimate"}}
    make_trained_model(client.app.state.context, noise=noise)
    assert _item(client, "/models?sort=-metrics.test.accuracy")["noise"] == noise | {"estimated": None}
