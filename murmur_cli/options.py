"""What a user can choose, as frozen records that validate themselves.

Every option of a command is a field here, under the same name and with the same default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from murmur_cli.errors import UsageError

__all__ = [
    "CHANNELS",
    "COLORS",
    "DTYPES",
    "EVICT",
    "FORMATS",
    "LIVE_FORMATS",
    "METRICS",
    "MOST_ROWS",
    "MOST_SPEAKERS",
    "NORMALIZERS",
    "ON_LAG",
    "PCM_FORMATS",
    "PROGRESS",
    "AudioOptions",
    "BatchOptions",
    "ChunkOptions",
    "DecodeOptions",
    "ModelOptions",
    "OutputOptions",
    "RunOptions",
    "ScoreOptions",
    "SpeakerOptions",
    "StreamOptions",
    "VadOptions",
]

FORMATS = ("txt", "srt", "vtt", "ass", "json", "jsonl", "tsv", "rttm", "stm", "ctm", "seglst")
"""The transcript formats, as ``--format`` spells them."""

LIVE_FORMATS = ("txt", "jsonl", "srt", "vtt", "json")
"""Those of ``FORMATS`` that can be written while somebody still speaks."""

PCM_FORMATS = ("s16le", "f32le", "mulaw", "alaw")
"""How samples without a header are written, as ``--input-format`` spells it."""

ON_LAG = ("wait", "skip")
"""What is done where decoding is slower than speech, as ``--on-lag`` spells it."""

METRICS = ("wer", "cpwer", "tcpwer", "orcwer", "der")
"""The scores, as ``--metric`` spells them."""

NORMALIZERS = ("whisper-english", "none")
"""How texts are brought to one spelling before they are compared, as ``--normalizer`` spells it."""

PROGRESS = ("auto", "bar", "plain", "json", "none")
"""How progress is shown, as ``--progress`` spells it."""

COLORS = ("auto", "always", "never")
"""When colour is used, as ``--color`` spells it."""

CHANNELS = ("mix", "speakers")
"""What is made of the channels of a file, as ``--channels`` spells it."""

DTYPES = ("auto", "float32", "bfloat16", "float16")
"""The precisions of a model, as ``--dtype`` spells them."""

EVICT = ("auto", "none", "output", "speech", "both")
"""What a model forgets of a chunk while it decodes it, as ``--evict`` spells it."""

MOST_ROWS = 1024
"""The most chunks that can be decoded side by side."""

MOST_SPEAKERS = 100
"""The most people that can be asked for: more is a slip of the finger."""


def _require(option: str, problem: str, hint: str, *, unless: bool) -> None:
    if not unless:
        raise UsageError(problem, where=option, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which recogniser, and how it runs.

    ``batch_size`` is how many chunks are decoded side by side, or ``auto``: as many as the memory takes. ``evict`` is
    what is forgotten of a chunk while it is decoded; ``auto``: its audio, if more chunks go side by side then.
    ``force`` runs a model even where it is too slow to be of use.
    """

    model: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    batch_size: str = "auto"
    evict: str = "auto"
    offline: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        known = self.evict in EVICT
        _require("--evict", f"no such way: {self.evict}", f"choose from {', '.join(EVICT)}", unless=known)
        number = re.fullmatch(r"[0-9]{1,4}", self.batch_size) is not None and 1 <= int(self.batch_size) <= MOST_ROWS
        hint = f"give auto or a number from 1 to {MOST_ROWS}"
        problem = f"neither a number nor auto: {self.batch_size}"
        _require("--batch-size", problem, hint, unless=number or self.batch_size == "auto")
        choices = ", ".join(DTYPES)
        _require("--dtype", f"no such precision: {self.dtype}", f"choose from {choices}", unless=self.dtype in DTYPES)
        kind, _, index = self.device.partition(":")
        known = kind in ("auto", "cpu", "cuda", "mps") and (not index or (kind == "cuda" and index.isdigit()))
        _require("--device", f"no such device: {self.device}", "choose auto, cpu, cuda, cuda:N or mps", unless=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioOptions:
    """What is taken from a file. ``channels`` is ``mix``, or ``speakers`` where each channel is one person."""

    channels: str = "mix"

    def __post_init__(self) -> None:
        known = self.channels in CHANNELS
        _require("--channels", f"no such way: {self.channels}", f"choose from {', '.join(CHANNELS)}", unless=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class VadOptions:
    """Where speech is found. Durations are in milliseconds.

    ``vad_threshold`` is the speech probability at which a span opens; it closes 0.15 lower, after
    ``min_silence_ms`` below that. Spans shorter than ``min_speech_ms`` are dropped, the rest are
    widened by ``speech_pad_ms`` on both sides, but by no more than 3/8 of the pause there.
    """

    vad_threshold: float = 0.5
    min_speech_ms: int = 150
    min_silence_ms: int = 100
    speech_pad_ms: int = 400

    def __post_init__(self) -> None:
        sane = 0.0 < self.vad_threshold < 1.0
        _require("--vad-threshold", f"{self.vad_threshold:g} is not between 0 and 1", "try 0.5", unless=sane)
        for name in ("min_speech_ms", "min_silence_ms", "speech_pad_ms"):
            value = int(getattr(self, name))
            option = f"--{name.replace('_', '-')}"
            _require(option, f"{value} is not between 0 and 60000 ms", "leave it out", unless=0 <= value <= 60_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """How long a decoding unit may be, in seconds."""

    max_chunk_s: float = 300.0

    def __post_init__(self) -> None:
        sane = 10.0 <= self.max_chunk_s <= 3600.0
        _require("--max-chunk-s", f"{self.max_chunk_s:g} s is not between 10 and 3600", "try 300", unless=sane)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """What the recogniser is told.

    ``language`` None means: detect it, once per recording. ``context`` is a text that it reads before the audio, or
    ``@FILE`` that holds one. ``acoustic_noise`` is the seed of the noise that is added to what it hears; None: none.
    """

    language: str | None = None
    context: str | None = None
    acoustic_noise: int | None = None

    def __post_init__(self) -> None:
        sane = self.acoustic_noise is None or 0 <= self.acoustic_noise < 2**63
        _require("--acoustic-noise", f"{self.acoustic_noise} is no seed", "give a number from 0", unless=sane)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerOptions:
    """Who is told apart.

    ``speakers`` is ``auto``, ``none`` or a number of people; ``min_speakers`` and ``max_speakers`` bound
    ``auto``. ``diarizer`` is ``slots``, which comes with murmur, or the hub id of a pyannote.audio pipeline.
    ``enrol`` are people whose voices are known, each ``NAME=FILE``.
    """

    speakers: str = "auto"
    min_speakers: int | None = None
    max_speakers: int | None = None
    diarizer: str = "slots"
    enrol: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        number = re.fullmatch(r"[0-9]{1,3}", self.speakers) is not None and 1 <= int(self.speakers) <= MOST_SPEAKERS
        hint = f"give auto, none or a number from 1 to {MOST_SPEAKERS}"
        sane = number or self.speakers in ("auto", "none")
        _require("--speakers", f"neither a number nor a way: {self.speakers}", hint, unless=sane)
        for option, value in (("--min-speakers", self.min_speakers), ("--max-speakers", self.max_speakers)):
            sane = value is None or 1 <= value <= MOST_SPEAKERS
            _require(option, f"{value} is not between 1 and {MOST_SPEAKERS}", "leave it out", unless=sane)
            free = value is None or self.speakers == "auto"
            _require(option, f"goes against --speakers {self.speakers}", "choose one", unless=free)
        ordered = self.min_speakers is None or self.max_speakers is None or self.min_speakers <= self.max_speakers
        problem = f"{self.min_speakers} is more than --max-speakers {self.max_speakers}"
        _require("--min-speakers", problem, "lower it", unless=ordered)
        known = self.diarizer == "slots" or re.fullmatch(r"[\w.-]+/[\w.-]+", self.diarizer, re.ASCII) is not None
        hint = "give slots, or a hub id such as pyannote/speaker-diarization-community-1"
        _require("--diarizer", f"no such diarizer: {self.diarizer}", hint, unless=known)
        named = not (self.enrol and self.speakers == "none")
        _require("--enrol", "goes against --speakers none", "choose one", unless=named)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What is written where, and how.

    ``output`` is a file, a folder, or ``-`` for stdout. ``word_times`` None writes the times of words where there are
    any. ``speaker_names`` are new names for speakers, as in ``S1=Ann,S2=Bob``.
    """

    format: tuple[str, ...] = ()
    output: str | None = None
    overwrite: bool = False
    word_times: bool | None = None
    speaker_names: str | None = None
    no_speakers: bool = False

    def __post_init__(self) -> None:
        for name in self.format:
            _require("--format", f"no such format: {name}", f"choose from {', '.join(FORMATS)}", unless=name in FORMATS)
        shown = self.speaker_names is None or not self.no_speakers
        _require("--speaker-names", "goes against --no-speakers", "choose one", unless=shown)

    @property
    def writes_word_times(self) -> bool:
        """Whether the times of words are written where there are any."""
        return self.word_times is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run behaves towards the person who watches it; nothing here changes a transcript."""

    stats: str | None = None
    fail_fast: bool = False
    progress: str = "auto"
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    debug: bool = False

    def __post_init__(self) -> None:
        for option, value, choices in (("--progress", self.progress, PROGRESS), ("--color", self.color, COLORS)):
            _require(option, f"no such way: {value}", f"choose from {', '.join(choices)}", unless=value in choices)
        _require("--quiet", "goes against --verbose", "choose one", unless=not (self.quiet and self.verbose))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """What is scored. Without a ``metric``, all for which the files hold enough.

    ``collar`` is how far a word may be from its place and still be right, in seconds; for tcpWER alone.
    """

    metric: tuple[str, ...] = ()
    normalizer: str = "whisper-english"
    collar: float = 5.0

    def __post_init__(self) -> None:
        for name in self.metric:
            _require("--metric", f"no such metric: {name}", f"choose from {', '.join(METRICS)}", unless=name in METRICS)
        known = self.normalizer in NORMALIZERS
        hint = f"choose from {', '.join(NORMALIZERS)}"
        _require("--normalizer", f"no such normaliser: {self.normalizer}", hint, unless=known)
        # At 0, meeteval would apply no collar at all, and compare words as points in time.
        sane = 0.0 < self.collar <= 3600.0
        _require("--collar", f"{self.collar:g} s is not between 0 and 3600", "leave it out for 5", unless=sane)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """The options that decide what a transcript says."""

    audio: AudioOptions = field(default_factory=AudioOptions)
    vad: VadOptions = field(default_factory=VadOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    speakers: SpeakerOptions = field(default_factory=SpeakerOptions)

    def __post_init__(self) -> None:
        asked, left = self.speakers, SpeakerOptions()
        for option, value, default in (
            ("--speakers", asked.speakers, left.speakers),
            ("--min-speakers", asked.min_speakers, left.min_speakers),
            ("--max-speakers", asked.max_speakers, left.max_speakers),
            ("--diarizer", asked.diarizer, left.diarizer),
            ("--enrol", " ".join(asked.enrol), ""),
        ):
            problem = f"goes against {option} {value}: each channel is one person"
            free = self.audio.channels != "speakers" or value == default
            _require("--channels speakers", problem, "choose one", unless=free)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What a live session hears, and what the recogniser is told.

    ``language`` and ``context`` are as in ``DecodeOptions``. ``on_lag`` says what happens where decoding is slower than
    speech. ``realtime`` plays a file at its own pace; ``duration`` ends the session after so many seconds of audio.
    ``save_audio`` is a WAV file for what is heard. ``input_format`` says that the input has no header, and how its
    samples are written; without it, stdin is looked at. None for the rate or the channels: 16000 Hz, one.
    """

    language: str | None = None
    context: str | None = None
    on_lag: str = "wait"
    realtime: bool = False
    duration: float | None = None
    save_audio: str | None = None
    input_format: str | None = None
    input_rate: int | None = None
    input_channels: int | None = None

    def __post_init__(self) -> None:
        known = self.on_lag in ON_LAG
        _require("--on-lag", f"no such way: {self.on_lag}", f"choose from {', '.join(ON_LAG)}", unless=known)
        sane = self.duration is None or 0.0 < self.duration < 1e9
        _require("--duration", f"{self.duration} is no number of seconds", "give more than 0", unless=sane)
        known = self.input_format is None or self.input_format in PCM_FORMATS
        problem = f"no such format: {self.input_format}"
        _require("--input-format", problem, f"choose from {', '.join(PCM_FORMATS)}", unless=known)
        sane = self.input_rate is None or 1000 <= self.input_rate <= 768_000
        _require("--input-rate", f"{self.input_rate} Hz is not between 1000 and 768000", "try 16000", unless=sane)
        sane = self.input_channels is None or 1 <= self.input_channels <= 64
        problem = f"{self.input_channels} is not between 1 and 64"
        _require("--input-channels", problem, "leave it out for 1", unless=sane)
        named = self.save_audio is None or bool(self.save_audio)
        _require("--save-audio", "the name is empty", "give a file", unless=named)
