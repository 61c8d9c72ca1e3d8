"""Silero VAD: the speech probability of every 32 ms.

The network is the one inside the silero-vad package, run over many frames at once: convolutions see
each frame alone, and only the recurrent layer goes from frame to frame. How a recording was split
into blocks makes no difference, and of the signal nothing is kept but 31 probabilities a second.
"""

from __future__ import annotations

import importlib.util
import itertools
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from murmur_cli.errors import WeightsError
from murmur_cli.options import VadOptions
from murmur_cli.speech.vad import FRAME_SAMPLES, find_spans
from murmur_cli.types import Samples, Span

__all__ = ["SileroNetwork", "SileroScorer", "SileroVad", "load_silero"]

# The network (silero_vad/data/silero_vad.jit, silero-vad 6.2.3, its 16-kHz half). Axes: B frames, T samples or
# spectra of one frame, D features.
_CONTEXT_SAMPLES = 64  # of the frame before, in front of each frame
_WINDOW_SAMPLES = 256  # of the Fourier transform,
_HOP_SAMPLES = 128  # whose windows start so far apart,
_MIRRORED_SAMPLES = 64  # the last of them ending in the mirrored end of the frame
_BANDS = _WINDOW_SAMPLES // 2 + 1
_HIDDEN = 128

_BATCH_FRAMES = 256  # 8 s: the cost per frame is the same for 256, 512 and 1000
_LIVE_SAMPLES = 4 * FRAME_SAMPLES  # 0.13 s, for a session that is waited for

# Level. The network misses quiet speech: of 400 spoken digits it finds 395 as they were recorded, 331 at -20 dB, 3 at
# -40 dB. Loud signals it bears well, up to +48 dB. So what is quiet is raised until its loudest frame of the last 5 s
# is at -15 dBFS: that makes 393 digits at -20 dB and 387 at -40 dB; of the annotated time of three meetings 74, 81 and
# 96 % count as speech (before padding) instead of 72, 74 and 87 %, and no more music, noise or laughter does.
_TARGET_LEVEL = 10 ** (-15 / 20)
_MAX_GAIN = 10 ** (40 / 20)
_LEVEL_FRAMES = 156
# Start. A fresh network is unsure in its first second, and after digital zero it takes every onset for speech. So it
# first hears the first second backwards: of 26 recordings of laughter 15 instead of 19 have spans, of 67 of animals 3
# instead of 8, of 14 pieces of music 0 instead of 2 (0.0 of 1278 s); of 400 words of 1.4 s in files of their own 400
# instead of 397 are found, of 400 digits of 0.4 s 374 instead of 384.
# A gate on the probabilities inside a span adds nothing to that: laughter reaches 0.99, as speech does.
_LEAD_FRAMES = 32

_REINSTALL = "install it anew: pip install --force-reinstall 'silero-vad>=6.2,<7'"


class SileroNetwork(nn.Module):
    """The network: frames in, speech probabilities out, and the recurrent state from call to call."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        """Build the network.

        Args:
            weights: The tensors of the 16-kHz half of silero_vad.jit under their own names.

        Raises:
            KeyError: A tensor is missing.
            RuntimeError: A tensor has another shape.
        """
        super().__init__()
        self.spectrum = nn.Conv1d(1, 2 * _BANDS, _WINDOW_SAMPLES, stride=_HOP_SAMPLES, bias=False)
        widths = ((_BANDS, 128, 1), (128, 64, 2), (64, 64, 2), (64, _HIDDEN, 1))  # D in, D out, stride
        self.encoder = nn.ModuleList(nn.Conv1d(i, o, 3, stride=stride, padding=1) for i, o, stride in widths)
        self.recurrent = nn.LSTM(_HIDDEN, _HIDDEN)
        self.output = nn.Conv1d(_HIDDEN, 1, 1)
        self.load_state_dict({name: weights[theirs] for name, theirs in _iter_names()})
        self.eval()

    def forward(self, frames: Tensor, state: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Score consecutive frames.

        Args:
            frames: Each with its context in front, [B, 64 + 512].
            state: What the call before gave back, None at the start.

        Returns:
            Probabilities [B], and the state for the next call.
        """
        padded = functional.pad(frames.unsqueeze(1), (0, _MIRRORED_SAMPLES), mode="reflect")
        real, imaginary = self.spectrum(padded).split(_BANDS, dim=1)  # [B, D, T]
        features = (real.square() + imaginary.square()).sqrt()
        for convolution in self.encoder:
            features = convolution(features).relu()  # ends as [B, D, 1]
        hidden, state = self.recurrent(features.transpose(1, 2), state)  # frame by frame: B is its time, [B, 1, D]
        logits = self.output(hidden.relu().transpose(1, 2))  # [B, 1, 1]
        return logits.sigmoid().flatten(), state


def _iter_names() -> Iterator[tuple[str, str]]:
    """Pair the names of our tensors with theirs."""
    yield "spectrum.weight", "stft.forward_basis_buffer"
    for layer, part in itertools.product(range(4), ("weight", "bias")):
        yield f"encoder.{layer}.{part}", f"encoder.{layer}.reparam_conv.{part}"
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        yield f"recurrent.{part}_l0", f"decoder.rnn.{part}"
    for part in ("weight", "bias"):
        yield f"output.{part}", f"decoder.decoder.2.{part}"


class SileroVad:
    """A detector of speech; see ``speech.vad.Vad``."""

    def __init__(self, network: SileroNetwork, options: VadOptions) -> None:
        self._network = network
        self._options = options

    def detect(self, blocks: Iterable[Samples]) -> list[Span]:
        """Find the speech of one recording.

        Args:
            blocks: The whole recording in order, in pieces of any size, at ``VAD_RATE``.
        """
        n_samples = 0

        def count(blocks: Iterable[Samples]) -> Iterator[Samples]:
            nonlocal n_samples
            for block in blocks:
                n_samples += len(block)
                yield block

        probabilities = self.score(count(blocks))
        return find_spans(probabilities.tolist(), n_samples, self._options)

    def open(self) -> SileroScorer:
        """Begin to score a session that is still coming in."""
        return SileroScorer(self._network)

    def score(self, blocks: Iterable[Samples]) -> npt.NDArray[np.float32]:
        """Give the speech probability of every frame, shape (n_frames,); the last may be partly filled."""
        listener = _Listener(self._network)
        lead, signal = _split_lead(blocks)
        for batch in _iter_batches(lead):
            listener.hear(batch)
        scores = [listener.hear(batch) for batch in _iter_batches(signal)]
        return np.concatenate([np.zeros(0, np.float32), *scores])


class SileroScorer:
    """Scores one session as it comes; see ``speech.vad.SpeechScorer``.

    The network hears the first second backwards before all else, so nothing is known before that is over.
    """

    def __init__(self, network: SileroNetwork) -> None:
        self._listener = _Listener(network)
        self._pending = np.zeros(0, dtype=np.float32)
        self._has_begun = False

    def push(self, samples: Samples) -> list[float]:
        """Hear on, and score what is whole: four frames at once, whatever the blocks are."""
        self._pending = np.concatenate((self._pending, samples))
        if not self._has_begun:
            if len(self._pending) < _LEAD_FRAMES * FRAME_SAMPLES:
                return []
            self._begin()
        return self._score(n_left=len(self._pending) % _LIVE_SAMPLES)

    def finish(self) -> list[float]:
        """Score what is left; the last frame is filled up with zeros."""
        if not self._has_begun:
            self._begin()
        known = self._score(n_left=len(self._pending) % _LIVE_SAMPLES)
        rest = np.pad(self._pending, (0, -len(self._pending) % FRAME_SAMPLES))
        self._pending = self._pending[:0]
        return known + (self._listener.hear(rest).tolist() if len(rest) else [])

    def _begin(self) -> None:
        self._has_begun = True
        lead, _ = _split_lead([self._pending])
        for batch in _iter_batches(lead):
            self._listener.hear(batch)

    def _score(self, *, n_left: int) -> list[float]:
        n_whole = len(self._pending) - n_left
        batches = self._pending[:n_whole].reshape(-1, _LIVE_SAMPLES)
        self._pending = self._pending[n_whole:].copy()
        return [probability for batch in batches for probability in self._listener.hear(batch).tolist()]


class _Listener:
    """The network on one recording: what it remembers from batch to batch."""

    def __init__(self, network: SileroNetwork) -> None:
        self._network = network
        self._state: tuple[Tensor, Tensor] | None = None
        self._context = torch.zeros(_CONTEXT_SAMPLES)
        self._levels = torch.zeros(_LEVEL_FRAMES - 1)

    @torch.inference_mode()
    def hear(self, batch: Samples) -> npt.NDArray[np.float32]:
        """Score the next whole frames, shape (n_frames,)."""
        signal = torch.cat((self._context, torch.from_numpy(batch)))
        self._context = signal[-_CONTEXT_SAMPLES:]
        frames = signal.unfold(0, _CONTEXT_SAMPLES + FRAME_SAMPLES, FRAME_SAMPLES)  # [B, T]
        probabilities, self._state = self._network(frames * self._gains(frames).unsqueeze(1), self._state)
        return np.asarray(probabilities.numpy(), dtype=np.float32)

    def _gains(self, frames: Tensor) -> Tensor:
        """Say how much each frame must be raised, [B]."""
        levels = torch.cat((self._levels, frames[:, _CONTEXT_SAMPLES:].square().mean(1).sqrt()))
        self._levels = levels[-(_LEVEL_FRAMES - 1) :]
        loudest = functional.max_pool1d(levels[None, None], _LEVEL_FRAMES, stride=1)[0, 0]
        return (_TARGET_LEVEL / loudest).clamp(1.0, _MAX_GAIN)  # of digital zero: x / 0 is inf, and clamped


def _split_lead(blocks: Iterable[Samples]) -> tuple[list[Samples], Iterator[Samples]]:
    """Make the lead from the start of a recording, and give back the whole recording."""
    remaining = iter(blocks)
    head: list[Samples] = []
    n_head = 0
    while n_head < _LEAD_FRAMES * FRAME_SAMPLES and (block := next(remaining, None)) is not None:
        head.append(block)
        n_head += len(block)
    start = np.concatenate([np.zeros(0, np.float32), *head])
    n_lead = min(_LEAD_FRAMES, n_head // FRAME_SAMPLES) * FRAME_SAMPLES
    return [start[:n_lead][::-1]], itertools.chain([start], remaining)


def _iter_batches(blocks: Iterable[Samples]) -> Iterator[Samples]:
    """Cut the signal into batches of whole frames; the last frame is filled up with zeros.

    All batches but the last have the same length, whatever blocks they come from, so that all
    arithmetic is the same.
    """
    n_batch = _BATCH_FRAMES * FRAME_SAMPLES
    pending: list[Samples] = []
    n_pending = 0
    for block in blocks:
        pending.append(block)
        n_pending += len(block)
        if n_pending >= n_batch:
            joined = np.concatenate(pending)
            n_left = n_pending % n_batch
            yield from joined[: n_pending - n_left].reshape(-1, n_batch)
            pending, n_pending = [joined[n_pending - n_left :]], n_left
    if n_pending:
        yield np.pad(np.concatenate(pending), (0, -n_pending % FRAME_SAMPLES))


def load_silero(options: VadOptions) -> SileroVad:
    """Load the network that the silero-vad package ships.

    The package itself is not imported: its import sets torch to one thread for the whole process.
    Its silero_vad_16k.safetensors holds another training of the network, with other answers.

    Raises:
        WeightsError: The package is damaged, or holds a network of another shape.
    """
    package = importlib.util.find_spec("silero_vad")
    places = package.submodule_search_locations if package else None
    if not places:
        raise WeightsError("the package silero-vad is missing", hint=_REINSTALL)
    path = Path(places[0]) / "data" / "silero_vad.jit"
    try:
        return SileroVad(SileroNetwork(_read_weights(path)), options)
    except (KeyError, RuntimeError, ValueError) as error:  # what torch raises: absent, damaged, of another shape
        raise WeightsError("not the speech detector of silero-vad 6", where=str(path), hint=_REINSTALL) from error


def _read_weights(path: Path) -> dict[str, Tensor]:
    with warnings.catch_warnings():
        # torch.jit.load warns that it will go; only the tensors are taken from the file, and torch has an upper bound
        warnings.simplefilter("ignore", FutureWarning)
        program = torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    return {
        name.removeprefix("_model."): tensor
        for name, tensor in program.state_dict().items()
        if name.startswith("_model.")
    }
