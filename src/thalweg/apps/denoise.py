"""Pictures without shadows, salt and pepper."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Unpack

import numpy as np

from thalweg._typing import Array
from thalweg.apps._films import in_bytes, reduced, tiled, write_png
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import History, Thinned, learn
from thalweg.apps._models import build
from thalweg.apps._report import learning_panels, save_model, write_report
from thalweg.apps._run import Common, Result, Run
from thalweg.apps._streams import length, pictures, rows_at_once
from thalweg.apps._tables import csv_file
from thalweg.streams import Stream

__all__ = ["denoise"]

_COMPONENTS, _EPOCHS = 49, 5
_SHOWN = 24  # images in the report


class _Cleaned(NamedTuple):
    """Some images and what was made of them."""

    first: int
    images: Array
    clean: Array
    codes: Array
    taken: Array  # how much was taken away from each pixel


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
    """Take shadows, salt and pepper off pictures of one kind, [O] VII-E to G, [D] VIII-F.

    Parts that the pictures have in common are learned from all of them; each picture is then
    written in these parts, and what does not fit is left out.

    Parameters
    ----------
    source : path, array or Stream
        A folder of images of one size, a pattern such as ``"faces/*.png"``, a video, or an array.
    out : path or None, default=None
        Folder of the results; None is one beside the work at hand, named after the source.
    method : str, default='robust-online-nmf'
        Name of an estimator that tells outliers.
    detail : bool, default=False
        Whether pixels that are no outliers stay as they are.
    colour : bool, default=False
        Whether to keep colours.
    size : (int, int) or None, default=None
        Height and width to which images are resized.
    **common
        See :class:`thalweg.apps.Common`; 49 components and five epochs are the default.

    Returns
    -------
    Result
        Files: clean (a folder of PNG), basis (PNG), codes (CSV), model, report.

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
        shown, values = Thinned(_SHOWN), {"images": 0, "outlier share": 0.0}
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
    """Yield the images of a stream without what does not belong to them."""
    n = length(stream)
    for first, X in stream.batches(rows_at_once(stream.n_features)):
        codes, low_rank, outliers = model.decompose(X)
        kept = detail & (outliers == 0) & ~np.isnan(X)
        rows = np.clip(np.where(kept, X, low_rank), 0.0, 1.0)
        images, cleaned, taken = (a.reshape(-1, *shape) for a in (X, rows, np.abs(outliers)))
        yield _Cleaned(first, images, cleaned, codes, taken)
        run.tell("writing", first + len(X), n)


def _write(
    folder: Folder,
    cleaned: Iterator[_Cleaned],
    names: list[str] | None,
    n_codes: int,
    shown: Thinned,
    values: dict[str, Any],
) -> None:
    """Write clean images and codes, and keep some images for the report."""
    place = folder.file("clean", "clean")
    place.mkdir()
    off, pixels = 0, 0
    with csv_file(folder.file("codes", "codes.csv"), ("image", *map(str, range(n_codes)))) as table:
        for part in cleaned:
            for i, image in enumerate(in_bytes(part.clean)):
                number = part.first + i
                name = f"{number:06d}" if names is None else names[number]
                write_png(place / f"{name}.png", image)
                table.add((name, *part.codes[i].tolist()))
                layers = (part.images, part.clean, np.clip(part.taken, 0, 1))
                if shown.wants(number):
                    shown.add(number, [np.array(reduced(a[i : i + 1])[0]) for a in layers])
            values["images"] += len(part.clean)
            off, pixels = off + int(np.count_nonzero(part.taken)), pixels + part.taken.size
    values["outlier share"] = off / max(pixels, 1)


def _names(stream: Any) -> list[str] | None:
    """Return the names of the images without their ends, if these tell them apart."""
    paths = getattr(stream, "paths", None)
    if paths is None:
        return None
    names = [Path(path).stem for path in paths]
    return names if len(set(map(str.casefold, names))) == len(names) else None


def _report(
    folder: Folder,
    history: History,
    basis: Any,
    shown: Thinned,
    values: dict[str, Any],
    method: str,
) -> None:
    from thalweg import report

    names = ("original", "clean", "taken away")
    columns = {name: np.stack([item[i] for item in shown.items]) for i, name in enumerate(names)}
    facts = {"images": values["images"], "components": len(basis)}
    facts["outliers"] = f"{values['outlier share']:.1%}"
    panels = [
        report.Pairs("Images", columns),
        report.Mosaic("Parts that the images have in common", reduced(basis)),
        report.Facts("Figures", facts),
        *learning_panels(history),
    ]
    summary = (
        f"{values['images']} images were written in {len(basis)} parts that they have in common; "
        f"{values['outlier share']:.1%} of the pixels did not fit, and were left out."
    )
    write_report(folder, f"{folder.run.title}, clean", panels, summary, method=method)
