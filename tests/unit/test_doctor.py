"""``murmur doctor``: what it finds, what it says of what is broken, and that nothing makes it crash."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from murmur_cli.cli import checkup
from murmur_cli.cli.app import run
from murmur_cli.cli.checkup import CHECKS, Check, Finding, find_all
from murmur_cli.errors import DeviceError, MurmurError
from murmur_cli.models.machine import describe_gpus, try_device

LOOKS = {check.name: check.look for check in CHECKS}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def _find(name: str) -> Finding:
    (finding,) = find_all([check for check in CHECKS if check.name == name])
    return finding


# --- the whole


def test_a_machine_that_works_gives_0_and_a_line_for_each_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    *lines, verdict = said.out.splitlines()
    rows = [line.split(maxsplit=1) for line in lines]
    assert [text.partition(":")[0] for _, text in rows] == [*LOOKS, "settings"]
    assert {state for state, _ in rows} <= {"ok", "problem"}
    assert "works here" in verdict


def test_json_says_the_same(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise MurmurError("broken", where="it", hint="mend it")

    monkeypatch.setattr(checkup, "CHECKS", (Check("a", lambda: "fine"), Check("b", fail), Check("c", fail, False)))
    assert run(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["works"] is False
    assert told["checks"][:3] == [
        {"name": "a", "found": "fine", "advice": None, "is_needed": True, "is_ok": True},
        {"name": "b", "found": "it: broken", "advice": "mend it", "is_needed": True, "is_ok": False},
        {"name": "c", "found": "it: broken", "advice": "mend it", "is_needed": False, "is_ok": False},
    ]


@pytest.mark.parametrize(("is_needed", "code"), [(True, 1), (False, 0)])
def test_only_what_the_default_command_needs_decides_the_code(
    code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_needed: bool
) -> None:
    def fail() -> str:
        raise MurmurError("broken\nin two", hint="mend it")

    monkeypatch.setattr(checkup, "CHECKS", (Check("heart", fail, is_needed),))
    assert run(["doctor"]) == code
    first, *_, verdict = capsys.readouterr().out.splitlines()
    assert first == "problem  heart: broken\\nin two; mend it"
    assert ("heart" in verdict) == is_needed


@pytest.mark.parametrize(
    "fault",
    [
        ImportError("x"),
        OSError("lib.so: no"),
        RuntimeError("x"),
        ValueError("x"),
        TypeError("x"),
        AttributeError("x"),
        KeyError("x"),
        AssertionError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
    ],
)
def test_whatever_a_library_raises_is_a_line_and_the_other_checks_are_made(fault: Exception) -> None:
    def fail() -> str:
        raise fault

    first, second = find_all([Check("a", fail), Check("b", lambda: "fine")])
    assert first.is_fatal
    assert type(fault).__name__ in first.found
    assert first.advice
    assert second.is_ok


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("murmur_cli.models.machine", ["torch", "device", "gpus"]),
        ("murmur_cli.audio.codecs", ["codecs"]),
        ("murmur_cli.models.silero", ["speech"]),
        ("murmur_cli.models.whisper.engine", ["recogniser"]),
        ("murmur_cli.models.choice", ["model"]),
        ("murmur_cli.models.cache", ["model", "weights", "cache"]),
        ("sounddevice", ["microphones"]),
    ],
)
def test_what_cannot_be_loaded_is_the_problem_of_its_own_checks(
    module: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    if parent := sys.modules.get(module.rpartition(".")[0]):
        monkeypatch.delattr(parent, module.rpartition(".")[2], raising=False)
    assert [name for name in names if _find(name).is_ok] == []
    assert _find("python").is_ok


# --- single checks


def test_weights_that_are_not_here_are_no_problem_where_they_can_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    finding = _find("model")
    assert finding.is_ok
    assert "the first run fetches it" in finding.found
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    finding = _find("model")
    assert finding.is_fatal
    assert "murmur models pull" in (finding.advice or "")


def test_damaged_weights_are_said_with_what_mends_them(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "models" / "whisper-base"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "murmur.json").write_text("{broken")
    finding = _find("weights")
    assert not finding.is_ok
    assert "whisper-base" in finding.found
    assert "murmur models pull whisper-base" in (finding.advice or "")


@pytest.mark.parametrize(
    ("name", "variable"), [("cache", "MURMUR_CACHE_DIR"), ("journals", "XDG_STATE_HOME"), ("model", "MURMUR_CACHE_DIR")]
)
def test_a_place_that_cannot_be_a_folder_is_said_with_what_to_change(
    name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _find(name).is_ok
    (tmp_path / "file").touch()
    monkeypatch.setenv(variable, str(tmp_path / "file" / "below"))
    finding = _find(name)
    assert not finding.is_ok
    assert variable in (finding.advice or "")


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "_LEAST_FREE", 10**18)
    assert "less than" in _find("temporary files").found
    assert _find("temporary files").is_fatal
    assert not _find("cache").is_ok


def test_nothing_is_written(tmp_path: Path) -> None:
    list(find_all(CHECKS))
    assert list(tmp_path.iterdir()) == []


def test_a_driver_that_torch_cannot_use_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "none" in describe_gpus(driver=tmp_path / "absent")
    (tmp_path / "version").touch()
    with pytest.raises(DeviceError, match="NVIDIA driver"):
        describe_gpus(driver=tmp_path / "version")


def test_a_device_that_does_not_compute_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert "of memory free" in try_device()

    def fail(*sizes: int, device: torch.device) -> torch.Tensor:
        raise RuntimeError("CUDA error: no kernel image is available\nand much more")

    monkeypatch.setattr(torch, "ones", fail)
    with pytest.raises(DeviceError, match=r"no kernel image is available; give --device cpu"):
        try_device()


def test_a_codec_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import av

    monkeypatch.setattr(av, "codecs_available", av.codecs_available - {"aac", "opus"})
    assert "cannot read aac, opus" in _find("codecs").found


# --- settings


def test_settings_that_are_wrong_are_a_problem_and_not_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "CHECKS", ())
    (tmp_path / "murmur.toml").write_text("[batch]\nmodle = 'x'\n")
    assert run(["doctor"]) == 1
    line, verdict = capsys.readouterr().out.splitlines()
    assert line.startswith("problem  settings: ./murmur.toml: batch.modle: ")
    assert "did you mean batch.model?" in line
    assert "settings" in verdict
    assert run(["doctor", "--config"]) == 2


def test_config_prints_each_value_and_its_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MURMUR_STREAM_STEP", "2")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    (tmp_path / "config" / "murmur").mkdir(parents=True)
    (tmp_path / "config" / "murmur" / "config.toml").write_text('[batch]\nmodel = "m"\ndevice = "cpu"\n')
    (tmp_path / "murmur.toml").write_text('[batch]\nformat = ["srt"]\nmodel = "n"\n')
    assert run(["doctor", "--config"]) == 0
    said = capsys.readouterr().out
    assert "hf_secret" not in said
    lines = said.splitlines()
    for line in (
        'batch.model = "n"  (./murmur.toml)',
        'batch.format = ["srt"]  (./murmur.toml)',
        f'batch.device = "cpu"  ({tmp_path}/config/murmur/config.toml)',
        "batch.language = not given  (default)",
        "stream.step = 2.0  (MURMUR_STREAM_STEP)",
        "bias.compile.strict = false  (default)",
    ):
        assert line in lines
    assert run(["doctor", "--config", "--json"]) == 0
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert len(told) == len(lines)
    assert told["batch.model"] == {"name": "batch.model", "value": "n", "origin": "./murmur.toml"}
