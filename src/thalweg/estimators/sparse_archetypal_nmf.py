"""Sparse archetypal NMF: archetypes near the hull of the data, with few nonzeros."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Self, cast

import numpy as np

from thalweg._checks import (
    check_callback,
    check_count,
    check_positive,
    check_whole,
    choose,
    generator,
)
from thalweg._typing import Array, Indices, Mask
from thalweg.archetypes import DataMatrix, Point, Problem, State, initialisation
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.certificate import Certificate
from thalweg.archetypes.constrained_problem import ConstrainedResult, solve_constrained
from thalweg.archetypes.continuation import Continuation, PathPoint
from thalweg.archetypes.local_search import LocalSearch
from thalweg.archetypes.outer_approximation import OuterApproximation
from thalweg.archetypes.simplex_codes import SimplexCodes
from thalweg.archetypes.support_relaxation import relax_support
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.estimators import parameters
from thalweg.estimators._archetypal_runs import Planned, Run, completed, refilled
from thalweg.estimators.base import Factorization, rollback_on_error
from thalweg.estimators.validation import check_data
from thalweg.learning.dictionaries import given_components
from thalweg.learning.progress import Progress
from thalweg.learning.threads import few_threads

__all__ = ["SparseArchetypalNMF"]

_STARTS = ("auto", "mip", "projections", "robust-projections", "random", "samples", "zero")
# Those of "auto"; of data with more entries than that the first two. So many of them are widened.
_TRIED = ("projections", "robust-projections", "zero", "samples", "random")
_LARGE, _WIDENED = 2**25, 3
# Attributes that not every fit has.
_SOMETIMES = (
    *("history_", "bound_", "gap_", "init_guarantee_", "feasible_", "violation_"),
    *("path_", "stationarity_", "n_swaps_"),
)
# Sweeps after which starts of the outer approximation are compared.
_SHORT = 10


class SparseArchetypalNMF(Factorization):
    """Archetypes: a few extreme, sparse rows of which all samples are mixtures.

    Minimises |X - codes @ components_|^2 + weight |components_ - hull|^2, where codes are
    nonnegative with the sum 1, hull is the nearest point of the data's convex hull for each
    component, and components are nonnegative with at most ``sparsity`` nonzeros. Without
    ``sparsity`` it is the archetypal analysis of Javadi and Montanari; with ``weight=0`` it is
    NMF with codes in the simplex.

    With ``weight=None`` it minimises |components_ - hull|^2 subject to
    |x - code @ components_| <= alpha for every sample x, [A] (3).

    Parameters
    ----------
    n_components : int, default=10
        Number of archetypes, at most that of the samples.
    sparsity : int, float or None, default=None
        Nonzeros of ``components_`` in all: a number, or a share above 0 and at most 1. None does
        not limit them.
    weight : float or None, default=1.0
        How much nearness to the hull of the data counts; without units. See
        :func:`thalweg.select_weight`. None is the constrained form, with ``alpha``.
    alpha : float or None, default=None
        With ``weight=None``: how far a sample may be from the hull of the archetypes, in the
        units of the data. ``continuation_steps``, ``support_relaxations`` and ``swap_trials`` are
        not used then, except that data with gaps are completed along a path to a weight of 1 first.
    init : str or array of shape (n_components, n_features), default="auto"
        Where to begin. ``"projections"`` are extreme samples, one after the other projected out;
        ``"robust-projections"`` means of samples next to these; ``"samples"`` and ``"random"``
        are samples and numbers by chance; ``"zero"`` lets archetypes split off one by one;
        ``"mip"`` is the outer approximation of [A] by integer programming, within ``mip_time``.
        ``"auto"`` tries all of these but the last, on very large data the first two, widens the
        best ones, and keeps the lowest objective. An array is taken as it is, without the path.
    continuation_steps : int, default=8
        Number of weights from 30 down to ``weight``, each problem begun at the last solution.
        1 goes to ``weight`` at once.
    support_relaxations : int, default=5
        For ``"auto"``: how often the three best solutions may have more nonzeros for a while, and
        are then brought back to ``sparsity``. What is not better is not kept. 0 leaves it out.
    local_search : bool, default=True
        Whether nonzeros may change places with zeros, wherever that lowers the objective.
    swap_trials : int, default=20
        For ``local_search``: how many swaps are tried after a descent with the codes and the hull
        weights solved again for each (Algorithm 3 of [A]), until none of them lowers the objective
        by the share ``tol``. They are chosen by their change with both fixed. As many as
        nonzeros times zeros try all; 0 leaves it out.
    mip_time : float, default=60.0
        Seconds for the integer programs of ``init="mip"``.
    tol : float, default=1e-5
        The fit ends when a step would change the components by less than this share.
    max_iter : int, default=1000
        Cap on the sweeps of the last problem of a path; of the constrained form, for each of its
        two stages.
    random_state : int, Generator, RandomState or None, default=None
        Seed for the starts that need chance.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each sweep.
    keep_history : bool, default=False
        Whether to keep each sweep's progress in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The archetypes.
    membership_ : array of shape (n_samples, n_components)
        How each sample that was learned from is mixed; rows have the sum 1.
    labels_ : array of shape (n_samples,)
        The archetype nearest to each of these samples.
    hull_weights_ : array of shape (n_components, n_samples)
        How the hull's point next to each archetype is mixed from samples.
    objective_ : float
        What is minimised, a sum over samples. While the fit runs it is that of the problem on
        the path. Of the constrained form, |components_ - hull|^2.
    path_ : tuple of thalweg.archetypes.continuation.Stop
        The problems on the way, with their archetypes; the last one is the one asked for. Not of
        the constrained form.
    stationarity_ : float
        Share by which one more step would change the components. Not of the constrained form.
    feasible_ : bool
        Only with ``weight=None``: whether all samples are within ``alpha``. If not, the components
        are the ones that came nearest to it; there may be others.
    violation_ : float
        With ``feasible_``: by how much the farthest sample is beyond ``alpha``, 0 if it is not.
    init_ : str
        The start that was kept.
    init_objectives_ : dict of str to float
        The objective that each start led to; inf for one that led to no feasible components.
    n_iter_, n_swaps_ : int
        Sweeps of all starts; places that nonzeros changed on the path that was kept. The second
        not of the constrained form.
    outlier_share_ : float
        0: this model has no outliers.
    bound_ : float
        Only with ``init="mip"`` and data without gaps: a lower bound on |components - hull|^2 for
        all components with ``sparsity`` nonzeros, [A] (22). So no fit has an objective below
        ``weight * bound_``, or below ``bound_`` with ``weight=None``.
    gap_ : float
        With ``bound_``: how far it is from the best components found for (22), relative to their
        value. 0 if they are the best ones.
    init_guarantee_ : float
        With ``bound_`` and a weight: Proposition 5 of [A], a bound on
        (objective_ - minimum) / objective_ from the start; inf if ``bound_`` is 0. See Notes.
    history_ : list of Progress
        Only with ``keep_history=True``.
    n_samples_seen_, n_features_in_ : int
        Counts.

    Notes
    -----
    Gaps, marked by ``NaN``, begin as the mean of their feature and are set to
    ``codes @ components_`` after each problem of the path but the last: the objective is that of
    the data so completed. Codes of new samples leave gaps out.

    Proposition 5: with the objective Phi(H) = D(X, H) + weight D(H, X), its minimum is at least
    weight times ``bound_``, since D(X, H) >= 0. A descent from the start S ends at or below
    Phi(S), so that (objective_ - minimum) / objective_ is at most (Phi(S) - weight bound_) /
    (weight bound_). Along a path the larger of Phi(S) and ``objective_`` takes its place. It says
    most for a large ``weight``; 1 - weight bound_ / objective_ is a bound as well, and is never
    above it.

    References
    ----------
    K. Behdin and R. Mazumder, "Sparse NMF with archetypal regularization: computational and
    robustness properties", Journal of Machine Learning Research, 2023.

    H. Javadi and A. Montanari, "Nonnegative matrix factorization via archetypal analysis",
    Journal of the American Statistical Association, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import SparseArchetypalNMF
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> X = np.random.default_rng(0).dirichlet(np.full(3, 0.3), 200) @ corners
    >>> model = SparseArchetypalNMF(3, sparsity=2, random_state=0).fit(X)
    >>> sorted((model.components_ > 0).sum(axis=1).tolist())
    [0, 1, 1]

    Every sample within 0.02 of the hull of the archetypes:

    >>> model = SparseArchetypalNMF(3, weight=None, alpha=0.02, random_state=0).fit(X)
    >>> model.feasible_, model.violation_
    (True, 0.0)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        sparsity: float | None = None,
        weight: float | None = 1.0,
        alpha: float | None = None,
        init: Any = "auto",
        continuation_steps: int = 8,
        support_relaxations: int = 5,
        local_search: bool = True,
        swap_trials: int = 20,
        mip_time: float = 60.0,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.weight = weight
        self.alpha = alpha
        self.init = init
        self.continuation_steps = continuation_steps
        self.support_relaxations = support_relaxations
        self.local_search = local_search
        self.swap_trials = swap_trials
        self.mip_time = mip_time
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback
        self.keep_history = keep_history

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks gaps. For data of either sign see
            :class:`thalweg.SignSplitter`.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            rows, observed = completed(X)
            planned = self.plan_rows(rows)
        return self.fit_rows(*planned, observed, X.dtype)

    def plan_rows(self, rows: DataMatrix) -> tuple[Problem, list[Planned]]:
        """Check the parameters; return the problem, and where to begin."""
        count = check_count("n_components", self.n_components)
        m, n = rows.shape
        parameters.check_archetypes(count, m)
        with few_threads(n, count, m):
            problem = Problem(rows, self._weight(), self._nonzeros(count, n))
            return problem, self._runs(problem, count)

    def fit_rows(
        self, problem: Problem, runs: list[Planned], observed: Mask | None, dtype: Any
    ) -> Self:
        """Learn from data whose gaps are filled, wherever they are."""
        m, n = problem.rows.shape
        self._begin(m, dtype)
        with few_threads(n, int(self.n_components), m):
            if self.weight is None:
                return self._constrained(problem, runs, observed)
            ran = [run(problem, partial(refilled, observed), self._note) for run in runs]
            self.init_objectives_ = {run.name: run.ended.point.objective for run in ran}
            ran.sort(key=lambda run: run.ended.point.objective)
            if len(ran) > 1:
                best = [self._widened(run, problem) for run in ran[:_WIDENED]]
                lowest = min(best, key=lambda run: run.ended.point.objective)
                ran = [self._shown(lowest.searched(problem, self._search(), self._note), problem)]
            self._keep(ran[0])
        return self._certified(problem.weight if observed is None else None)

    def _constrained(self, problem: Problem, runs: list[Planned], observed: Mask | None) -> Self:
        """Solve (3) from each start, and keep the best."""
        alpha, descent = float(cast("float", self.alpha)), self._descent()
        rows, found = dict[str, DataMatrix](), dict[str, ConstrainedResult]()
        for name, path, _, start in runs:
            rows[name], state = problem.rows, start()
            if observed is not None:
                refill = partial(refilled, observed)
                _, ended, rows[name] = path.run(problem, state, self._note, refill)
                state = ended.point.state
            limits = (alpha, problem.nonzeros, descent)
            found[name] = solve_constrained(rows[name], state, *limits, self._note)
        self.init_objectives_ = {
            n: one.distance if one.feasible else np.inf for n, one in found.items()
        }
        self.init_ = min(found, key=lambda name: found[name].rank)
        best = found[self.init_]
        # what is kept is what was shown last
        self._note(problem.at(best.state)._replace(objective=best.distance))
        self._keep_state(rows[self.init_], best.state)
        self.feasible_, self.violation_ = best.feasible, max(0.0, best.worst - alpha)
        return self._certified(problem.weight if observed is None else None)

    def _certified(self, weight: float | None) -> Self:
        """Publish what the outer approximation proved, unless gaps were filled anew since."""
        certificate = self.__dict__.pop("_certificate", None)
        if certificate is not None and weight is not None:
            self.bound_, self.gap_ = certificate.bound, certificate.gap
            if self.weight is not None:
                self.init_guarantee_ = certificate.guarantee(weight, self.objective_)
        return self

    def _encoder(self) -> Encoder:
        return SimplexCodes()

    def _begin(self, n_samples: int, dtype: Any) -> None:
        self.n_samples_seen_ = n_samples
        self.outlier_share_ = 0.0
        self.n_iter_ = 0
        self._dtype = dtype
        for name in _SOMETIMES:
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.keep_history:
            self.history_: list[Progress] = []

    def _note(self, point: Point) -> None:
        self.n_iter_ += 1
        self.components_ = np.ascontiguousarray(point.state.H, dtype=self._dtype)
        self.objective_ = point.objective
        progress = Progress(self.n_samples_seen_, None, self.objective_, 0.0)
        if self.keep_history:
            self.history_.append(progress)
        if self.callback is not None:
            self.callback(progress)

    def _widened(self, run: Run, problem: Problem) -> Run:
        """Return a run with detours through denser archetypes."""
        if problem.nonzeros is None:
            return run
        problem = replace(problem, rows=run.rows)
        found = relax_support(
            problem, run.ended, self._descent(), self.support_relaxations, self._note
        )
        stops = run.stops + tuple(PathPoint.of(problem, ended) for ended in found[1:])
        return run._replace(ended=found[-1], stops=stops)

    def _shown(self, run: Run, problem: Problem) -> Run:
        """Return a run after one more sweep, so that what is kept is what was shown last."""
        problem = replace(problem, rows=run.rows)
        once = replace(self._descent(), max_sweeps=1)
        ended = once.run(problem, run.ended.point.state, self._note)
        last, stop = run.stops[-1], PathPoint.of(problem, ended)
        stop = stop._replace(sweeps=last.sweeps + stop.sweeps, swaps=last.swaps + stop.swaps)
        return run._replace(ended=ended, stops=(*run.stops[:-1], stop))

    def _descent(self) -> Descent:
        return Descent(
            check_positive("tol", self.tol),
            check_count("max_iter", self.max_iter),
            bool(self.local_search),
        )

    def _search(self) -> LocalSearch:
        trials = check_whole("swap_trials", self.swap_trials)
        return LocalSearch(trials if self.local_search else 0, self._descent())

    def _keep_state(self, rows: DataMatrix, state: State) -> None:
        H, W, T = state
        self.components_ = np.ascontiguousarray(H, dtype=self._dtype)
        self.membership_, self.hull_weights_ = W.astype(self._dtype), T.astype(self._dtype)
        self.labels_ = _nearest(rows, H)

    def _keep(self, run: Run) -> None:
        self._keep_state(run.rows, run.ended.point.state)
        self.path_ = run.stops
        self.init_ = run.name
        self.stationarity_ = run.ended.residual
        self.n_swaps_ = sum(stop.swaps for stop in run.stops)

    def _weight(self) -> float:
        weight: Any = self.weight
        if weight is None:
            self._check_alpha()
            return 1.0  # of the Lagrangian; samples have multipliers
        if self.alpha is not None:
            raise ParameterError(
                f"alpha must be None unless weight is None, got {self.alpha!r}. Set weight=None to "
                "minimise the distance from the hull with samples within alpha."
            )
        if not (isinstance(weight, (int, float, np.number)) and 0.0 <= weight < np.inf):
            raise ParameterError(
                f"weight must be a finite number that is 0 or more, got {weight!r}. "
                "Begin with 1; select_weight finds one by held-out samples."
            )
        return float(weight)

    def _check_alpha(self) -> None:
        alpha: Any = self.alpha
        number = isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool)
        if not (number and 0.0 < alpha < np.inf):
            raise ParameterError(
                f"alpha must be a finite number above 0 with weight=None, got {alpha!r}. It is the "
                "largest distance of a sample from the hull of the archetypes, in the data's units."
            )

    def _nonzeros(self, k: int, n: int) -> int | None:
        given: Any = self.sparsity
        if given is None:
            return None
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            nonzeros = int(given)
        elif isinstance(given, (float, np.floating)) and 0.0 < given <= 1.0:
            nonzeros = max(1, round(float(given) * k * n))
        else:
            nonzeros = 0
        if not 1 <= nonzeros <= k * n:
            raise ParameterError(
                "sparsity must be None, a share above 0 and at most 1, or an integer from 1 "
                f"to {k * n} (n_components times features), got {given!r}. "
                "It is the number of nonzeros, not of zeros."
            )
        return nonzeros

    def _runs(self, problem: Problem, k: int) -> list[Planned]:
        """Return the starts to try, each with its path; all parameters are checked here."""
        check_callback(self.callback)
        path = Continuation(
            check_count("continuation_steps", self.continuation_steps), self._descent()
        )
        check_positive("mip_time", self.mip_time)
        check_whole("support_relaxations", self.support_relaxations)
        search = self._search()
        rng = generator(self.random_state)
        if not isinstance(self.init, str):
            H = given_components("init", self.init, (k, problem.rows.shape[1]))
            once = replace(path, count=1)  # a large weight would pull it away
            return [
                Planned(
                    "given", once, search, partial(initialisation.from_archetypes, problem.rows, H)
                )
            ]
        name = choose("init", self.init, _STARTS)
        if name != "auto":
            return [Planned(name, path, search, partial(self._start, name, problem, k, rng))]
        return list(self._automatic(problem, k, path, search, rng))

    def _automatic(
        self,
        problem: Problem,
        k: int,
        path: Continuation,
        search: LocalSearch,
        rng: np.random.Generator,
    ) -> Iterator[Planned]:
        m, n = problem.rows.shape
        for name in _TRIED[: 2 if m * n > _LARGE else None]:
            # a generator for each, so that each is the start that users get by its name
            start = partial(self._start, name, problem, k, deepcopy(rng))
            yield Planned(name, path, search, start)

    def _start(self, name: str, problem: Problem, k: int, rng: np.random.Generator) -> State:
        rows = problem.rows
        if name == "zero":
            return initialisation.zero(rows, k)
        if name == "mip":
            return self._mip(problem, k)
        if name == "random":
            return initialisation.from_archetypes(rows, rng.random((k, rows.shape[1])) * rows.top)
        if name == "robust-projections":
            return initialisation.from_archetypes(
                rows, initialisation.robust_successive_projections(rows, k)
            )
        extreme = name == "projections"
        chosen = (
            initialisation.successive_projections(rows, k)
            if extreme
            else initialisation.random_samples(rows, k, rng)
        )
        return initialisation.from_archetypes(rows, rows.take(chosen))

    def _mip(self, problem: Problem, k: int) -> State:
        """Return the better of (22) and (22) around projections, by (17) after a few sweeps."""
        rows, seconds = problem.rows, float(self.mip_time) / 2
        nonzeros = problem.nonzeros or k * rows.shape[1]
        found = [
            OuterApproximation(k, anchors, seconds=seconds).run(rows, nonzeros)
            for anchors in (None, initialisation.successive_projections(rows, k))
        ]
        short = Descent(max_sweeps=_SHORT, swaps=False)
        best = min(found, key=lambda one: short.run(problem, one.state).point.objective).state
        self._certificate = Certificate.of(problem, best, *found)
        return best


def _nearest(rows: DataMatrix, H: Array) -> Indices:
    """Return the number of the archetype nearest to each sample."""
    squares = np.einsum("ij,ij->i", H, H)
    nearest: Indices = np.argmin(squares[:, None] - 2.0 * rows.correlated(H), axis=0)
    return nearest
