"""Which tests run in the same process."""

from tests.distribution import scope_of


def test_files_that_share_a_service_stay_together() -> None:
    assert scope_of("tests/end_to_end/test_logs.py::test_a[service on sqlite-constraint]") == "service on sqlite"
    assert scope_of("tests/end_to_end/test_boosting.py::test_b[rmboost-service on sqlite]") == "service on sqlite"
    assert scope_of("tests/client/test_client.py::test_c[pandas]") == scope_of("tests/client/test_retries.py::test_d")


def test_other_tests_stay_with_their_file() -> None:
    assert scope_of("tests/app/test_logs.py::TestA::test_b[x]") == "tests/app/test_logs.py"
