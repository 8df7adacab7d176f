"""Equal inputs as query, rows and columns give the same predictions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context import open_context
from app.storage.schema import upgrade_to_head
from tests.app.trained_models.made import FEATURES, client_of, make_trained_model
from tests.conftest import make_settings

AGE = st.none() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
JOB = st.none() | st.sampled_from(FEATURES[1]["categories"])
ROWS = st.lists(st.fixed_dictionaries({"age": AGE, "job": JOB}), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    home = tmp_path_factory.mktemp("agree")
    service_settings = make_settings(home, f"sqlite:///{home / 'test.db'}")
    upgrade_to_head(service_settings)
    context = open_context(service_settings)
    make_trained_model(context)
    with client_of(context) as client:
        yield client
    context.close()


def in_query(cell):
    return "" if cell is None else str(cell)


@settings(deadline=None)
@given(rows=ROWS)
def test_same_numbers(client, rows):
    columns = {name: [row[name] for row in rows] for name in ("age", "job")}
    by_rows = client.post("/predict", json={"model": "credit-risk", "rows": rows}).json()["predictions"]
    by_columns = client.post("/predict", json={"model": "credit-risk", "columns": columns}).json()["predictions"]
    queries = [{"model": "credit-risk"} | {name: in_query(cell) for name, cell in row.items()} for row in rows]
    one_by_one = [client.get("/predict", params=query).json() for query in queries]
    for answer in one_by_one:
        del answer["model"]
    assert by_rows == by_columns == one_by_one
