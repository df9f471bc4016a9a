"""A run that is killed at any time can be resumed with the same result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg import checkpoint

VICTIM = Path(__file__).with_name("victim.py")
KILLS = 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_killed_many_times_gives_the_same_result(tmp_path):
    command = [sys.executable, str(VICTIM), "0", str(KILLS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    lines = [line.split(" ", 3) for line in done.stdout.splitlines()]
    names = sorted({line[0] for line in lines})
    assert len(lines) == len(names) * (KILLS + 1)
    assert len(names) == 4
    killed = [line for line in lines if line[1] == "killed"]
    assert len(killed) >= 15, done.stdout
    assert len({(line[0], line[3]) for line in killed}) >= 10, done.stdout
    for name in names:
        assert [line for line in lines if line[0] == name][-1] == [name, "ended"], done.stderr
        # the whole file is identical, not only the components
        last = checkpoint.latest(tmp_path / name)
        assert last.read_bytes() == (tmp_path / f"{name}.thalweg").read_bytes()
        assert list((tmp_path / name).glob(".*.part")) == []
