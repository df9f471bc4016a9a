"""Find five topics in 2225 news articles, and draw their words and their sections.

The data are those of [D] VIII-E, BBC news: ``bbc_news.npz`` in the folder THALWEG_DATA.
"""

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import MiniBatchNMF
from sklearn.exceptions import ConvergenceWarning

from thalweg import DivergenceNMF, OnlineNMF, metrics
from thalweg.divergences.kl import KL

mpl.use("Agg")
import matplotlib.pyplot as plt

TOPICS, TERMS, WORDS, HELD_OUT = 5, 1000, 8, 0.2
COLOURS = ("#2f6db5", "#c2453d", "#2a9475", "#8a5fb0", "#d18a1f")
INK, SOFT = "#222a33", "#68727d"


def _peer(epochs: int) -> MiniBatchNMF:
    return MiniBatchNMF(
        TOPICS,
        beta_loss="kullback-leibler",
        max_iter=epochs,
        transform_max_iter=200,
        random_state=0,
    )


METHODS = {
    "OnlineNMF, 10 epochs": OnlineNMF(TOPICS, constraint="simplex", epochs=10, random_state=0),
    "DivergenceNMF": DivergenceNMF(TOPICS, constraint="simplex", random_state=0),
    "MiniBatchNMF, 10 epochs": _peer(10),
    "MiniBatchNMF, 200 epochs": _peer(200),
}


class Corpus(NamedTuple):
    """Weights of terms in articles, and the section of each article."""

    X: Any
    terms: Any
    labels: Any
    label_names: Any


class Result(NamedTuple):
    """The result of one method; topics are matched to labels, so that row k is for label k."""

    words: list[list[str]]
    weights: Any  # of these words
    table: Any  # number of articles with topic k and label j
    purity: float
    held_out: float  # mean divergence of a held-out article
    seconds: float


def load(path: Path) -> Corpus:
    """Return the TERMS terms of largest TF-IDF weight, (1 + log tf) log(n_articles / df)."""
    with np.load(path, allow_pickle=False) as data:
        indices = data["indices"].astype(np.int32)
        counts, shape = data["data"].astype(np.float64), tuple(data["shape"])
        spread = np.bincount(indices, minlength=shape[1])
        weights = (1.0 + np.log(counts)) * np.log(shape[0] / spread)[indices]
        X = sparse.csr_array((weights, indices, data["indptr"]), shape=shape)
        kept = np.sort(np.argsort(-X.sum(axis=0))[:TERMS])
        return Corpus(X[:, kept], data["terms"][kept], data["labels"], data["label_names"])


def divergence(model: Any, X: Any) -> float:
    """Return the mean Kullback-Leibler divergence of the articles from the model."""
    said = model.transform(X) @ model.components_
    return float(np.mean(KL().value(X.toarray().T, said.T)))


def fit(corpus: Corpus, model: Any) -> Result:
    """Fit on the training articles, and evaluate the topics."""
    order = np.random.default_rng(0).permutation(corpus.X.shape[0])
    held_out, training = np.split(order, [int(HELD_OUT * len(order))])
    X = corpus.X[training]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten epochs are intended
        model.fit(X)
    seconds = time.perf_counter() - begin
    mass = model.transform(corpus.X) * model.components_.sum(axis=1)
    found = mass.argmax(axis=1)
    table = np.zeros((TOPICS, len(corpus.label_names)), dtype=int)
    np.add.at(table, (found, corpus.labels), 1)
    order = linear_sum_assignment(-table.T)[1]  # the topic of each label
    top = np.argsort(-model.components_[order], axis=1)[:, :WORDS]
    return Result(
        [[str(word) for word in row] for row in corpus.terms[top]],
        np.take_along_axis(model.components_[order], top, axis=1),
        table[order],
        metrics.purity(corpus.labels, found),
        divergence(model, corpus.X[held_out]),
        seconds,
    )


def draw(result: Result, label_names: Any, picture: Path) -> None:
    """Draw five panels of words, and a table of topics and sections."""
    fig, axes = plt.subplots(2, 3, figsize=(11.5, 6.6), layout="constrained")
    fig.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    places = np.arange(WORDS)
    for k, (ax, colour) in enumerate(zip(axes.flat, COLOURS, strict=False)):
        ax.barh(places, result.weights[k], color=colour, height=0.62)
        ax.set_yticks(places, result.words[k], fontsize=12, color=INK)
        ax.set(ylim=(WORDS - 0.5, -0.5), xticks=[])
        ax.set_title(_name(result, k, label_names), fontsize=13, color=colour, weight="bold")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
    _draw_table(axes.flat[-1], result.table, label_names)
    title = f"The {TOPICS} topics of {result.table.sum()} articles, and their words of most weight"
    fig.suptitle(title, fontsize=15, color=INK)
    fig.savefig(picture, dpi=110)
    plt.close(fig)


def _draw_table(ax: Any, table: Any, label_names: Any) -> None:
    shares = table / table.sum(axis=1, keepdims=True)
    colours = np.array([mpl.colors.to_rgb(colour) for colour in COLOURS])[:, None, :]
    ax.imshow(1.0 - shares[:, :, None] * (1.0 - colours), aspect="auto")
    for (k, j), count in np.ndenumerate(table):
        colour = "white" if shares[k, j] > 0.5 else SOFT
        ax.text(j, k, str(count), ha="center", va="center", fontsize=12, color=colour)
    ax.set_xticks(range(len(label_names)), label_names, fontsize=11, rotation=25, ha="right")
    ax.set_yticks(range(TOPICS), [f"topic {k + 1}" for k in range(TOPICS)], fontsize=11)
    ax.set_title("Articles, by topic and section", fontsize=13, color=INK, weight="bold")
    ax.spines[:].set_color("#c9ced4")
    ax.tick_params(length=0, colors=INK)


def _name(result: Result, k: int, label_names: Any) -> str:
    return f"{k + 1}  {label_names[result.table[k].argmax()]}"


def main(argv: list[str] | None = None) -> dict[str, Result]:
    """Load the corpus, fit each method, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("THALWEG_DATA"))
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args(argv)
    if options.data is None or not (options.data / "bbc_news.npz").exists():
        parser.error("bbc_news.npz not found: set --data or THALWEG_DATA to its folder")
    corpus = load(options.data / "bbc_news.npz")
    results = {name: fit(corpus, model) for name, model in METHODS.items()}
    first, *_ = results.values()
    for k, words in enumerate(first.words):
        print(f"{_name(first, k, corpus.label_names):18}{' '.join(words)}")
    print(f"\n{'':26}  seconds  purity  held-out divergence")
    for name, result in results.items():
        print(f"{name:26}{result.seconds:9.2f}", end="")
        print(f"{result.purity:8.3f}{result.held_out:21.1f}")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(first, corpus.label_names, options.output / "topics.png")
    print(f"\npicture: {options.output / 'topics.png'}")
    return results


if __name__ == "__main__":
    main()
