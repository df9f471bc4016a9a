"""Build a source package and a wheel, and test the wheel: ``python .ci/wheel.py``.

The wheel is built from the source package. auditwheel checks which system libraries it needs, and
names the systems that have them. Both packages are copied to ``dist/``. The wheel is installed
with the extra ``app`` into a new environment, where a model is fitted and the demo runs. Files of
an earlier build are deleted first.
"""

import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "wheel"
DIST = ROOT / "dist"


def run(what: str, *command: object) -> None:
    """Run a command, and print the seconds it took; raise if it fails."""
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], cwd=BUILD, check=True)
    print(f"{what}: {time.perf_counter() - start:.1f} s", flush=True)


def build() -> Path:
    """Return the repaired wheel in ``dist/``."""
    run("source package and wheel", sys.executable, "-m", "build", "--outdir", BUILD, ROOT)
    wheel = next(BUILD.glob("*.whl"))
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("thalweg-*"):
        old.unlink()
    shutil.copy(next(BUILD.glob("*.tar.gz")), DIST)
    if sys.platform == "linux":
        run("repair", sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel)
    else:
        shutil.copy(wheel, DIST)
    return next(DIST.glob("*.whl"))


def check(wheel: Path) -> None:
    """Install the wheel into a new environment; fit a model, and run the demo."""
    environment = BUILD / "env"
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run("installation", programs / "python", *install, f"{wheel}[app]")
    run("smoke test", programs / "python", ROOT / ".ci" / "smoke.py")
    run("demo", programs / "thalweg", "demo", "--out", BUILD / "demo")


if __name__ == "__main__":
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    try:
        check(build())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    print(*sorted(DIST.iterdir()), sep="\n")
