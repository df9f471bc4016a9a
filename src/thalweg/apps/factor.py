"""Fit any estimator to any stream."""

from collections.abc import Sequence
from os import PathLike
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg.apps._films import reduced
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import learn
from thalweg.apps._models import build
from thalweg.apps._parts import check_parts, codes_panel, write_parts
from thalweg.apps._report import learning_panels, rank_panels, save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import columns_of, open_source

__all__ = ["factor"]

_MAX_FEATURES = 400  # of the components in the report


def factor(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = "robust-online-nmf",
    parts: Sequence[str] = ("codes",),
    columns: Sequence[str | int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Fit any estimator of the library to any stream.

    Parameters
    ----------
    source : path, array or Stream
        Any source of :func:`thalweg.streams.open`.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : str, default='robust-online-nmf'
        Name of an estimator: its class name in lower case, with hyphens.
    parts : sequence of str, default=('codes',)
        Parts to write: 'codes', 'low_rank' and 'outliers'.
    columns : list of str or int, or None, default=None
        Columns of a table; None selects all.
    **common
        See :class:`thalweg.apps.Common`. By default, the number of components is found by hidden
        entries where the method can do so. ``settings`` holds parameters of the estimator.

    Returns
    -------
    Result
        Files: components (NPY), the parts (CSV for tables, otherwise NPY), model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg import apps
    >>> X = np.random.default_rng(0).random((60, 8))
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.factor(X, folder + "/out", method="or-nmf", components=2)
    >>> result.model.components_.shape
    (2, 8)
    """
    run = Run("factor", source, **common)
    check_parts(parts)
    model = build(method, run.settings, components=run.components, seed=run.seed)
    with open_folder(run, out) as folder:
        stream = open_source(run, columns=columns)
        begin = perf_counter()
        history = learn(model, stream, run)
        names = getattr(stream, "columns_", None)
        values, shown = write_parts(folder, model, stream, parts, names, run)
        values |= {
            "features": stream.n_features,
            "components": len(model.components_),
            "seconds": perf_counter() - begin,
        }
        if hasattr(model, "objective_"):
            values["objective"] = float(model.objective_)
        np.save(folder.file("components", "components.npy"), model.components_)
        save_model(folder, model, **({} if names is None else {"columns": list(names)}))
        panels = [
            codes_panel(shown),
            *rank_panels(getattr(model, "rank_evidence_", None)),
            *learning_panels(history),
        ]
        _report(folder, panels, model, stream, values, method)
        return folder.finish(values, model)


def _report(
    folder: Folder, others: list[Any], model: Any, stream: Any, values: dict[str, Any], method: str
) -> None:
    from thalweg import report

    shape = tuple(getattr(stream, "shape", ()))
    if len(shape) == 2 or shape[2:] == (3,):
        pictures = reduced(model.components_.reshape(-1, *shape))
        basis: Any = report.Mosaic("Components", pictures)
    else:
        step = -(-stream.n_features // _MAX_FEATURES)
        basis = report.HeatMap(
            "Components",
            {"components": model.components_[:, ::step]},
            column_labels=columns_of(stream)[::step],
        )
    facts = {name: values[name] for name in ("samples", "features", "components")}
    facts["outliers"] = f"{values['outlier share']:.1%}"
    panels = [basis, report.Facts("Key figures", facts), *others]
    summary = (
        f"{values['samples']} samples with {values['features']} features, factorised into "
        f"{values['components']} components by {method}."
    )
    write_report(folder, f"Factors of {folder.run.title}", panels, summary, method=method)
