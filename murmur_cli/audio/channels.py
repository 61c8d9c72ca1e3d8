"""Which mono signals are made of a file: the mix of its channels, or each channel by itself.

However a file is cut into blocks, it gives the same number of signals from its first block to its last.
"""

from __future__ import annotations

import numpy as np

from murmur_cli.audio.decoder import Block
from murmur_cli.audio.downmix import mix_to_mono
from murmur_cli.errors import AudioError
from murmur_cli.types import Samples

__all__ = ["ChannelPicker"]

# Conference systems record up to 16 people side by side; a file with more holds something else, or lies.
_MOST_CHANNELS = 16
_MIX_HINT = "try --channels mix"


class ChannelPicker:
    """Makes signals of the blocks of one file, in order.

    Args:
        choice: What ``--channels`` says.
        path: The file's name, for error messages.
    """

    def __init__(self, choice: str, path: str) -> None:
        self._choice = choice
        self._path = path
        self._n_channels = 0  # until the first block
        self._picked_s = 0.0
        self._are_alike = True

    def pick(self, block: Block) -> list[Samples]:
        """Give the signals of the next block, each of shape (n_samples,).

        Raises:
            AudioError: Each channel is to be a signal, but there are too many, or not always as many.
        """
        if self._choice == "mix":
            return [mix_to_mono(block.channels, block.layout)]
        self._check_number(len(block.channels))
        first, *others = block.channels
        self._are_alike = self._are_alike and all(np.array_equal(first, other) for other in others)
        self._picked_s += len(first) / block.sample_rate
        return block.channels

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the channels, when all blocks are picked; a clause each."""
        if self._n_channels == 1:
            return ("it has one channel, so one speaker",)
        if self._n_channels and self._are_alike:
            return (f"its {self._n_channels} channels are alike: all that is said is transcribed for each of them",)
        return ()

    def _check_number(self, n_channels: int) -> None:
        if n_channels > _MOST_CHANNELS:
            problem = f"it has {n_channels} channels, and at most {_MOST_CHANNELS} can be a speaker each"
            raise AudioError(problem, where=self._path, hint=_MIX_HINT)
        if self._n_channels not in (0, n_channels):
            change = f"from {self._n_channels} to {n_channels} at {self._picked_s:.1f} s"
            problem = f"its number of channels changes {change}, so none is one person throughout"
            raise AudioError(problem, where=self._path, hint=_MIX_HINT)
        self._n_channels = n_channels
