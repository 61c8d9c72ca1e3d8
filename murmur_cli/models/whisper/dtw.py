"""Dynamic time warping between the tokens of a text and the frames of its audio.

Tokens and frames both run forward: every token holds at least one frame, every frame belongs to a token,
and a token may share the last frame of the one before it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["find_starts"]


def find_starts(costs: npt.NDArray[np.float64]) -> list[int]:
    """Find the path of least cost from the first token and frame to the last, and where each token starts on it.

    A row is one vector operation: along a row the path costs ``total[j] - total[j0 - 1]`` from the
    frame j0 where it enters, so the best entry for all j at once is a running minimum.

    Args:
        costs: Shape (n_tokens, n_frames), neither of them 0.

    Returns:
        The first frame of every token; ascending, the first is 0.

    Source:
        Steps as in openai/whisper@v20240930, whisper/timing.py, dtw_cpu.
    """
    n_tokens, n_frames = costs.shape
    assert n_tokens, "a path needs a token"
    assert n_frames, "a path needs a frame"
    frames = np.arange(n_frames)
    entries = np.zeros((n_tokens, n_frames), dtype=np.int64)  # where the best path to a cell entered its row
    diagonal = np.zeros((n_tokens, n_frames), dtype=np.bool_)  # and whether it came from the frame before
    best = np.cumsum(costs[0])
    for token in range(1, n_tokens):
        total = np.cumsum(costs[token])
        before = np.concatenate(([np.inf], best[:-1]))
        diagonal[token] = before <= best
        entry = np.minimum(before, best) - (total - costs[token])
        least = np.minimum.accumulate(entry)
        is_new = np.concatenate(([True], least[1:] < least[:-1]))
        entries[token] = np.maximum.accumulate(np.where(is_new, frames, 0))
        best = least + total
    return _trace_back(entries, diagonal)


def _trace_back(entries: npt.NDArray[np.int64], diagonal: npt.NDArray[np.bool_]) -> list[int]:
    n_tokens, n_frames = entries.shape
    starts = [0] * n_tokens
    frame = n_frames - 1
    for token in range(n_tokens - 1, 0, -1):
        frame = int(entries[token, frame])
        starts[token] = frame
        frame -= bool(diagonal[token, frame])
    return starts
