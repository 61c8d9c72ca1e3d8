"""What is decoded: rows, one for each chunk, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from murmur_cli.decode.bias_filter import RowBias
from murmur_cli.decode.watch import Watcher

__all__ = ["DecodedRow", "Row", "RowStats"]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One chunk to decode.

    ``key`` is the caller's number for it, ``n_prompt`` counts the positions of its prompt and
    ``max_tokens`` the tokens that it may have. ``embed_prompt`` makes the prompt, shape [1, n_prompt, H];
    it is called once a slot is free, for one row at a time, so that the audio of no other is encoded yet.
    ``watcher`` may forget positions and end the row early. If it forgets so much that the row never holds more
    than ``most_cells`` at once, the row gets no more room; None: room for everything. With a ``temperature``
    above 0, tokens are drawn, and ``seed`` says how they fall; at 0 the likeliest is taken. ``bias`` is what it
    listens for.

    Raises:
        ValueError: There is no prompt, or no token may be written, or there is no room for the prompt.
    """

    key: int
    n_prompt: int
    max_tokens: int
    embed_prompt: Callable[[], Tensor]
    watcher: Watcher | None = None
    most_cells: int | None = None
    temperature: float = 0.0
    seed: int = 0
    bias: RowBias | None = None

    def __post_init__(self) -> None:
        if self.n_prompt < 1 or self.max_tokens < 1:
            raise ValueError(f"row {self.key}: {self.n_prompt} positions of prompt, {self.max_tokens} tokens at most")
        if self.n_cells < self.n_prompt:
            raise ValueError(f"row {self.key}: {self.n_prompt} positions of prompt in {self.n_cells} cells")

    @property
    def n_cells(self) -> int:
        """The most cells that it can need."""
        return self.n_prompt + self.max_tokens if self.most_cells is None else self.most_cells


@dataclass(frozen=True, slots=True)
class RowStats:
    """What a row took; nothing here depends on what was said.

    ``seconds`` run from its admission to its end, ``prompt_s`` of them until its first token: encoding and
    reading the prompt. ``live_share`` is the share of slots that had something to write, on average over
    the row's steps (1 for a row without steps). ``n_logical`` counts the positions that it has read,
    ``n_kept`` those of them that the cache held at its end.
    """

    n_prompt: int
    n_tokens: int
    seconds: float
    prompt_s: float
    live_share: float
    n_kept: int
    n_logical: int


@dataclass(frozen=True, slots=True)
class DecodedRow:
    """What was written for a row, without the token that ends it.

    ``stopped`` tells that this token came. Otherwise ``halted`` is the reason that the row's watcher gave,
    or None if all its tokens are used up. ``changed`` tells of every token whether its list had a hand in it; it
    is empty for a row without one.
    """

    key: int
    tokens: tuple[int, ...]
    stopped: bool
    halted: str | None
    stats: RowStats
    changed: tuple[bool, ...] = ()
