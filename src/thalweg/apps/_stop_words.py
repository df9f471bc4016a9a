"""Stop words: lists of several languages, and which language a text is in."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

from thalweg.errors import InputError, ParameterError

__all__ = ["choose_stop_words", "find_language", "languages", "stop_words_of"]

# Smallest share of the words of a text that are on the list of its language. It is 0.2 to 0.5 for
# running text, and below 0.05 for other languages and for text without stop words.
_MIN_SHARE = 0.1
_FOLDER = "stop_words"


@cache
def languages() -> tuple[str, ...]:
    """Return the languages with a list, in alphabetical order."""
    listed = files("thalweg.apps").joinpath(_FOLDER).iterdir()
    return tuple(sorted(path.name.removesuffix(".txt") for path in listed))


@cache
def stop_words_of(language: str) -> frozenset[str]:
    """Return the list of a language."""
    path = files("thalweg.apps").joinpath(_FOLDER, f"{language}.txt")
    return frozenset(path.read_text("utf-8").split())


def find_language(frequencies: Mapping[str, int]) -> str | None:
    """Return the language whose list has most of the words of a text, by document frequencies."""
    total = sum(frequencies.values())
    shares = {
        language: sum(frequencies.get(word, 0) for word in stop_words_of(language)) / max(total, 1)
        for language in languages()
    }
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _MIN_SHARE else None


def choose_stop_words(
    language: str, given: Collection[str] | str | PathLike[str], frequencies: Mapping[str, int]
) -> tuple[str, frozenset[str]]:
    """Return the language, or 'none', and the words to ignore: its list and those given."""
    if language not in ("auto", "none", *languages()):
        raise ParameterError(
            f"language must be one of auto, none, {', '.join(languages())}, got {language!r}."
        )
    if isinstance(given, str) and given in languages():
        language, given = given, ()
    found = (find_language(frequencies) or "none") if language == "auto" else language
    listed = frozenset() if found == "none" else stop_words_of(found)
    return found, listed | _given(given)


def _given(given: Collection[str] | str | PathLike[str]) -> frozenset[str]:
    if not isinstance(given, str | PathLike):
        return frozenset(word.lower() for word in given)
    try:
        return frozenset(Path(given).read_text("utf-8").lower().split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{given} must be a file of words, or one of {', '.join(languages())}, got an "
            f"unreadable file ({error}). Check the path."
        ) from error
