"""Find the topics of documents."""

from collections.abc import Collection
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from os import PathLike
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from thalweg._checks import require_whole
from thalweg.apps._coherence import Cooccurrences
from thalweg.apps._folder import Folder, open_folder
from thalweg.apps._learn import Subsample, learn
from thalweg.apps._models import build
from thalweg.apps._report import learning_panels, rank_panels, save_model, write_report
from thalweg.apps._run import TINY, Common, Result, Run
from thalweg.apps._streams import read_batch_size
from thalweg.apps._tables import write_csv
from thalweg.apps._topic_documents import (
    Nearest,
    best_words,
    shares_of_topics,
    shares_panel,
    write_documents,
)
from thalweg.apps._words import Documents, Vocabulary, documents
from thalweg.streams import Repeated, Shuffled, Stream

__all__ = ["topics"]

_TOPICS, _EPOCHS = 5, 10  # defaults; the number for methods that cannot find it
_BUFFER = 4096  # documents that are shuffled together, and that initialise the topics
_N_COHERENT = 10  # words of a topic whose coherence is measured
_N_NEAREST = 3  # documents nearest to each topic
_N_SHOWN = 200  # documents in the report, at least, of a long text


def topics(
    source: Any,
    out: str | PathLike[str] | None = None,
    *,
    column: str | None = None,
    terms: int = 20_000,
    min_documents: int | None = None,
    max_share: float = 0.7,
    bigrams: bool = False,
    language: str = "auto",
    stop_words: Collection[str] | str | PathLike[str] = (),
    words: int = 12,
    method: str = "online-nmf",
    **common: Unpack[Common],
) -> Result:
    r"""Find the topics of documents, their words, and their shares in each document.

    Documents are TF-IDF rows as in [D] VIII-E, factorised with the Kullback-Leibler divergence.

    Parameters
    ----------
    source : path, sparse matrix, array, Stream, list of str or data frame
        Texts: a ``.txt`` file with one document per line; a CSV, TSV, Parquet or JSON Lines file
        with a column of texts; a list. Or a matrix with one row per document and one column per
        word: ``.npz`` (with an array ``terms`` of the words), CSV with the words as header, ...
        Integers are counts, and get TF-IDF weights; other numbers are used unchanged.
    column : str or None, default=None
        Column of the texts; None takes the one with the most words.
    terms : int, default=20000
        Largest size of the vocabulary: the words with the largest weights.
    min_documents : int or None, default=None
        Smallest number of documents with a word; None means one in a thousand, from 2 to 5.
    max_share : float, default=0.7
        Largest share of the documents with a word.
    bigrams : bool, default=False
        Whether two consecutive words of a text are a term as well.
    language : str, default='auto'
        Language of the stop words: 'english', 'french', 'german', ...; 'none' keeps all words,
        and 'auto' finds the language.
    stop_words : collection of str, str or path, default=()
        Further words to ignore: a collection, a file, or the name of a language.
    words : int, default=12
        Number of words per topic in the report and in ``topics.csv``.
    method : str, default='online-nmf'
        Name of an estimator.
    **common
        See :class:`thalweg.apps.Common`; by default, the number of topics is found by
        hidden entries in the first 4096 documents, and there are ten epochs.

    Returns
    -------
    Result
        Files: topics (CSV), documents (CSV), model, report.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg import apps
    >>> text = "river boat flood\nriver flood bank\nsoup salt bread\nsoup bread spoon\n"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "lines.txt")
    ...     _ = path.write_text(5 * text)
    ...     result = apps.topics(path, folder + "/out", components=2, words=4)
    >>> [("river" in words) != ("soup" in words) for words in result.values["topics"]]
    [True, True]
    """
    run = Run("topics", source, **common)
    require_whole(1, words=words)
    limits = Vocabulary(terms, min_documents, max_share, bigrams, language, stop_words)
    with open_folder(run, out) as folder:
        corpus = documents(run, limits, column)
        begin = perf_counter()
        model = build(
            method, run.settings, components=run.components, seed=run.seed, default=_TOPICS
        )
        first = _initialise(model, corpus.stream, run)
        epochs = _EPOCHS if run.epochs is None else run.epochs
        shuffled = Shuffled(Repeated(corpus.stream, epochs), buffer=_BUFFER, seed=run.seed)
        history = learn(model, shuffled, replace(run, epochs=1))
        top = _top_words(model, corpus, words)
        _write_topics(folder, top)
        shown, nearest = Subsample(_N_SHOWN), Nearest(model.components_, _N_NEAREST)
        pairs = Cooccurrences(
            [best_words(row, min(words, _N_COHERENT)) for row in model.components_]
        )

        def see(first: int, X: Any) -> None:
            pairs.add(X)
            nearest.add(first, X)

        shares = shares_of_topics(model, corpus.stream, run, see)
        sizes = write_documents(folder, shares, len(top), shown)
        values = {
            "documents": sum(sizes),
            "words": len(corpus.terms.names),
            **({} if corpus.texts is None else {"language": corpus.language}),
            "topics": [[word for word, _ in ranked] for ranked in top],
            "coherence": pairs.coherence(),
            "documents of each": sizes,
            "nearest documents": nearest.numbers(),
            "seconds": perf_counter() - begin,
        }
        weights = corpus.terms.weights
        save_model(
            folder,
            model,
            terms=corpus.terms.names,
            places=corpus.terms.places.tolist(),
            weights=None if weights is None else weights.tolist(),
            text=corpus.texts is not None,
            column=None if corpus.texts is None else corpus.texts.column,
        )
        _report(
            folder,
            [*rank_panels(getattr(first, "rank_evidence_", None)), *learning_panels(history)],
            top,
            shown,
            values,
        )
        return folder.finish(values, model)


def _initialise(model: Any, stream: Stream, run: Run) -> Any:
    """Initialise the topics by a fit to the first ``_BUFFER`` documents.

    A single batch has too few documents to distinguish topics, or to find their number. Returns
    the fitted model, or None if initial topics are given.
    """
    if "init" not in model.get_params() or "init" in run.settings:
        return None
    from scipy import sparse

    size = read_batch_size(stream.n_features)
    blocks = [X for _, X in islice(stream.batches(size), -(-_BUFFER // size))]
    first = deepcopy(model).fit(sparse.vstack(blocks, format="csr"))
    model.set_params(init=first.components_, n_components=len(first.components_))
    return first


def _top_words(model: Any, corpus: Documents, words: int) -> list[list[tuple[str, float]]]:
    """Return the words with the largest shares of each topic."""
    top = []
    for component in model.components_:
        best = best_words(component, words)
        total = max(float(component.sum()), TINY)
        names = corpus.terms.names
        top.append([(names[i], float(component[i]) / total) for i in best])
    return top


def _write_topics(folder: Folder, top: list[list[tuple[str, float]]]) -> None:
    rows = ((k, n, *pair) for k, ranked in enumerate(top) for n, pair in enumerate(ranked))
    header = ("topic", "rank", "word", "share")
    write_csv(folder.file("topics", "topics.csv"), header, rows)


def _noted(coherence: float) -> str:
    return f", coherence {coherence:.2f}" if np.isfinite(coherence) else ""


def _report(
    folder: Folder,
    others: list[Any],
    top: list[list[tuple[str, float]]],
    shown: Subsample,
    values: dict[str, Any],
) -> None:
    from thalweg import report

    n, sizes = max(values["documents"], 1), values["documents of each"]
    groups = {
        f"{k}: {size / n:.0%} of the documents{_noted(c)}": ranked or [("(none)", 0.0)]
        for k, (ranked, size, c) in enumerate(zip(top, sizes, values["coherence"], strict=True))
    }
    table = shares_panel(shown, [[word for word, _ in ranked] for ranked in top])
    nearest = {
        f"nearest to topic {k}": ", ".join(map(str, numbers)) or "none"
        for k, numbers in enumerate(values["nearest documents"])
    }
    facts = {"documents": n, "words": values["words"], "topics": len(top)}
    panels = [
        report.Ranking("Words of the topics", groups),
        table,
        report.Facts("Key figures", facts),
        report.Facts("Documents nearest to the topics", nearest),
        *others,
    ]
    summary = f"{n} documents with {values['words']} words, factorised into {len(top)} topics."
    write_report(folder, f"Topics of {folder.run.title}", panels, summary, terms=values["words"])
