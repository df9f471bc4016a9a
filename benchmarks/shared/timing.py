"""Timing of several methods side by side.

Methods take turns, so that a slow spell of the machine hits all of them; the least time counts,
since everything that disturbs only adds to it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Method", "Timing", "round_robin", "time_methods"]

# Shares of the data on which a slow method is timed instead, and how long that may take.
_SHARES = (0.1, 0.05, 0.025)
_SHARE_SECONDS = 30.0


@dataclass(frozen=True)
class Method:
    """A way to learn components, in one library, with one setting.

    Attributes
    ----------
    name : str
        Library, class and what is special about the setting.
    family : str
        What is compared with a target: ``"gensim"``, ``"spams"``, ...
    dtype : str
        In which the data are handed over.
    settings : mapping
        All parameters that were given.
    fit : callable
        Takes what ``prepare`` returned, and returns the fitted model. This is what is timed.
    components : callable
        Takes the model, and returns an array of shape (n_components, n_features).
    transform : callable, optional
        The library's own codes: takes the model and samples.
    prepare : callable
        Puts samples into the form that the library takes. Not timed.
    n_transform : int, optional
        Number of samples for a slow transform.
    signed : bool
        Whether components may be negative.
    """

    name: str
    family: str
    dtype: str
    settings: Mapping[str, Any]
    fit: Callable[[Any], Any]
    components: Callable[[Any], Any]
    transform: Callable[[Any, Any], Any] | None = None
    prepare: Callable[[Any], Any] = field(default=lambda X: X)
    n_transform: int | None = None
    signed: bool = False


class Timing(NamedTuple):
    """Times of one method.

    Attributes
    ----------
    wall, cpu : list of float
        Seconds of each repetition, for the share of the data that was used.
    share : float
        That share; below 1 for a method that is too slow.
    model : object
        The last fitted model.
    """

    wall: list[float]
    cpu: list[float]
    share: float
    model: Any

    @property
    def seconds(self) -> float:
        """The least time, in proportion for all data."""
        return min(self.wall) / self.share

    def summary(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        return {
            "seconds": self.seconds,
            "cpu_seconds": min(self.cpu) / self.share,
            "repetitions": self.wall,
            "share_of_data": self.share,
            "extrapolated": self.share < 1.0,
        }


def round_robin(
    jobs: Mapping[str, Callable[[], Any]], repetitions: int
) -> dict[str, tuple[list[float], list[float], Any]]:
    """Call the jobs in turns; return wall times, processor times and the last value of each."""
    wall: dict[str, list[float]] = {name: [] for name in jobs}
    cpu: dict[str, list[float]] = {name: [] for name in jobs}
    value: dict[str, Any] = {}
    for _ in range(repetitions):
        for name, job in jobs.items():
            value.pop(name, None)
            begin, begin_cpu = time.perf_counter(), time.process_time()
            value[name] = job()
            wall[name].append(time.perf_counter() - begin)
            cpu[name].append(time.process_time() - begin_cpu)
    return {name: (wall[name], cpu[name], value[name]) for name in jobs}


def time_methods(
    methods: Sequence[Method], X: Any, *, repetitions: int, probe: int, cap: float
) -> dict[str, Timing]:
    """Fit the methods in turns, each after a warm-up on ``probe`` samples.

    A method that would take more than ``cap`` seconds is fitted once, on a share of the data.
    """
    jobs, timings = {}, {}
    for method in methods:
        share = _share(method, X, probe, cap)
        data = method.prepare(X[: round(share * len(X))].astype(method.dtype))
        if share == 1.0:
            jobs[method.name] = _job(method, data)
        else:
            wall, cpu, model = round_robin({"": _job(method, data)}, 1)[""]
            timings[method.name] = Timing(wall, cpu, share, model)
    for name, (wall, cpu, model) in round_robin(jobs, repetitions).items():
        timings[name] = Timing(wall, cpu, 1.0, model)
    return {method.name: timings[method.name] for method in methods}


def _job(method: Method, data: Any) -> Callable[[], Any]:
    return lambda: method.fit(data)


def _share(method: Method, X: Any, probe: int, cap: float) -> float:
    """Warm up, and return the share of the data that can be fitted in time."""
    data = method.prepare(X[:probe].astype(method.dtype))
    whole = 0.0
    for _ in range(2):  # the first call may import
        begin = time.perf_counter()
        method.fit(data)
        whole = (time.perf_counter() - begin) * len(X) / min(probe, len(X))
        if whole <= cap:
            return 1.0
    return next((share for share in _SHARES if share * whole <= _SHARE_SECONDS), _SHARES[-1])
