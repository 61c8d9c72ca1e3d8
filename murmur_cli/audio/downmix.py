"""From the channels of a frame to one.

The dialogue of a film is in the centre channel: it keeps its level, whatever the others hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmur_cli.types import Samples

__all__ = ["mix_to_mono", "mix_weights"]

_CENTRE = "FC"
_FRONT_PAIR = ("FL", "FR")
_BASS = ("LFE", "LFE2")


def mix_to_mono(channels: Sequence[Samples], layout: Sequence[str]) -> Samples:
    """Add the channels up with the weights of their layout.

    Args:
        channels: One array of shape (n_samples,) for each channel.
        layout: FFmpeg's name of each channel.

    Returns:
        The mix, shape (n_samples,). One channel alone comes back as it is.
    """
    if len(channels) == 1:
        return channels[0]
    mix = np.zeros_like(channels[0])
    for channel, weight in zip(channels, mix_weights(layout), strict=True):
        if weight:
            mix += channel * np.float32(weight)
    return mix


def mix_weights(layout: Sequence[str]) -> list[float]:
    """Say how much of each channel goes into the mix.

    Without a centre (stereo, several microphones, channels without names) it is the mean of all
    channels but the bass effects. With one, the centre counts in full and the front pair with its
    mean, so that a film whose speech is in either is as loud as the mono or stereo file of it would
    be; every other channel counts half of a front one. The sum may exceed full scale.
    """
    if _CENTRE not in layout:
        n_mixed = sum(name not in _BASS for name in layout)
        return [0.0 if name in _BASS else 1.0 / n_mixed for name in layout]
    return [_weight_beside_centre(name) for name in layout]


def _weight_beside_centre(name: str) -> float:
    if name == _CENTRE:
        return 1.0
    if name in _BASS:
        return 0.0
    return 0.5 if name in _FRONT_PAIR else 0.25
