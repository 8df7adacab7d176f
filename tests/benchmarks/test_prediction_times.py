"""Prediction times on all tables of the comparison, on a tiny one in their place."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from benchmarks.comparison import prediction_times


def test_command_prints_a_line_for_each_noise_and_a_summary(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(prediction_times, "CALLS", {"30 rows": (30, 1), "one row": (1, 2)})
    rng = np.random.default_rng(0)
    columns = {"x0": rng.normal(size=100), "x1": rng.normal(size=100), "target": np.arange(100) % 3}
    parquet.write_table(pa.table(columns), tmp_path / "wine.parquet")
    prediction_times.main(["--data", str(tmp_path), "--tables", "wine", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| table | noise | share of the regression | 30 rows | one row |"
    assert [line.split(" | ")[:2] for line in lines[2:4]] == [["| wine", "no noise"], ["| wine", "uniform, 40 %"]]
    ratios = np.array([[float(cell) for cell in line.strip("| ").split(" | ")[-2:]] for line in lines[2:]])
    assert (ratios >= 0).all()
    np.testing.assert_allclose(ratios[3], ratios[:2].max(axis=0))


def test_a_noise_that_suits_no_table_leaves_the_heading(tmp_path, capsys):
    prediction_times.main(["--data", str(tmp_path), "--tables", "wine", "--noise", "adversarial_20"])
    assert len(capsys.readouterr().out.splitlines()) == 2
