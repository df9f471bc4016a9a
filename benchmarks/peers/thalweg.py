"""Our own: the default in both precisions, and the paper's two solvers."""

from typing import Any

from benchmarks.shared.timing import Method

__all__ = ["method", "methods"]


def methods(n_components: int, batch_size: int) -> list[Method]:
    """Return RobustOnlineNMF with each solver; one pass."""
    variants = [("float64", "fast"), ("float32", "fast"), ("float64", "admm"), ("float64", "pgd")]
    return [method(n_components, batch_size, *variant) for variant in variants]


def method(n_components: int, batch_size: int, dtype: str, solver: str) -> Method:
    """Return RobustOnlineNMF with one solver."""
    from thalweg import RobustOnlineNMF

    settings = {
        "n_components": n_components,
        "batch_size": batch_size,
        "solver": solver,
        "random_state": 0,
    }

    def codes(model: Any, X: Any) -> Any:
        return model.decompose(X).codes

    return Method(
        name=f"thalweg {solver} {dtype}",
        family=f"thalweg {solver}",
        dtype=dtype,
        settings=settings,
        fit=lambda X: RobustOnlineNMF(**settings).fit(X),
        components=lambda model: model.components_,
        transform=codes,
    )
