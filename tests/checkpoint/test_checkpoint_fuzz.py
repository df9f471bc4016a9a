"""Some hundred files changed at random; the benchmark ``fuzz_checkpoint`` has many more."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json
from benchmarks.cases.fuzz_checkpoint import fuzz
print(json.dumps(fuzz(500, seed=1)))
"""


def test_changed_files_neither_crash_nor_hang_nor_pass_for_whole():
    # a process of its own, since an audit hook cannot be taken away again
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert sum(result["outcomes"].values()) == result["files"] == 500
    assert result["faults"] == []
    assert result["forbidden"] == {}
    assert result["met"]
    read = sum(n for outcome, n in result["outcomes"].items() if outcome.endswith(": read"))
    assert 50 < read < 250  # some changes get past the digests, or the test would say little
