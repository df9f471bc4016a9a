"""scikit-learn: MiniBatchNMF, default and with fresh restarts; dictionary learning."""

import warnings
from typing import Any

from benchmarks.shared.timing import Method

__all__ = ["methods"]

_TRANSFORM = 500
# One pass, without the early stop.
_ONE_PASS = {"max_iter": 1, "tol": 0.0, "max_no_improvement": None, "random_state": 0}


def methods(n_components: int, batch_size: int) -> list[Method]:
    """Return MiniBatchNMF in both settings and precisions, and MiniBatchDictionaryLearning."""
    from sklearn.decomposition import MiniBatchDictionaryLearning, MiniBatchNMF

    common = {"n_components": n_components, "batch_size": batch_size, **_ONE_PASS}
    positive = {"positive_code": True, "positive_dict": True, "fit_algorithm": "cd"}
    learning = {**common, **positive, "alpha": 0.01, "transform_algorithm": "lasso_cd"}
    plain = [
        _method("MiniBatchNMF", MiniBatchNMF, dtype, {**common, "fresh_restarts": restarts})
        for dtype in ("float64", "float32")
        for restarts in (False, True)
    ]
    return [
        *plain,
        _method("MiniBatchDictionaryLearning", MiniBatchDictionaryLearning, "float64", learning),
    ]


def _method(name: str, kind: Any, dtype: str, settings: dict[str, Any]) -> Method:
    def fit(X: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # lasso's inner stop
            return kind(**settings).fit(X)

    def codes(model: Any, X: Any) -> Any:
        # Else transform takes max_iter steps, one. Set before the fit it would be timed: with
        # fresh_restarts the fit ends with a transform of all samples.
        model._transform_max_iter = _TRANSFORM
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.transform(X.astype(dtype))

    mode = " fresh_restarts" if settings.get("fresh_restarts") else ""
    return Method(
        name=f"sklearn {name}{mode} {dtype}",
        family=f"sklearn {name}",
        dtype=dtype,
        settings=settings,
        fit=fit,
        components=lambda model: model.components_,
        transform=codes,
        n_transform=400 if "Dictionary" in name else None,
    )
