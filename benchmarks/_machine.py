"""On what, with what and of what revision a result was measured."""

import hashlib
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["describe"]

_ROOT = Path(__file__).parents[1]
_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "gensim",
    "spams-bin",
    "hyperspy",
    "threadpoolctl",
)


def describe() -> dict[str, Any]:
    """Return machine, versions and revision, as far as they can be found."""
    return {
        "machine": {
            "cpu": _processor(),
            "cores": os.cpu_count(),
            "load": _load(),
            "system": platform.platform(),
        },
        "versions": {"python": platform.python_version(), **_versions()},
        "revision": {"commit": _commit(), "source": _fingerprint()},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _load() -> float | None:
    """Return the mean number of running jobs in the last minute; much above 1 means noise."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _versions() -> dict[str, str]:
    known = {}
    for package in _PACKAGES:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            known[package] = "not installed"
    return known


def _commit() -> str:
    command = ["git", "-C", str(_ROOT), "rev-parse", "--short", "HEAD"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "unknown"


def _fingerprint() -> str:
    """Return a digest of the package's source, which may differ from the commit's."""
    digest = hashlib.sha256()
    for path in sorted((_ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
