"""Unmix hyperspectral images."""

from os import PathLike
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg.apps._cubes import read_cube
from thalweg.apps._films import in_bytes, write_png
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import reject_streaming_options
from thalweg.apps._models import build
from thalweg.apps._report import rank_panels, save_model, write_report
from thalweg.apps._run import TINY, Common, Result, Run
from thalweg.apps._tables import write_csv
from thalweg.errors import InputError

__all__ = ["unmix"]

_COMPONENTS = 8  # of methods that cannot find the number
# Default settings that unmix tens of thousands of pixels in seconds.
_FAST = {"init": "projections", "continuation_steps": 4, "max_iter": 60}
_NONZERO = 1e-9  # relative to the largest value of the image: smaller entries count as zero
# Colours of the map, distinguishable with colour vision deficiency; reused for more archetypes.
_COLOURS = (
    (0.122, 0.467, 0.706),
    (1.000, 0.498, 0.055),
    (0.173, 0.627, 0.173),
    (0.839, 0.153, 0.157),
    (0.580, 0.404, 0.741),
    (0.549, 0.337, 0.294),
    (0.890, 0.467, 0.761),
    (0.498, 0.498, 0.498),
    (0.737, 0.741, 0.133),
    (0.090, 0.745, 0.812),
    (0.682, 0.780, 0.910),
    (1.000, 0.733, 0.471),
    (0.596, 0.875, 0.541),
    (1.000, 0.596, 0.588),
    (0.773, 0.690, 0.835),
    (0.769, 0.612, 0.580),
    (0.969, 0.714, 0.824),
    (0.780, 0.780, 0.780),
)


def unmix(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    sparsity: float | None = None,
    method: str = "sparse-archetypal-nmf",
    **common: Unpack[Common],
) -> Result:
    """Find the archetypal spectra of a hyperspectral image and their abundances, [A] 5.4.

    The image must fit into memory.

    Parameters
    ----------
    source : path, array or Stream
        An array of shape (height, width, bands) in an ``.npy`` or ``.npz`` file, or a folder of
        images of equal size, one per band.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    sparsity : float or None, default=None
        Largest fraction of nonzero entries of the archetypes; None sets no limit.
    method : str, default='sparse-archetypal-nmf'
        Name of an estimator whose components are spectra.
    **common
        See :class:`thalweg.apps.Common`; by default, their number is found by hidden
        entries.

    Returns
    -------
    Result
        Files: endmembers (CSV), abundances (NPZ with ``abundances`` and the ``nearest`` archetype
        of each pixel), maps (folder of PNG), map (PNG), model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg import apps
    >>> cube = np.random.default_rng(0).random((6, 7, 10))
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.unmix(cube, folder + "/out", components=3)
    ...     np.load(result.files["abundances"])["abundances"].shape
    (6, 7, 3)
    """
    run = Run("unmix", source, **common)
    with open_folder(run, out) as folder:
        cube = read_cube(run)
        largest = float(np.nanmax(cube, initial=0.0))
        if not largest > 0:
            raise InputError(f"{run.title} must have positive numbers, got none.")
        begin = perf_counter()
        model = _model(method, sparsity, run)
        reject_streaming_options(model, run)
        X = (cube / largest).reshape(-1, cube.shape[2])
        run.notify("learning", 0, None)
        model.fit(X)
        abundances = model.transform(X).reshape(*cube.shape[:2], -1)
        groups = _nearest(X, model.components_).reshape(cube.shape[:2])
        counts = np.bincount(groups.ravel(), minlength=len(model.components_))
        values = {
            "height": cube.shape[0],
            "width": cube.shape[1],
            "bands": cube.shape[2],
            "components": len(model.components_),
            "pixels of each": counts.tolist(),
            "nonzeros": float(np.mean(model.components_ > _NONZERO)),
            "seconds": perf_counter() - begin,
        }
        _write(folder, largest * model.components_, abundances, groups)
        save_model(folder, model, white=largest)
        spectra = largest * model.components_
        _report(
            folder,
            spectra,
            abundances,
            groups,
            values,
            method,
            rank_panels(getattr(model, "rank_evidence_", None)),
        )
        return folder.finish(values, model)


def _nearest(X: Any, components: Any) -> Any:
    """Return the index of the nearest component for each row."""
    squares = np.sum(components**2, axis=1)
    return np.argmin(squares - 2.0 * X @ components.T, axis=1)


def _model(method: str, sparsity: float | None, run: Run) -> Any:
    settings = dict(run.settings)
    if method == "sparse-archetypal-nmf":
        settings = {**_FAST, "sparsity": sparsity, **settings}
    elif sparsity is not None:
        settings["sparsity"] = sparsity
    return build(method, settings, components=run.components, seed=run.seed, default=_COMPONENTS)


def _write(folder: Folder, endmembers: Any, abundances: Any, groups: Any) -> None:
    bands = [str(band) for band in range(endmembers.shape[1])]
    rows = ((k, *row.tolist()) for k, row in enumerate(endmembers))
    write_csv(folder.file("endmembers", "endmembers.csv"), ("archetype", *bands), rows)
    np.savez_compressed(
        folder.file("abundances", "abundances.npz"), abundances=abundances, nearest=groups
    )
    write_png(folder.file("map", "map.png"), in_bytes(_coloured(groups)))
    maps = folder.file("maps", "maps")
    maps.mkdir()
    for k in range(abundances.shape[2]):
        write_png(maps / f"{k:02d}.png", in_bytes(_stretched(abundances[..., k])))


def _coloured(groups: Any) -> Any:
    """Return the colours of a map of groups."""
    return np.array(_COLOURS)[groups % len(_COLOURS)]


def _stretched(values: Any) -> Any:
    return values / max(float(values.max()), TINY)


def _report(
    folder: Folder,
    endmembers: Any,
    abundances: Any,
    groups: Any,
    values: dict[str, Any],
    method: str,
    others: list[Any],
) -> None:
    from thalweg import report

    names = [str(k) for k in range(len(endmembers))]
    spectra = dict(zip(names, endmembers, strict=True))
    facts = {name: values[name] for name in ("height", "width", "bands", "components")}
    panels = [
        report.Picture(
            "Map", _coloured(groups), "Each pixel has the colour of its nearest archetype."
        ),
        report.Mosaic("Abundances of the archetypes", np.moveaxis(abundances, -1, 0), names),
        report.Curve(
            "Spectra of the archetypes",
            np.arange(endmembers.shape[1]),
            spectra,
            xlabel="band",
            ylabel="value",
        ),
        report.Facts("Key figures", facts),
        *others,
    ]
    summary = (
        f"{values['height']} x {values['width']} pixels in {values['bands']} bands, unmixed "
        f"into {values['components']} archetypes."
    )
    write_report(folder, f"Archetypes of {folder.run.title}", panels, summary, method=method)
