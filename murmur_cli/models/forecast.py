"""What can be said of a recogniser before its weights are read: for a plan of a run.

Nothing is fetched or changed: of weights that are in the hub's own cache alone, links are made that are gone again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from murmur_cli.errors import ModelUnavailableError, WeightsError
from murmur_cli.models.cache import find_weights
from murmur_cli.models.catalog import CatalogEntry, HubSource, LocalFolder
from murmur_cli.models.device import choose_device
from murmur_cli.models.hub import link_cached
from murmur_cli.models.load import find_model, is_vibevoice
from murmur_cli.models.scripted import SCRIPT_FILE
from murmur_cli.models.vibevoice.memory import MemoryPlan
from murmur_cli.options import BatchOptions, ModelOptions
from murmur_cli.types import SPEECH_RATE

__all__ = ["Forecast", "forecast_model"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known of a model.

    ``n_bytes`` is the size of its weights, None if not even the catalogue knows; ``is_here`` says that they need not be
    fetched. ``memory`` is None where it is known only when the model runs. ``sample_rate`` is the one that it hears.
    """

    model: str
    device: str
    sample_rate: int
    n_bytes: int | None
    is_here: bool
    memory: MemoryPlan | None


def forecast_model(model: ModelOptions, options: BatchOptions, *, on_note: Callable[[str], None]) -> Forecast:
    """Say what loading a model would come to.

    Args:
        model: What was asked for.
        options: What the engine will be asked: how long a chunk may be decides how much memory it takes.
        on_note: Hears which model ``auto`` chose, and why.

    Raises:
        UsageError: No such model, or one of a kind that murmur does not run.
        ModelUnavailableError: The weights are damaged; or they are not here, and may not be fetched.
        DeviceError: There is no such device, or it cannot run the model.
    """
    found = find_model(model, on_note=on_note)
    device = str(choose_device(model.device))
    with TemporaryDirectory(prefix="murmur-") as spare:
        folder = _find_folder(found, Path(spare))
        if folder is None:
            if model.offline:
                hint = f"run 'murmur models pull {found.name}', or leave --offline out"
                raise ModelUnavailableError("the weights are not on this machine", where=found.name, hint=hint)
            size = found.size if isinstance(found, CatalogEntry) else None
            return Forecast(found.name, device, SPEECH_RATE, size, is_here=False, memory=None)
        n_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        if not is_vibevoice(folder):
            return Forecast(found.name, device, SPEECH_RATE, n_bytes, is_here=True, memory=None)
        return _forecast_vibevoice(folder, found.name, model, options, n_bytes=n_bytes)


def _find_folder(found: CatalogEntry | LocalFolder, spare: Path) -> Path | None:
    """Look for weights, and into the hub's own cache by links in an empty folder."""
    if isinstance(found, LocalFolder):
        if not any(found.folder.glob("*.safetensors")) and not (found.folder / SCRIPT_FILE).is_file():
            raise WeightsError("no *.safetensors in it", where=found.name, hint="give a folder in HF layout")
        return found.folder
    if weights := find_weights(found.name):
        return weights.folder
    hubs = [source for source in found.sources if isinstance(source, HubSource)]
    return spare if any(link_cached(source, spare, revision=None) for source in hubs) else None


def _forecast_vibevoice(
    folder: Path, name: str, model: ModelOptions, options: BatchOptions, *, n_bytes: int
) -> Forecast:
    from murmur_cli.models.vibevoice.checkpoint import choose_dtype, inspect_checkpoint  # noqa: PLC0415 - as load does
    from murmur_cli.models.vibevoice.engine import lay_out_longest  # noqa: PLC0415 - as load does
    from murmur_cli.models.vibevoice.frames import SAMPLE_RATE  # noqa: PLC0415 - as load does
    from murmur_cli.models.vibevoice.memory import measure_free  # noqa: PLC0415 - as load does
    from murmur_cli.models.vibevoice.plan import plan_memory  # noqa: PLC0415 - as load does

    device = choose_device(model.device)
    blueprint = inspect_checkpoint(folder)
    itemsize = choose_dtype(model.dtype, device).itemsize
    longest = lay_out_longest(blueprint.vocabulary, options)
    _, memory = plan_memory(blueprint.size, longest, model, itemsize=itemsize, free=measure_free(device))
    return Forecast(name, str(device), SAMPLE_RATE, n_bytes, is_here=True, memory=memory)
