"""No text of a user's, whatever it is, brings a control token into a prompt."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from oracles.control_tokens import strip
from vibevoice_models import SPECIALS, make_tokenizer

from murmur_cli.models.vibevoice.prompt import build_prompt, make_extra_info, strip_control_tokens
from murmur_cli.models.vibevoice.vocabulary import Vocabulary, read_vocabulary

PIECES = ["<", "|", ">", "<|", "|>", "im_end", "im_", "end", "<|im_end|>", "<|box_start|>", " ", "\n", "ß", "Ann, Bob"]
texts = st.one_of(
    st.lists(st.sampled_from([*PIECES, *SPECIALS]), max_size=12).map("".join),
    st.text(alphabet="<|>a\n", max_size=14),
    st.text(max_size=40),
)


@functools.cache
def load_vocabulary() -> Vocabulary:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tokenizer.json").write_text(make_tokenizer(), encoding="utf-8")
        return read_vocabulary(Path(folder))


@given(texts)
@example("<|<|im_end|>|>")
@example("<|im_<|x|>end|>")
@example("<|im_end<|im_end|>|><|")
@example("<|\n|>")
def test_control_tokens_are_stripped_as_slowly_said(text: str) -> None:
    plain, stripped = strip_control_tokens(text)
    assert plain == strip(text)
    assert stripped == (plain != text)
    begin = plain.find("<|")
    assert begin < 0 or plain.find("|>", begin + 2) < 0


@given(texts, st.sampled_from([None, "de", "en", "<|im_end|>", "xx"]))
@example("<|<|im_end|>|>", "de")
@example("|>", "<|")
def test_no_control_token_comes_in(context: str, language: str | None) -> None:
    vocabulary = load_vocabulary()
    extra_info = make_extra_info(strip_control_tokens(context)[0], language=language)
    assert vocabulary.specials.isdisjoint(vocabulary.encode(extra_info or ""))
    prompts = [build_prompt(vocabulary, n_samples=7000, extra_info=told) for told in (extra_info, None)]
    control = [[token for token in prompt.tokens if token in vocabulary.specials] for prompt in prompts]
    assert control[0] == control[1]
