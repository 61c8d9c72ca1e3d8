"""What of a row is forgotten while it is decoded: positions of its audio, of its answer, or of both. Ints only.

The text of the prompt around the audio is never forgotten. Whatever the model writes, a row never holds more than
``most_cells`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from murmur_cli.decode.follow import AnswerFollower, Decode
from murmur_cli.decode.frontier import FrontierOptions, SpeechFrontier
from murmur_cli.decode.watch import Orders

__all__ = ["POLICIES", "EvictionOptions", "EvictionWatcher", "RowLayout", "most_cells"]

POLICIES = ("none", "output", "speech", "both")
"""What can be forgotten."""

# Under ``speech``, the room of a row is for an answer of 9 tokens for a second of audio, with half of the audio
# forgotten at its end. Where 6 to 9 are written that leaves enough for an entry of a minute and more.
_TOKENS_PER_S = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionOptions:
    """What is forgotten, and what stays.

    Attributes:
        policy: One of ``POLICIES``.
        speech: What of the audio stays.
        output_sink: Tokens of the answer that stay, from its first on.
        output_window: Tokens of the answer that stay, to its last.
        output_header: Tokens that an entry's header may take, from its brace on: it stays while the entry is open.

    Raises:
        ValueError: There is no such policy, or a number is negative, or there is no window.

    Source:
        StreamingLLM, arXiv:2309.17453; Murmur, arXiv:2606.01483. A header has 27 tokens at most in Qwen's tokenizer.
    """

    policy: str = "none"
    speech: FrontierOptions = field(default_factory=FrontierOptions)
    output_sink: int = 8
    output_window: int = 512
    output_header: int = 32

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"no such policy: {self.policy}")
        if min(self.output_sink, self.output_header) < 0 or self.output_window < 1:
            raise ValueError(f"a number of tokens is too small: {self}")

    @property
    def drops_speech(self) -> bool:
        """Whether audio is forgotten."""
        return self.policy in ("speech", "both")

    @property
    def drops_output(self) -> bool:
        """Whether tokens of the answer are forgotten however much room there is."""
        return self.policy in ("output", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLayout:
    """Where things are in a row: ``n_frames`` positions from ``audio_start`` on, of the prompt's ``n_prompt``.

    Its answer begins behind the prompt and may have ``max_tokens``; so it does if the answer's first tokens, from an
    earlier attempt, are read together with the prompt.
    """

    n_prompt: int
    audio_start: int
    n_frames: int
    frames_per_s: float
    max_tokens: int


def most_cells(options: EvictionOptions, row: RowLayout, *, n_steps: int, n_prefix: int = 0) -> int:
    """Say how many positions a row may have to hold at once.

    Args:
        options: What is forgotten of it.
        row: The row.
        n_steps: The most tokens that are written between two looks at it.
        n_prefix: Tokens of the answer that are read together with the prompt.
    """
    if options.policy == "none":
        return row.n_prompt + row.max_tokens
    # The tokens of the look in which the brace came belong to the header, and one that came of the prompt.
    n_output = options.output_sink + options.output_window + options.output_header + 2 * n_steps + 1
    if not options.drops_output:
        n_answer = round(row.n_frames / row.frames_per_s * _TOKENS_PER_S)
        n_output = max(n_output, n_answer - row.n_frames // 2)
    return row.n_prompt + min(row.max_tokens, max(n_output, n_prefix + n_steps))


class EvictionWatcher:
    """Says what is forgotten of one row.

    Audio is forgotten as the text passes it, the answer's tokens as they leave its window. Where only audio should
    be, an answer that needs more than its room (the model writes on and on, and the times stand still) loses its oldest
    tokens, too, as many as must be.

    Args:
        options: What is forgotten.
        row: The row.
        decode: Of the tokenizer.
        n_steps: The most tokens that are written between two looks.
        prefix: Tokens of the answer that are read together with the prompt: complete entries.
    """

    def __init__(
        self, options: EvictionOptions, row: RowLayout, decode: Decode, *, n_steps: int, prefix: Sequence[int] = ()
    ) -> None:
        self._options = options
        self._row = row
        self._n_steps = n_steps
        self._n_cells = most_cells(options, row, n_steps=n_steps, n_prefix=len(prefix))
        self._answer = AnswerFollower(decode)
        self._frontier = SpeechFrontier(options.speech, n_frames=row.n_frames, frames_per_s=row.frames_per_s)
        self._window = _OutputWindow(options)
        self._n_forgotten = 0
        self._passed = self._frontier.advance(self._answer.read(prefix))  # frames, before the first look

    def look(self, tokens: Sequence[int]) -> Orders:
        """Say what is forgotten now that some more tokens are written."""
        reading = self._answer.read(tokens)
        forget: list[int] = []
        if self._options.drops_speech:
            forget += [self._row.audio_start + frame for frame in (*self._passed, *self._frontier.advance(reading))]
            self._passed = []
        n_tokens = self._answer.n_tokens
        n_lacking = self._count_held(n_tokens) - len(forget) - self._n_cells
        n_most = n_tokens if self._options.drops_output else max(n_lacking, 0)
        if n_most:
            gone = self._window.forget(n_tokens, opened=reading.open_tokens, n_most=n_most)
            forget += [self._row.n_prompt + token for token in gone]
        self._n_forgotten += len(forget)
        return Orders(forget)

    def _count_held(self, n_tokens: int) -> int:
        """Count what would be held before the next look: the last token is not yet."""
        n_ahead = min(self._n_steps, self._row.max_tokens - n_tokens)
        return self._row.n_prompt + n_tokens - 1 + n_ahead - self._n_forgotten


class _OutputWindow:
    """The tokens of an answer that are not forgotten yet and may be."""

    def __init__(self, options: EvictionOptions) -> None:
        self._options = options
        self._old: list[int] = []  # those that the window has left and that are still held
        self._next = options.output_sink  # the first that it has not left

    def forget(self, n_tokens: int, *, opened: range | None, n_most: int) -> list[int]:
        """Forget the ``n_most`` oldest tokens, or as many as may be forgotten.

        Args:
            n_tokens: Written so far.
            opened: Tokens among which the open entry begins, or None.
            n_most: How many.
        """
        start = n_tokens - self._options.output_window
        old = [*self._old, *range(self._next, start)]
        self._next = max(self._next, start)
        header = range(opened.start, opened.stop + self._options.output_header) if opened else range(0)
        gone = [token for token in old if token not in header][:n_most]
        forgotten = frozenset(gone)
        self._old = [token for token in old if token not in forgotten]
        return gone
