"""The VibeVoice engine, live: chunk by chunk in one context, so that who speaks keeps their number.

What a session commits depends on its audio and the options alone, however the audio comes in. There is no end to a
session: when the context is full, a new one is built of the chunks that tell whose number is whose, and the last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import torch
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from murmur_cli.bias.cache import ListCache
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.gate import build_line_gate
from murmur_cli.decode.rollover import Rollover
from murmur_cli.engine import Bias, Extras, StreamDraft, StreamSegment, StreamUpdate
from murmur_cli.errors import DeviceError
from murmur_cli.models.device import choose_device
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, choose_dtype, inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.features import encode_audio
from murmur_cli.models.vibevoice.frames import SAMPLE_RATE
from murmur_cli.models.vibevoice.geometry import Geometry, read_geometry
from murmur_cli.models.vibevoice.interleave import Interleaver
from murmur_cli.models.vibevoice.keywords import KeywordLists
from murmur_cli.models.vibevoice.live_hits import LiveHits
from murmur_cli.models.vibevoice.memory import measure_free, refuse_slow
from murmur_cli.models.vibevoice.prompt import check_wishes, encode_stream_prompt, make_extra_info, strip_control_tokens
from murmur_cli.models.vibevoice.rolling import RollingContext
from murmur_cli.models.vibevoice.session_size import check_fit, count_chunks
from murmur_cli.models.vibevoice.silence import GATE_SAMPLES, SilenceGate
from murmur_cli.models.vibevoice.stream_text import StreamPiece
from murmur_cli.models.vibevoice.vocabulary import Vocabulary, find_chunk_end
from murmur_cli.models.vibevoice.windows import Window, WindowCutter
from murmur_cli.models.weights import LocalWeights
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.options import ModelOptions, StreamOptions
from murmur_cli.speech.vad import Vad
from murmur_cli.types import EngineInfo, Gap, Samples, Speaker

__all__ = ["VibeVoiceStream", "VibeVoiceStreamEngine", "load_vibevoice_stream"]

_UNGAINED = 1.0  # live audio is heard as it is


def load_vibevoice_stream(
    weights: LocalWeights,
    *,
    model: ModelOptions,
    options: StreamOptions,
    vad: Vad | None,
    on_note: Callable[[str], None],
) -> VibeVoiceStreamEngine:
    """Load a VibeVoice-ASR that streams, after it is clear that it fits.

    Args:
        weights: A checkpoint in the transformers layout or the original one, with a preprocessor_config.json that says
            how it streams.
        model: How it runs.
        options: What it will be asked: how long its context may be decides how much memory it takes.
        vad: Finds speech; in windows without any the model is not asked. None: it always is.
        on_note: Hears what the user should know.

    Raises:
        UsageError: It is no VibeVoice, or does not stream, or an option does not go with it.
        WeightsError: A file is missing or damaged.
        DeviceError: There is no such device, or it has too little memory, or is too slow.
    """
    geometry = read_geometry(weights.folder)
    place = choose_device(model.device)
    dtype = choose_dtype(model.dtype, place)
    blueprint = inspect_checkpoint(weights.folder, streams=True)
    find_chunk_end(blueprint.vocabulary, where=weights.folder)
    if place.type == "cpu" and not model.force:
        refuse_slow(blueprint.size.n_step_parameters * dtype.itemsize, where=weights.name)
    prompt = _write_prompt(blueprint.vocabulary, options)
    most = count_chunks(options.context_minutes, geometry)
    check_fit(
        blueprint.size, geometry, n_prompt=len(prompt), most=most, itemsize=dtype.itemsize, free=measure_free(place)
    )
    checkpoint = load_checkpoint(blueprint, device=place, dtype=dtype)
    precision = str(dtype).removeprefix("torch.")
    info = EngineInfo(model=weights.name, weights_sha256=weights.sha256, device=str(place), precision=precision)
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
        self._keywords = KeywordLists(checkpoint, build_line_gate)

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
        """It reads a text beforehand, its context grows, and it listens for keywords."""
        return Extras(context=True, context_minutes=True, bias=True)

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for it.

        Raises:
            UsageError: The model's tokens are not such that keywords can be followed in them.
        """
        return self._keywords.lists()

    @contextmanager
    def open(self, options: StreamOptions, *, bias: Bias | None = None) -> Iterator[VibeVoiceStream]:
        """Begin a session; all that it remembers is forgotten at the end of the ``with`` block.

        Raises:
            UsageError: There is no such language, or the context is too short for this model.
        """
        check_wishes(options.context, language=options.language, on_note=self._on_note)
        vocabulary = self._checkpoint.vocabulary
        interleaver = Interleaver(
            self._decoder,
            vocabulary,
            prompt=_write_prompt(vocabulary, options),
            chunk_end=self._chunk_end,
            seconds=self._geometry.window_samples / SAMPLE_RATE,
        )
        rollover = Rollover(count_chunks(options.context_minutes, self._geometry))
        context = RollingContext(interleaver, vocabulary, rollover)
        gate = None if self._vad is None else SilenceGate(self._vad)
        try:
            stream = VibeVoiceStream(self._checkpoint, self._geometry, context, gate, keywords=self._keywords)
            stream.rebias(bias)
            yield stream
        finally:
            context.close()


def _write_prompt(vocabulary: Vocabulary, options: StreamOptions) -> list[int]:
    language = None if options.language is None else find_language(options.language, codes=LANGUAGES)
    context, _ = strip_control_tokens(options.context or "")
    return encode_stream_prompt(vocabulary, extra_info=make_extra_info(context, language=language))


class VibeVoiceStream:
    """One session; implements ``StreamDecoder``. A chunk is committed as soon as its window is heard: no drafts.

    Args:
        checkpoint: The model.
        geometry: How it listens.
        context: Of this session.
        gate: Tells in which windows nobody speaks; None: in all somebody does.
        keywords: Make lists ready.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        geometry: Geometry,
        context: RollingContext,
        gate: SilenceGate | None,
        *,
        keywords: KeywordLists,
    ) -> None:
        self._checkpoint = checkpoint
        self._n_chunk = geometry.chunk_samples
        self._context = context
        self._gate = gate
        self._windows = WindowCutter(geometry, n_before=GATE_SAMPLES)
        self._keywords = keywords
        self._hits = LiveHits(checkpoint.vocabulary.decode_text)
        self._end = 0.0  # of the newest chunk, in seconds

    @property
    def chunk_s(self) -> float:
        """Seconds of a chunk."""
        return self._n_chunk / SAMPLE_RATE

    @property
    def context_s(self) -> float:
        """Seconds of audio that the context holds."""
        return self._context.n_held * self.chunk_s

    def push(self, samples: Samples) -> StreamUpdate:
        """Hear on, and commit the chunks whose windows are whole.

        Args:
            samples: A block of any size, shape (n_samples,), at 24 kHz.

        Raises:
            DeviceError: The device is out of memory.
        """
        return _join([self._decode(window) for window in self._windows.push(samples)])

    def draft(self) -> StreamDraft | None:
        """Nothing: what is said is committed chunk by chunk."""
        return None

    def rebias(self, bias: Bias | None) -> None:
        """Listen for something else from here on."""
        self._context.listen(None if bias is None else self._keywords.listen(bias))
        self._hits.listen(None if bias is None else self._keywords.find(bias))

    def finish(self) -> StreamUpdate:
        """Commit the chunks that have begun, with silence behind them, and what was held back of the text.

        Raises:
            DeviceError: The device is out of memory.
        """
        windows = list(self._windows.finish())
        if not windows:  # the last chunk is committed: nothing of its time is left
            return StreamUpdate(tuple(self._hits.place(_place(self._context.finish(), self._end, self._end))))
        return _join([self._decode(window, is_last=window is windows[-1]) for window in windows])

    def _decode(self, window: Window, *, is_last: bool = False) -> StreamUpdate:
        first = window.index * self._n_chunk
        start, end = (n / SAMPLE_RATE for n in (first, first + min(self._n_chunk, window.n_heard)))
        self._end = end
        is_silent = self._gate is not None and self._gate.is_silent(window)
        try:
            features = encode_audio(self._checkpoint, window.samples, gain=_UNGAINED)
            answer = self._context.read(features, is_silent=is_silent)
        except torch.OutOfMemoryError as error:
            problem = f"the GPU is out of memory after {end / 60:.1f} minutes of a session"
            raise DeviceError(
                problem, where="--device", hint="give a shorter --context-minutes, or choose a smaller --model"
            ) from error
        gaps = () if answer.fault is None else (Gap(start, end, answer.fault),)
        pieces = [*answer.pieces, *(self._context.finish() if is_last else ())]
        self._hits.read(answer.tokens, answer.changed)
        return StreamUpdate(tuple(self._hits.place(_place(pieces, start, end))), gaps)


def _join(updates: Sequence[StreamUpdate]) -> StreamUpdate:
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
