"""The VibeVoice engine, live: chunk by chunk in one context, so that who speaks keeps their number.

What a session commits depends on its audio and the options alone, however the audio comes in. The context is only
added to, and its memory grows with the session: some 15 MB a minute for the model of 1.5B, 30 MB for that of 7B. There
is no end to a session but that of the memory; the models were trained on some minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import torch
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from murmur_cli.decode.decoder import Decoder
from murmur_cli.engine import Extras, StreamDraft, StreamSegment, StreamUpdate
from murmur_cli.errors import DeviceError
from murmur_cli.models.device import choose_device
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, choose_dtype, inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.features import encode_audio
from murmur_cli.models.vibevoice.frames import SAMPLE_RATE
from murmur_cli.models.vibevoice.geometry import Geometry, read_geometry
from murmur_cli.models.vibevoice.interleave import Interleaver
from murmur_cli.models.vibevoice.memory import refuse_slow
from murmur_cli.models.vibevoice.prompt import check_wishes, encode_stream_prompt, make_extra_info, strip_control_tokens
from murmur_cli.models.vibevoice.silence import GATE_SAMPLES, SilenceGate
from murmur_cli.models.vibevoice.stream_text import StreamPiece, StreamText
from murmur_cli.models.vibevoice.vocabulary import find_chunk_end
from murmur_cli.models.vibevoice.windows import Window, WindowCutter
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.options import ModelOptions, StreamOptions
from murmur_cli.speech.vad import Vad
from murmur_cli.types import EngineInfo, Gap, Samples, Speaker

__all__ = ["VibeVoiceStream", "VibeVoiceStreamEngine", "load_vibevoice_stream"]

_UNGAINED = 1.0  # live audio is heard as it is


def load_vibevoice_stream(
    folder: Path,
    *,
    name: str,
    weights_sha256: str,
    model: ModelOptions,
    vad: Vad | None,
    on_note: Callable[[str], None],
) -> VibeVoiceStreamEngine:
    """Load a VibeVoice-ASR that streams.

    Args:
        folder: A checkpoint in the transformers layout or the original one, with a preprocessor_config.json that says
            how it streams.
        name: What to call it in a transcript.
        weights_sha256: What its weights are known by.
        model: How it runs.
        vad: Finds speech; in windows without any the model is not asked. None: it always is.
        on_note: Hears what the user should know.

    Raises:
        UsageError: It is no VibeVoice, or does not stream, or an option does not go with it.
        WeightsError: A file is missing or damaged.
        DeviceError: There is no such device, or it has too little memory, or is too slow.
    """
    geometry = read_geometry(folder)
    place = choose_device(model.device)
    dtype = choose_dtype(model.dtype, place)
    blueprint = inspect_checkpoint(folder, streams=True)
    find_chunk_end(blueprint.vocabulary, where=folder)
    if place.type == "cpu" and not model.force:
        refuse_slow(blueprint.size.n_step_parameters * dtype.itemsize, where=name)
    checkpoint = load_checkpoint(blueprint, device=place, dtype=dtype)
    precision = str(dtype).removeprefix("torch.")
    info = EngineInfo(model=name, weights_sha256=weights_sha256, device=str(place), precision=precision)
    return VibeVoiceStreamEngine(checkpoint, geometry, info, vad=vad, on_note=on_note)


class VibeVoiceStreamEngine:
    """A VibeVoice that hears live audio; implements ``StreamEngine``.

    Args:
        checkpoint: The model.
        geometry: How it listens.
        info: What it is called, and how it runs.
        vad: Finds speech; None: every window is taken for speech.
        on_note: Hears what the user should know.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        geometry: Geometry,
        info: EngineInfo,
        *,
        vad: Vad | None,
        on_note: Callable[[str], None],
    ) -> None:
        self._checkpoint = checkpoint
        self._geometry = geometry
        self._info = info
        self._vad = vad
        self._on_note = on_note
        self._chunk_end = find_chunk_end(checkpoint.vocabulary, where=Path(info.model))
        network = checkpoint.network
        self._decoder = Decoder(network.model.language_model, network.lm_head)

    @property
    def sample_rate(self) -> int:
        """Samples per second that blocks must have: 24000."""
        return SAMPLE_RATE

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        return self._info

    @property
    def extras(self) -> Extras:
        """It reads a text beforehand."""
        return Extras(context=True)

    @contextmanager
    def open(self, options: StreamOptions) -> Iterator[VibeVoiceStream]:
        """Begin a session; all that it remembers is forgotten at the end of the ``with`` block.

        Raises:
            UsageError: There is no such language.
        """
        context = Interleaver(
            self._decoder,
            self._checkpoint.vocabulary,
            prompt=self._write_prompt(options),
            chunk_end=self._chunk_end,
            seconds=self._geometry.window_samples / SAMPLE_RATE,
        )
        gate = None if self._vad is None else SilenceGate(self._vad)
        try:
            yield VibeVoiceStream(self._checkpoint, self._geometry, context, gate)
        finally:
            context.close()

    def _write_prompt(self, options: StreamOptions) -> list[int]:
        check_wishes(options.context, language=options.language, on_note=self._on_note)
        language = None if options.language is None else find_language(options.language, codes=LANGUAGES)
        context, _ = strip_control_tokens(options.context or "")
        extra_info = make_extra_info(context, language=language)
        return encode_stream_prompt(self._checkpoint.vocabulary, extra_info=extra_info)


class VibeVoiceStream:
    """One session; implements ``StreamDecoder``. A chunk is committed as soon as its window is heard: no drafts.

    Args:
        checkpoint: The model.
        geometry: How it listens.
        context: Of this session.
        gate: Tells in which windows nobody speaks; None: in all somebody does.
    """

    def __init__(
        self, checkpoint: Checkpoint, geometry: Geometry, context: Interleaver, gate: SilenceGate | None
    ) -> None:
        self._checkpoint = checkpoint
        self._n_chunk = geometry.chunk_samples
        self._context = context
        self._gate = gate
        self._windows = WindowCutter(geometry, n_before=GATE_SAMPLES)
        self._text = StreamText(checkpoint.vocabulary.decode_text)
        self._last = (0.0, 0.0)  # start and end of the newest chunk, in seconds

    def push(self, samples: Samples) -> StreamUpdate:
        """Hear on, and commit the chunks whose windows are whole.

        Args:
            samples: A block of any size, shape (n_samples,), at 24 kHz.

        Raises:
            DeviceError: The device is out of memory.
        """
        return _join(self._decode(window) for window in self._windows.push(samples))

    def draft(self) -> StreamDraft | None:
        """Nothing: what is said is committed chunk by chunk."""
        return None

    def finish(self) -> StreamUpdate:
        """Commit the chunks that have begun, with silence behind them, and what was held back of the text.

        Raises:
            DeviceError: The device is out of memory.
        """
        rest = _join(self._decode(window) for window in self._windows.finish())
        held = _place(self._text.finish(), *self._last)
        return StreamUpdate((*rest.committed, *held), rest.gaps)

    def _decode(self, window: Window) -> StreamUpdate:
        start = window.index * self._n_chunk
        end = start + min(self._n_chunk, window.n_heard)
        self._last = start / SAMPLE_RATE, end / SAMPLE_RATE
        is_silent = self._gate is not None and self._gate.is_silent(window)
        try:
            features = encode_audio(self._checkpoint, window.samples, gain=_UNGAINED)
            answer = self._context.read(features, is_silent=is_silent)
        except torch.OutOfMemoryError as error:
            problem = f"the GPU is out of memory after {end / SAMPLE_RATE / 60:.1f} minutes of a session"
            raise DeviceError(
                problem, where="--device", hint="begin a new session, or choose a smaller --model"
            ) from error
        gaps = () if answer.fault is None else (Gap(*self._last, answer.fault),)
        return StreamUpdate(tuple(_place(self._text.read(answer.tokens), *self._last)), gaps)


def _join(updates: Iterable[StreamUpdate]) -> StreamUpdate:
    committed: list[StreamSegment] = []
    gaps: list[Gap] = []
    for update in updates:
        committed += update.committed
        gaps += update.gaps
    return StreamUpdate(tuple(committed), tuple(gaps))


def _place(pieces: Sequence[StreamPiece], start: float, end: float) -> list[StreamSegment]:
    """Share the time of a chunk out among its pieces, by their lengths."""
    ends = list(accumulate((len(piece.text) for piece in pieces), initial=0))
    times = [start + (end - start) * n / max(ends[-1], 1) for n in ends]
    return [
        StreamSegment(
            start=times[index],
            end=times[index + 1],
            text=piece.text,
            speaker=None if piece.speaker is None else Speaker(f"S{piece.speaker + 1}"),
            times="chunk",
            starts_line=piece.starts_line,
        )
        for index, piece in enumerate(pieces)
    ]
