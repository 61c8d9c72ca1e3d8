"""From what the user calls a diarizer to all that tells people apart."""

from __future__ import annotations

from murmur_cli.listen import SpeakerModels

__all__ = ["load_speaker_models"]


def load_speaker_models(diarizer: str, *, offline: bool) -> SpeakerModels:
    """Load a diarizer, and the network for voices that comes with murmur.

    Args:
        diarizer: ``slots``, which comes with murmur, or the hub id of a pyannote.audio pipeline.
        offline: Use no network; ``slots`` never does.

    Raises:
        ModelUnavailableError: The hub does not give the pipeline out, or bundled weights are damaged.
        UsageError: What the hub has under that id does not diarize.
    """
    from murmur_cli.models.slots_diarizer import load_embedder, load_slots_diarizer  # noqa: PLC0415 - loads torch

    embedder = load_embedder()
    if diarizer == "slots":
        return SpeakerModels(load_slots_diarizer(), embedder)
    from murmur_cli.models.pyannote import load_pyannote  # noqa: PLC0415 - loads huggingface_hub

    return SpeakerModels(load_pyannote(diarizer, embedder=embedder, offline=offline), embedder)
