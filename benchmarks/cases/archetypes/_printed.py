"""Tables 2 and 5 of [A], and results beside them."""

from typing import Any

from benchmarks.shared.tables import number, table

__all__ = ["ORDER", "PRINTED", "SHARES", "TINY", "beside", "off", "printed"]

SHARES = (0.5, 0.65, 0.8)
TINY = 5e-4  # of strong robustness: as good as equal to a printed figure
# The four methods of [A], the worst first, and its Tables 2 and 5 by noise and l / nk.
ORDER = ("zero", "projections", "mip + path", "mip + path + search")
PRINTED: dict[float, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    0.01: {
        "zero": ((47785, 42123, 37566), (0.7010, 0.5865, 0.4914)),
        "projections": ((34620, 33692, 31254), (0.1398, 0.0191, 0.0021)),
        "mip + path": ((32193, 29766, 27139), (0.0736, 0.0082, 0.0002)),
        "mip + path + search": ((31867, 29729, 27091), (0.0735, 0.0081, 0.0002)),
    },
    0.1: {
        "zero": ((69366, 63776, 59276), (0.7038, 0.5877, 0.4952)),
        "projections": ((58042, 54028, 50316), (0.1728, 0.0520, 0.0298)),
        "mip + path": ((54784, 52253, 49228), (0.1055, 0.0370, 0.0280)),
        "mip + path + search": ((54465, 52159, 49131), (0.1054, 0.0370, 0.0279)),
    },
    0.5: {
        "zero": ((448088, 440974, 434590), (0.7927, 0.6691, 0.5849)),
        "projections": ((428025, 421931, 415053), (0.7956, 0.6306, 0.5680)),
        "mip + path": ((426238, 420134, 416901), (0.7771, 0.6147, 0.5780)),
        "mip + path + search": ((424776, 419932, 416628), (0.7769, 0.6146, 0.5780)),
    },
}
PRINTED_N = 12000


def beside(result: dict[str, Any], title: str, at: int) -> str:
    """Return ours beside the printed figures: objectives (0) or strong robustness (1)."""
    form, key = ((".0f", "objective"), (".4f", "strong"))[at]
    rows = []
    for noise in dict.fromkeys(cell["noise"] for cell in result["cells"]):
        cells = [cell for cell in result["cells"] if cell["noise"] == noise]
        for name in ORDER:
            ours = [number(cell["rows"][name][key], form) for cell in cells]
            theirs = [number(printed(cell, name)[at], form) for cell in cells]
            rows.append((f"{noise}, {name}", *ours, *theirs))
    shares = [f"{cell['share']}" for cell in cells]
    return table((f"{title}: noise", *shares, *(f"[A]: {share}" for share in shares)), rows)


def printed(cell: dict[str, Any], name: str) -> tuple[float, float]:
    """Return the printed objective for as many features, and the printed strong robustness."""
    at = SHARES.index(cell["share"])
    objectives, strong = PRINTED[cell["noise"]][name]
    return objectives[at] * cell["n"] / PRINTED_N, strong[at]


def off(cell: dict[str, Any], name: str) -> float:
    """Return by which share strong robustness is off the printed one; a tiny amount is none."""
    theirs = printed(cell, name)[1]
    apart = abs(cell["rows"][name]["strong"] - theirs)
    return apart / theirs if apart > TINY else 0.0
