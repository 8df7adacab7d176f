"""Effect of placeholders, on a tiny table."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from benchmarks.comparison import placeholders


def test_command_prints_accuracies_by_share_and_their_mean(tmp_path, capsys):
    rng = np.random.default_rng(0)
    columns = {"x0": rng.normal(size=90), "x1": rng.normal(size=90), "target": np.arange(90) % 2}
    parquet.write_table(pa.table(columns), tmp_path / "wine.parquet")
    placeholders.main(["--data", str(tmp_path), "--tables", "wine", "raisin", "--draws", "1"])
    output = capsys.readouterr()
    lines = [line.strip("| ").split(" | ") for line in output.out.splitlines()]
    assert lines[0] == ["table", "forest, 0%", "forest, 1%", "forest, 5%", "auto, 0%", "auto, 1%", "auto, 5%"]
    assert [line[0] for line in lines[2:]] == ["wine", "mean"]
    assert lines[2][1:] == lines[3][1:]
    assert "raisin" in output.err


def test_every_second_feature_has_the_share_of_placeholders():
    X = np.zeros((4000, 3))
    is_lost = placeholders.with_placeholders(X, 0.05, seed=0) == placeholders.PLACEHOLDER
    shares = is_lost.mean(axis=0)
    assert shares[1] == 0.0
    np.testing.assert_allclose(shares[[0, 2]], 0.05, atol=0.015)
