"""The options that decide what a transcript says."""

from __future__ import annotations

from dataclasses import dataclass, field

from murmur_cli.options.audio import AudioOptions
from murmur_cli.options.decode import DecodeOptions
from murmur_cli.options.require import require
from murmur_cli.options.speakers import SpeakerOptions
from murmur_cli.options.speech import ChunkOptions, VadOptions

__all__ = ["BatchOptions"]


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
            require("--channels speakers", problem, "choose one", unless=free)
