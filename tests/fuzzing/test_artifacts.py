"""A short run of the fuzzer of model files, in a process of its own because it limits its memory."""

import json
import subprocess
import sys
from pathlib import Path


def test_changed_model_files_are_refused_or_predict_probabilities():
    command = [sys.executable, "-m", "tests.fuzzing.artifacts", "--cases", "600", "--seed", "3"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert outcomes["refused"] + outcomes["loaded"] == 600
    assert min(outcomes.values()) > 50
