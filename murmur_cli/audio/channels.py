"""Which mono signals are made of a file: the mix of its channels, one of them, or each channel by itself.

However a file is cut into blocks, it gives the same number of signals from its first block to its last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmur_cli.audio.decoder import Block
from murmur_cli.audio.downmix import mix_to_mono
from murmur_cli.errors import AudioError
from murmur_cli.options import AudioOptions
from murmur_cli.types import Samples

__all__ = ["ChannelPicker"]

# Conference systems record up to 16 people side by side; a file with more holds something else, or lies.
_MOST_CHANNELS = 16
_MIX_HINT = "try --channels mix"
# Two channels that know nothing of each other mix to half of their power, alike ones to all of it. A mix that is 10 dB
# below its channels has lost what they say; one microphone of two that is wired the wrong way round gives that.
_OPPOSITE = 0.1


class ChannelPicker:
    """Makes signals of the blocks of one file, in order.

    Args:
        options: What ``--channels`` says.
        path: The file's name, for error messages.
    """

    def __init__(self, options: AudioOptions, path: str) -> None:
        self._choice = options.channels
        self._channel = options.channel
        self._path = path
        self._n_channels = 0  # until the first block
        self._picked_s = 0.0
        self._are_alike = True
        self._phase = _Phase()

    def pick(self, block: Block) -> list[Samples]:
        """Give the signals of the next block, each of shape (n_samples,).

        Raises:
            AudioError: Each channel is to be a signal, but there are too many, or not always as many; or the one that
                is wanted is not there.
        """
        if self._choice == "mix":
            mix = mix_to_mono(block.channels, block.layout)
            self._phase.add(block.channels, mix)
            return [mix]
        start_s, self._picked_s = self._picked_s, self._picked_s + len(block.channels[0]) / block.sample_rate
        if self._channel is not None:
            return [self._get_channel(block, self._channel, start_s)]
        self._check_number(len(block.channels), start_s)
        first, *others = block.channels
        self._are_alike = self._are_alike and all(np.array_equal(first, other) for other in others)
        return block.channels

    @property
    def louder_opposite(self) -> int | None:
        """Of two channels whose mix is near silence, the number of the louder, from 1; None where none is needed."""
        return self._phase.louder_opposite

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the channels, when all blocks are picked; a clause each."""
        if self._n_channels == 1:
            return ("it has one channel, so one speaker",)
        if self._n_channels and self._are_alike:
            return (f"its {self._n_channels} channels are alike: all that is said is transcribed for each of them",)
        return ()

    def _get_channel(self, block: Block, number: int, start_s: float) -> Samples:
        n_channels = len(block.channels)
        if number > n_channels:
            there = "one channel" if n_channels == 1 else f"{n_channels} channels"
            when = f" at {start_s:.1f} s" if start_s else ""
            raise AudioError(f"it has {there}{when}, so no channel {number}", where=self._path, hint=_MIX_HINT)
        return block.channels[number - 1]

    def _check_number(self, n_channels: int, start_s: float) -> None:
        if n_channels > _MOST_CHANNELS:
            problem = f"it has {n_channels} channels, and at most {_MOST_CHANNELS} can be a speaker each"
            raise AudioError(problem, where=self._path, hint=_MIX_HINT)
        if self._n_channels not in (0, n_channels):
            change = f"from {self._n_channels} to {n_channels} at {start_s:.1f} s"
            problem = f"its number of channels changes {change}, so none is one person throughout"
            raise AudioError(problem, where=self._path, hint=_MIX_HINT)
        self._n_channels = n_channels


class _Phase:
    """Listens whether two channels cancel each other in their mix."""

    def __init__(self) -> None:
        self._powers = np.zeros(2)
        self._mix_power = 0.0

    def add(self, channels: Sequence[Samples], mix: Samples) -> None:
        if len(channels) == 2:
            self._powers += [np.dot(channel, channel) for channel in channels]
            self._mix_power += float(np.dot(mix, mix))

    @property
    def louder_opposite(self) -> int | None:
        is_opposite = self._mix_power < _OPPOSITE * float(self._powers.mean())
        return 1 + int(self._powers.argmax()) if is_opposite else None
