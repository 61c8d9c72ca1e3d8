"""The options that commands share, each declared once.

Names and defaults equal the fields of the options records (a test compares the two).
"""

from __future__ import annotations

from murmur_cli.cli.options.input import (
    Channels,
    Duration,
    InputChannels,
    InputFormat,
    InputRate,
    ListMicrophones,
    Microphone,
    OnLag,
    Paths,
    Realtime,
    SaveAudio,
)
from murmur_cli.cli.options.model import (
    AcousticNoise,
    BatchSize,
    Context,
    ContextMinutes,
    Device,
    Dtype,
    Evict,
    Force,
    Language,
    Model,
    Offline,
)
from murmur_cli.cli.options.output import (
    Captions,
    Format,
    LiveFormat,
    NoSpeakers,
    Output,
    Overwrite,
    SpeakerNames,
    Step,
    WordTimes,
)
from murmur_cli.cli.options.run import Color, Debug, FailFast, Progress, Quiet, Stats, Verbose
from murmur_cli.cli.options.speakers import Diarizer, Enrol, MaxSpeakers, MinSpeakers, Speakers
from murmur_cli.cli.options.speech import MaxChunkS, MinSilenceMs, MinSpeechMs, SpeechPadMs, VadThreshold

__all__ = [
    "AcousticNoise",
    "BatchSize",
    "Captions",
    "Channels",
    "Color",
    "Context",
    "ContextMinutes",
    "Debug",
    "Device",
    "Diarizer",
    "Dtype",
    "Duration",
    "Enrol",
    "Evict",
    "FailFast",
    "Force",
    "Format",
    "InputChannels",
    "InputFormat",
    "InputRate",
    "Language",
    "ListMicrophones",
    "LiveFormat",
    "MaxChunkS",
    "MaxSpeakers",
    "Microphone",
    "MinSilenceMs",
    "MinSpeakers",
    "MinSpeechMs",
    "Model",
    "NoSpeakers",
    "Offline",
    "OnLag",
    "Output",
    "Overwrite",
    "Paths",
    "Progress",
    "Quiet",
    "Realtime",
    "SaveAudio",
    "SpeakerNames",
    "Speakers",
    "SpeechPadMs",
    "Stats",
    "Step",
    "VadThreshold",
    "Verbose",
    "WordTimes",
]
