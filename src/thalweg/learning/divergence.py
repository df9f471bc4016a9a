"""The model under a divergence, and its online learner: [D]."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Array
from thalweg.divergences import Divergence
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.divergences.negative_binomial import NegativeBinomial
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.divergences.zero_inflated import ZeroInflated
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.divergence_problem import coefficients
from thalweg.encoders.fast import Fast
from thalweg.encoders.multiplicative import Multiplicative as MultiplicativeEncoder
from thalweg.encoders.newton import Newton
from thalweg.encoders.nonnegative_least_squares import NonnegativeLeastSquares
from thalweg.encoders.sparse_divergence_problem import supports_sparse
from thalweg.encoders.sparse_kl import SparseKL
from thalweg.encoders.subgradient import Subgradient as SubgradientEncoder
from thalweg.errors import ParameterError
from thalweg.learning.batches import Batch, DataForm, largest_entry
from thalweg.learning.code_prior import empty_prior
from thalweg.learning.count_dispersion import tuned_counts
from thalweg.learning.dictionaries import scaled_dictionary
from thalweg.learning.noise import NoiseEstimate, estimate_noise
from thalweg.learning.online import SAMPLE_WEIGHT_EXPONENT, OnlineLearner
from thalweg.learning.online_state import OnlineState
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.updates import DictionaryUpdate
from thalweg.updates.atom_scaling import smallest_entries
from thalweg.updates.multiplicative import Multiplicative
from thalweg.updates.second_order import SecondOrderSurrogate
from thalweg.updates.subgradient import Subgradient
from thalweg.updates.surrogate import Surrogate

__all__ = ["DivergenceLearner", "DivergenceModel", "same_loss"]

# Rows from which the form of the data is chosen.
_FORM_ROWS = 1000
# Share of nonzero entries below which the loops visit only these. benchmark: topics
_SPARSE_SHARE = 0.1
# Smallest entry for losses that are infinite at 0, as a share of the mean.
# Safety margin: any value in 1e-10..1e-6 gives the same results.
_FLOOR_SHARE = 1e-8
# Iterations of encoding and estimating that find the first scale of Huber's loss.
_SCALE_ITERATIONS = 3
# While learning, codes are found to this multiple of the tolerance. benchmark: online_peers
_TRAINING_TOL_FACTOR = 10.0
# Numbers that the curvature of all features may take; beyond, updates are multiplicative.
_LARGEST_CURVATURE = 2**24


@dataclass(frozen=True, eq=False)
class DivergenceModel:
    """Codes under a divergence for a fixed dictionary: ``argmin_h d(v | W h) + omega(h)``.

    Parameters
    ----------
    n_components : int
        Number of columns K of the dictionary.
    loss : Divergence
        The divergence d. Huber's loss without a threshold gets one from the noise, and counts
        without a dispersion get one from the first samples.
    code_penalty : Prox
        Penalty omega of the codes.
    constraint : Prox
        Set of the dictionary's columns.
    frozen : array of shape (F, n_frozen)
        Columns that never change.
    initial : str or array of shape (K, F)
        Initial components.
    tol : float
        Relative accuracy of the codes.
    outlier_losses : tuple of types
        Losses for data with outliers, which distort singular vectors: ``"auto"`` is ``"random"``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.batches import DataForm
    >>> from thalweg.learning.divergence import DivergenceModel
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.prox.orthant import Orthant
    >>> model = DivergenceModel(2, KL(), Orthant(), L2Ball(), np.empty((4, 0)))
    >>> model.encoder(KL(), DataForm(sparse=True)).name
    'sparse-kl'
    """

    n_components: int
    loss: Divergence
    code_penalty: Prox
    constraint: Prox
    frozen: Array
    initial: Any = "auto"
    tol: float = 1e-3
    outlier_losses: tuple[type, ...] = (Huber,)

    def form(self, X: Any) -> DataForm:
        """Choose the form of the data from their first rows."""
        rows = X[:_FORM_ROWS]
        values: Array = rows.data if sparse.issparse(rows) else rows
        size = max(rows.shape[0] * rows.shape[1], 1)
        dense = np.count_nonzero(values) >= _SPARSE_SHARE * size
        sparse_form = bool(supports_sparse(self.loss) and not dense)
        if self.loss.domain.closed:
            return DataForm(sparse_form)
        mean = float(np.nansum(values, dtype=np.float64)) / size
        return DataForm(sparse_form, _FLOOR_SHARE * mean or 1.0)

    def encoder(self, loss: Divergence, form: DataForm, tol_factor: float = 1.0) -> Encoder:
        """Return the encoder for a loss."""
        tol, penalty = tol_factor * self.tol, self.code_penalty
        if isinstance(loss, Huber):  # the envelope of the l1 norm of outliers
            return Fast(outliers=L1(float(loss.delta or 0.0)), penalty=penalty, tol=tol)
        if isinstance(loss, SquaredL2):
            return NonnegativeLeastSquares(penalty=penalty)
        if form.sparse and isinstance(loss, KL) and coefficients(penalty)[1] == 0.0:
            return SparseKL(penalty=penalty, tol=tol)
        if form.sparse:
            return MultiplicativeEncoder(loss=loss, penalty=penalty, tol=0.1 * tol, max_iter=1000)
        return Newton(loss=loss, penalty=penalty, tol=tol)

    def dictionary(self, batch: Batch, rng: np.random.Generator) -> Array:
        """Return the initial dictionary, without zeros where the loss would be infinite."""
        W = scaled_dictionary(
            self._initial(batch), self.frozen, self.n_components, batch, self.constraint, rng
        )
        least = smallest_entries(W, self.loss)
        least[: self.frozen.shape[1]] = 0.0
        return np.asfortranarray(np.maximum(W, least))

    def _initial(self, batch: Batch) -> Any:
        # singular vectors of data that are mostly missing are single entries
        distorted = isinstance(self.loss, self.outlier_losses) or _is_mostly_missing(batch)
        automatic = isinstance(self.initial, str) and self.initial == "auto"
        return "random" if automatic and distorted else self.initial

    def first_loss(self, batch: Batch, W: Array, form: DataForm) -> Divergence:
        """Return the loss, with what is open in it estimated from the first batch."""
        if isinstance(self.loss, (NegativeBinomial, ZeroInflated)):
            return tuned_counts(self.loss, batch, W)
        if not isinstance(self.loss, Huber):
            return self.loss
        scale = 10.0 * largest_entry(batch) or 1.0  # large enough for no outlier
        for _ in range(_SCALE_ITERATIONS):
            encoder = self.encoder(self.loss.tuned(scale), form)
            codes = encoder.encode(batch.V, W, observed=batch.observed)
            scale = estimate_noise(batch, W, codes.H).positive_scale or scale
        return self.loss.tuned(scale)

    def loss_at(self, noise: NoiseEstimate, current: Divergence) -> Divergence:
        """Return the loss for a noise estimate; it changes only for Huber's."""
        if not isinstance(self.loss, Huber):
            return current
        return self.loss.tuned(noise.positive_scale) if noise.positive_scale else current


@dataclass(frozen=True, eq=False)
class DivergenceLearner(OnlineLearner):
    """Online NMF under a divergence, [D] Algorithm 1.

    Parameters
    ----------
    model : DivergenceModel
        Encoders and the initial dictionary.
    solver : {"fast", "mu", "spsgd"}
        Newton's method and a quadratic surrogate, multiplicative updates, or the paper's
        stochastic projected subgradients.
    forgetting : float
        Factor of a sample's weight for each later sample.
    schedule : tuple of float
        ``"spsgd"``: parameters a and b of the steps.
    absolute_steps, subgradient_codes, paper_set : bool
        ``"spsgd"``: the paper's steps, codes and constraint set as printed.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.divergence import DivergenceLearner, DivergenceModel
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.prox.orthant import Orthant
    >>> model = DivergenceModel(2, KL(), Orthant(), L2Ball(), np.empty((4, 0)))
    >>> learner = DivergenceLearner(model, "mu")
    >>> learner.init(as_batch(np.ones((9, 4))), DataForm(), np.random.default_rng(0)).loss.name
    'kl'
    """

    model: DivergenceModel
    solver: str = "fast"
    forgetting: float = 1.0
    schedule: tuple[float, float] = (1.0, 2e4)
    absolute_steps: bool = False
    subgradient_codes: bool = False
    paper_set: bool = False

    def form(self, X: Any) -> DataForm:
        """Choose the form of the data; subgradient steps need the model at all entries."""
        form = self.model.form(X)
        return form._replace(sparse=form.sparse and self.solver != "spsgd")

    def encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder for the current loss."""
        return self.model.encoder(_loss(state), state.form)

    def update(self, state: OnlineState) -> DictionaryUpdate[Any]:
        """Return the dictionary update for the current loss."""
        return self._update(_loss(state), state.form)

    def _update(self, loss: Divergence, form: DataForm) -> DictionaryUpdate[Any]:
        model = self.model
        common: dict[str, Any] = {
            "constraint": model.constraint,
            "forgetting": self.forgetting,
            "frozen": model.frozen.shape[1],
            "fade": SAMPLE_WEIGHT_EXPONENT,
        }
        if self.solver == "fast" and isinstance(loss, Huber):
            return Surrogate(**common)
        if self.solver == "spsgd":
            common |= {"constraint": None} if self.paper_set else {}
            return Subgradient(loss, schedule=self.schedule, absolute=self.absolute_steps, **common)
        l1, l2 = coefficients(model.code_penalty)
        common |= {"loss": loss, "code_l1": l1, "code_l2": l2}
        large = len(model.frozen) * model.n_components**2 > _LARGEST_CURVATURE
        squares = isinstance(loss, SquaredL2)  # all features share a matrix
        if self.solver == "mu" or ((form.sparse or large) and not squares):
            return Multiplicative(**common)
        return SecondOrderSurrogate(**common)

    def first_state(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the initial dictionary and loss."""
        W = self.model.dictionary(batch, rng)
        loss = self.model.first_loss(batch, W, form)
        update = self._update(loss, form)
        if isinstance(update, Subgradient) and update.constraint is None:
            W = update.inside(W, W[:, : update.frozen])  # the paper's set bounds rows, too
        return OnlineState(W, None, empty_prior(self.model.n_components), form, loss=loss)

    def check_continues(self, state: OnlineState) -> None:
        """Raise if the loss or the frozen components have changed."""
        super().check_continues(state)
        same_loss(self.model.loss, _loss(state))

    def training_encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder of the solver, with a larger tolerance."""
        loss, model = _loss(state), self.model
        if self.solver == "mu":
            return MultiplicativeEncoder(loss, model.code_penalty, tol=model.tol)
        if self.subgradient_codes:
            tol = _TRAINING_TOL_FACTOR * model.tol
            return SubgradientEncoder(
                loss, model.code_penalty, tol=tol, absolute=self.absolute_steps
            )
        return model.encoder(loss, state.form, _TRAINING_TOL_FACTOR)

    def follow_noise(
        self, state: OnlineState, batch: Batch, H: Array, every_feature: int = 1
    ) -> OnlineState:
        """Update an automatic Huber threshold from the residuals of a batch."""
        if not isinstance(self.model.loss, Huber):
            return state
        latest = estimate_noise(batch, state.W[::every_feature], H)
        noise = state.noise_estimate.averaged(latest)
        return state._replace(noise_estimate=noise, loss=self.model.loss_at(noise, _loss(state)))

    def batch_outlier_share(self, state: OnlineState, batch: Batch, codes: Codes) -> float:
        """Return the share of outliers; 0 but for Huber's loss."""
        if isinstance(state.loss, Huber):
            return super().batch_outlier_share(state, batch, codes)
        return 0.0


def same_loss(loss: Divergence, current: Divergence) -> None:
    """Raise unless the loss is of the type that the stream began with.

    Examples
    --------
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.divergence import same_loss
    >>> same_loss(KL(), KL())
    """
    if type(loss) is not type(current):
        raise ParameterError(
            f"loss must be {current!r}, as in the first batch, got {loss!r}. "
            "Fit a new estimator for another loss."
        )


def _loss(state: OnlineState) -> Divergence:
    if state.loss is None:
        raise TypeError("the state of a divergence learner must have a loss, got None")
    return state.loss


def _is_mostly_missing(batch: Batch) -> bool:
    observed = batch.mask
    return observed is not None and bool(2 * np.count_nonzero(observed) < observed.size)
