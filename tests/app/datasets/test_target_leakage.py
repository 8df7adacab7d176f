"""Uploads warn of features that tell every label on their own."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.app.datasets.tables import parquet

N = 300
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.choice(["no", "yes"], N)
X = RANDOM.permutation(N) / 8


def found(client, labels=LABELS, **columns):
    content = parquet(x=X[: len(labels)], **columns, y=labels)
    answer = client.post("/datasets", files={"file": ("t.parquet", content)}, data={"target": "y"})
    assert answer.status_code == 201, answer.text
    return [each for each in answer.json()["warnings"] if each["code"] == "target_leakage"]


IS_YES = LABELS == "yes"
LEAKS = {
    "a text for each label": np.where(IS_YES, "closed", "open"),
    "several texts for each label": np.where(IS_YES, RANDOM.choice(["a", "b"], N), RANDOM.choice(["c", "d"], N)),
    "a boolean": IS_YES,
    "a number for each label": np.where(IS_YES, 2, 7),
    "numbers above and below a bound": np.where(IS_YES, -X - 1, X),
    "numbers of one label": pa.array(X, mask=IS_YES),
    "numbers of both labels, the smaller ones missing": pa.array(np.where(IS_YES, X, -1.0), mask=IS_YES & (X < 9)),
    "a text of one label": pa.array(RANDOM.choice(["p", "q"], N), mask=IS_YES),
}


@pytest.mark.parametrize("values", LEAKS.values(), ids=LEAKS)
def test_a_column_that_tells_all_labels(client, values):
    [warning] = found(client, leak=values)
    assert (warning["column"], warning["rows"]) == ("leak", [])
    assert warning["detail"].startswith("column 'leak' alone tells all 300 labels.")
    assert "`exclude`" in warning["detail"]


def test_rows_without_a_label_do_not_matter(client):
    labels = pa.array(LABELS, mask=np.arange(N) % 10 == 0)
    [warning] = found(client, labels, leak=np.where(np.arange(N) % 10 == 0, 5, np.where(IS_YES, 2, 7)))
    assert "all 270 labels" in warning["detail"]


def test_several_columns_and_classes_share_a_warning(client):
    labels = pa.array(np.arange(N) % 3).cast(pa.string())
    [warning] = found(
        client, labels, code=(np.arange(N) % 3 + 1) % 3, text=pa.array(np.arange(N) % 3).cast(pa.string())
    )
    assert warning["column"] is None
    assert warning["detail"].startswith("each of the columns 'code', 'text' alone tells all 300 labels.")


ONE_OTHER = np.where(np.arange(N) == 299, ~IS_YES, IS_YES)
FAIR = {
    "a text with an exception": np.where(ONE_OTHER, "closed", "open"),
    "numbers with an exception": np.where(ONE_OTHER, -X - 1, X),
    "missing numbers of two labels": pa.array(np.where(IS_YES, 2.0, 7.0), mask=np.arange(N) < 20),
    "two intervals of one label": np.where(IS_YES, 5, RANDOM.choice([1, 9], N)),
}


@pytest.mark.parametrize("values", FAIR.values(), ids=FAIR)
def test_a_column_that_tells_nearly_all_labels(client, values):
    assert found(client, leak=values) == []


def test_agreement_that_may_be_chance(client):
    few = LABELS[:12]
    assert found(client, few, code=np.where(few == "yes", 2, 7)) == []
    one_yes = np.where(np.arange(N) == 0, "yes", "no")
    assert found(client, one_yes, rank=-np.arange(N) / 4) == []
    pairs = np.repeat(RANDOM.choice(["no", "yes"], N // 2), 2)
    assert found(client, pairs, place=[f"p{row // 2}" for row in range(N)]) != []
    assert found(client, pairs[:36], place=[f"p{row // 2}" for row in range(36)]) == []


@pytest.mark.parametrize("n_categories", [255, 256, 257])
def test_categories_that_fill_their_stored_type(client, n_categories):
    rows = np.arange(1_000)
    labels, texts = np.where(rows % 3, "no", "yes"), [f"k{row % n_categories}" for row in rows]
    content = parquet(job=texts, y=labels)
    answer = client.post("/datasets", files={"file": ("t.parquet", content)}, data={"target": "y"})
    assert answer.status_code == 201, answer.text
    codes = [each["code"] for each in answer.json()["warnings"]]
    assert ("target_leakage" in codes) == (n_categories % 3 == 0)


def test_a_column_that_is_left_out_is_not_searched(client):
    content = parquet(x=X, leak=np.where(IS_YES, 2, 7), y=LABELS)
    fields = {"target": "y", "exclude": "leak"}
    answer = client.post("/datasets", files={"file": ("t.parquet", content)}, data=fields)
    assert [each["code"] for each in answer.json()["warnings"]] == []


def test_files_of_several_batches(client):
    table = pd.DataFrame({"x": np.arange(200_000) % 977, "leak": np.arange(200_000) % 2, "y": np.arange(200_000) % 2})
    [warning] = found_in_csv(client, table)
    assert warning["column"] == "leak"
    table.loc[199_999, "leak"] = 0
    assert found_in_csv(client, table) == []


def found_in_csv(client, table):
    content = table.to_csv(index=False).encode()
    answer = client.post("/datasets", files={"file": ("t.csv", content)}, data={"target": "y"})
    return [each for each in answer.json()["warnings"] if each["code"] == "target_leakage"]
