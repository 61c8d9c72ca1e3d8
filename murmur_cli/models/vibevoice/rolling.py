"""A session without end: when the context is full, a new one is built of what was heard, and nobody notices.

Which chunks it is built of is decided in ``murmur_cli.decode.rollover``; here is what these chunks sounded like, and
what was written for them. No audio is encoded twice, and what is held does not grow with the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from murmur_cli.decode.bias_filter import RowBias
from murmur_cli.decode.rollover import ChunkNote, Rollover, Turn
from murmur_cli.models.vibevoice.interleave import Interleaver
from murmur_cli.models.vibevoice.prompt import strip_control_tokens
from murmur_cli.models.vibevoice.stream_text import SpeakerTag, StreamPiece, StreamText, find_tags
from murmur_cli.models.vibevoice.vocabulary import Vocabulary
from murmur_cli.types import LocalSpeaker

__all__ = ["ReadChunk", "RollingContext"]

_LOST = "\ufffd"


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """The text that is settled with a chunk, and why there is no more of it; None: it is whole.

    ``tokens`` are what was written for it, ``changed`` where a list had a hand in that, see ``ChunkText``.
    """

    pieces: tuple[StreamPiece, ...]
    fault: str | None
    tokens: tuple[int, ...] = ()
    changed: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Heard:
    """A chunk as a new context needs it.

    ``features`` are the host's, shape [n_frames, H]; ``text`` is that of the tokens by themselves; ``before`` speaks
    where it begins, ``after`` where it ends.
    """

    features: Tensor
    tokens: tuple[int, ...]
    text: str
    before: LocalSpeaker | None
    after: LocalSpeaker | None


class RollingContext:
    """One session's context and its text.

    Args:
        context: Empty as yet.
        vocabulary: The model's tokens.
        rollover: Of this session.
    """

    def __init__(self, context: Interleaver, vocabulary: Vocabulary, rollover: Rollover) -> None:
        self._context = context
        self._vocabulary = vocabulary
        self._text = StreamText(vocabulary.decode_text)
        self._rollover = rollover
        self._heard: dict[int, _Heard] = {}
        self._n_read = 0
        self._tag: SpeakerTag | None = None  # the newest: how this model writes it

    @property
    def n_held(self) -> int:
        """Chunks that the context holds."""
        return self._rollover.n_held

    def read(self, features: Tensor, *, is_silent: bool) -> ReadChunk:
        """Hear the next window, and write its chunk.

        Args:
            features: Of the window, shape [n_frames, H].
            is_silent: Nothing was said: the chunk is empty, and the model is not asked.
        """
        if self._rollover.is_due(is_silent=is_silent):
            kept = [self._heard[index] for index in self._rollover.begin_again()]
            self._context.begin_again(self._to_context(kept))
        answer = self._context.read(features, is_silent=is_silent)
        before = self._text.speaker
        pieces = self._text.read(answer.tokens)
        heard = _Heard(
            features.cpu(), answer.tokens, self._vocabulary.decode_text(answer.tokens), before, self._text.speaker
        )
        self._remember(heard, pieces, is_silent=is_silent, is_cut=answer.fault is not None)
        return ReadChunk(tuple(pieces), answer.fault, answer.tokens, answer.changed)

    def listen(self, bias: RowBias | None) -> None:
        """Listen for something else from here on; a new context is no reason to."""
        self._context.listen(bias)

    def finish(self) -> list[StreamPiece]:
        """Give what was held back of the text."""
        return self._text.finish()

    def close(self) -> None:
        """Give the memory back."""
        self._context.close()
        self._heard.clear()

    def _remember(self, heard: _Heard, pieces: Sequence[StreamPiece], *, is_silent: bool, is_cut: bool) -> None:
        index, self._n_read = self._n_read, self._n_read + 1
        tags = find_tags(heard.text, begins=index == 0)
        self._tag = tags[-1] if tags else self._tag
        note = ChunkNote(
            index=index,
            turns=tuple(
                Turn(piece.speaker, len("".join(piece.text.split()))) for piece in pieces if piece.speaker is not None
            ),
            begins_turn=bool(tags) and tags[0].start == 0 and tags[0].speaker != heard.before,
            is_silent=is_silent,
            is_empty=not heard.tokens,
            is_faulty=is_cut or _LOST in heard.text,
        )
        self._rollover.note(note)
        self._heard[index] = heard
        self._heard = {index: self._heard[index] for index in sorted(self._rollover.needed)}

    def _to_context(self, kept: Sequence[_Heard]) -> list[tuple[Tensor, Sequence[int]]]:
        """Say who speaks where that is no longer said, because the chunk that said it is gone."""
        speaker: LocalSpeaker | None = None
        chunks: list[tuple[Tensor, Sequence[int]]] = []
        for heard in kept:
            tokens: Sequence[int] = heard.tokens
            tags = find_tags(heard.text)
            is_said = not heard.text.strip() or (bool(tags) and tags[0].start == 0)
            if not is_said and heard.before not in (None, speaker):
                tokens = self._name(heard)
            if heard.tokens:
                speaker = heard.after
            chunks.append((heard.features, tokens))
        return chunks

    def _name(self, heard: _Heard) -> Sequence[int]:
        """Write a chunk's text with its first speaker, as the model does where the speaker changes."""
        assert self._tag is not None, "somebody was named, so there was a tag"
        assert heard.before is not None, "the caller asks"
        tag = self._tag.spell(heard.before)
        if _LOST in heard.text:  # a character was cut: it cannot be written from the text
            return [*self._vocabulary.encode(tag), *heard.tokens]
        return self._vocabulary.encode(tag + strip_control_tokens(heard.text.lstrip())[0])
