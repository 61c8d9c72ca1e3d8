"""The silero-vad package itself, frame by frame, and what murmur adds to it, one sample or frame at a time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt
import torch

FRAME = 512


def import_silero() -> ModuleType:
    """Import the package without its effect on the rest of the process: it sets torch to one thread."""
    n_threads = torch.get_num_threads()
    import silero_vad

    torch.set_num_threads(n_threads)
    return silero_vad


def find_spans_plainly(
    probabilities: Sequence[float], n_samples: int, *, threshold: float, min_speech_ms: int, min_silence_ms: int
) -> list[tuple[int, int]]:
    """Find spans by the package, before padding."""
    found = import_silero().get_speech_timestamps_from_probs(
        list(probabilities),
        threshold=threshold,
        min_speech_duration_ms=min_speech_ms - 0.01,  # it drops what is just as long, too
        min_silence_duration_ms=min_silence_ms,
        speech_pad_ms=0,
        audio_length_samples=n_samples,
    )
    return [(span["start"], span["end"]) for span in found]


def pad_plainly(spans: Sequence[tuple[int, int]], n_samples: int, *, n_pad: int) -> list[bool]:
    """Decide sample by sample: speech reaches ``n_pad`` samples, but no more than 3/8 of a pause, into silence."""
    is_speech = [False] * n_samples
    for start, end in spans:
        is_speech[start:end] = [True] * (end - start)
    gaps = zip([(None, 0), *spans], [*spans, (n_samples, None)], strict=True)
    for (left, start), (end, right) in gaps:
        for i in range(start, end):
            reaches = [i - start + 1 if left is not None else math.inf, end - i if right is not None else math.inf]
            is_pause = left is not None and right is not None
            distance = min(reaches)
            is_speech[i] = distance <= n_pad and (not is_pause or 8 * distance <= 3 * (end - start))
    return is_speech


def score_plainly(samples: npt.NDArray[np.float32]) -> list[float]:
    """Score every frame by the package's own network, after the first second backwards, at murmur's levels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        network = import_silero().load_silero_vad()
    n_lead = min(32, len(samples) // FRAME)
    lead = samples[: n_lead * FRAME][::-1]
    whole = np.concatenate([lead, samples, np.zeros(-len(samples) % FRAME, np.float32)])
    # The package keeps the 64 samples of context from the frame before at the gain of that frame; murmur raises a
    # frame and its context alike. So the context is set by hand.
    levels: list[float] = []
    scores = []
    context = np.zeros(64, np.float32)
    network.reset_states()
    with torch.inference_mode():
        for start in range(0, len(whole), FRAME):
            frame = whole[start : start + FRAME]
            levels.append(math.sqrt(float(np.mean(frame.astype(np.float64) ** 2))))
            loudest = max(levels[-156:])
            gain = min(max(10 ** (-15 / 20) / max(loudest, 1e-12), 1.0), 100.0)
            network._context = torch.from_numpy(context * np.float32(gain))[None]
            scores.append(network(torch.from_numpy(frame * np.float32(gain))[None], 16_000).item())
            context = frame[-64:]
    return scores[n_lead:]
