"""Warnings of uploads about labels that are missing, misspelled or rare."""

import pytest

from tests.app.datasets.tables import code_and_detail, upload


def table(*counted):
    labels = [label for label, count in counted for _ in range(count)]
    return "x,y\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels))


def warnings(response, code):
    return [warning for warning in response.json()["warnings"] if warning["code"] == code]


class TestTextsThatMeanMissing:
    def test_are_named_with_the_way_to_make_them_a_class(self, client):
        content = table(("None", 20), ("Mild", 30), ("Severe", 30), ("", 2), ("NA", 1))
        (warning,) = warnings(upload(client, content.encode()), "unlabeled_rows")
        assert "23 rows have no label" in warning["detail"]
        assert (
            "21 labels were read as missing because of the text: 'None', 'NA'. If that is a class" in warning["detail"]
        )
        again = upload(client, content.encode(), nulls="")
        assert [entry["label"] for entry in again.json()["classes"]] == ["Mild", "NA", "None", "Severe"]

    def test_explain_a_single_class(self, client):
        code, detail = code_and_detail(upload(client, table(("None", 20), ("Mild", 30)).encode()))
        assert code == "single_class"
        assert "20 labels were read as missing because of the text: 'None'" in detail

    def test_explain_a_target_without_labels(self, client):
        code, detail = code_and_detail(upload(client, table(("None", 20)).encode()))
        assert (code, "20 labels were read as missing" in detail) == ("missing_label", True), detail

    def test_empty_labels_alone_are_not_explained(self, client):
        (warning,) = warnings(upload(client, table(("a", 20), ("b", 30), ("", 2)).encode()), "unlabeled_rows")
        assert "because of the text" not in warning["detail"]


class TestLettersThatDiffer:
    @pytest.mark.parametrize("misspelled", ["yess", "ye", "yas", "Xes"])
    def test_rare_labels_are_told(self, client, misspelled):
        content = table(("no", 100), ("yes", 100), (misspelled, 2))
        found = warnings(upload(client, content.encode()), "similar_labels")
        assert len(found) == (len(misspelled) >= 3)
        if found:
            assert f"{misspelled!r} (2 rows) and 'yes' (100 rows)" in found[0]["detail"]
            assert found[0]["rows"] == [200]

    def test_labels_that_differ_in_case_are_told_once(self, client):
        content = table(("no", 100), ("yes", 100), ("Yes", 2))
        assert len(warnings(upload(client, content.encode()), "similar_labels")) == 1

    @pytest.mark.parametrize(
        "counted",
        [
            [("cat", 50), ("bat", 40)],
            [("grade 1", 100), ("grade 2", 3)],
            [("a1", 100), ("b1", 3)],
            [("male", 100), ("female", 3)],
            [("yes", 100), ("sey", 3)],
            [("grade A", 100), ("grade F", 4)],
            [("stage II", 100), ("stage III", 4)],
        ],
        ids=str,
    )
    def test_other_labels_are_not(self, client, counted):
        assert warnings(upload(client, table(*counted).encode()), "similar_labels") == []
