"""Components on the way of a fit, and when they were reached."""

import time
from contextlib import suppress
from typing import Any

__all__ = ["Recorder", "record"]

# Snapshots are taken when the time since the start has grown by this factor.
SPACING = 1.12


class Recorder:
    """A callback that keeps components and times; the clock stands while it works."""

    def __init__(self, model: Any, budget: float) -> None:
        self.model, self.budget = model, budget
        self.times: list[float] = []
        self.objectives: list[float] = []
        self.components: list[Any] = []
        self.paused, self.begin = 0.0, time.perf_counter()

    def __call__(self, progress: Any) -> None:
        now = time.perf_counter()
        elapsed = now - self.begin - self.paused
        if not self.times or elapsed >= SPACING * self.times[-1]:
            self.keep(elapsed, progress.objective)
        self.paused += time.perf_counter() - now
        if elapsed > self.budget:
            raise _Enough

    def keep(self, elapsed: float, objective: float) -> None:
        """Take a snapshot."""
        self.times.append(elapsed)
        self.objectives.append(objective)
        self.components.append(self.model.components_.copy())


class _Enough(Exception):  # noqa: N818 - not an error
    """The time is up."""


def record(model: Any, X: Any, budget: float) -> Recorder:
    """Fit the model, for about ``budget`` seconds at most."""
    recorder = Recorder(model, budget)
    model.set_params(callback=recorder)
    recorder.begin = time.perf_counter()
    with suppress(_Enough):
        model.fit(X)
    recorder.keep(time.perf_counter() - recorder.begin - recorder.paused, model.objective_)
    return recorder
