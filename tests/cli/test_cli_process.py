"""The command in a separate process."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np

COMMAND = [sys.executable, "-m", "thalweg"]


def test_help_imports_no_heavy_libraries():
    code = (
        "import sys\n"
        "sys.argv = ['thalweg', '--help']\n"
        "from thalweg.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'sklearn', 'scipy', 'matplotlib', 'av', 'PIL', 'pyarrow'}\n"
        "print(*heavy & sys.modules.keys(), file=sys.stderr)\n"
        "import thalweg.apps\n"
        "print(*(heavy - {'numpy'}) & sys.modules.keys(), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "separate" in done.stdout
    assert done.stderr.split() == []


def test_without_typer_the_error_names_the_package():
    code = "import sys\nsys.modules['typer'] = None\nfrom thalweg.cli import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "pip install 'thalweg[app]'" in done.stderr


def test_the_shell_completes_commands():
    env = {
        **os.environ,
        "_THALWEG_COMPLETE": "complete_bash",
        "COMP_WORDS": "thalweg ",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=env, check=False)
    assert {"separate", "track", "demo"} <= set(done.stdout.split())
    env |= {"COMP_WORDS": "thalweg separate --comp", "COMP_CWORD": "2"}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=env, check=False)
    assert done.stdout.split() == ["--components"]


def test_ctrl_c_saves_a_checkpoint(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.random((20_000, 40)))
    options = ["x.npy", "--components", "4", "--batch-size", "20", "--epochs", "40"]
    options += ["--checkpoint", "kept", "--out", "out"]
    child = subprocess.Popen(
        [*COMMAND, "factor", *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "kept").exists() and time.monotonic() < deadline:
        time.sleep(0.05)  # the folder exists when fitting starts
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, printed = child.communicate(timeout=180)
    assert child.returncode == 130, printed
    assert "Stopped: the state is saved in kept, use --resume to continue" in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "kept").glob("checkpoint-*.thalweg"))
    position = subprocess.run(
        [*COMMAND, "info", "kept"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    sample = int(re.search(r"^sample +(\d+)", position, re.M)[1])
    assert sample > 0
    assert sample % 20 == 0
