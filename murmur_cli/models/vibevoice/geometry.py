"""How a checkpoint listens when it streams: what it was trained with, and nothing else will do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.errors import UsageError, WeightsError
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, SAMPLE_RATE

__all__ = ["Geometry", "read_geometry"]

_FILE = "preprocessor_config.json"
_LONGEST_FRAMES = 450  # a minute: what is longer is no live caption
_STATED = {"target_sample_rate": SAMPLE_RATE, "speech_tok_compress_ratio": FRAME_SAMPLES}
_HINT = "give the configuration that was published with the weights"


@dataclass(frozen=True, slots=True)
class Geometry:
    """What is heard at once: a chunk, whose text is wanted, and what comes after it.

    Attributes:
        chunk_frames: Frames of a chunk.
        lookahead_frames: Frames after it that are heard, too.
    """

    chunk_frames: int
    lookahead_frames: int

    @property
    def chunk_samples(self) -> int:
        """Samples of a chunk."""
        return self.chunk_frames * FRAME_SAMPLES

    @property
    def window_samples(self) -> int:
        """Samples that are heard at once."""
        return (self.chunk_frames + self.lookahead_frames) * FRAME_SAMPLES


def read_geometry(folder: Path) -> Geometry:
    """Read ``preprocessor_config.json`` of a checkpoint.

    Raises:
        UsageError: It does not say how the checkpoint streams, so that it does not.
        WeightsError: It cannot be read, or says what cannot be.
    """
    path = folder / _FILE
    fields = _read_fields(path)
    if "chunk_frames" not in fields or "lookahead_frames" not in fields:
        problem = f"this checkpoint does not stream: no chunk_frames and lookahead_frames in {_FILE}"
        raise UsageError(problem, where=str(folder), hint="choose a model that streams, or run 'murmur batch' with it")
    geometry = Geometry(_read_frames(fields, "chunk_frames", path), _read_frames(fields, "lookahead_frames", path))
    for key, number in _STATED.items():
        if fields.get(key, number) != number:
            raise WeightsError(f"{key} is {fields[key]}, not {number}", where=str(path), hint=_HINT)
    if fields.get("normalize_audio") is not False:
        raise WeightsError("normalize_audio is not false, but live audio cannot be", where=str(path), hint=_HINT)
    return geometry


def _read_fields(path: Path) -> dict[str, object]:
    try:
        fields = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot be read: {error}", where=str(path), hint=_HINT) from error
    if not isinstance(fields, dict):
        raise WeightsError("is not a JSON object", where=str(path), hint=_HINT)
    return fields


def _read_frames(fields: dict[str, object], key: str, path: Path) -> int:
    value, least = fields[key], int(key == "chunk_frames")
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LONGEST_FRAMES:
        problem = f"{key} is not a number from {least} to {_LONGEST_FRAMES}: {json.dumps(value)[:40]}"
        raise WeightsError(problem, where=str(path), hint=_HINT)
    return value
