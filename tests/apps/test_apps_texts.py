"""Texts of documents: where they are read, which words become terms."""

import csv
import json
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from thalweg import apps, metrics
from thalweg.apps._coherence import Cooccurrences
from thalweg.apps._run import Run
from thalweg.apps._stop_words import find_language, languages, stop_words_of
from thalweg.apps._texts import open_texts
from thalweg.apps._topic_documents import Nearest
from thalweg.apps._word_counts import CountedRows, KnownWords, count_words
from thalweg.errors import InputError, ParameterError
from thalweg.streams.text import TextStream

RIVER = ["river", "boat", "bank", "water", "flood", "bridge"]
SOUP = ["soup", "salt", "bread", "pepper", "spoon", "butter"]
SENTENCES = {
    "dutch": "De kat zit op het dak en wil niet naar beneden omdat het daar te koud is voor haar.",
    "english": "The cat sits on the roof and does not want to come down because it is too cold.",
    "french": "Le chat est sur le toit et ne veut pas descendre parce que dans la cour il pleut.",
    "german": "Die Katze sitzt auf dem Dach und will nicht nach unten, weil es dort zu kalt ist.",
    "italian": "Il gatto è sul tetto e non vuole scendere perché nella strada ci sono cani.",
    "polish": "Kot siedzi na dachu i nie chce zejść, ponieważ na dole jest mu za zimno.",
    "portuguese": "O gato está no telhado e não quer descer porque em baixo há cães para ele.",
    "spanish": "El gato está en el tejado y no quiere bajar porque en la calle hay muchos perros.",
    "swedish": "Katten sitter på taket och vill inte komma ner eftersom det är för kallt där.",
}


@pytest.fixture
def notes():
    """Return the subject of each document, and its text with stop words and a line break."""
    rng = np.random.default_rng(0)
    about = rng.integers(0, 2, 80)
    drawn = [rng.choice((RIVER, SOUP)[k], 12) for k in about]
    return about, [f"The {' '.join(w[:6])},\nand it is of {' '.join(w[6:])}." for w in drawn]


def found(result):
    with result.files["documents"].open(newline="") as file:
        return [int(row["topic"]) for row in csv.DictReader(file)]


def write_csv(path, texts, delimiter=","):
    with path.open("w", newline="") as file:
        rows = csv.writer(file, delimiter=delimiter)
        rows.writerow(["id", "label", "text"])
        rows.writerows((i, "some", text) for i, text in enumerate(texts))


def write_json(path, texts):
    lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)]
    path.write_text("\n".join(lines) + "\n")


def write_parquet(path, texts):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"id": list(range(len(texts))), "text": texts}), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", write_csv),
        ("a.tsv", lambda path, texts: write_csv(path, texts, "\t")),
        ("a.jsonl", write_json),
        ("a.parquet", write_parquet),
    ],
)
@pytest.mark.parametrize("column", [None, "text"])
def test_topics_of_a_column_of_texts(notes, tmp_path, name, write, column):
    about, texts = notes
    write(tmp_path / name, texts)
    result = apps.topics(tmp_path / name, tmp_path / "out", components=2, column=column)
    assert metrics.purity(about, found(result)) == 1.0
    assert result.values["documents"] == 80
    assert result.values["language"] == "english"
    assert {word for topic in result.values["topics"] for word in topic} <= {*RIVER, *SOUP}
    again = apps.apply(result.files["model"], tmp_path / name, tmp_path / "again", parts=["codes"])
    codes = np.loadtxt(again.files["codes"], delimiter=",", skiprows=1)
    mass = codes * result.model.components_.sum(axis=1)
    np.testing.assert_array_equal(mass.argmax(axis=1), found(result))


def test_topics_of_a_list(notes, tmp_path):
    about, texts = notes
    result = apps.topics(texts, tmp_path / "out", components=2)
    assert metrics.purity(about, found(result)) == 1.0


def test_topics_of_a_data_frame(notes, tmp_path):
    pandas = pytest.importorskip("pandas")
    about, texts = notes
    table = pandas.DataFrame({"label": "some", "text": texts})
    result = apps.topics(table, tmp_path / "out", components=2, column="text")
    assert metrics.purity(about, found(result)) == 1.0


def test_numbers_are_a_matrix(tmp_path):
    (tmp_path / "a.csv").write_text("river,soup\n1,0\n0,2\n")
    assert open_texts(Run("topics", tmp_path / "a.csv")) is None
    assert open_texts(Run("topics", np.eye(3))) is None


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("a.csv", "id,text\n1,a red boat\n", {"column": "body"}, "Choose among id, text"),
        ("a.txt", "a red boat\n", {"column": "text"}, "column must be None"),
        ("a.txt", "a red boat\n", {"read": {"hashing": True}}, "got 'hashing'"),
        ("a.txt", "a red boat\n", {"max_share": 0.0}, "max_share must be"),
        ("a.txt", "a red boat\n", {"min_documents": 0}, "min_documents must be"),
        ("a.txt", "a red boat\n", {"language": "klingon"}, "got 'klingon'"),
        ("a.txt", "a red boat\n", {"stop_words": "none.txt"}, "none.txt must be a file of words"),
        ("a.txt", "a red boat\n", {}, "Lower min_documents"),
        ("a.txt", "1 2\n\n", {}, "must have words, got none"),
        ("a.jsonl", '{"text": "a red boat"}\n[1]\n', {}, "JSON object in each line, got '[1]' in"),
        ("a.jsonl", '{"id": 1}\n', {}, "a column of texts, got id"),
    ],
)
def test_errors_say_what_to_do(tmp_path, name, content, options, words):
    (tmp_path / name).write_text(content)
    with pytest.raises((InputError, ParameterError)) as error:
        apps.topics(tmp_path / name, tmp_path / "out", components=2, **options)
    assert words in str(error.value)
    assert not (tmp_path / "out").exists()


def test_each_language_is_found_by_its_stop_words():
    assert set(SENTENCES) == set(languages())
    for language, text in SENTENCES.items():
        assert find_language(Counter(text.lower().replace(",", "").split())) == language
        assert len(stop_words_of(language)) > 100
    assert find_language(dict.fromkeys([*RIVER, *SOUP], 3)) is None


def test_stop_words_and_language(notes, tmp_path):
    _, texts = notes
    texts = [text + " here le boat" for text in texts]
    (tmp_path / "list.txt").write_text("Boat\nspoon\n")

    def terms(**options):
        options = {"max_share": 1.0, "components": 2, "words": 40, "overwrite": True} | options
        values = apps.topics([*texts, "soup"], tmp_path / "out", **options).values
        return values["language"], {word for topic in values["topics"] for word in topic}

    kept = {*RIVER, *SOUP, "le"}
    assert terms() == ("english", kept)
    assert terms(stop_words=tmp_path / "list.txt") == ("english", kept - {"boat", "spoon"})
    assert terms(stop_words=["Soup"]) == ("english", kept - {"soup"})
    assert terms(language="none", stop_words="english") == ("english", kept)
    everything = kept | {"the", "and", "it", "is", "of", "here"}
    assert terms(language="none") == ("none", everything)
    assert terms(language="french") == ("french", everything - {"le"})


def test_counts_equal_those_of_scikit_learn(notes):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    _, texts = notes
    texts = [*texts, "", "42 x 3com's mp3 Crème"]
    for bigrams in (False, True):
        counted = count_words(texts, Run("topics", None), bigrams)
        peer = text.CountVectorizer(
            token_pattern=r"\d*[^\W\d_][^\W_]+", ngram_range=(1, 1 + bigrams)
        )
        expected = peer.fit_transform(texts)
        names = list(peer.get_feature_names_out())
        assert set(names) == set(counted.numbers)
        rows = CountedRows(counted, np.array([counted.numbers[name] for name in names]))
        for start, size in ((0, 7), (5, 100)):
            X = np.vstack([batch.X.toarray() for batch in rows.batches(size, start)])
            np.testing.assert_array_equal(X, expected.toarray()[start:])
        df = np.asarray((expected > 0).sum(axis=0)).ravel()
        np.testing.assert_array_equal(counted.frequencies[rows.places], df)
        known = KnownWords(lambda: iter(texts), {name: i for i, name in enumerate(names)})
        X = np.vstack([batch.X.toarray() for batch in known.batches(9)])
        np.testing.assert_array_equal(X, expected.toarray())


def test_counts_are_the_same_in_small_blocks(notes, monkeypatch):
    _, texts = notes
    whole = count_words(texts, Run("topics", None), bigrams=True)
    monkeypatch.setattr("thalweg.apps._word_counts._BUFFER", 50)
    parts = count_words(texts, Run("topics", None), bigrams=True)
    assert parts.numbers == whole.numbers
    np.testing.assert_array_equal(parts.counts, whole.counts)
    np.testing.assert_array_equal(parts.frequencies, whole.frequencies)
    np.testing.assert_allclose(parts.logs, whole.logs)


def test_rare_words_are_dropped_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr("thalweg.apps._word_counts._BUFFER", 64)
    monkeypatch.setattr("thalweg.apps._word_counts._MAX_DISTINCT", 200)
    texts = [f"river soup rare{i}" for i in range(1000)]
    counted = count_words(texts, Run("topics", None), bigrams=False)
    assert len(counted.numbers) < 400
    numbers = [counted.numbers[word] for word in ("river", "soup")]
    np.testing.assert_array_equal(counted.frequencies[numbers], [1000, 1000])


def test_vocabulary_is_bounded_by_document_frequencies(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice((RIVER, SOUP)[i % 2], 8)) + " everywhere" for i in range(60)]
    texts[0] += " once"
    texts[1] += " twice"
    texts[2] += " twice"

    def words(**options):
        result = apps.topics(
            texts, tmp_path / "out", components=2, words=99, overwrite=True, **options
        )
        return {word for topic in result.values["topics"] for word in topic}

    assert words() == {*RIVER, *SOUP, "twice"}
    assert words(min_documents=1) == {*RIVER, *SOUP, "once", "twice"}
    assert words(min_documents=3) == {*RIVER, *SOUP}
    low = {word for word in (*RIVER, *SOUP) if sum(word in text for text in texts) <= 0.4 * 60}
    assert words(min_documents=3, max_share=0.4) == low
    assert len(words(terms=5)) == 5


def test_bigrams_are_terms_of_the_model(tmp_path):
    texts = ["New York is a big city", "the jazz of New York", "a cup of tea", "tea in a cup"] * 10
    path = tmp_path / "a.txt"
    path.write_text("\n".join(texts))
    result = apps.topics(path, tmp_path / "out", components=2, bigrams=True)
    york, tea = sorted(result.values["topics"], key=lambda topic: "tea" in topic)
    assert {"new york", "york"} <= set(york)
    assert {"tea", "cup"} <= set(tea)
    assert not any("of" in word.split() for word in (*york, *tea))
    again = apps.apply(result.files["model"], path, tmp_path / "again", parts=["codes"])
    codes = np.loadtxt(again.files["codes"], delimiter=",", skiprows=1)
    np.testing.assert_array_equal(
        (codes * result.model.components_.sum(axis=1)).argmax(axis=1), found(result)
    )


def test_texts_are_read_once(notes, tmp_path, monkeypatch):
    _, texts = notes
    path = tmp_path / "a.txt"
    path.write_text("\n".join(text.replace("\n", " ") for text in texts))
    opened = []
    read = TextStream.texts
    monkeypatch.setattr(TextStream, "texts", lambda file: opened.append(file) or read(file))
    apps.topics(path, tmp_path / "out", components=2, epochs=7)
    assert len(opened) == 1


def test_coherence_equals_its_definition():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (70, 6)).astype(float)
    X[:, 5] = 0
    X[:, 5][X[:, 0] == 0] = 1  # never with the first word
    X[:, 4] = X[:, 3]
    pairs = Cooccurrences([[0, 2, 1], [5, 0], [3, 4], [2], []])
    for part in (X[:30], X[30:]):
        pairs.add(sparse.csr_array(part))
    found = pairs.coherence()
    expected = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        p, q = np.mean(X[:, i] > 0), np.mean(X[:, j] > 0)
        both = np.mean((X[:, i] > 0) & (X[:, j] > 0))
        expected.append(np.log(both / (p * q)) / -np.log(both))
    assert found[0] == pytest.approx(np.mean(expected))
    assert found[1:3] == pytest.approx([-1, 1])
    assert np.isnan(found[3:]).all()


def test_topics_of_their_own_words_are_coherent(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([a + b for a in "bdfgkl" for b in ("an", "el", "im", "or")])
    texts = [" ".join(rng.choice(words[12 * (i % 2) :][:12], 20)) for i in range(80)]
    result = apps.topics(texts, tmp_path / "out", components=2)
    assert min(result.values["coherence"]) > 0.5
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    assert saved["values"]["coherence"] == pytest.approx(result.values["coherence"])
    assert "coherence" in result.files["report"].read_text("utf-8")


def test_nearest_documents_have_the_largest_cosines():
    rng = np.random.default_rng(0)
    X, W = rng.poisson(0.5, (50, 8)) * 1.0, rng.random((3, 8))
    X[7] = 0
    nearest = Nearest(W, 4)
    for first in range(0, 50, 20):
        nearest.add(first, sparse.csr_array(X[first : first + 20]))
    with np.errstate(invalid="ignore"):
        cosines = W @ X.T / np.linalg.norm(W, axis=1)[:, None] / np.linalg.norm(X, axis=1)
    cosines[:, 7] = 0
    for found, row in zip(nearest.numbers(), cosines, strict=True):
        np.testing.assert_allclose(row[found], -np.sort(-row)[:4])
    lone = Nearest(W, 4)
    lone.add(0, sparse.csr_array(np.zeros((2, 8))))
    assert lone.numbers() == [[], [], []]


def test_apply_writes_the_topics_of_new_documents(notes, tmp_path):
    about, texts = notes
    first = apps.topics(texts[:60], tmp_path / "out", components=2)
    result = apps.apply(first.files["model"], texts, tmp_path / "again")
    topics = found(result)
    assert topics[:60] == found(first)
    assert metrics.purity(about, topics) == 1.0
    assert set(result.files) == {"documents", "report"}
    assert result.values["documents of each"] == np.bincount(topics).tolist()
    assert [words[0] for words in result.values["topics"]] == [
        words[0] for words in first.values["topics"]
    ]
    for k, numbers in enumerate(first.values["nearest documents"]):
        assert len(numbers) == 3
        assert {topics[i] for i in numbers} == {k}
