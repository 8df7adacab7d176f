"""Uploads warn of columns that name who gave the labels."""

import pytest

N_ROWS = 60


def upload(client, people, **fields):
    """Upload answers of five people to 20 items, with a column of this name for the people."""
    rows = [f"{row % 20},{0.5 * (row % 20)},p{row % 5},{'ab'[row % 3 == 0]}" for row in range(N_ROWS)]
    content = "\n".join([f"item,x,{people},y", *rows])
    answer = client.post("/datasets", files={"file": ("t.csv", content)}, data={"target": "y", **fields})
    assert answer.status_code == 201, answer.text
    return [each for each in answer.json()["warnings"] if each["code"] == "annotator_column"]


@pytest.mark.parametrize(
    "name",
    [
        "annotator",
        "Annotator ",
        "rater-id",
        "WorkerId",
        "_worker_id",
        "Labeller Email",
        "crowdWorker",
        "labeled_by",
        "coder_id",
    ],
)
def test_columns_of_people_who_label_are_named_with_the_way_out(client, name):
    [warning] = upload(client, name)
    assert warning["column"] == name.strip()
    assert "`exclude`" in warning["detail"]
    assert "`group`" in warning["detail"]


@pytest.mark.parametrize(
    "name", ["worker", "coder", "annotators", "annotator1", "annotator_confidence", "crater", "worker_count"]
)
def test_other_columns_are_no_reason(client, name):
    assert upload(client, name) == []


def test_a_group_is_not_proposed_where_there_is_one(client):
    [warning] = upload(client, "annotator", group="item")
    assert "`group`" not in warning["detail"]


@pytest.mark.parametrize("fields", [{"exclude": "annotator"}, {"group": "annotator"}])
def test_a_column_that_is_no_feature_is_not_named(client, fields):
    assert upload(client, "annotator", **fields) == []
