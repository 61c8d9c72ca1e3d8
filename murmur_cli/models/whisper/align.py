"""When each token of a text was said, from how the decoder attends to the audio.

Some of Whisper's heads look at the audio of the word that is written next. Read over the whole text they
make a ridge from the first token and frame to the last, and the best path along it gives the times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from murmur_cli.models.whisper.decoder import Decoder
from murmur_cli.models.whisper.dtw import find_starts

__all__ = ["align_tokens"]

_REACH = 3  # the median filter takes so many frames on both sides: median_filter_width 7 of every Whisper
_EXCHANGES = (
    (0, 5), (0, 3), (1, 6), (2, 4), (0, 1), (3, 5), (2, 6), (2, 3), (3, 6), (4, 5), (1, 4), (1, 3), (3, 4),
)  # fmt: skip


def align_tokens(
    decoder: Decoder,
    encoded: Tensor,
    *,
    prompt: Sequence[int],
    tokens: Sequence[int],
    heads: Sequence[tuple[int, int]],
    n_frames: int,
) -> list[int]:
    """Find the frame in which every token of a window's text begins, and the one in which the last ends.

    Args:
        decoder: The model.
        encoded: The window's audio, shape (T, D).
        prompt: What the text was written after.
        tokens: The text.
        heads: (layer, head) of the heads that follow the audio, ascending.
        n_frames: How many of the T frames are the window's; the rest is padding.

    Returns:
        ``len(tokens) + 1`` frames, ascending.

    Source:
        openai/whisper@v20240930, whisper/timing.py, find_alignment.
    """
    text = torch.tensor([*prompt, *tokens], device=encoded.device)
    scores = decoder.cross_scores(text, decoder.memorise([encoded]), heads)
    shares = torch.softmax(scores[:, :, :n_frames], dim=-1)
    deviation, mean = torch.std_mean(shares, dim=1, keepdim=True, correction=0)
    ridge = _filter_median((shares - mean) / deviation.clamp_min(1e-12)).mean(dim=0)
    # The row of a token is that of the query which wrote it: its predecessor's.
    return find_starts(-ridge[len(prompt) - 1 :].cpu().numpy().astype(np.float64))


def _filter_median(ridge: Tensor) -> Tensor:
    """Take the median of 7 neighbours along the last axis, mirrored at the ends.

    A sorting network of 13 exchanges takes an eighth of the time of a median over unfolded windows.

    Source:
        N. Devillard, Fast median search: an ANSI C implementation (1998), opt_med7.
    """
    n_frames = ridge.shape[-1]
    if n_frames <= _REACH:
        return ridge
    padded = functional.pad(ridge, (_REACH, _REACH), mode="reflect")
    neighbours = [padded[..., shift : shift + n_frames] for shift in range(2 * _REACH + 1)]
    for low, high in _EXCHANGES:
        left, right = neighbours[low], neighbours[high]
        neighbours[low], neighbours[high] = torch.minimum(left, right), torch.maximum(left, right)
    return neighbours[_REACH]
