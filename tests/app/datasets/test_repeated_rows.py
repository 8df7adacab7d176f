"""Uploads warn of rows that repeat earlier ones with their labels, as copies do."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.app.datasets.tables import parquet

N = 400
RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "x": RANDOM.permutation(N) / 8,
        "job": RANDOM.choice(["clerk", "none", None], N),
        "y": RANDOM.choice(["a", "b"], N),
    }
)


def csv_of(table):
    return table.to_csv(index=False).encode()


def parquet_of(table):
    return parquet(**{name: pa.array(table[name], from_pandas=True) for name in table})


def repeated(client, content, **fields):
    answer = client.post("/datasets", files={"file": ("t", content)}, data={"target": "y", **fields})
    assert answer.status_code == 201, answer.text
    return [each for each in answer.json()["warnings"] if each["code"] == "repeated_rows"]


@pytest.mark.parametrize("as_file", [csv_of, parquet_of])
def test_copies_are_counted_and_the_first_are_named(client, as_file):
    [warning] = repeated(client, as_file(pd.concat([TABLE, TABLE[:20]])))
    assert (warning["column"], warning["rows"]) == (None, [400, 401, 402, 403, 404])
    assert warning["detail"].startswith("20 of 420 labeled rows repeat an earlier row with its label.")


def test_copies_of_the_whole_table_are_counted(client):
    [warning] = repeated(client, csv_of(pd.concat([TABLE] * 3)))
    assert warning["detail"].startswith("800 of 1,200 labeled rows")


def test_numbers_of_all_sizes_are_compared(client):
    large = pa.array([2**64 - 1 - number for number in range(N)], pa.uint64())
    content = parquet(x=pa.concat_arrays([large, large[:20]]), y=[*TABLE.y, *TABLE.y[:20]])
    assert len(repeated(client, content)) == 1


def test_identifiers_of_copies_may_differ(client):
    table = pd.concat([TABLE, TABLE[:20]]).assign(id=np.arange(N + 20))
    assert len(repeated(client, csv_of(table))) == 1
    assert repeated(client, csv_of(table.assign(id=table.id % 7)), types='{"id": "numeric"}') == []


def test_zeros_and_missing_values_are_equal(client):
    table = TABLE.assign(z=[0.0, None] * (N // 2))
    copies = table[:20].assign(z=[-0.0, None] * 10)
    assert len(repeated(client, parquet_of(pd.concat([table, copies])))) == 1


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        pd.concat([TABLE, TABLE[:9]]),
        pd.concat([TABLE, TABLE[:20].assign(y="c")]),
        pd.concat([TABLE, TABLE[:20].assign(y=None)]),
        pd.concat([TABLE, TABLE[:40].assign(y=["a", "b"] * 20)]),
        pd.DataFrame({"x": np.arange(N) % 4, "y": ["a", "b"] * (N // 2)}),
    ],
    ids=["none", "few", "other label", "no label", "by chance", "few values"],
)
def test_others_are_no_copies(client, table):
    assert repeated(client, csv_of(table)) == []


def test_a_group_answers_the_question(client):
    table = pd.concat([TABLE, TABLE[:20]]).assign(g=[*range(N), *range(20)])
    assert repeated(client, csv_of(table), group="g") == []
