"""From what the user calls a model to an engine that runs.

``config.json`` says what a model is, wherever it came from; only this module maps that to code. What cannot run is
refused before its weights are fetched, as far as the catalogue knows, and before a folder's are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from murmur_cli.engine import Engine, StreamEngine
from murmur_cli.errors import UsageError, WeightsError
from murmur_cli.models.catalog import CatalogEntry, LocalFolder, resolve_model
from murmur_cli.models.choice import choose_model
from murmur_cli.models.scripted import load_scripted, load_scripted_stream
from murmur_cli.models.weights import LocalWeights, PullProgress, pull_weights
from murmur_cli.options import BatchOptions, ModelOptions, StreamOptions, VadOptions
from murmur_cli.speech.vad import Vad

__all__ = ["find_model", "is_vibevoice", "load_engine", "load_stream_engine"]

_WHISPER, _SCRIPTED = "whisper", "scripted"
_VIBEVOICE = ("vibevoice_asr", "vibevoice")  # the transformers layout, the original one
_STEP_PERCENT = 81  # of the files of a VibeVoice of 7B, at least, are read for every token
_DEFAULT_OPTIONS = BatchOptions()
_DEFAULT_SESSION = StreamOptions()


def _load_gate() -> Vad:
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice.silence import GATE_OPTIONS  # noqa: PLC0415 - beside what loads torch

    return load_silero(GATE_OPTIONS)


def load_engine(
    model: ModelOptions,
    *,
    options: BatchOptions = _DEFAULT_OPTIONS,
    on_note: Callable[[str], None],
    on_progress: Callable[[PullProgress], None] | None = None,
) -> Engine:
    """Find the weights, fetching them at first use, and load them.

    Args:
        model: What was asked for; ``auto`` takes the best that this machine can run with the weights that it has.
        options: What the engine will be asked: how long a chunk may be decides how much memory it takes.
        on_note: Hears which model ``auto`` chose, and why, and what else the user should know.
        on_progress: Hears how far a download is.

    Raises:
        UsageError: No such model, or one of a kind that murmur does not run.
        ModelUnavailableError: The weights cannot be had.
        DeviceError: There is no such device, or it cannot run the model.
    """
    name = find_model(model, on_note=on_note).name
    weights = pull_weights(name, offline=model.offline, on_progress=on_progress)
    kind = _read_kind(weights.folder)
    if kind == _WHISPER:
        return _load_whisper(weights, model)
    if kind in _VIBEVOICE:
        return _load_vibevoice(weights, model, options, on_note)
    if kind == _SCRIPTED:
        return load_scripted(weights.folder)
    raise _refuse_kind(kind, name)


def find_model(model: ModelOptions, *, on_note: Callable[[str], None]) -> CatalogEntry | LocalFolder:
    """Find the model for recordings that is meant, without its weights.

    Raises:
        UsageError: No such model, or one of a kind that murmur does not run.
        DeviceError: There is no such device, or it cannot run the model.
    """
    found = resolve_model(_choose_name(model, on_note, is_live=False))
    _refuse_hopeless(found, model)
    return found


def is_vibevoice(folder: Path) -> bool:
    """Tell whether a folder holds a VibeVoice.

    Raises:
        WeightsError: It does not say what it holds.
    """
    return _read_kind(folder) in _VIBEVOICE


def load_stream_engine(
    model: ModelOptions,
    *,
    options: StreamOptions = _DEFAULT_SESSION,
    on_note: Callable[[str], None],
    on_progress: Callable[[PullProgress], None] | None = None,
    names_speakers: bool = True,
    load_gate: Callable[[], Vad] = _load_gate,
) -> StreamEngine:
    """Find the weights of a model for live speech, fetching them at first use, and load them.

    Args:
        model: What was asked for; ``auto`` takes the best that this machine can run with the weights that it has.
        options: What the engine will be asked: how long its context may be decides how much memory it takes.
        on_note: Hears which model ``auto`` chose, and why, and what else the user should know.
        on_progress: Hears how far a download is.
        names_speakers: Somebody wants to know who speaks.
        load_gate: Loads what finds speech, for a model that is not to be asked where there is none.

    Raises:
        UsageError: No such model, or one for whole recordings only.
        ModelUnavailableError: The weights cannot be had.
        DeviceError: There is no such device, or it cannot run the model.
    """
    name = _choose_name(model, on_note, is_live=True)
    _refuse_silent(resolve_model(name))
    weights = pull_weights(name, offline=model.offline, on_progress=on_progress)
    kind = _read_kind(weights.folder)
    if kind == _SCRIPTED:
        return load_scripted_stream(weights.folder)
    if kind == _WHISPER:
        return _load_whisper_stream(weights, model, names_speakers=names_speakers)
    if kind not in _VIBEVOICE:
        raise _refuse_kind(kind, name)
    from murmur_cli.models.vibevoice.streaming import load_vibevoice_stream  # noqa: PLC0415 - loads torch

    return load_vibevoice_stream(weights, model=model, options=options, vad=load_gate(), on_note=on_note)


def _choose_name(model: ModelOptions, on_note: Callable[[str], None], *, is_live: bool) -> str:
    if model.model != "auto":
        return model.model
    choice = choose_model(model, is_live=is_live)
    on_note(f"model {choice.model}: {choice.reason}; --model takes another")
    return choice.model


def _refuse_silent(found: CatalogEntry | LocalFolder) -> None:
    """Refuse what does not stream, before its weights are fetched or read."""
    if isinstance(found, CatalogEntry):
        if found.engine == "vibevoice":
            hint = f"take one that streams, or run 'murmur batch' with {found.name}"
            raise UsageError("this model does not stream", where=found.name, hint=hint)
        return
    if _read_kind(found.folder) not in _VIBEVOICE:
        return
    from murmur_cli.models.vibevoice.checkpoint import inspect_checkpoint  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice.geometry import read_geometry  # noqa: PLC0415 - beside what loads torch

    read_geometry(found.folder)
    inspect_checkpoint(found.folder, streams=True)


def _refuse_hopeless(found: CatalogEntry | LocalFolder, model: ModelOptions) -> None:
    """Refuse what can be seen not to run here, before gigabytes of it are fetched or read.

    Raises:
        UsageError: It is no model for whole recordings, or of a kind that murmur does not run.
        WeightsError: A folder is not a whole checkpoint.
        DeviceError: There is no such device, or the model is too slow on it.
    """
    if isinstance(found, LocalFolder):
        kind = _read_kind(found.folder)
        if kind in _VIBEVOICE:
            _refuse_vibevoice(found, model)
        elif kind not in (_WHISPER, _SCRIPTED):
            raise _refuse_kind(kind, found.name)
    elif found.task == "stream":
        raise UsageError("this model only streams", where=found.name, hint="run 'murmur stream FILE' with it")
    elif found.engine == "vibevoice" and found.size and not model.force:
        from murmur_cli.models.device import choose_device  # noqa: PLC0415 - loads torch
        from murmur_cli.models.vibevoice.memory import refuse_slow  # noqa: PLC0415 - loads torch

        if choose_device(model.device).type == "cpu":
            refuse_slow(found.size * _STEP_PERCENT // 100, where=found.name)


def _refuse_vibevoice(found: LocalFolder, model: ModelOptions) -> None:
    from murmur_cli.models.device import choose_device  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice.checkpoint import choose_dtype, inspect_checkpoint  # noqa: PLC0415 - loads torch
    from murmur_cli.models.vibevoice.memory import refuse_slow  # noqa: PLC0415 - loads torch

    size = inspect_checkpoint(found.folder).size
    place = choose_device(model.device)
    if place.type == "cpu" and not model.force:
        refuse_slow(size.n_step_parameters * choose_dtype(model.dtype, place).itemsize, where=found.name)


def _load_whisper(weights: LocalWeights, model: ModelOptions) -> Engine:
    from murmur_cli.models.whisper.engine import load_whisper  # noqa: PLC0415 - loads torch, which a script needs not

    return load_whisper(
        weights.folder,
        name=weights.name,
        weights_sha256=weights.sha256,
        device=model.device,
        dtype=model.dtype,
    )


def _load_whisper_stream(weights: LocalWeights, model: ModelOptions, *, names_speakers: bool) -> StreamEngine:
    from murmur_cli.models.silero import load_silero  # noqa: PLC0415 - loads torch
    from murmur_cli.models.slots_diarizer import load_embedder  # noqa: PLC0415 - loads torch
    from murmur_cli.models.whisper.live import load_whisper_stream  # noqa: PLC0415 - loads torch

    return load_whisper_stream(
        weights.folder,
        name=weights.name,
        weights_sha256=weights.sha256,
        model=model,
        vad=load_silero(VadOptions()),
        embedder=load_embedder() if names_speakers else None,
    )


def _load_vibevoice(
    weights: LocalWeights, model: ModelOptions, options: BatchOptions, on_note: Callable[[str], None]
) -> Engine:
    from murmur_cli.models.vibevoice.engine import load_vibevoice  # noqa: PLC0415 - loads torch

    return load_vibevoice(
        weights.folder,
        name=weights.name,
        weights_sha256=weights.sha256,
        model=model,
        options=options,
        on_note=on_note,
    )


def _read_kind(folder: Path) -> str:
    path = folder / "config.json"
    try:
        kind = json.loads(path.read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"does not say what model this is: {error!r}"
        raise WeightsError(problem, where=str(path), hint="give a folder in HF layout") from error
    return str(kind)


def _refuse_kind(kind: str, where: str) -> UsageError:
    problem = f"models of the kind {kind!r} are not supported"
    return UsageError(problem, where=where, hint="give a Whisper or a VibeVoice-ASR model")
