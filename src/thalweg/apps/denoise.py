"""Remove shadows and impulse noise from images."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Unpack

import numpy as np

from thalweg._typing import Array
from thalweg.apps._films import in_bytes, reduced, tiled, write_png
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import History, Subsample, learn
from thalweg.apps._models import build
from thalweg.apps._report import learning_panels, save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import length, pictures, read_batch_size
from thalweg.apps._tables import csv_file
from thalweg.streams import Stream

__all__ = ["denoise"]

_COMPONENTS, _EPOCHS = 49, 5  # defaults; K = 49 as in the canonical setting of [O]
_N_SHOWN = 24  # images in the report, at least, of a large folder


class _Cleaned(NamedTuple):
    """Images and their decomposition."""

    first: int
    images: Array
    clean: Array
    codes: Array
    removed: Array  # magnitude of the outliers


def denoise(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    method: str = "robust-online-nmf",
    detail: bool = False,
    colour: bool = False,
    size: tuple[int, int] | None = None,
    **common: Unpack[Common],
) -> Result:
    """Remove shadows and salt-and-pepper noise from similar images, [O] VII-E to G, [D] VIII-F.

    A model of basis images and outliers is fitted to all images. Each image is then reconstructed
    from the basis, without the outliers.

    Parameters
    ----------
    source : path, array or Stream
        A folder of images of one size, a pattern such as ``"faces/*.png"``, a video, or an array.
    out : path or None, default=None
        Output folder; None creates one in the current directory, named after the source.
    method : str, default='robust-online-nmf'
        Name of an estimator that detects outliers.
    detail : bool, default=False
        Whether pixels that are not outliers are kept unchanged.
    colour : bool, default=False
        Whether to keep colours.
    size : (int, int) or None, default=None
        Height and width to which images are resized.
    **common
        See :class:`thalweg.apps.Common`; the default is 49 components and five epochs.

    Returns
    -------
    Result
        Files: clean (folder of PNG), basis (PNG), codes (CSV), model, report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from thalweg import apps
    >>> images = np.random.default_rng(0).random((30, 8, 8))
    >>> with TemporaryDirectory() as folder:
    ...     result = apps.denoise(images, folder + "/out", components=4)
    ...     len(list(result.files["clean"].iterdir()))
    30
    """
    run = Run("denoise", source, **common)
    with open_folder(run, out) as folder:
        stream, shape = pictures(run, size, colour)
        model = build(method, run.settings, components=run.components or _COMPONENTS, seed=run.seed)
        begin = perf_counter()
        history = learn(model, stream, run, epochs=_EPOCHS)
        shown, values = Subsample(_N_SHOWN), {"images": 0, "outlier share": 0.0}
        cleaned = _clean(model, stream, run, shape, detail)
        _write(folder, cleaned, _names(stream), len(model.components_), shown, values)
        values["seconds"] = perf_counter() - begin
        basis = model.components_.reshape(-1, *shape)
        write_png(folder.file("basis", "basis.png"), tiled(basis))
        save_model(folder, model, shape=list(shape))
        _report(folder, history, basis, shown, values, method)
        return folder.finish(values, model)


def _clean(
    model: Any, stream: Stream, run: Run, shape: tuple[int, ...], detail: bool = False
) -> Iterator[_Cleaned]:
    """Yield batches of images without their outliers."""
    n = length(stream)
    for first, X in stream.batches(read_batch_size(stream.n_features)):
        codes, low_rank, outliers = model.decompose(X)
        kept = detail & (outliers == 0) & ~np.isnan(X)
        rows = np.clip(np.where(kept, X, low_rank), 0.0, 1.0)
        images, cleaned, removed = (a.reshape(-1, *shape) for a in (X, rows, np.abs(outliers)))
        yield _Cleaned(first, images, cleaned, codes, removed)
        run.notify("writing", first + len(X), n)


def _write(
    folder: Folder,
    cleaned: Iterator[_Cleaned],
    names: list[str] | None,
    n_codes: int,
    shown: Subsample,
    values: dict[str, Any],
) -> None:
    """Write clean images and codes, and keep some images for the report."""
    target = folder.file("clean", "clean")
    target.mkdir()
    n_outliers, n_pixels = 0, 0
    with csv_file(folder.file("codes", "codes.csv"), ("image", *map(str, range(n_codes)))) as table:
        for part in cleaned:
            for i, image in enumerate(in_bytes(part.clean)):
                number = part.first + i
                name = f"{number:06d}" if names is None else names[number]
                write_png(target / f"{name}.png", image)
                table.add((name, *part.codes[i].tolist()))
                layers = (part.images, part.clean, np.clip(part.removed, 0, 1))
                if shown.keeps(number):
                    shown.add(number, [np.array(reduced(a[i : i + 1])[0]) for a in layers])
            values["images"] += len(part.clean)
            n_outliers += int(np.count_nonzero(part.removed))
            n_pixels += part.removed.size
    values["outlier share"] = n_outliers / max(n_pixels, 1)


def _names(stream: Any) -> list[str] | None:
    """Return the names of the images without suffixes, if they are distinct."""
    paths = getattr(stream, "paths", None)
    if paths is None:
        return None
    names = [Path(path).stem for path in paths]
    return names if len(set(map(str.casefold, names))) == len(names) else None


def _report(
    folder: Folder,
    history: History,
    basis: Any,
    shown: Subsample,
    values: dict[str, Any],
    method: str,
) -> None:
    from thalweg import report

    names = ("original", "clean", "removed")
    columns = {name: np.stack([item[i] for item in shown.items]) for i, name in enumerate(names)}
    facts = {"images": values["images"], "components": len(basis)}
    facts["outliers"] = f"{values['outlier share']:.1%}"
    panels = [
        report.Pairs("Images", columns),
        report.Mosaic("Basis images", reduced(basis)),
        report.Facts("Key figures", facts),
        *learning_panels(history),
    ]
    summary = (
        f"{values['images']} images, reconstructed from {len(basis)} basis images; "
        f"{values['outlier share']:.1%} of the pixels are outliers and were removed."
    )
    write_report(folder, f"{folder.run.title}, denoised", panels, summary, method=method)
