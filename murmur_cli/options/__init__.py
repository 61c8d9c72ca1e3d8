"""What a user can choose, as frozen records that validate themselves.

Every option of a command is a field here, under the same name and with the same default.
"""

from __future__ import annotations

from murmur_cli.options.audio import CHANNELS, AudioOptions
from murmur_cli.options.batch import BatchOptions
from murmur_cli.options.bias import (
    BIAS_DISPLAY,
    BIAS_STRENGTHS,
    BiasOptions,
    CompileOptions,
    ExplainOptions,
    TuneOptions,
)
from murmur_cli.options.decode import DecodeOptions
from murmur_cli.options.inputs import InputOptions
from murmur_cli.options.journal import JournalOptions
from murmur_cli.options.model import DTYPES, EVICT, MOST_ROWS, ModelOptions
from murmur_cli.options.output import FORMATS, LIVE_FORMATS, OutputOptions, SubtitleOptions
from murmur_cli.options.pcm import PCM_FORMATS
from murmur_cli.options.run import COLORS, PROGRESS, ErrorOptions, RunOptions
from murmur_cli.options.score import METRICS, NORMALIZERS, ScoreOptions
from murmur_cli.options.speakers import MOST_SPEAKERS, SpeakerOptions
from murmur_cli.options.speech import ChunkOptions, VadOptions
from murmur_cli.options.stream import LONGEST_CONTEXT, ON_LAG, CaptionOptions, StreamOptions
from murmur_cli.options.template import TEMPLATE_FIELDS

__all__ = [
    "BIAS_DISPLAY",
    "BIAS_STRENGTHS",
    "CHANNELS",
    "COLORS",
    "DTYPES",
    "EVICT",
    "FORMATS",
    "LIVE_FORMATS",
    "LONGEST_CONTEXT",
    "METRICS",
    "MOST_ROWS",
    "MOST_SPEAKERS",
    "NORMALIZERS",
    "ON_LAG",
    "PCM_FORMATS",
    "PROGRESS",
    "TEMPLATE_FIELDS",
    "AudioOptions",
    "BatchOptions",
    "BiasOptions",
    "CaptionOptions",
    "ChunkOptions",
    "CompileOptions",
    "DecodeOptions",
    "ErrorOptions",
    "ExplainOptions",
    "InputOptions",
    "JournalOptions",
    "ModelOptions",
    "OutputOptions",
    "RunOptions",
    "ScoreOptions",
    "SpeakerOptions",
    "StreamOptions",
    "SubtitleOptions",
    "TuneOptions",
    "VadOptions",
]
