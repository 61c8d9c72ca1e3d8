"""Windows and the text of a live session: however both come in, they are those of the whole."""

from __future__ import annotations

from itertools import cycle, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracles.streaming import cut_windows, read_lines

from murmur_cli.models.vibevoice.geometry import Geometry
from murmur_cli.models.vibevoice.stream_text import StreamText
from murmur_cli.models.vibevoice.windows import Window, WindowCutter

PARTS = (
    "a",
    " b",
    "é",
    "漢",
    "𝄞",
    "\n",
    " ",
    " \n ",
    "Speaker",
    "Spea",
    "ker",
    "Speaker 1:",
    " 2",
    ":",
    "\n Speaker 0:",
)
CONTROL = ("<", "|", ">", "<|", "|>", "<|im_end|>", "<|te", "xt_chunk_end|>")


def decode(tokens: list[int]) -> str:
    """A tokenizer whose tokens are bytes."""
    return bytes(tokens).decode("utf-8", errors="replace")


@given(
    parts=st.lists(st.sampled_from(PARTS + CONTROL), max_size=25),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6),
)
def test_text_in_pieces_is_the_text_of_the_whole(parts: list[str], sizes: list[int]) -> None:
    content = "".join(parts).encode()
    borders = [0]
    for size in cycle(sizes):
        if borders[-1] >= len(content):
            break
        borders.append(borders[-1] + size)
    text = StreamText(decode)
    pieces = [piece for a, b in pairwise(borders) for piece in text.read(content[a:b])]
    pieces += text.finish()
    lines: list[tuple[int | None, str]] = []
    for piece in pieces:
        assert piece.text.strip()
        if piece.starts_line:
            assert piece.text[0] != " "
            lines.append((piece.speaker, piece.text))
        else:
            assert piece.speaker == lines[-1][0]  # who speaks in a line never changes
            lines[-1] = (piece.speaker, lines[-1][1] + piece.text)
    assert [(speaker, line.rstrip()) for speaker, line in lines] == read_lines(content.decode())


@given(
    n_samples=st.integers(0, 30_000),
    frames=st.tuples(st.integers(1, 2), st.integers(0, 2)),
    n_before=st.integers(0, 9000),
    sizes=st.lists(st.integers(0, 8000), max_size=12),
)
def test_windows_of_blocks_are_those_of_the_whole(
    n_samples: int, frames: tuple[int, int], n_before: int, sizes: list[int]
) -> None:
    geometry = Geometry(*frames)
    audio = np.arange(1, n_samples + 1, dtype=np.float32)
    cutter = WindowCutter(geometry, n_before=n_before)
    windows: list[Window] = []
    at = 0
    for size in [*sizes, n_samples]:
        windows += cutter.push(audio[at : at + size])
        at += min(size, n_samples - at)
        n_whole = (at - geometry.window_samples) // geometry.chunk_samples + 1
        assert len(windows) == max(n_whole, 0)  # a window comes as soon as it is whole
    windows += cutter.finish()
    expected = cut_windows(audio, chunk=geometry.chunk_samples, window=geometry.window_samples)
    assert len(windows) == len(expected)
    for index, (window, samples) in enumerate(zip(windows, expected, strict=True)):
        start = index * geometry.chunk_samples
        assert window.index == index
        assert np.array_equal(window.samples, samples)
        assert window.n_heard == np.count_nonzero(samples)
        assert np.array_equal(window.before, audio[max(start - n_before, 0) : start])
