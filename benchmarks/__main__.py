"""The runner: ``python -m benchmarks [--case NAME] [--quick]``; ``--help`` has the rest."""

import argparse
import os
import subprocess
import sys
import time

from benchmarks import _results
from benchmarks._cases import folders, found, headline, load, threads, title
from benchmarks.shared import blas_threads
from benchmarks.shared.partial import Partial


def main() -> int:
    """Run what the arguments ask for; return 1 if a case failed."""
    arguments = _parse()
    cases = found()
    if arguments.list:
        _list()
        return 0
    if arguments.pages:
        from benchmarks import _pages

        print(f"{len(_pages.write())} pages in docs")
        return 0
    if arguments.inside:
        _run(arguments.inside, arguments.quick)
        return 0
    chosen = arguments.case or cases
    if arguments.show:
        for name in chosen:
            _show(name, arguments.quick)
        return 0
    failed = [name for name in chosen if not _start(name, arguments.quick)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--case", action="append", choices=found(), help="may be repeated")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="less data; results in results/quick")
    size.add_argument("--full", action="store_true", help="all data, which is the default")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="name the cases of each folder")
    instead.add_argument("--show", action="store_true", help="print stored results again")
    instead.add_argument("--pages", action="store_true", help="write the pages in docs")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    return parser.parse_args()


def _list() -> None:
    width = max(map(len, found())) + 2
    for folder, names in folders().items():
        print(f"{folder}: {title(folder)}")
        for name in names:
            print(f"  {name:{width}s}{headline(name)}")
        print()


def _start(name: str, quick: bool) -> bool:
    """Run a case in a process of its own, whose BLAS threads are set from the start."""
    print(f"== {name}: {headline(name)}", flush=True)
    environment = {**os.environ, **blas_threads.environment(threads(name))}
    command = [sys.executable, "-m", "benchmarks", "--inside", name]
    ended = subprocess.run(command + ["--quick"] * quick, env=environment, check=False)
    return ended.returncode == 0


def _run(name: str, quick: bool) -> None:
    case, partial = load(name), Partial(f"{name}_quick" if quick else name)
    begin = time.perf_counter() - partial.seconds  # of runs before an interruption
    result = case.run(quick)
    seconds = time.perf_counter() - begin
    path = _results.save(name, result, quick=quick, seconds=seconds)
    partial.clear()
    print(case.report(result))
    print(f"{seconds:.0f} s; {os.path.relpath(path)}\n", flush=True)


def _show(name: str, quick: bool) -> None:
    stored = _results.load(name, quick=quick)
    if stored is None:
        print(f"== {name}: no results yet")
        return
    case = load(name)
    print(f"== {name}, {stored['date']}, {stored['machine']['cpu']}")
    print(case.report(stored["result"]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
