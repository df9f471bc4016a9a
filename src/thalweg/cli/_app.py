"""Define the commands, one per job."""

from typing import Annotated, Any

import typer

from thalweg.cli._common import job
from thalweg.cli._parse import names, side

__all__ = ["app"]

app = typer.Typer(
    name="thalweg",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Decompose a data stream into a low-rank part and outliers.",
)

# Each command imports its job when it runs: --help stays fast.
Source = Annotated[str, typer.Argument(show_default=False)]
TimeName = Annotated[
    str | None, typer.Option("--time", help="Name of the column of times; otherwise recognised.")
]
Columns = Annotated[str | None, typer.Option(help="Names of columns, separated by commas.")]
Size = Annotated[str | None, typer.Option(help="Resize images to HEIGHTxWIDTH.")]
Colour = Annotated[bool, typer.Option("--colour", help="Keep colours.")]
Threshold = Annotated[
    float, typer.Option(help="Outlier threshold, in multiples of the noise scale.")
]
Method = Annotated[str, typer.Option(help="Name of the estimator.")]


def _example(line: str) -> str:
    return f"Example: {line}"


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        from thalweg import __version__

        typer.echo(f"thalweg {__version__}")
        raise typer.Exit


@app.command(epilog=_example("thalweg separate street.mp4 --components 3 --out street"))
@job()
def separate(
    video_or_folder: Source,
    method: Annotated[
        str, typer.Option(help="robust-online-nmf or petrels-admm.")
    ] = "robust-online-nmf",
    threshold: Annotated[
        float | None, typer.Option(help="Threshold, in noise scales; follows from the noise.")
    ] = None,
    frames: Annotated[bool, typer.Option("--frames", help="Write images, not videos.")] = False,
    colour: Colour = False,
    size: Size = None,
    shadows: Annotated[
        str, typer.Option(help="Whether to drop, keep or mark shadows in the mask.")
    ] = "drop",
    **rest: Any,
) -> Any:
    """Separate a video into background and moving objects."""
    from thalweg import apps

    return apps.separate(
        video_or_folder,
        method=method,
        threshold=threshold,
        frames=frames,
        colour=colour,
        size=side(size),
        shadows=shadows,
        **rest,
    )


@app.command(epilog=_example("thalweg denoise faces --components 16 --out clean-faces"))
@job()
def denoise(
    images: Source,
    method: Method = "robust-online-nmf",
    detail: Annotated[
        bool, typer.Option("--detail", help="Keep pixels that are not outliers.")
    ] = False,
    colour: Colour = False,
    size: Size = None,
    **rest: Any,
) -> Any:
    """Remove shadows and salt-and-pepper noise from similar images."""
    from thalweg import apps

    return apps.denoise(
        images, method=method, detail=detail, colour=colour, size=side(size), **rest
    )


@app.command(epilog=_example("thalweg topics news.txt --components 5 --out news-topics"))
@job()
def topics(
    text_or_matrix: Source,
    column: Annotated[str | None, typer.Option(help="Column of the texts of a table.")] = None,
    terms: Annotated[int, typer.Option(help="Largest size of the vocabulary.")] = 20_000,
    min_documents: Annotated[
        int | None, typer.Option(help="Smallest number of documents with a word.")
    ] = None,
    max_share: Annotated[
        float, typer.Option(help="Largest share of the documents with a word.")
    ] = 0.7,
    bigrams: Annotated[bool, typer.Option("--bigrams", help="Count pairs of words too.")] = False,
    language: Annotated[
        str, typer.Option(help="Language of the stop words, auto or none.")
    ] = "auto",
    stop_words: Annotated[
        str | None, typer.Option(help="File of words to ignore, or a language.")
    ] = None,
    words: Annotated[int, typer.Option(help="Words shown per topic.")] = 12,
    method: Method = "online-nmf",
    **rest: Any,
) -> Any:
    """Find the topics of documents and their words."""
    from thalweg import apps

    return apps.topics(
        text_or_matrix,
        column=column,
        terms=terms,
        min_documents=min_documents,
        max_share=max_share,
        bigrams=bigrams,
        language=language,
        stop_words=() if stop_words is None else stop_words,
        words=words,
        method=method,
        **rest,
    )


@app.command(epilog=_example("thalweg track wells.csv --components 2 --out wells"))
@job()
def track(
    table: Source,
    method: Method = "petrels-admm",
    threshold: Threshold = 5.0,
    columns: Columns = None,
    time: TimeName = None,
    **rest: Any,
) -> Any:
    """Track sensors: fill gaps, detect outliers, measure drift."""
    from thalweg import apps

    return apps.track(
        table, method=method, threshold=threshold, columns=names(columns), time=time, **rest
    )


@app.command(epilog=_example("thalweg complete wells.csv --out wells-complete"))
@job()
def complete(
    table: Source,
    method: Method = "robust-matrix-completion",
    threshold: Threshold = 5.0,
    columns: Columns = None,
    time: TimeName = None,
    **rest: Any,
) -> Any:
    """Fill the gaps of a table with outliers by matrix completion."""
    from thalweg import apps

    return apps.complete(
        table, method=method, threshold=threshold, columns=names(columns), time=time, **rest
    )


@app.command(epilog=_example("thalweg forecast wells.csv --steps 24 --out tomorrow"))
@job("batch_size", "epochs", "checkpoint", "resume")
def forecast(
    table: Source,
    steps: Annotated[int, typer.Option(help="Number of rows.")] = 24,
    interval: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.9,
    columns: Columns = None,
    time: TimeName = None,
    **rest: Any,
) -> Any:
    """Continue a table, with intervals."""
    from thalweg import apps

    return apps.forecast(
        table, steps=steps, interval=interval, columns=names(columns), time=time, **rest
    )


@app.command(epilog=_example("thalweg unmix field.npy --components 4 --out field"))
@job()
def unmix(
    cube: Source,
    sparsity: Annotated[
        float | None, typer.Option(help="Largest fraction of nonzero entries of the spectra.")
    ] = None,
    method: Method = "sparse-archetypal-nmf",
    **rest: Any,
) -> Any:
    """Unmix a hyperspectral image into spectra and abundances."""
    from thalweg import apps

    return apps.unmix(cube, sparsity=sparsity, method=method, **rest)


@app.command(
    epilog=_example("thalweg factor wells.csv --method petrels --set n_components=2 --out factors")
)
@job()
def factor(
    data: Source,
    method: Method = "robust-online-nmf",
    parts: Annotated[str, typer.Option(help="Any of codes,low_rank,outliers.")] = "codes",
    columns: Columns = None,
    **rest: Any,
) -> Any:
    """Fit any estimator by name to any stream."""
    from thalweg import apps

    return apps.factor(
        data, method=method, parts=names(parts) or (), columns=names(columns), **rest
    )


@app.command(epilog=_example("thalweg apply model.thalweg wells.csv --out applied"))
@job("components", "batch_size", "epochs", "checkpoint", "resume", "seed", "set_")
def apply(
    model: Source,
    data: Source,
    parts: Annotated[
        str | None,
        typer.Option(help="Any of codes,low_rank,outliers; default: all, or topics of documents."),
    ] = None,
    columns: Columns = None,
    **rest: Any,
) -> Any:
    """Decompose new data with a saved model."""
    from thalweg import apps

    return apps.apply(model, data, parts=names(parts), columns=names(columns), **rest)


@app.command(epilog=_example("thalweg info wells.csv"))
@job(
    "components", "batch_size", "epochs", "checkpoint", "resume", "seed", "set_", "out", "overwrite"
)
def info(file: Source, **rest: Any) -> Any:
    """Describe a data file, a checkpoint or a model."""
    from thalweg import apps

    del rest["out"]
    return apps.info(file, **rest)


@app.command(epilog=_example("thalweg demo --out demo"))
@job("read")
def demo(
    frames: Annotated[int, typer.Option(help="Number of frames.")] = 200,
    size: Annotated[str, typer.Option(help="HEIGHTxWIDTH of the video.")] = "120x160",
    **rest: Any,
) -> Any:
    """Separate a synthetic scene and compare with the truth."""
    from thalweg import apps

    return apps.demo(frames=frames, shape=side(size) or (120, 160), **rest)
