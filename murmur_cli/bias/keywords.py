"""What is to be heard: keywords, in the forms and with the weights that users give them.

Whatever a form holds is text to be heard, never a token that steers a model.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from murmur_cli.bias.allocation import tidy
from murmur_cli.bias.fold import fold
from murmur_cli.errors import UsageError

__all__ = ["Form", "Keyword", "KeywordList", "check_keywords", "check_weight", "join_lists", "make_form", "shorten"]

_MOST_PHRASES = 100_000
_MOST_CHARACTERS = 200  # of a phrase
_MOST_IN_ALL = 2_000_000  # characters: a minute or two, and some 6 GB, to compile
_MOST_WEIGHT = 100.0
_FEW_CHARACTERS = 3

_INVISIBLE = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a keyword, tidy; an open one may go on in the same word, as a stem does."""

    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Keyword:
    """What is to be heard, in one form or more.

    ``weight`` multiplies its bonus; 0 switches it off. ``where`` is the file and line, for messages.
    """

    forms: tuple[Form, ...]
    weight: float = 1.0
    where: str = ""

    @property
    def display(self) -> str:
        """How it is to be spelt: the first form."""
        return self.forms[0].text


@dataclass(frozen=True, slots=True)
class KeywordList:
    """Keywords in the order of the list, and what is odd about them, a line each."""

    keywords: tuple[Keyword, ...]
    warnings: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """Of what the keywords say, wherever they stand."""
        content = [
            [keyword.weight, *([form.text, form.is_open] for form in keyword.forms)] for keyword in self.keywords
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def n_phrases(self) -> int:
        """How many forms are to be heard."""
        return sum(len(keyword.forms) for keyword in self.keywords if keyword.weight > 0)


def make_form(text: str, where: str, *, is_open: bool = False) -> Form:
    """Take a phrase, if it can be said and written.

    Raises:
        UsageError: It is empty, too long, or has characters that nobody can see.
    """
    text = tidy(text)
    if not text:
        raise UsageError("is an empty phrase", where=where, hint="write something, or take it out")
    if len(text) > _MOST_CHARACTERS:
        problem = f"{shorten(text)} has {len(text)} characters; the most are {_MOST_CHARACTERS}"
        raise UsageError(problem, where=where, hint="write one phrase a line")
    for character in text:
        if character in _INVISIBLE or unicodedata.category(character) in ("Cc", "Cs"):
            problem = f"has the control character U+{ord(character):04X}"
            raise UsageError(problem, where=where, hint="take it out; nobody can say it")
    return Form(text, is_open)


def check_weight(weight: float, where: str) -> float:
    """Take a weight that can be meant.

    Raises:
        UsageError: It is less than nothing, or too much.
    """
    if not (math.isfinite(weight) and 0 <= weight <= _MOST_WEIGHT):
        raise UsageError(
            f"the weight {weight:g} is not from 0 to {_MOST_WEIGHT:g}", where=where, hint="0 switches it off"
        )
    return weight


def join_lists(lists: Iterable[KeywordList]) -> KeywordList:
    """Make one list of several, in order.

    Raises:
        UsageError: Together they are too long.
    """
    parts = tuple(lists)
    joined = check_keywords(tuple(keyword for part in parts for keyword in part.keywords), where="the lists together")
    return KeywordList(
        joined.keywords, tuple(dict.fromkeys([*(w for part in parts for w in part.warnings), *joined.warnings]))
    )


def check_keywords(keywords: tuple[Keyword, ...], *, where: str) -> KeywordList:
    """Look for what is too much, and for what is odd.

    Raises:
        UsageError: There are too many phrases or characters.
    """
    forms = [form for keyword in keywords for form in keyword.forms]
    if len(forms) > _MOST_PHRASES:
        problem = f"has {len(forms)} phrases; the most are {_MOST_PHRASES}"
        raise UsageError(problem, where=where, hint="leave out those that are said seldom")
    n_characters = sum(len(form.text) for form in forms)
    if n_characters > _MOST_IN_ALL:
        problem = f"has phrases of {n_characters} characters in all; the most are {_MOST_IN_ALL}"
        raise UsageError(problem, where=where, hint="leave out those that are said seldom")
    return KeywordList(keywords, tuple(_find_odd(keywords)))


def _find_odd(keywords: tuple[Keyword, ...]) -> Iterator[str]:
    seen: dict[str, Keyword] = {}
    for keyword in keywords:
        for form in keyword.forms:
            first = seen.setdefault(fold(form.text), keyword)
            if first is not keyword:
                yield f"{keyword.where}: {form.text!r} is listed before, at {first.where}"
            if len(form.text) < _FEW_CHARACTERS:
                yield f"{keyword.where}: {form.text!r} has fewer than {_FEW_CHARACTERS} characters"


def shorten(text: str) -> str:
    """Quote a text for a message, or the beginning of a long one."""
    return repr(text if len(text) <= 40 else text[:40] + "…")
