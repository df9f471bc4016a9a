"""Damaged and hostile checkpoints are rejected: no crash, no wrong array, no code, bounded memory.

Claim
    Whatever is in a file, ``load``, ``read_manifest`` and ``verify`` of ``thalweg.checkpoint``
    return or raise an error of the library; blind damage is always observed; nothing is executed,
    imported or written; it ends soon; and memory stays within a small multiple of the file.
Data
    Files of six estimators, 100,000 times changed at random (5,000 with ``--quick``). A third
    blindly: bits flipped, parts cut or pasted. The others with digests that are true again, so
    that the change gets past them: texts and values of the header, the table of the arrays, their
    bytes, and headers that swell when they are parsed.
Settings
    A file is a crash if the result is neither a checkpoint nor an error of the library; a miss if
    it was changed blindly and read all the same; a hang after 2 s on the processor, traced. Memory
    is the peak that tracemalloc sees, less 256 kB, in multiples of the file's size; the bound is
    64, since an empty list takes 3 bytes as text and 64 as an object, once as JSON and once as a
    value. An audit hook counts what a reader of data has no business to do. An estimator that was
    read is not used.
"""

import os
import random
import signal
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import thalweg
from benchmarks._findings import Finding
from benchmarks.cases.security._mutations import BLIND, SIGNED
from benchmarks.shared.tables import table
from thalweg import baselines, checkpoint, synthetic
from thalweg.checkpoint import _classes
from thalweg.errors import ThalwegError
from thalweg.prox.box import Box

FILES, QUICK = 100_000, 5_000
LONGEST = 2.0  # seconds on the processor
BASE, MULTIPLE = 2**18, 64
FORBIDDEN = ("exec", "compile", "import", "os.", "subprocess.", "pickle.", "ctypes.", "socket.")


class _TooLong(BaseException):
    """Time is up; no reader takes this for an error of a file, as it would a TimeoutError."""


class Watch:
    """Counts the forbidden events while it is on; Python never removes an audit hook."""

    def __init__(self) -> None:
        self.on, self.events = False, Counter[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and (event.startswith(FORBIDDEN) or _writes(event, arguments)):
            self.events[f"{event} {arguments[:1]}"[:80]] += 1


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    return event == "open" and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def run(quick: bool) -> dict[str, Any]:
    """Change files at random, and read them."""
    return fuzz(QUICK if quick else FILES, seed=0)


def fuzz(n_files: int, seed: int) -> dict[str, Any]:
    """Return the outcomes of a number of changed files."""
    warnings.simplefilter("ignore")
    chance, watch = random.Random(seed), Watch()
    with tempfile.TemporaryDirectory() as folder:
        originals = _originals(Path(folder))
        path = Path(folder) / "changed.thalweg"
        _load_all_modules()
        tally: Counter[str] = Counter()
        faults: list[str] = []
        slowest = hungriest = 0.0
        signal.signal(signal.SIGPROF, _ring)
        with path.open("w+b", buffering=0) as file:
            for i in range(n_files):
                raw = chance.choice(originals)
                mutate = chance.choice(BLIND if i % 3 == 0 else SIGNED)
                changed = mutate(raw, chance)
                os.pwrite(file.fileno(), changed, 0)
                os.ftruncate(file.fileno(), len(changed))
                outcome, seconds, peak = _read(path, watch)
                if outcome == "read" and mutate in BLIND and changed != raw:
                    outcome = "missed"
                tally[f"{mutate.__name__}: {outcome}"] += 1
                if outcome not in ("read", "refused") and len(faults) < 20:
                    faults.append(f"{i} {mutate.__name__}: {outcome}")
                slowest = max(slowest, seconds)
                hungriest = max(hungriest, (peak - BASE) / max(len(changed), 1))
    bad = sum(n for key, n in tally.items() if not key.endswith((": read", ": refused")))
    return {
        "files": n_files,
        "outcomes": dict(sorted(tally.items())),
        "faults": faults,
        "bad": bad,
        "forbidden": dict(watch.events),
        "slowest": slowest,
        "hungriest": hungriest,
        "met": bad == 0 and not watch.events and hungriest <= MULTIPLE,
    }


def _read(path: Path, watch: Watch) -> tuple[str, float, int]:
    """Return what became of a file, the seconds it took, and the bytes at the peak."""
    tracemalloc.start()
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    watch.on, begin = True, time.process_time()
    try:
        with suppress(ThalwegError):  # these look less closely
            checkpoint.read_manifest(path)
            checkpoint.verify(path)
        checkpoint.load(path)
        outcome = "read"
    except ThalwegError:
        outcome = "refused"
    except _TooLong:
        outcome = "hung"
    except Exception as error:
        outcome = f"crashed with {error!r}"[:200]
    finally:
        watch.on, seconds = False, time.process_time() - begin
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return outcome, seconds, peak


def _ring(*_: Any) -> None:
    raise _TooLong


def _load_all_modules() -> None:
    """Import all that a file could name, so that any further import is a fault."""
    for name in (*_classes._modules(), "thalweg.streams", "thalweg.metrics"):
        import_module(name)


def _originals(folder: Path) -> list[bytes]:
    """Return the files of some fitted estimators with parameters of many kinds."""
    X = synthetic.nmf_with_outliers(80, 8, 2, random_state=0).X + 0.01
    old = np.random.Generator(np.random.MT19937(0))
    models = [
        thalweg.RobustOnlineNMF(2, random_state=old, constraint=Box(0.0, np.ones(8))),
        thalweg.RobustOnlineNMF(2, keep_history=True, init=np.ones((2, 8)), random_state=0),
        thalweg.OnlineNMF(2, loss="kl", random_state=np.random.default_rng(0)),
        thalweg.PetrelsADMM(2, init_samples=64, random_state=0),
        thalweg.Norst(2, random_state=0),
        baselines.OLLef(2, random_state=0),
    ]
    files = []
    for i, model in enumerate(models):
        path = checkpoint.save(folder / f"{i}.thalweg", model.fit(X), (0, 80), extra={"a": [1]})
        checkpoint.load(path)
        files.append(path.read_bytes())
    return files


def report(result: dict[str, Any]) -> str:
    """Return how the files ended, and the worst of time and memory."""
    rows = [(*key.split(": ", 1), n) for key, n in result["outcomes"].items()]
    lines = [
        table(("change", "outcome", "files"), rows),
        f"{result['files']:,} files: {result['bad']} bad, {len(result['forbidden'])} forbidden",
        f"slowest {1e3 * result['slowest']:.0f} ms, "
        f"memory at most {result['hungriest']:.1f} times the file",
        "met" if result["met"] else "NOT MET",
    ]
    return "\n".join(lines)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return how many files did harm, and the worst of time and memory."""
    return [
        Finding(
            f"Of {result['files']:,} changed files, {result['bad']} crashed, hung or were missed, "
            f"and {len(result['forbidden'])} did something forbidden.",
            result["bad"] == 0 and not result["forbidden"],
        ),
        Finding(
            f"The slowest took {1e3 * result['slowest']:.0f} ms, and memory was at most "
            f"{result['hungriest']:.1f} times the size of the file.",
            result["slowest"] < LONGEST and result["hungriest"] <= MULTIPLE,
        ),
    ]
