"""Build a wheel and try it in a clean environment: ``python .ci/wheel.py``.

Packs the sources, compiles them, as pip does on the machine of a user, and repairs the wheel: what
it needs of the system is in its name, and nothing else is. Both files go to ``dist/``. The wheel
is installed with the extra ``app`` into a new environment, which has to fit a model and run the
demo. The source package, the wheel and the environment are deleted first if they are there.
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
    """Return a wheel that names the systems it runs on, made from the packed sources."""
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
