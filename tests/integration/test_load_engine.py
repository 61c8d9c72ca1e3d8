"""From the name of a model to its engine: every kind finds its code, and what cannot run is refused at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_hub import FakeHub, run_fake_hub
from vibevoice_models import write_original_layout, write_transformers_layout

from murmur_cli.cli.app import run
from murmur_cli.errors import DeviceError, ModelUnavailableError, MurmurError, UsageError, WeightsError
from murmur_cli.models import load as load_module
from murmur_cli.models import manifest
from murmur_cli.models.cache import folder_of
from murmur_cli.models.choice import Choice
from murmur_cli.models.load import load_engine
from murmur_cli.models.vibevoice.checkpoint import inspect_checkpoint
from murmur_cli.models.vibevoice.engine import VibeVoiceEngine
from murmur_cli.models.weights import pull_weights
from murmur_cli.options import BatchOptions, ChunkOptions, ModelOptions

HF, ORIGINAL = "microsoft/VibeVoice-ASR-HF", "microsoft/VibeVoice-ASR"
STREAMING = "microsoft/VibeVoice-ASR-Streaming-7B"
SHORT = BatchOptions(chunk=ChunkOptions(max_chunk_s=10.0))


def load(model: str | Path, **options: str | bool) -> tuple[object, list[str]]:
    notes: list[str] = []
    asked = ModelOptions(model=str(model), **{"device": "cpu"} | options)  # type: ignore[arg-type]
    return load_engine(asked, options=SHORT, on_note=notes.append), notes


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_transformers_layout(tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_original_layout(tmp_path_factory.mktemp("original"), shards=2)
    (folder / "tokenizer.json").unlink()  # as it is published
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, saved: Path, original: Path) -> Iterator[FakeHub]:
    """An empty cache, and a hub that has tiny models under the published names."""
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    with run_fake_hub(monkeypatch, tmp_path / "hub") as fake:
        fake.add(HF, saved)
        fake.add(ORIGINAL, original)
        yield fake


def fetched(hub: FakeHub) -> list[str]:
    return [line for line in hub.asked if line.endswith(".safetensors")]


# --- every kind finds its code


def test_a_folder_of_either_layout_is_a_vibevoice(saved: Path, original: Path, tmp_path: Path) -> None:
    engine, notes = load(saved)
    assert isinstance(engine, VibeVoiceEngine)
    assert engine.info.model == str(saved)
    assert engine.info.weights_sha256 == manifest.hash_file(saved / "model.safetensors")
    assert (engine.info.device, engine.info.precision) == ("cpu", "float32")
    assert notes == []
    whole = write_original_layout(tmp_path)
    assert isinstance(load(whole)[0], VibeVoiceEngine)


def test_auto_says_what_it_took_and_why(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "choose_model", lambda _, *, is_live: Choice(str(saved), "it is the best"))
    engine, notes = load("auto")
    assert isinstance(engine, VibeVoiceEngine)
    assert notes == [f"model {saved}: it is the best; --model takes another"]


@pytest.mark.parametrize("name", ["vibevoice-original", ORIGINAL])
def test_the_original_is_pulled_with_the_tokenizer_of_the_other(hub: FakeHub, name: str, saved: Path) -> None:
    weights = pull_weights(name, offline=False)
    assert (weights.folder / "tokenizer.json").read_bytes() == (saved / "tokenizer.json").read_bytes()
    inspect_checkpoint(weights.folder)
    n_asked = len(hub.asked)
    assert pull_weights(name, offline=True) == weights
    assert len(hub.asked) == n_asked


def test_a_tokenizer_of_its_own_is_kept(hub: FakeHub, original: Path) -> None:
    own = b'{"own": true}'
    hub.add(ORIGINAL, original, extra={"tokenizer.json": own})
    folder = pull_weights(ORIGINAL, offline=False).folder
    assert (folder / "tokenizer.json").read_bytes() == own
    assert not any(HF in line for line in hub.asked)


@pytest.mark.parametrize("how", ["no repository", "no tokenizer"])
def test_where_the_tokenizer_is_not_to_be_had_no_weights_are_fetched(hub: FakeHub, how: str, original: Path) -> None:
    del hub.repositories[HF]
    if how == "no tokenizer":
        hub.add(HF, original)
    with pytest.raises(ModelUnavailableError, match="VibeVoice-ASR"):
        pull_weights("vibevoice-original", offline=False)
    assert fetched(hub) == []
    assert not folder_of("vibevoice-original").exists()


# --- what cannot run is refused before anything large is fetched or read


def refuse(kind: type[MurmurError], model: str | Path, **options: str | bool) -> str:
    with pytest.raises(kind) as caught:
        load(model, **options)
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize("name", ["vibevoice-streaming-7b", STREAMING])
def test_a_model_that_only_streams_is_not_fetched(hub: FakeHub, name: str) -> None:
    assert "murmur stream FILE" in refuse(UsageError, name)
    assert hub.asked == []


def test_7b_on_a_cpu_is_not_fetched_unless_forced(hub: FakeHub) -> None:
    assert "13.5 GB are read" in refuse(DeviceError, "vibevoice")
    assert hub.asked == []
    assert isinstance(load("vibevoice", force=True)[0], VibeVoiceEngine)  # a tiny one, here
    assert fetched(hub)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be read whole."""

    def fail(path: Path) -> str:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr("murmur_cli.models.weights.hash_file", fail)


@pytest.mark.usefixtures("unread")
def test_a_folder_is_refused_before_its_weights_are_read(tmp_path: Path, saved: Path, original: Path) -> None:
    assert "tokenizer" in refuse(WeightsError, original)
    streaming = write_original_layout(tmp_path / "s", architecture="VibeVoiceForASRStreamingTraining")
    assert "murmur stream FILE" in refuse(UsageError, streaming)
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (other / "model.safetensors").write_bytes(b"")
    assert "'bert' are not supported" in refuse(UsageError, other)
    (other / "config.json").write_text("{}")
    assert "does not say what model" in refuse(WeightsError, other)


@pytest.mark.usefixtures("unread")
def test_a_large_folder_is_refused_on_a_cpu_with_the_numbers(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmur_cli.models.vibevoice.memory._CPU_BYTES_PER_S", 1000)
    assert "times as long as the audio" in refuse(DeviceError, saved)


@pytest.mark.parametrize(
    ("what", "code"), [("streaming", 2), ("tokenizer", 4), ("shard", 4), ("gpu", 5), ("family", 2), ("memory", 5)]
)
def test_the_command_ends_with_one_line_and_the_right_code_before_audio_is_read(
    tmp_path: Path, what: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    architecture = "VibeVoiceForASRStreamingTraining" if what == "streaming" else "VibeVoiceForASRTraining"
    folder = write_original_layout(tmp_path / "model", shards=2, architecture=architecture)
    if what == "tokenizer":
        (folder / "tokenizer.json").unlink()
    if what == "shard":
        (folder / "model-00001-of-00002.safetensors").unlink()
    if what == "family":
        (folder / "config.json").write_text('{"model_type": "vibevoice", "architectures": ["TheOneThatSpeaks"]}')
    if what == "memory":
        monkeypatch.setattr("murmur_cli.models.vibevoice.memory._USABLE_PERCENT", 0)
    audio = tmp_path / "a.wav"
    audio.write_bytes(b"no audio")
    device = "cuda:99" if what == "gpu" else "cpu"
    assert run(["batch", str(audio), "--model", str(folder), "--device", device]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "a.wav" not in said.err
