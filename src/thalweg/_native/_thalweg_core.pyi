"""Compiled loops on arrays. Rows are samples."""

import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

def target_level() -> int:
    """
    Return the level of the x86-64 instruction set in use (2, 3 or 4); 0 elsewhere.
    """

def set_target_level(level: int) -> None:
    """Use an instruction set of at most this level, for tests."""

def thread_count() -> int:
    """Return how many threads kernels called from here use."""

def set_thread_count(count: int) -> int:
    """
    Set how many threads kernels called from this thread use; return the number before.
    """

def thread_limit() -> int:
    """Return the largest number of threads of any call."""

def set_thread_limit(limit: int) -> None:
    """Set the largest number of threads of any call in the process."""

class SparseRecovery:
    """
    Bound of the residual norm, and smallest outlier, in data units or in noise scales.
    """

    def __init__(
        self,
        *,
        noise_bound: float,
        noise_bound_in_data_units: bool,
        support_threshold: float,
        support_threshold_in_data_units: bool,
    ) -> None: ...

class NoiseAverage:
    """Running geometric mean of noise scales."""

    def __init__(self, *, scale: float, n_samples: float) -> None: ...
    @property
    def scale(self) -> float: ...
    @property
    def n_samples(self) -> float: ...

def least_l1_outliers(
    v: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    A: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    bound: float,
    h: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    e: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> float:
    """
    Set h and e = v - A'h to argmin |x|_1 subject to |e - x| <= bound; return the limit beyond which e is x.
    """

def recover_sparse(
    V: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    P: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    problem: SparseRecovery,
    memory: float,
    noise: NoiseAverage,
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Separate the rows of V into P'h, outliers and noise, one after the other.
    """

class RegressionProblem:
    """
    argmin_(h, r) |v - U'h - r|^2 / 2 + outlier_weight |r|_1 + ridge |h|^2 / 2; with a weight of 0 |v - U'h|_1 + ridge |h|^2 / 2. Solved by ADMM with penalty parameter rho.
    """

    def __init__(
        self, *, ridge: float, outlier_weight: float, rho: float, tol: float, max_iter: int
    ) -> None: ...

@overload
def robust_codes(
    U: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    V: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    problem: RegressionProblem,
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def robust_codes(
    U: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    V: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    problem: RegressionProblem,
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """Set the codes of each row of V, and whether they were reached."""

BLOCK_BYTES: int = 128

WARM_UP_SAMPLES: int = 16

class RowUpdate:
    """Settings of the recursive least squares of rows."""

    def __init__(
        self,
        *,
        forgetting: float,
        ridge: float,
        adaptive_sine: float = 0.0,
        scales_forgetting: bool = False,
    ) -> None: ...
    @property
    def forgetting(self) -> float: ...
    @property
    def ridge(self) -> float: ...
    @property
    def adaptive_sine(self) -> float: ...
    @property
    def scales_forgetting(self) -> bool: ...

class ADMMSettings:
    """Settings of Algorithm 2 of [T]."""

    def __init__(
        self,
        *,
        rho1: float = 1.5,
        rho2: float = 1.5,
        huber_ratio: float = 1.0,
        abs_tol: float = 1e-05,
        rel_tol: float = 0.001,
        max_iter: int = 500,
    ) -> None: ...
    @property
    def rho1(self) -> float: ...
    @property
    def rho2(self) -> float: ...
    @property
    def huber_ratio(self) -> float: ...
    @property
    def abs_tol(self) -> float: ...
    @property
    def rel_tol(self) -> float: ...
    @property
    def max_iter(self) -> int: ...

class RejectionSettings:
    """Thresholds of outliers, in noise scales."""

    def __init__(
        self,
        *,
        huber_threshold: float,
        threshold: float,
        truncated_variance: float = 1.0,
        decay: float = 1.0,
        admm: ADMMSettings | None = None,
    ) -> None: ...
    @property
    def huber_threshold(self) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def truncated_variance(self) -> float: ...
    @property
    def decay(self) -> float: ...

@overload
def least_squares_codes(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def least_squares_codes(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """
    Set the rows of H to argmin_h |x - U h|^2 over the observed entries of the rows of X.
    """

@overload
def huber_codes(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    huber_threshold: float,
    max_iter: int,
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def huber_codes(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    huber_threshold: float,
    max_iter: int,
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Take the rows of H to argmin_h sum_i huber(x_i - u_i'h) over observed entries i.
    """

@overload
def admm_codes(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    huber_threshold: float,
    settings: ADMMSettings,
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def admm_codes(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    huber_threshold: float,
    settings: ADMMSettings,
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Set the rows of H to argmin_h sum_i huber(x_i - u_i'h) by Algorithm 2 of [T].
    """

@overload
def approximate_huber_codes(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    huber_threshold: float,
    limit: float,
    fits: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def approximate_huber_codes(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    huber_threshold: float,
    limit: float,
    fits: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Set codes, residuals, last steps, Gram matrices and accuracy of approximate robust fits.
    """

@overload
def codes_with_rejection(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    noise_scale: float,
    prior_precision: float,
    settings: RejectionSettings,
    codes: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def codes_with_rejection(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    U: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    noise_scale: float,
    prior_precision: float,
    settings: RejectionSettings,
    codes: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Set codes (H, R, solved) of the rows of X: robust fit, rejection, least squares.
    """

@overload
def track_least_squares(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    rows: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
    ],
    settings: RowUpdate,
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    error: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def track_least_squares(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    rows: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
    ],
    settings: RowUpdate,
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    error: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Follow the rows of X in order; rows (U, D, L), H and error are changed.
    """

@overload
def track_with_rejection(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    rows: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")],
    ],
    statistics: tuple[
        float,
        float,
        float,
        float,
        float,
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    row_update: RowUpdate,
    rejection: RejectionSettings,
    track: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    features: tuple[
        Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> tuple[float, float, float, float, float]: ...
@overload
def track_with_rejection(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    rows: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
    ],
    statistics: tuple[
        float,
        float,
        float,
        float,
        float,
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    row_update: RowUpdate,
    rejection: RejectionSettings,
    track: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    features: tuple[
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> tuple[float, float, float, float, float]:
    """
    Follow the rows of X in order without outliers; return the first five statistics.

    Rows (U, D, L), the first noise scales, the track (H, R, error), and of the features
    (limits, counts, last residual, last codes, pair sums) all but the limits are changed.
    """

@overload
def descend_atoms(
    A: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    B: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    radius: float,
    free: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    tol: float,
    constant: float,
    max_sweeps: int,
) -> tuple[float, float, bool]: ...
@overload
def descend_atoms(
    A: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    B: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    radius: float,
    free: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    tol: float,
    constant: float,
    max_sweeps: int,
) -> tuple[float, float, bool]:
    """
    Lower <W W', A>/2 - <W, B> over the rows w of W with w >= 0, |w| <= radius, in turns.

    Sweeps end when one decreases value + constant by at most tol of it. Returns the value
    before the last sweep, its decrease, and whether it is so small.
    """

def subset_grams(
    W: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    selected: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    whole: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    min_share: float,
    grams: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")
    ],
) -> None:
    """
    Set grams[s] to the Gram matrix of the rows of W that row s of `selected` has flags for.

    whole is that of all rows, from which others are subtracted if every diagonal entry
    keeps the share min_share.
    """

def definite_inverses(
    grams: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    max_condition: float,
    inverses: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")
    ],
    trusted: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Invert definite matrices; trusted are those with a condition number below the limit.
    """

def nonnegative_codes(
    gram: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    C: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    guessed: bool,
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    passive: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu")],
    solved: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    max_pivots: int,
) -> None:
    """
    Set each row h of H to argmin_{h >= 0} h'Gh/2 - c'h, c the row of C.

    gram is (G, inverse, trusted, place), see thalweg.solvers.nnls.Gram. passive holds the
    supports, before the call as well if they are guessed.
    """

class L1Penalty:
    """The penalty weight |r|_1 of outliers with lower <= r <= upper."""

    def __init__(self, *, weight: float, upper: float, lower: float) -> None: ...
    @property
    def weight(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def lower(self) -> float: ...

class AlternationSettings:
    """
    The penalty l1 sum(h) + l2 |h|^2/2 of codes, and how alternate_l1 runs.
    """

    def __init__(
        self,
        *,
        l1: float,
        l2: float,
        relaxation: float,
        tol: float,
        noise_tol: float,
        max_iter: int,
        warm_start: bool,
    ) -> None: ...
    @property
    def l1(self) -> float: ...
    @property
    def l2(self) -> float: ...
    @property
    def relaxation(self) -> float: ...
    @property
    def tol(self) -> float: ...
    @property
    def noise_tol(self) -> float: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def warm_start(self) -> bool: ...

@overload
def alternate_l1(
    V: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    scales: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    W: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    gram: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    outliers: L1Penalty,
    settings: AlternationSettings,
    codes: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def alternate_l1(
    V: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    scales: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    W: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    gram: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    outliers: L1Penalty,
    settings: AlternationSettings,
    codes: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Alternate between the outliers r of each row v of V and its codes h >= 0, to lower
    |v - W'h - r|^2/2 + weight |r|_1 + l1 sum(h) + l2 |h|^2/2.

    codes is (H, R, loss, cost, solved); gram is (G, inverse, trusted, place) with
    relaxation * l2 on the diagonals. V is 0 at missing entries. With scales s, the model is
    s W'h, and R is in the same units.
    """

@overload
def envelope_l1(
    Z: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    penalty: L1Penalty,
    E: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def envelope_l1(
    Z: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    penalty: L1Penalty,
    E: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    values: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Split each row z into outliers r and noise e = z - r, into the rows of E; values are
    min_r |z - r|^2/2 + weight |r|_1 subject to lower <= r <= upper.
    """

@overload
def weighted_grams(
    weights: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    keep: float,
    share: float,
    grams: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")
    ],
) -> None: ...
@overload
def weighted_grams(
    weights: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    keep: float,
    share: float,
    grams: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")
    ],
) -> None:
    """
    Set grams[i] to keep grams[i] + share sum_j weights[i, j] x_j x_j', x_j the rows of X.
    """

@overload
def sweep_rows(
    A: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    B: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    lower: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    free: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    sweeps: int,
) -> None: ...
@overload
def sweep_rows(
    A: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    B: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    lower: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    free: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    sweeps: int,
) -> None:
    """
    Lower w'A_f w / 2 - b_f'w in each row w >= lower of W, one entry after the other.
    """

@overload
def add_samples(
    samples: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ]
        | None,
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    share: float,
    before: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    after: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    ],
) -> float: ...
@overload
def add_samples(
    samples: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ]
        | None,
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    share: float,
    before: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    after: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    ],
) -> float:
    """
    Average h h' and h (v - r)' over samples v with outliers r and codes h, and over earlier
    ones: samples is (V, R, H), R None without outliers, with the weight share; before and after are means (A, B).
    Returns the mean of |v - r|^2 over the samples.
    """

class StepRule(enum.Enum):
    """How the angle of a rotation is found."""

    GREEDY = 0

    CONSTANT = 1

    DIMINISHING = 2

    ADAPTIVE = 3

    PROXIMAL = 4

class GeodesicStep:
    """Rule and factor of rotation angles."""

    def __init__(self, *, rule: StepRule, rate: float) -> None: ...

class StepControl:
    """
    m and l of the adaptive step 2^-l / (1 + m), the running mean of |h|^2, and the number of samples.
    """

    def __init__(
        self, *, variable: float, level: float, code_size: float, n_samples: float
    ) -> None: ...
    @property
    def variable(self) -> float: ...
    @property
    def level(self) -> float: ...
    @property
    def code_size(self) -> float: ...
    @property
    def n_samples(self) -> float: ...

class SurrogateStep:
    """Weight of earlier samples, and sweeps over the basis, per sample."""

    def __init__(self, *, forgetting: float, sweeps: int) -> None: ...

class SampleNorm:
    """Running mean of the typical norms of samples."""

    def __init__(self, *, mean: float, n_samples: float) -> None: ...
    @property
    def mean(self) -> float: ...
    @property
    def n_samples(self) -> float: ...

@overload
def track_grouse(
    U: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    V: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: GeodesicStep,
    n_samples: float,
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    error: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> float: ...
@overload
def track_grouse(
    U: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    V: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: GeodesicStep,
    n_samples: float,
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    error: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> float:
    """
    Rotate the basis towards the residual of each row of V; return the number of samples.
    """

@overload
def track_l1(
    U: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    V: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: GeodesicStep,
    problem: RegressionProblem,
    control: StepControl,
    last: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    found: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def track_l1(
    U: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    V: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: GeodesicStep,
    problem: RegressionProblem,
    control: StepControl,
    last: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Rotate the basis along the gradient of the least absolute residual of each row of V.
    """

@overload
def track_surrogate(
    U: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    V: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: SurrogateStep,
    problem: RegressionProblem,
    sums: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    ],
    norm: SampleNorm,
    found: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def track_surrogate(
    U: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    V: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    step: SurrogateStep,
    problem: RegressionProblem,
    sums: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    ],
    norm: SampleNorm,
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Minimise the surrogate of all samples so far over the basis after each row of V.
    """

class ElasticNetSet:
    """The set of x >= 0 with l1 sum(x) + l2/2 sum(x^2) <= 1, or = 1."""

    def __init__(self, *, l1: float, l2: float, equality: bool) -> None: ...
    @property
    def l1(self) -> float: ...
    @property
    def l2(self) -> float: ...
    @property
    def equality(self) -> bool: ...

class ApproximationSettings:
    """Settings of robust_approximation."""

    def __init__(
        self,
        *,
        beta: float,
        l1: float,
        l2: float,
        step_length: float,
        frozen: int,
        tol: float,
        min_steps: int,
        max_steps: int,
    ) -> None: ...

@overload
def robust_approximation(
    samples: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ]
        | None,
    ],
    W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    seed: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    gradient_bound: float,
    sets: ElasticNetSet,
    settings: ApproximationSettings,
) -> tuple[int, float]: ...
@overload
def robust_approximation(
    samples: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ]
        | None,
    ],
    W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    seed: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    gradient_bound: float,
    sets: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    settings: ApproximationSettings,
) -> tuple[int, float]: ...
@overload
def robust_approximation(
    samples: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ]
        | None,
    ],
    W: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    seed: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    gradient_bound: float,
    sets: ElasticNetSet,
    settings: ApproximationSettings,
) -> tuple[int, float]: ...
@overload
def robust_approximation(
    samples: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ]
        | None,
    ],
    W: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    seed: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    gradient_bound: float,
    sets: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
    ],
    settings: ApproximationSettings,
) -> tuple[int, float]:
    """
    Set W to the average of projected gradient steps, [R] Algorithm 2; rows are samples and atoms.

    sets is an ElasticNetSet, or a tuple of lower and upper bounds of the shape of W. The state seed moves on. Return the number of steps and the largest norm of a gradient so far.
    """

@overload
def project_elastic_net(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    set: ElasticNetSet,
) -> None: ...
@overload
def project_elastic_net(
    x: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    set: ElasticNetSet,
) -> None:
    """Set x to the nearest vector of the set."""

@overload
def sweep_elastic_net_atoms(
    A: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    B: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    set: ElasticNetSet,
    free: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> tuple[float, float]: ...
@overload
def sweep_elastic_net_atoms(
    A: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    B: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    set: ElasticNetSet,
    free: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> tuple[float, float]:
    """
    Minimise <W W', A>/2 - <W, B> over each free row of W in the set, one after the other.

    Return the objective before the sweep, and its decrease.
    """

def random_permutation(
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    seed: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Set order to 0, ..., n - 1 in random order; the state seed of splitmix64 moves on.
    """

class SimplexSettings:
    """Settings of simplex_codes."""

    def __init__(self, *, max_steps: int, tol: float) -> None: ...

def simplex_codes(
    G: Annotated[
        NDArray[numpy.floating],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    C: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    W: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    gaps: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    settings: SimplexSettings,
) -> None:
    """
    Minimise w'Gw/2 - c'w over the simplex for each row c of C, from the row w of W on.

    gaps are set to bounds of the distance of each objective from its minimum.
    """

def propose_swaps(
    diagonal: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    S: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    proposals: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Find in each column of H the cheapest entry to remove, and the best one to add.

    proposals is a tuple of arrays to fill: row and cost of the removal, row and gain of the addition.
    """

def swap_best_pairs(
    Q: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    S: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    busy: Annotated[
        NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    min_gain: float,
) -> int:
    """
    Swap a nonzero of each column of H with a zero, if the best pair gains more than min_gain.

    Columns that are busy stay. Return the number of swaps.
    """

@overload
def sweep_supports(
    Q: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    P: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    sweeps: int,
) -> None: ...
@overload
def sweep_supports(
    Q: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    P: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    sweeps: int,
) -> None:
    """
    Lower tr(H'QH)/2 - <P, H> over the positive entries of H, one after the other.
    """

@overload
def huber_threshold(
    sizes: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    thresholds: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bandwidth: float,
    tolerance: float,
) -> float: ...
@overload
def huber_threshold(
    sizes: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    thresholds: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bandwidth: float,
    tolerance: float,
) -> float:
    """
    Return the largest of evenly spaced thresholds whose variance is nearly the least.

    sizes are the sorted moduli of residuals.
    """

@overload
def count_missing_and_tiny(
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bound: float,
) -> tuple[int, int]: ...
@overload
def count_missing_and_tiny(
    values: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bound: float,
) -> tuple[int, int]:
    """Count the entries that are NaN, and those with 0 < |x| < bound."""

@overload
def count_residuals(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    predicted: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    R: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    prediction_variance: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bins: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    ],
    weight: float,
) -> None: ...
@overload
def count_residuals(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[
        NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    predicted: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    R: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    prediction_variance: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bins: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    ],
    weight: float,
) -> None:
    """
    Add the standardised residuals of fitted samples to counts by size, in place.

    bins are the first bin and the counts of each feature.
    """

@overload
def mask_stuck(
    X: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu")],
    last: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    run: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
    variation: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu")],
    min_run: int,
) -> None: ...
@overload
def mask_stuck(
    X: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    observed: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order="C", device="cpu")],
    last: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    run: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
    variation: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu")],
    min_run: int,
) -> None:
    """
    Remove the entries of stuck features from `observed`; all arrays but X are changed.

    A feature is stuck if it has varied before and repeats a value min_run times. variation
    is -1 for features without a value, 0 for those that never varied, 1 for others, and 2
    for those that have varied for the first time after min_run repeats.
    """

class SparseKLSettings:
    """Settings of sparse_kl_codes."""

    def __init__(self, *, offset: float, tol: float, max_steps: int) -> None: ...

@overload
def sampled_products(
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    W: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    found: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def sampled_products(
    indptr: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    W: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    found: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def sampled_products(
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    W: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    found: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def sampled_products(
    indptr: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    indices: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    W: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    found: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Set found to the entries of H W' at the places of a sparse matrix of rows (CSR).
    """

@overload
def sparse_kl_codes(
    rows: tuple[
        Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    W: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    mass: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    loss: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    settings: SparseKLSettings,
) -> None: ...
@overload
def sparse_kl_codes(
    rows: tuple[
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    W: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    mass: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    loss: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    settings: SparseKLSettings,
) -> None: ...
@overload
def sparse_kl_codes(
    rows: tuple[
        Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    W: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    mass: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    loss: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    settings: SparseKLSettings,
) -> None: ...
@overload
def sparse_kl_codes(
    rows: tuple[
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    W: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    mass: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    H: Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    loss: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    settings: SparseKLSettings,
) -> None:
    """
    Minimise mass'h - sum_i v_i log((W h)_i + offset sum(v)) over h >= 0, from the rows of H.

    rows are data, indices and indptr of the sparse matrix of samples v (CSR). loss is set to the divergence, negative where the duality gap stayed above tol.
    """

@overload
def smooth_local(
    series: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    found: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def smooth_local(
    series: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Set mean and variance of a process in each row of Y given the row.

    series are Y, weights and steps; parameters are phi, variance, noise and initial.
    """

@overload
def filter_local(
    series: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    found: tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None: ...
@overload
def filter_local(
    series: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
) -> None:
    """
    Set mean and variance of a process in each row of Y given the row up to an entry.
    """

@overload
def learn_local(
    series: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    least_noise: float,
    log_likelihood: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")
    ],
) -> None: ...
@overload
def learn_local(
    series: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    least_noise: float,
    log_likelihood: Annotated[
        NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")
    ],
) -> None:
    """Improve phi, variance and noise of the process in each row of Y by EM."""

@overload
def factor_codes(
    series: tuple[
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.float32],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    smoothed: bool,
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    ],
) -> float: ...
@overload
def factor_codes(
    series: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    smoothed: bool,
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    ],
) -> float:
    """
    Set the moments of autoregressive codes; return the log-likelihood.

    series are Y, weights and steps; parameters are loadings, noise and phi; found are mean, covariance and lagged.
    """

def filter_rows(
    series: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    factors: tuple[
        Annotated[
            NDArray[numpy.floating],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    parameters: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[
            NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ],
    threshold: float,
    last: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
    ],
    found: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    ],
) -> None:
    """
    Filter rows from the moments of the row before, which become those of the last row.

    series are Y, weights and steps; factors are loadings, noise and phi; parameters those of the deviations; found are low-rank part, deviations, and variances of the sum.
    """

def learn_phi(
    moments: tuple[
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None, None), order="C", device="cpu")],
        Annotated[NDArray[numpy.floating], dict(shape=(None, None), order="C", device="cpu")],
    ],
    steps: Annotated[
        NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    phi: Annotated[NDArray[numpy.floating], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Set each phi to the maximum of the expected log-likelihood of the codes.
    """
