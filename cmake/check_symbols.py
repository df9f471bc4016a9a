"""Fail if an object has functions that the linker may use for other instruction sets.

``check_symbols.py NM TARGET OBJECT...``: the linker keeps one of several definitions of an inline
function. If it keeps the one of a file that was compiled for a newer processor, older ones stop at
an illegal instruction. So each weak symbol of such a file must name its target.
"""

import subprocess
import sys

WEAK = frozenset("uVvWw")
HARMLESS = ("DW.ref.",)  # pointers to what exceptions need: data


def weak_symbols(nm: str, objects: list[str]) -> set[str]:
    """Return the demangled names of the weak symbols that the objects define."""
    lines = subprocess.run(
        [nm, "--demangle", "--defined-only", *objects], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    entries = [line.split(maxsplit=2) for line in lines]
    return {entry[2] for entry in entries if len(entry) == 3 and entry[1] in WEAK}


def main(nm: str, target: str, *objects: str) -> int:
    """Print the symbols that may leak; return how many there are."""
    leaks = sorted(
        name
        for name in weak_symbols(nm, list(objects))
        if f"targets::{target}" not in name and not name.startswith(HARMLESS)
    )
    for name in leaks:
        print(f"error: {name} may be used without {target}: give it internal linkage, or Target")
    return len(leaks)


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
