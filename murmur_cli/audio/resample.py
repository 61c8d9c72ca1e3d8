"""From any sample rate to one, block by block.

How the signal is cut into blocks does not matter: the output is that of resampling it in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import soxr

from murmur_cli.types import Samples

__all__ = ["Resampler"]

_QUALITY = "HQ"  # 20-bit precision, beyond what any speech model hears; soxr's own default


class Resampler:
    """Takes the signal in order and gives it at ``to_rate``, holding only the filter's memory.

    Args:
        to_rate: Samples per second of the output.
    """

    def __init__(self, to_rate: int) -> None:
        self._to_rate = to_rate
        self._from_rate = to_rate
        self._stream: soxr.ResampleStream | None = None

    def push(self, samples: Samples, sample_rate: int) -> Iterator[Samples]:
        """Resample the next block.

        Args:
            samples: The block, shape (n_samples,). At the output's rate it is passed on as it is.
            sample_rate: Samples per second of the block. When it changes, what came before is
                finished and a new resampler starts, as if the signal were two recordings in a row.

        Yields:
            What is ready, shape (n_ready,), possibly nothing.
        """
        if sample_rate != self._from_rate:
            yield from self.finish()
            self._from_rate = sample_rate
            if sample_rate != self._to_rate:
                self._stream = soxr.ResampleStream(sample_rate, self._to_rate, 1, dtype="float32", quality=_QUALITY)
        if self._stream is None:
            yield samples
        else:
            yield self._stream.resample_chunk(samples)

    def finish(self) -> Iterator[Samples]:
        """Yield what the filter still holds; after that a new signal may begin."""
        if self._stream is not None:
            yield self._stream.resample_chunk(np.empty(0, np.float32), last=True)
        self._stream = None
        self._from_rate = self._to_rate
