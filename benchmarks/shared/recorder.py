"""Components during a fit, and their times."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["Recorder", "record"]

# Snapshots are taken when the time since the start has grown by this factor.
SPACING = 1.12
# Rounds before which a fit is not judged to have converged.
EARLIEST = 100


class Recorder:
    """A callback that keeps components and times; its own time is not counted.

    ``calm`` ends a fit once the second half of its rounds has lowered the objective by less than
    this share of it. A small decrease in one round would not do: a slow method can have many.
    ``ended`` is the reason for the end: ``"converged"``, or time ``"up"``.
    """

    def __init__(
        self,
        model: Any,
        budget: float,
        clock: Callable[[], float] = time.perf_counter,
        calm: float | None = None,
    ) -> None:
        self.model, self.budget, self.clock, self.calm = model, budget, clock, calm
        self.times: list[float] = []
        self.objectives: list[float] = []
        self.components: list[Any] = []
        self.trail: list[float] = []
        self.ended = "converged"
        self.paused, self.begin = 0.0, clock()

    def __call__(self, progress: Any) -> None:
        """Take a snapshot if one is due; end the fit if its time is up or it has converged."""
        now = self.clock()
        elapsed = now - self.begin - self.paused
        self.trail.append(progress.objective)
        if not self.times or elapsed >= SPACING * self.times[-1]:
            self.keep(elapsed, progress.objective)
        self.paused += self.clock() - now
        if elapsed > self.budget:
            self.ended = "up"
            raise _Enough
        if self.calm is not None and len(self.trail) >= EARLIEST and self.fall() <= self.calm:
            raise _Enough

    def fall(self) -> float:
        """Return the decrease of the objective in the second half of all rounds, over its end."""
        half = self.trail[max(len(self.trail) // 2 - 1, 0)]
        return (half - self.trail[-1]) / abs(self.trail[-1])

    def keep(self, elapsed: float, objective: float) -> None:
        """Take a snapshot."""
        self.times.append(elapsed)
        self.objectives.append(objective)
        self.components.append(self.model.components_.copy())


class _Enough(Exception):  # noqa: N818 - not an error
    """The time is up, or the fit has converged."""


def record(model: Any, X: Any, budget: float, **options: Any) -> Recorder:
    """Fit the model, for about ``budget`` seconds at most; options are those of the recorder."""
    recorder = Recorder(model, budget, **options)
    model.set_params(callback=recorder)
    recorder.begin = recorder.clock()
    with suppress(_Enough):
        model.fit(X)
    recorder.keep(recorder.clock() - recorder.begin - recorder.paused, model.objective_)
    return recorder
