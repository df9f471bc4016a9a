"""Sparse archetypal NMF: archetypes near the hull of the data, with few nonzeros."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from thalweg._checks import (
    check_callback,
    check_count,
    check_positive,
    check_tol,
    check_whole,
    choose,
    generator,
)
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.continuation import Continuation
from thalweg.archetypes.local_search import LocalSearch
from thalweg.estimators import parameters
from thalweg.estimators._archetypal import ArchetypalEstimator
from thalweg.estimators._archetypal_parameters import check_alpha, check_weight, n_nonzeros
from thalweg.estimators.fitting import rollback_on_error
from thalweg.estimators.validation import check_fit_data
from thalweg.learning.archetypal import ArchetypalLearner
from thalweg.learning.archetypal_init import INITS, impute_means
from thalweg.learning.dictionaries import given_components
from thalweg.learning.progress import Progress

__all__ = ["SparseArchetypalNMF"]


class SparseArchetypalNMF(ArchetypalEstimator):
    """Find archetypes: a few extreme, sparse rows whose mixtures approximate all samples.

    Minimises |X - codes @ components_|^2 + weight |components_ - hull|^2. Codes are nonnegative
    with sum 1, each row of hull is the point of the data's convex hull nearest to a component, and
    components are nonnegative with at most ``sparsity`` nonzeros. Without ``sparsity`` this is the
    archetypal analysis of Javadi and Montanari; with ``weight=0`` it is NMF with codes in the
    simplex.

    With ``weight=None`` it minimises |components_ - hull|^2 subject to
    |x - code @ components_| <= alpha for every sample x, [A] (3).

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of archetypes, at most the number of samples. ``"auto"`` finds it by entries that
        are hidden from short fits; ``sparsity`` is then a share or None.
    sparsity : int, float or None, default=None
        Largest number of nonzeros of ``components_``, or their largest share, above 0 and at most
        1. None sets no limit.
    weight : float or None, default=1.0
        Weight of the distance of the archetypes from the hull of the data; dimensionless. See
        :func:`thalweg.select_weight`. None selects the constrained form, with ``alpha``.
    alpha : float or None, default=None
        With ``weight=None``: largest distance of a sample from the hull of the archetypes, in the
        units of the data. ``continuation_steps``, ``support_relaxations`` and ``swap_trials`` then
        have no effect, except that missing entries are imputed along a path to weight 1 first.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial archetypes. ``"projections"``: extreme samples, by successive projections;
        ``"robust-projections"``: means of samples near these; ``"samples"``: random samples;
        ``"random"``: random numbers; ``"zero"``: zeros, from which archetypes split off one by
        one; ``"mip"``: the outer approximation of [A] by integer programming, within ``mip_time``.
        ``"auto"`` tries all of these but the last, on very large data the first two, relaxes the
        supports of the best solutions, and keeps the one with the lowest objective. With an array
        the fit uses ``weight`` from the first sweep.
    continuation_steps : int, default=8
        Number of weights from 30 down to ``weight``. The solution for each is the initial point
        for the next. 1 uses ``weight`` only.
    support_relaxations : int, default=5
        For ``init="auto"``: how often the three best solutions may have more nonzeros for some
        sweeps, before the limit ``sparsity`` applies again. A relaxation that does not decrease
        the objective is discarded. 0 for none.
    local_search : bool, default=True
        Whether nonzeros may be swapped with zeros if that decreases the objective.
    swap_trials : int, default=20
        For ``local_search``: number of swaps that are evaluated with optimal codes and hull
        weights after a descent (Algorithm 3 of [A]), until none of them decreases the objective by
        the share ``tol``. They are the best ones for fixed codes and hull weights. The number of
        nonzeros times that of zeros tries all swaps; 0 tries none.
    mip_time : float, default=60.0
        Time limit of ``init="mip"``, in seconds.
    tol : float, default=1e-5
        The fit stops when a step changes the components by at most this share of their norm. 0
        runs all ``max_iter`` iterations.
    max_iter : int, default=1000
        Maximum number of sweeps for the last weight; in the constrained form, for each of its two
        stages.
    random_state : int, Generator, RandomState or None, default=None
        Seed of random initial archetypes.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each sweep.
    keep_history : bool, default=False
        Whether to keep the progress of each sweep in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The archetypes.
    n_components_ : int
        Number of archetypes.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the losses of the hidden entries by number of archetypes.
    membership_ : array of shape (n_samples, n_components)
        Codes of the training samples; rows have sum 1.
    labels_ : array of shape (n_samples,)
        The archetype nearest to each training sample.
    hull_weights_ : array of shape (n_components, n_samples)
        Weights of the samples in the point of the hull nearest to each archetype.
    objective_ : float
        The objective, a sum over samples. During the fit it is that for the current weight. In
        the constrained form, |components_ - hull|^2.
    path_ : tuple of thalweg.archetypes.continuation.PathPoint
        The solution for each weight, and after each relaxation; the last one is the result. Not in
        the constrained form.
    stationarity_ : float
        Relative change of the components by a further step. Not in the constrained form.
    feasible_ : bool
        Only with ``weight=None``: whether all samples are within ``alpha``. If not, the components
        have the smallest violation found; feasible ones may exist.
    violation_ : float
        With ``feasible_``: by how much the largest distance exceeds ``alpha``, 0 if it does not.
    init_ : str
        The initialisation with the lowest objective.
    init_objectives_ : dict of str to float
        The objective for each initialisation; inf if its result is not feasible.
    n_iter_ : int
        Number of sweeps, for all initialisations.
    n_swaps_ : int
        Number of swaps on the path to the result. Not in the constrained form.
    outlier_share_ : float
        Share of outliers among the observed entries; 0, since the model has no outliers.
    bound_ : float
        Only with ``init="mip"`` and without missing entries: a lower bound of
        |components - hull|^2 for all components with ``sparsity`` nonzeros, [A] (22). No
        objective is below ``weight * bound_``, or below ``bound_`` with ``weight=None``.
    gap_ : float
        With ``bound_``: its relative gap to the best components found for (22); 0 if they are
        optimal.
    init_guarantee_ : float
        With ``bound_`` and a weight: Proposition 5 of [A], an upper bound of
        (objective_ - minimum) / objective_; inf if ``bound_`` is 0. See Notes.
    history_ : list of Progress
        The progress after each iteration, with ``keep_history=True``.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

    Notes
    -----
    Missing entries, marked by ``NaN``, are imputed: first by the mean of their feature, then by
    ``codes @ components_`` after each weight of the path but the last. The objective is that of the
    imputed data. Codes of new samples use observed entries only.

    Proposition 5: for the objective Phi(H) = D(X, H) + weight D(H, X), the minimum is at least
    weight times ``bound_``, since D(X, H) >= 0. A descent from the initial state S ends at or below
    Phi(S), so that (objective_ - minimum) / objective_ is at most (Phi(S) - weight bound_) /
    (weight bound_). After a continuation, the larger of Phi(S) and ``objective_`` replaces Phi(S).
    The bound is useful for a large ``weight``. 1 - weight bound_ / objective_ is another upper
    bound, never larger than the first.

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

    The number of archetypes by hidden entries:

    >>> wide = X @ np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 2.0]])
    >>> noisy = wide + 0.01 * np.random.default_rng(1).random(wide.shape)
    >>> SparseArchetypalNMF("auto", random_state=0).fit(noisy).n_components_
    3
    """

    finds_rank = True

    def __init__(
        self,
        n_components: int | str = 10,
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
        n_jobs: int | None = None,
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
        self.n_jobs = n_jobs
        self.callback = callback
        self.keep_history = keep_history

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks missing entries. For data of either sign see
            :class:`thalweg.SignSplitter`.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        with rollback_on_error(self):
            X = check_fit_data(self, X, low_rank=False)
            learner = self.find_rank(X).make_learner(X.shape[0])
            rng = generator(self.random_state)
            rows, observed = impute_means(X)
        self.run_learner(learner, rows, observed, rng, X.dtype)
        return self

    def make_learner(self, n_samples: int) -> ArchetypalLearner:
        """Check the parameters, and return the learner.

        Parameters
        ----------
        n_samples : int
            Number of samples, a limit on the number of archetypes.

        Returns
        -------
        ArchetypalLearner
            A frozen dataclass.
        """
        shape = self._rank(), self.n_features_in_
        parameters.check_archetypes(shape[0], n_samples)
        weight = check_weight(self.weight, self.alpha)
        alpha = check_alpha(self.alpha) if weight is None else np.nan
        nonzeros = n_nonzeros(self.sparsity, shape[0] * shape[1])
        check_callback(self.callback)
        max_iter = check_count("max_iter", self.max_iter)
        descent = Descent(check_tol(self.tol), max_iter, bool(self.local_search))
        trials = check_whole("swap_trials", self.swap_trials)
        given = not isinstance(self.init, str)
        return ArchetypalLearner(
            n_components=shape[0],
            nonzeros=nonzeros,
            weight=weight,
            alpha=alpha,
            init=given_components("init", self.init, shape)
            if given
            else choose("init", self.init, INITS),
            continuation=Continuation(
                check_count("continuation_steps", self.continuation_steps), descent
            ),
            search=LocalSearch(trials if self.local_search else 0, descent),
            n_relaxations=check_whole("support_relaxations", self.support_relaxations),
            mip_seconds=check_positive("mip_time", self.mip_time),
        )
