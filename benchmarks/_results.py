"""Results on disk, one JSON file per case."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks._machine import describe

__all__ = ["load", "save"]

_FOLDER = Path(__file__).parent / "results"


def save(name: str, result: dict[str, Any], *, quick: bool, seconds: float) -> Path:
    """Write a case's result beside machine, versions, date and revision; return where."""
    path = _path(name, quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "case": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "seconds": round(seconds, 1),
        **describe(),
        "result": result,
    }
    path.write_text(json.dumps(_plain(content), indent=1, allow_nan=False) + "\n")
    return path


def load(name: str, *, quick: bool) -> dict[str, Any] | None:
    """Return what was saved, or None."""
    path = _path(name, quick)
    return json.loads(path.read_text()) if path.exists() else None


def _path(name: str, quick: bool) -> Path:
    return (_FOLDER / "quick" if quick else _FOLDER) / f"{name}.json"


def _plain(value: Any) -> Any:
    """Return the value in JSON's types; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
