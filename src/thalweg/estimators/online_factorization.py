"""Online factorisation with any encoder and any dictionary update."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_count, choose
from thalweg.encoders import Encoder
from thalweg.encoders.fast import Fast
from thalweg.errors import ParameterError
from thalweg.estimators.streaming import StreamingEstimator
from thalweg.learning.composition import Composition
from thalweg.learning.dictionaries import INITS
from thalweg.learning.progress import Progress
from thalweg.updates import DictionaryUpdate
from thalweg.updates.surrogate import Surrogate

__all__ = ["OnlineFactorization"]


class OnlineFactorization(StreamingEstimator):
    """Factorise a stream with a given encoder and a given dictionary update.

    Each batch is encoded with the current components, ``codes = argmin_h`` of the loss of the
    encoder; then the update minimises its own objective over the components.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    encoder : Encoder, optional
        Computes the codes of a batch; by default :class:`thalweg.encoders.fast.Fast`.
    update : DictionaryUpdate, optional
        Updates the components; by default :class:`thalweg.updates.surrogate.Surrogate`.
    batch_size : "auto" or int, default="auto"
        Number of samples between two updates of the components in :meth:`fit`.
    epochs : int, default=1
        Number of epochs in :meth:`fit`: how often all samples are used.
    shuffle : bool, default=True
        Whether :meth:`fit` uses the samples in random order.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components: uniform random numbers, the positive or negative parts of singular
        vectors mixed with the mean sample, or samples. ``"auto"`` is ``"random"``, since outliers
        distort singular vectors.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components and of the order of the samples.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each batch.
    keep_history : bool, default=False
        Whether to keep the progress of each batch in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : object
        The state of the dictionary update.
    objective_ : float
        Mean objective per sample: the objective of the update at ``components_``.
    outlier_share_ : float
        Share of outliers among the observed entries of the latest batches.
    history_ : list of Progress
        The progress after each batch, with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Numbers of samples, batches and features.

    Examples
    --------
    OADMM of [O] with a larger penalty parameter:

    >>> from thalweg import OnlineFactorization, synthetic
    >>> from thalweg.encoders.admm import Admm
    >>> from thalweg.prox.l1 import L1
    >>> from thalweg.solvers.admm import MatrixAdmm
    >>> from thalweg.updates.surrogate import Surrogate
    >>> X = synthetic.nmf_with_outliers(500, 30, 3, random_state=0).X
    >>> model = OnlineFactorization(
    ...     3,
    ...     encoder=Admm(outliers=L1(0.2), rho=10.0),
    ...     update=Surrogate(solver=MatrixAdmm(rho=10.0)),
    ...     random_state=0,
    ... )
    >>> model.fit(X).components_.shape
    (3, 30)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        encoder: Encoder | None = None,
        update: DictionaryUpdate[Any] | None = None,
        batch_size: str | int = "auto",
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.encoder = encoder
        self.update = update
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.keep_history = keep_history

    def make_learner(self) -> Composition:
        """Check the parameters, and return the learner.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        encoder = Fast() if self.encoder is None else self.encoder
        update = Surrogate() if self.update is None else self.update
        _require(encoder, Encoder, "encoder")
        _require(update, DictionaryUpdate, "update")
        if isinstance(self.init, str):
            choose("init", self.init, INITS)
        count = check_count("n_components", self.n_components)
        return Composition(count, encoder, update, self.init)


def _require(component: Any, contract: Any, parameter: str) -> None:
    if isinstance(component, type) or not isinstance(component, contract):
        raise ParameterError(
            f"{parameter} must be an object with the methods of {contract.__name__}, got "
            f"{component!r}. See docs/adding.md."
        )
