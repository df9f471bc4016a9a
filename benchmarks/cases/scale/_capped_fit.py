"""Fit in a process of its own, whose memory is capped: ``python -m`` this module."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["fit_capped"]


def fit_capped(path: Path, *, cap: int, spare: int | None = None, **options: Any) -> dict[str, Any]:
    """Fit ``RobustOnlineNMF(**options)`` to a file in a child that may have ``cap`` bytes.

    With ``spare`` the cap is what the libraries and a first small fit have taken, and so much
    more. What is capped is the writable memory of the process (RLIMIT_DATA of Linux); a file that
    is mapped for reading is not in it, as it is not with any other cap that lets a file be mapped
    that is larger than itself. Arrow takes its memory from the system's allocator here: its own
    one asks for a gigabyte at once, whether or not it is needed.

    Returns
    -------
    dict
        ``cap``; ``refused``, whether the file as a whole did not fit; the ``seconds`` of the fit,
        the samples, the most private memory after a batch, and the sum of the components.
    """
    order = {"path": str(path), "cap": cap, "spare": spare, "options": options}
    command = [sys.executable, "-m", "benchmarks.cases.scale._capped_fit", json.dumps(order)]
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"the capped process ended with {ended.returncode}:\n{ended.stderr}")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _private(kind: str) -> int:
    """Return bytes of this process: ``RssAnon``, in memory and private; ``VmData``, asked for."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))


def _serve(order: dict[str, Any]) -> dict[str, Any]:
    import resource

    import numpy as np

    from thalweg import RobustOnlineNMF, streams

    stream = streams.open(order["path"])
    size = order["options"].pop("batch_size")
    model = RobustOnlineNMF(**order["options"])
    model.partial_fit(next(stream.batches(size)).X)  # loads what is loaded once
    cap = order["cap"] if order["spare"] is None else _private("VmData") + order["spare"]
    resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
    refused, peak = False, 0
    try:
        np.ones((stream.n_samples, stream.n_features), next(stream.batches(1)).X.dtype)
    except MemoryError:
        refused = True

    def watch(position: Any) -> None:
        nonlocal peak
        peak = max(peak, _private("RssAnon"))

    begin = time.perf_counter()
    model.fit_stream(stream, batch_size=size, callback=watch)
    return {
        "cap": cap,
        "refused": refused,
        "seconds": time.perf_counter() - begin,
        "n_samples": model.n_samples_seen_,
        "private": peak,
        "components": float(model.components_.sum()),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_serve(json.loads(sys.argv[1]))))
