"""Imports without garbage collection, in a process of its own: what is exempt there must not be exempt here."""

import subprocess
import sys

PROGRAM = """
import gc
from app.operations.lasting_imports import lasting_imports

with lasting_imports():
    print(gc.isenabled())
    kept = [[] for _ in range(1000)]
print(gc.isenabled(), gc.get_freeze_count() > 1000)
try:
    with lasting_imports():
        import json.missing
except ImportError:
    print(gc.isenabled())
"""


def test_objects_of_imports_are_exempt_and_others_are_collected_afterwards() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "True", "True"]
