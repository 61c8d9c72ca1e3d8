"""The language of a live session."""

from __future__ import annotations

import pytest

from murmur_cli.models.whisper.spoken_language import SpokenLanguage


def test_what_is_known_is_not_asked_for() -> None:
    language = SpokenLanguage("de")
    assert (language.is_known, language.code) == (True, "de")


def test_utterances_count_by_their_length_until_enough_is_heard() -> None:
    language = SpokenLanguage(None)
    assert not language.is_known
    language.hear({"en": -3.0, "de": -0.1, "fr": -5.0}, duration_s=1.0)
    assert (language.is_known, language.code) == (False, "de")  # a short one may be wrong,
    language.hear({"en": -0.1, "de": -2.0, "fr": -5.0}, duration_s=9.0)
    assert (language.is_known, language.code) == (False, "en")  # and what follows is better then
    language.hear({"en": -0.2, "de": -1.0, "fr": -5.0}, duration_s=20.0)
    assert (language.is_known, language.code) == (True, "en")


@pytest.mark.parametrize("duration_s", [0.5, 60.0])
def test_an_english_model_knows_english(duration_s: float) -> None:
    language = SpokenLanguage(None)
    language.hear({}, duration_s=duration_s)
    assert (language.is_known, language.code) == (True, "en")
