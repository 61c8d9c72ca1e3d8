"""Which codecs FFmpeg, as it is installed, can read."""

from __future__ import annotations

import av

__all__ = ["describe_ffmpeg", "find_missing_decoders"]

# What phones, recorders, browsers, call centres and films write.
_DECODERS = (
    "aac",
    "ac3",
    "alac",
    "amrnb",
    "flac",
    "gsm_ms",
    "mp3",
    "opus",
    "pcm_mulaw",
    "pcm_s16le",
    "vorbis",
    "wmav2",
)


def describe_ffmpeg() -> str:
    """Name the versions of PyAV and of the FFmpeg in it."""
    return f"av {av.__version__} with FFmpeg {av.ffmpeg_version_info}"


def find_missing_decoders() -> tuple[str, ...]:
    """List the codecs of common recordings that cannot be read."""
    return tuple(name for name in _DECODERS if name not in av.codecs_available)
