"""Load 500 randomly changed files; the benchmark ``fuzz_checkpoint`` uses many more."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json
from benchmarks.cases.security.fuzz_checkpoint import fuzz
print(json.dumps(fuzz(500, seed=1)))
"""


def test_changed_files_raise_errors_and_do_not_crash_or_hang():
    # in a separate process, because audit hooks cannot be removed
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert sum(result["outcomes"].values()) == result["files"] == 500
    assert result["faults"] == []
    assert result["forbidden"] == {}
    assert result["met"]
    read = sum(n for outcome, n in result["outcomes"].items() if outcome.endswith(": read"))
    assert 50 < read < 250  # some changes must pass the digests to test the later checks
