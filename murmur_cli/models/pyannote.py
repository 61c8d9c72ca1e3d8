"""Diarization by a pipeline of pyannote.audio, for those who have access to one on the hub.

pyannote.audio is imported here, when a pipeline is loaded, and with its telemetry switched off. A
pipeline wants the whole signal in memory: 230 MB an hour. Voices are embedded by murmur's own network,
so that they compare with those of enrolled people.

Source: pyannote.audio 4.0.7.
"""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from huggingface_hub import constants, get_token, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, HTTPError  # type: ignore[attr-defined]  # of httpx or of httpx2

from murmur_cli.errors import ModelUnavailableError, UsageError
from murmur_cli.speakers.diarize import Diarization, Voice, name_speaker
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.voices import LEAST_VOICE_S, SpeakerEmbedder
from murmur_cli.speakers.windows import SPEAKER_RATE
from murmur_cli.types import Samples, Speaker, Turn

__all__ = ["PyannoteDiarizer", "PyannotePipeline", "load_pyannote"]

_FAILURES = (
    OSError,
    HTTPError,
    HfHubHTTPError,
    ValueError,
    RuntimeError,
    KeyError,
    TypeError,
    ImportError,
    AttributeError,
)


class _Stretch(Protocol):
    """``pyannote.core.Segment``."""

    start: float
    end: float


class _Timeline(Protocol):
    """``pyannote.core.Timeline``."""

    def extrude(self, removed: _Timeline) -> _Timeline: ...
    def __iter__(self) -> Iterator[_Stretch]: ...


class _Annotation(Protocol):
    """``pyannote.core.Annotation``."""

    def support(self) -> _Annotation: ...
    def label_timeline(self, label: str) -> _Timeline: ...
    def get_overlap(self) -> _Timeline: ...
    def itertracks(self, *, yield_label: bool) -> Iterator[tuple[_Stretch, object, str]]: ...


class PyannotePipeline(Protocol):
    """``pyannote.audio.pipelines.SpeakerDiarization``, as it is used here."""

    def __call__(
        self,
        file: dict[str, object],
        *,
        num_speakers: int | None,
        min_speakers: int | None,
        max_speakers: int | None,
    ) -> object:
        """Diarize ``waveform``, [1, T], at ``sample_rate``."""
        ...


class PyannoteDiarizer:
    """A diarizer; see ``speakers.diarize.Diarizer``."""

    def __init__(self, pipeline: PyannotePipeline, embedder: SpeakerEmbedder) -> None:
        self._pipeline = pipeline
        self._embedder = embedder

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        """Diarize one recording; it is held in memory for that."""
        samples = np.concatenate([np.zeros(0, np.float32), *blocks])
        if not len(samples):  # the pipeline would raise
            return Diarization((), (), forced=False)
        annotation = self._annotate(samples, limits)
        tracks = sorted(
            (stretch.start, stretch.end, label) for stretch, _, label in annotation.itertracks(yield_label=True)
        )
        labels = list(dict.fromkeys(label for _, _, label in tracks))  # by first speech
        names = {label: name_speaker(i) for i, label in enumerate(labels)}
        duration = len(samples) / SPEAKER_RATE
        turns = tuple(
            Turn(max(0.0, start), min(duration, end), names[label]) for start, end, label in tracks if start < duration
        )
        voices = (self._average(samples, annotation, label, names[label]) for label in labels)
        return Diarization(turns, tuple(voice for voice in voices if voice is not None), forced=False)

    def _annotate(self, samples: Samples, limits: SpeakerLimits) -> _Annotation:
        exact = limits.least if limits.least == limits.most else None
        with _quiet():
            found = self._pipeline(
                {"waveform": torch.from_numpy(samples)[None], "sample_rate": SPEAKER_RATE, "uri": "recording"},
                num_speakers=exact,
                min_speakers=None if exact else limits.least,
                max_speakers=None if exact else limits.most,
            )
        annotation = cast("_Annotation", getattr(found, "speaker_diarization", found))  # older pipelines give it bare
        return annotation.support()

    def _average(self, samples: Samples, annotation: _Annotation, label: str, speaker: Speaker) -> Voice | None:
        """Embed what somebody says alone; all that they say, where that is too little."""
        said = annotation.label_timeline(label)
        for stretches in (said.extrude(annotation.get_overlap()), said):
            bounds = [(round(s.start * SPEAKER_RATE), round(s.end * SPEAKER_RATE)) for s in stretches]
            speech = np.concatenate([np.zeros(0, np.float32), *(samples[start:end] for start, end in bounds)])
            if len(speech) >= LEAST_VOICE_S * SPEAKER_RATE:
                return Voice(speaker, self._embedder.embed(speech), len(speech) / SPEAKER_RATE)
        return None


def load_pyannote(hub_id: str, *, embedder: SpeakerEmbedder, offline: bool) -> PyannoteDiarizer:
    """Load a pipeline, downloading it at first use with the user's token.

    The token is that of ``HF_TOKEN``, or of ``hf auth login``.

    Args:
        hub_id: A repository, as in ``pyannote/speaker-diarization-community-1``.
        embedder: What makes the voices.
        offline: Use no network: only what is in the hub's cache.

    Raises:
        ModelUnavailableError: There is no token, or the hub does not give the pipeline out.
        UsageError: The repository holds a pipeline, but not one that diarizes.
    """
    token = get_token()
    is_cached = isinstance(try_to_load_from_cache(hub_id, "config.yaml"), str)
    if offline and not is_cached:
        raise ModelUnavailableError("the pipeline is not on this machine", where=hub_id, hint="run without --offline")
    if token is None and not is_cached:
        raise ModelUnavailableError("the hub gives it out for a token only", where=hub_id, hint=_advise(hub_id))
    try:
        with _use_no_network() if offline or token is None else contextlib.nullcontext(), _quiet():
            folder = snapshot_download(hub_id, token=token)
            pipeline = _read_pipeline(Path(folder), token)
    except _FAILURES as error:
        raise ModelUnavailableError(f"no pipeline: {_explain(error)}", where=hub_id, hint=_advise(hub_id)) from error
    if pipeline is None:
        hint = "give a pipeline for speaker diarization"
        raise UsageError(f"{hub_id} tells no speakers apart", where="--diarizer", hint=hint)
    return PyannoteDiarizer(pipeline, embedder)


def _read_pipeline(folder: Path, token: str | None) -> PyannotePipeline | None:
    """Build the pipeline of a folder, None if it does not diarize."""
    os.environ["PYANNOTE_METRICS_ENABLED"] = "0"  # read at import, and on by default
    from pyannote.audio import Pipeline  # noqa: PLC0415 - takes seconds
    from pyannote.audio.pipelines import SpeakerDiarization  # noqa: PLC0415

    pipeline = Pipeline.from_pretrained(folder, token=token)
    if not isinstance(pipeline, SpeakerDiarization):
        return None
    made: PyannotePipeline = pipeline
    return made


def _advise(hub_id: str) -> str:
    return f"accept the conditions on https://huggingface.co/{hub_id} and put your token into HF_TOKEN"


def _explain(error: BaseException) -> str:
    return " ".join(str(error).split("\n\n", maxsplit=1)[0].split()) or type(error).__name__


@contextlib.contextmanager
def _use_no_network() -> Iterator[None]:
    """Let huggingface_hub answer from its cache alone: a pipeline may name other repositories."""
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep pyannote.audio from printing to stdout, and from warning of its decoders, of which none is used.

    What it warns of in a recording (fewer people than asked for) shows in the result.
    """
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
