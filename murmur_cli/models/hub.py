"""Take weights from the hub, through huggingface_hub and its cache.

Only safetensors and small JSON and text files are taken, never a pickle. Files stay in the hub's own cache
(HF_HOME); the folder that is filled links to them. Every file is compared with the hash by which the hub
stores it, whether it has just arrived or was in the cache.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, ModelInfo, constants, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError: of httpx or of httpx2
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

from murmur_cli.errors import ModelUnavailableError, WeightsError
from murmur_cli.models.catalog import HubSource
from murmur_cli.models.hub_files import blob_digest, can_run_from, has_digest, select_files
from murmur_cli.models.sources import Fetched, Report

__all__ = ["fetch_from_hub", "link_cached"]

_TOKENIZER = "tokenizer.json"
_CONNECT_S = 5
_ANSWER_S = 10.0  # a name with many addresses that all swallow packets takes _CONNECT_S for each
_FAILURES = (OSError, HTTPError, ValueError, RuntimeError)  # what the hub, its downloader and a login page raise


@dataclass(frozen=True, slots=True)
class _Stored:
    """A file of a repository. ``digest`` is its SHA-256 or, for small files, its git blob SHA-1, in hex."""

    name: str
    size: int
    digest: str


def fetch_from_hub(source: HubSource, target: Path, *, revision: str | None, report: Report) -> Fetched:
    """Fill an empty folder with links to the files of a repository, downloading what is not there.

    One request asks whether the hub can be reached: it is not repeated and takes at most 10 s. Downloads that
    break off after that are resumed by huggingface_hub.

    Args:
        source: The repository.
        target: Gets the links.
        revision: The commit to take; None takes the newest.
        report: Hears of the bytes that arrive.

    Raises:
        ModelUnavailableError: The hub cannot be reached, or does not give the model out.
        WeightsError: A file arrives damaged, twice.
    """
    if constants.HF_HUB_OFFLINE:
        raise ModelUnavailableError("HF_HUB_OFFLINE is set")
    repository = source.repository
    report(f"asking the hub for {repository}", 0, None)
    with _quiet_logging():
        try:
            info = _ask(repository, revision)
            commit, stored = str(info.sha), _list_stored(info)
            take = _Download(repository, commit, stored, report)
            names = select_files({name: file.size for name, file in stored.items()}, read=take)
            if source.tokenizer and _TOKENIZER not in names:
                _link_tokenizer(source.tokenizer, target, report)
            if revision is None:
                take.name_newest()
            take.total = sum(stored[name].size for name in names)
            for name in names:
                (target / name).symlink_to(take(name))
        except _FAILURES as error:
            raise ModelUnavailableError(_explain(error)) from error
    return Fetched(str(source), commit, source.licence or _read_licence(info))


def _link_tokenizer(repository: str, target: Path, report: Report) -> None:
    """Take the tokenizer of a repository in its newest revision, before the weights of another."""
    info = _ask(repository, None)
    stored = _list_stored(info)
    if _TOKENIZER not in stored:
        raise ModelUnavailableError(f"has no {_TOKENIZER}", where=f"hub {repository}")
    (target / _TOKENIZER).symlink_to(_Download(repository, str(info.sha), stored, report)(_TOKENIZER))


def link_cached(source: HubSource, target: Path, *, revision: str | None) -> Fetched | None:
    """Fill an empty folder with links into the hub's cache, without any network.

    Returns:
        None, with nothing linked, where the cache has not all of a model's files or one of them is damaged.
    """
    try:
        snapshot = _find_snapshot(source.repository, revision)
        if snapshot is None:
            return None
        sizes = {path.name: path.stat().st_size for path in snapshot.iterdir() if path.is_file()}
        names = select_files(sizes, read=lambda name: snapshot / name)
        if not can_run_from(names) or not all(_is_as_stored(snapshot / name) for name in names):
            return None
    except (OSError, ModelUnavailableError):  # a cache that cannot be read is as good as none
        return None
    for name in names:
        (target / name).symlink_to(snapshot / name)
    return Fetched(str(source), snapshot.name, source.licence or "unknown")


def _find_snapshot(repository: str, revision: str | None) -> Path | None:
    config = try_to_load_from_cache(repository, "config.json", revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def _is_as_stored(path: Path) -> bool:
    digest = blob_digest(path)
    return digest is None or has_digest(path, digest)


def _ask(repository: str, revision: str | None) -> ModelInfo:
    """Ask the hub about a repository, in a thread: resolving a name has no time-out of its own."""
    answers: queue.SimpleQueue[ModelInfo | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            info = HfApi().model_info(repository, revision=revision, files_metadata=True, timeout=_CONNECT_S)
        except (*_FAILURES, TypeError, KeyError) as error:  # the last two: JSON, but not the hub's
            answers.put(error)
        else:
            answers.put(info)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=_ANSWER_S)
    except queue.Empty as error:
        raise ModelUnavailableError(f"no answer in {_ANSWER_S:.0f} s") from error
    if isinstance(answer, (TypeError, KeyError)):
        raise ModelUnavailableError(_FOREIGN) from answer
    if isinstance(answer, Exception):
        raise answer
    return answer


def _list_stored(info: ModelInfo) -> dict[str, _Stored]:
    stored = {}
    for file in info.siblings or ():
        digest = file.lfs.sha256 if file.lfs else file.blob_id
        if file.size is not None and digest:
            stored[file.rfilename] = _Stored(file.rfilename, file.size, digest)
    return stored


class _Download:
    """Gets the files of one commit, and counts the bytes of all of them together."""

    def __init__(self, repository: str, commit: str, stored: Mapping[str, _Stored], report: Report) -> None:
        self.total: int | None = None
        self._repository = repository
        self._commit = commit
        self._stored = stored
        self._report = report
        self._done: dict[str, Path] = {}

    def __call__(self, name: str) -> Path:
        """Return the path of a file in the hub's cache; a damaged one is downloaded once more."""
        if name not in self._done:
            self._done[name] = self._download(name)
            self._tell(name, 0)
        return self._done[name]

    def name_newest(self) -> None:
        """Let the hub's cache remember which revision is the newest: then it can be used without network."""
        hf_hub_download(
            self._repository, "config.json", etag_timeout=_CONNECT_S, tqdm_class=_make_meter(lambda _: None)
        )

    def _download(self, name: str) -> Path:
        file = self._stored[name]
        path = self._get(file, again=False)
        if not has_digest(path, file.digest):
            path = self._get(file, again=True)
        if not has_digest(path, file.digest):
            raise WeightsError("arrived damaged, twice", where=name)
        return path

    def _get(self, file: _Stored, *, again: bool) -> Path:
        self._tell(file.name, 0)
        meter = _make_meter(lambda n_bytes: self._tell(file.name, min(n_bytes, file.size)))
        path = hf_hub_download(
            self._repository,
            file.name,
            revision=self._commit,
            etag_timeout=_CONNECT_S,
            force_download=again,
            tqdm_class=meter,
        )
        return Path(path)

    def _tell(self, name: str, n_bytes: int) -> None:
        n_done = sum(self._stored[done].size for done in self._done)
        self._report(f"downloading {name} from the hub", n_done + n_bytes, self.total)


def _make_meter(count: Callable[[int], None]) -> type[tqdm]:
    """Make a progress bar that draws nothing, as huggingface_hub wants one: a class."""
    n_bytes = 0

    class Meter(tqdm):
        def update(self, n: float | None = 1) -> None:
            nonlocal n_bytes
            n_bytes += int(n or 0)
            count(n_bytes)

        def update_transfer(self, n: float | None = 1) -> None:
            """Bytes on the wire, counted apart from those on disk."""

        def set_transfer_postfix_str(self, text: str = "", *, refresh: bool = True) -> None:
            """Nothing is drawn."""

        def display(self, msg: str | None = None, pos: int | None = None) -> bool:
            del msg, pos
            return True

        def close(self) -> None:
            """Nothing was drawn."""

    return Meter


@contextlib.contextmanager
def _quiet_logging() -> Iterator[None]:
    """Keep huggingface_hub's warnings off stderr: what matters comes back as an error."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


_FOREIGN = "the answer is not the hub's: is there a login page or a proxy in between?"
_MEANINGS: tuple[tuple[type[Exception], str], ...] = (
    (GatedRepoError, "the repository is gated: accept its terms on its page and set HF_TOKEN"),
    (RepositoryNotFoundError, "no such repository, or a private one: then set HF_TOKEN"),
    (RevisionNotFoundError, "the revision that was recorded is gone: 'murmur models rm' forgets it"),
    (json.JSONDecodeError, _FOREIGN),
)


def _explain(error: Exception) -> str:
    for kind, meaning in _MEANINGS:
        if isinstance(error, kind):
            return meaning
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    if isinstance(error, HfHubHTTPError):
        return f"it refuses ({reason})"
    if isinstance(error, OSError) and error.filename:
        return f"its cache cannot be used ({error.filename}: {error.strerror})"
    return f"cannot be reached ({reason})"


def _read_licence(info: ModelInfo) -> str:
    licence = info.card_data.get("license") if info.card_data else None
    return licence if isinstance(licence, str) else "unknown"
