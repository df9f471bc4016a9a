"""HyperSpy: ORNMF, a translation of the authors' OPGD of [O], and online robust PCA."""

from typing import Any

import numpy as np

from benchmarks.shared.timing import Method

__all__ = ["methods"]

_FEW = 400


def methods(n_components: int, batch_size: int) -> list[Method]:
    """Return ORNMF and ORPCA with the defaults, and with [O]'s weight of outliers, 0.05."""
    from hyperspy.learn import _ornmf, _rpca

    _ornmf.progressbar = _rpca.progressbar = _silent
    ORNMF, ORPCA = _ornmf.ORNMF, _rpca.ORPCA

    common = {"rank": n_components, "random_state": 0}
    first = {"init": "qr", "training_samples": 2 * n_components}
    return [
        _method("HyperSpy ORNMF PGD", ORNMF, {**common, "method": "PGD"}, batch_size),
        _method("HyperSpy ORNMF RobustPGD", ORNMF, {**common, "method": "RobustPGD"}, batch_size),
        _method(
            "HyperSpy ORNMF RobustPGD lambda1=0.05",
            ORNMF,
            {**common, "method": "RobustPGD", "lambda1": 0.05},
            batch_size,
        ),
        _method("HyperSpy ORPCA", ORPCA, {**common, **first}, batch_size),
        _method(
            "HyperSpy ORPCA lambda2=0.05",
            ORPCA,
            {**common, **first, "lambda2": 0.05},
            batch_size,
        ),
    ]


def _method(name: str, kind: Any, settings: dict[str, Any], batch_size: int) -> Method:
    signed = kind.__name__ == "ORPCA"

    def fit(X: Any) -> Any:
        return kind(**settings).partial_fit(X, batch_size=batch_size)

    return Method(
        name=name,
        family=f"hyperspy {kind.__name__}",
        dtype="float64",
        settings={**settings, "batch_size": batch_size},
        fit=fit,
        components=lambda model: np.asarray(model.components_),
        # ORNMF's takes half a second for a single sample, so that exact codes stand in for it.
        transform=(lambda model, X: model.transform(X)) if signed else None,
        n_transform=_FEW,
        signed=signed,
    )


def _silent(samples: Any, **options: Any) -> Any:
    """Stand in for the progress bar."""
    return samples
