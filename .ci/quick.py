"""Check a change in less than a minute: ``python .ci/quick.py``, or ``make quick``.

Runs ruff on the Python files that differ from the main branch, mypy with its cache, which checks
the changed modules and those that import them, and the tests that tests/quick.py lists:
contracts of the rooms at small size, and a fit of each estimator. Stops at the first failure.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints; none if it fails, as without a repository."""
    ended = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return ended.stdout.splitlines() if ended.returncode == 0 else []


def changed() -> list[Path]:
    """Return the files that differ from the main branch, and new ones."""
    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    names = git("diff", "--name-only", "--diff-filter=d", base[0])
    names += git("ls-files", "--others", "--exclude-standard")
    return sorted({ROOT / name for name in names})


def tests_of(files: list[Path]) -> list[str]:
    """Return the folders and files with the tests of changed files, as arguments of pytest."""
    found = set()
    for file in files:
        place = file.relative_to(ROOT)
        if place.parts[0] == "tests":
            found.add(place if place.name.startswith("test_") else place.parent)
        elif place.parts[:2] == ("src", "thalweg"):
            room = place.parts[2].removesuffix(".py").lstrip("_")
            found |= {Path("tests", room), Path(f"tests/test_{room}.py")}
    return sorted(str(path) for path in found if (ROOT / path).exists() and path != Path("tests"))


def main() -> int:
    """Run the checks; return the exit code of the first that fails."""
    files = changed()
    code = [str(path) for path in files if path.suffix == ".py"]
    python = [sys.executable, "-m"]
    checks = [[*python, "ruff", "check", *code], [*python, "ruff", "format", "--check", *code]]
    checks = [*(checks if code else []), [*python, "mypy"]]
    checks.append([*python, "pytest", "--quiet", "--numprocesses=auto", "-m", "quick", "tests"])
    for check in checks:
        ended = subprocess.run(check, cwd=ROOT, check=False)
        if ended.returncode:
            return ended.returncode
    if rest := tests_of(files):
        print(f'All tests of the changed rooms: make test PYTEST_ARGS="{" ".join(rest)}"')
    return 0


if __name__ == "__main__":
    sys.exit(main())
