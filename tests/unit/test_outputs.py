"""Where transcripts go, and that they get there whole."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from transcript_samples import make_segment, make_transcript

from murmur_cli.errors import OutputError, UsageError
from murmur_cli.options import FORMATS, OutputOptions
from murmur_cli.transcript.outputs import (
    OutputPlan,
    OutputTarget,
    plan_outputs,
    write_outputs,
)
from murmur_cli.transcript.places import Places
from murmur_cli.transcript.writing import write_text_atomically


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names: str) -> list[str]:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return list(names)


def plan(inputs: list[str], *formats: str, output: str | None = None, overwrite: bool = False) -> list[str]:
    """Every planned ``format path`` in order, with ``-`` for stdout."""
    options = OutputOptions(format=formats, output=output, overwrite=overwrite)
    plans = plan_outputs(inputs, options)
    assert [made.source for made in plans] == inputs
    return [f"{target.format_name} {target.path or '-'}" for made in plans for target in made.targets]


def refusal(inputs: list[str], *formats: str, output: str | None = None, overwrite: bool = False) -> str:
    before = sorted(Path().rglob("*"))
    with pytest.raises(UsageError) as caught:
        plan(inputs, *formats, output=output, overwrite=overwrite)
    assert sorted(Path().rglob("*")) == before  # refused before anything was made
    return str(caught.value)


# --- plans


def test_formats_of_speakers_alone_are_refused_without_speakers() -> None:
    for formats, output in ((("rttm",), None), (("srt", "rttm"), "out"), ((), "turns.rttm")):
        options = OutputOptions(format=formats, output=output, no_speakers=True)
        with pytest.raises(UsageError) as caught:
            plan_outputs(touch("a.wav"), options)
        assert caught.value.where == "--no-speakers"
        assert [path.name for path in Path().iterdir()] == ["a.wav"]
    others = tuple(name for name in FORMATS if name != "rttm")
    (made,) = plan_outputs(["a.wav"], OutputOptions(format=others, no_speakers=True))
    assert len(made.targets) == len(others)


def test_one_input_in_one_format_goes_to_stdout() -> None:
    inputs = touch("a.wav")
    assert plan(inputs) == ["txt -"]
    assert plan(inputs, "json") == ["json -"]
    assert plan(inputs, "srt", "srt") == ["srt -"]
    assert plan(["-"]) == ["txt -"]


def test_several_inputs_or_formats_go_beside_the_inputs() -> None:
    assert plan(touch("x/a.b.wav", "y/c.mp3")) == ["txt x/a.b.txt", "txt y/c.txt"]
    assert plan(touch("x/a.b.wav"), "srt", "json") == ["srt x/a.b.srt", "json x/a.b.json"]
    assert plan(["-"], "srt", "json") == ["srt stdin.srt", "json stdin.json"]


def test_output_can_be_a_folder() -> None:
    inputs = touch("x/a.wav", "y/b.wav")
    Path("there").mkdir()
    assert plan(inputs[:1], output="there") == ["txt there/a.txt"]
    assert plan(inputs[:1], output="new/") == ["txt new/a.txt"]
    assert plan(inputs, "srt", output="deep/er") == ["srt deep/er/a.srt", "srt deep/er/b.srt"]
    assert plan(inputs[:1], "srt", "vtt", output="both") == ["srt both/a.srt", "vtt both/a.vtt"]
    assert all(Path(name).is_dir() for name in ("new", "deep/er", "both"))


def test_output_can_be_a_file_whose_suffix_says_the_format() -> None:
    inputs = touch("a.wav")
    assert plan(inputs, output="o.srt") == ["srt o.srt"]
    assert plan(inputs, output="o.JSON") == ["json o.JSON"]
    assert plan(inputs, "vtt", output="o.srt") == ["vtt o.srt"]
    assert plan(inputs, output="notes.md") == ["txt notes.md"]
    assert plan(inputs, output="notes") == ["txt notes"]
    assert not Path("notes").exists()


def test_output_can_be_stdout() -> None:
    inputs = touch("a.wav", "b.wav")
    assert plan(inputs[:1], "srt", output="-") == ["srt -"]
    assert plan(inputs, output="-") == ["txt -", "txt -"]
    assert plan(inputs, "jsonl", output="-") == ["jsonl -", "jsonl -"]
    assert not Path("-").exists()
    assert "srt" in refusal(inputs, "srt", output="-")
    assert "one format" in refusal(inputs[:1], "srt", "txt", output="-")


def test_two_inputs_never_write_the_same_file() -> None:
    assert "a.txt" in refusal(touch("a.wav", "a.mp3"))
    assert "out/a.txt" in refusal(touch("x/a.wav", "y/a.wav"), output="out")
    assert plan(touch("x/a.wav", "y/a.wav")) == ["txt x/a.txt", "txt y/a.txt"]
    Path("z").symlink_to("x")
    assert "a.txt" in refusal(["x/a.wav", *touch("z/a.mp3")])


@pytest.mark.parametrize("twice", [["a.wav", "a.wav"], ["a.wav", "./a.wav"], ["a.wav", "x/../a.wav"], ["-", "-"]])
@pytest.mark.parametrize("output", [None, "-", "out/"])
def test_an_input_given_twice_is_refused(twice: list[str], output: str | None) -> None:
    touch("a.wav", "x/b.wav")
    assert "twice" in refusal(twice, output=output)


def test_an_input_is_never_replaced() -> None:
    assert "a.txt" in refusal(touch("a.txt"), "txt", "srt", overwrite=True)
    assert "a.wav" in refusal(["a.wav"], output=touch("a.wav")[0], overwrite=True)
    Path("link.txt").symlink_to("a.wav")
    assert "a.wav" in refusal(["a.wav"], output="link.txt", overwrite=True)
    assert "b.txt" in refusal(touch("b.wav", "b.txt"), overwrite=True)


def test_places_are_where_names_lead() -> None:
    touch("x/y/a.wav", "b.wav")
    for link, target in (("x/l", "y"), ("l.wav", "x/y/a.wav"), ("x/y/up", ".."), ("far", "x/l"), ("gone.wav", "no")):
        Path(link).symlink_to(target)
    Path("loop").symlink_to("loop")
    names = ("a.wav", "l.wav", "y", "up", "..", ".", "l", "gone.wav", "loop", "b.wav")
    paths = [
        f"{folder}{name}"
        for folder in ("", "./", "x/", "x/l/", "far/", "far/up/", "no/where/", "x/../")
        for name in names
    ]
    places = Places()
    for path in (*paths, str(Path("x/l/a.wav").absolute()), "/", "x//l//a.wav", ""):
        assert places.find(path) == os.path.realpath(path), path


def test_an_existing_output_needs_overwrite() -> None:
    touch("a.wav", "a.srt", "out.txt")
    said = refusal(["a.wav"], "srt", "vtt")
    assert "a.srt" in said
    assert "--overwrite" in said
    assert plan(["a.wav"], "srt", "vtt", overwrite=True) == ["srt a.srt", "vtt a.vtt"]
    assert "--overwrite" in refusal(["a.wav"], output="out.txt")
    assert plan(["a.wav"], output="out.txt", overwrite=True) == ["txt out.txt"]


def test_only_ordinary_files_are_replaced() -> None:
    touch("a.wav")
    os.mkfifo("pipe")
    Path("a.srt").mkdir()
    assert "--output -" in refusal(["a.wav"], output="pipe", overwrite=True)
    assert "ordinary" in refusal(["a.wav"], output="/dev/null", overwrite=True)
    assert "a.srt" in refusal(["a.wav"], "srt", "vtt", overwrite=True)


def test_folders_are_checked_before_any_work() -> None:
    touch("a.wav", "b.wav", "file")
    assert "nowhere" in refusal(["a.wav"], output="nowhere/o.srt")
    assert "file" in refusal(["a.wav", "b.wav"], output="file")
    assert "file/deeper" in refusal(["a.wav", "b.wav"], output="file/deeper")
    assert "--output" in refusal(["a.wav"], output="")


def test_a_folder_that_cannot_be_written_to_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    touch("x/a.wav", "y/b.wav")
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path("y") and real(path, mode))
    assert refusal(["x/a.wav", "y/b.wav"]).startswith("y: ")
    assert refusal(["x/a.wav"], output="y/o.txt").startswith("y: ")
    assert plan(["x/a.wav"], "srt", "vtt") == ["srt x/a.srt", "vtt x/a.vtt"]


def named(source: str, template: str, *formats: str, output: str | None = None) -> list[str]:
    options = OutputOptions(format=formats, output=output, output_template=template)
    (made,) = plan_outputs(touch(source), options)
    return [str(target.path) for target in made.targets]


def test_a_template_makes_the_names() -> None:
    assert named("x/a.b.wav", "{stem}.{ext}") == ["x/a.b.txt"]
    assert named("x/a.wav", "{name}.{ext}", "srt", "vtt", output="out") == ["out/a.wav.srt", "out/a.wav.vtt"]
    assert named("x/a.wav", "{ext}/{dir}-{n}.{{{ext}}}", output="out") == ["out/txt/x-1.{txt}"]
    assert Path("out/txt").is_dir()
    assert named("x/a.wav", "subs/{stem}.{ext}", "srt") == ["x/subs/a.srt"]
    assert named("x/{ext} %s.wav", "{stem}") == ["x/{ext} %s"]  # what a field holds is no field
    assert named("c.wav", "{dir}.{ext}") == [f"{Path.cwd().name}.txt"]
    (made,) = plan_outputs(["-"], OutputOptions(output_template="{name}-{stem}.{ext}"))
    assert str(made.targets[0].path) == "stdin-stdin.txt"


def test_a_template_keeps_recordings_of_one_name_apart() -> None:
    inputs = touch("a.wav", "a.mp3")
    plans = plan_outputs(inputs, OutputOptions(output_template="{name}.{ext}"))
    assert [str(made.targets[0].path) for made in plans] == ["a.wav.txt", "a.mp3.txt"]
    assert "--output-template" in refusal(inputs)


def test_a_template_that_names_one_file_for_two_is_refused() -> None:
    for inputs, template in ((["a.wav", "b.wav"], "all.{ext}"), (["a.wav"], "{stem}")):
        options = OutputOptions(format=("srt", "vtt"), output_template=template)
        with pytest.raises(UsageError, match="same file"):
            plan_outputs(touch(*inputs), options)
    with pytest.raises(UsageError, match="replace this input"):
        plan_outputs(["a.wav"], OutputOptions(output_template="{name}", overwrite=True))


@pytest.mark.parametrize(
    "template", ["", "/x/{stem}", "{stem}/", "{nope}.{ext}", "{stem", "stem}", "{}", "{n:5}", ".."]
)
def test_a_template_that_names_no_file_is_refused(template: str) -> None:
    with pytest.raises(UsageError) as caught:
        OutputOptions(output_template=template)
    assert caught.value.where == "--output-template"


def test_a_template_and_stdout_are_at_odds() -> None:
    with pytest.raises(UsageError):
        OutputOptions(output="-", output_template="{stem}.{ext}")


def test_trees_are_made_again_below_the_output_folder() -> None:
    inputs = touch("in/a.wav", "in/x/b.wav", "in/x/y/b.wav")
    options = OutputOptions(output="out")
    plans = plan_outputs(inputs, options, subfolders=("", "x", "x/y"), are_several=True)
    assert [str(made.targets[0].path) for made in plans] == ["out/a.txt", "out/x/b.txt", "out/x/y/b.txt"]
    assert Path("out/x/y").is_dir()
    beside = plan_outputs(inputs, OutputOptions(), subfolders=("", "x", "x/y"), are_several=True)
    assert [str(made.targets[0].path) for made in beside] == ["in/a.txt", "in/x/b.txt", "in/x/y/b.txt"]


def test_one_recording_that_was_found_is_treated_like_many() -> None:
    touch("in/a.wav")
    (made,) = plan_outputs(["in/a.wav"], OutputOptions(output="out"), subfolders=("",), are_several=True)
    assert str(made.targets[0].path) == "out/a.txt"
    (made,) = plan_outputs(["in/a.wav"], OutputOptions(), are_several=True)
    assert str(made.targets[0].path) == "in/a.txt"
    (made,) = plan_outputs(["in/a.wav"], OutputOptions(output="-"), are_several=True)
    assert made.targets[0].path is None


def test_a_missing_input_is_left_to_be_reported_when_it_is_opened() -> None:
    assert plan([*touch("a.wav"), "gone/b.wav"]) == ["txt a.txt", "txt gone/b.txt"]


@pytest.mark.parametrize(
    "stem", ["spa ce", "new\nline", "-dash", "%03d", "smile😀", "bad\udcffbytes", ".hidden", "x" * 240]
)
def test_any_file_name_round_trips(stem: str) -> None:
    inputs = touch(f"in/{stem}.wav")
    options = OutputOptions(format=("srt", "json"), output=None)
    (made,) = plan_outputs(inputs, options)
    write_outputs(make_transcript([make_segment(0.0, 1.0, "x")]), made, word_times=True)
    written = {os.fsencode(path.name) for path in Path("in").iterdir()}
    assert written == {os.fsencode(f"{stem}.{ext}") for ext in ("wav", "srt", "json")}


def test_a_name_that_is_too_long_is_refused() -> None:
    stem = "é" * 125  # 250 bytes: fine with .wav, one too many with .jsonl
    assert "256 bytes" in refusal(touch(f"{stem}.wav"), "jsonl", "txt")
    assert plan([f"{stem}.wav"], "json", "txt")
    assert "256 bytes" in refusal([f"{stem}.wav"], output="o" * 256)


def test_ten_thousand_inputs_are_planned_at_once() -> None:
    inputs = [f"gone/{i}.wav" for i in range(10_000)]
    assert plan(inputs)[-1] == "txt gone/9999.txt"


# --- writing


def test_files_are_utf8_with_unix_lines() -> None:
    write_text_atomically(Path("a.txt"), "東京\nb\n")
    assert Path("a.txt").read_bytes() == "東京\nb\n".encode()
    write_text_atomically(Path("a.txt"), "")
    assert Path("a.txt").read_bytes() == b""


@pytest.fixture
def set_umask() -> Iterator[Callable[[int], None]]:
    before = os.umask(0)
    yield lambda mask: os.umask(mask) and None
    os.umask(before)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_mode_that_the_umask_says(set_umask: Callable[[int], None], mask: int, mode: int) -> None:
    set_umask(mask)
    write_text_atomically(Path("a.txt"), "x")
    assert stat.S_IMODE(Path("a.txt").stat().st_mode) == mode


def test_a_symbolic_link_stays_one() -> None:
    Path("real").mkdir()
    Path("link.txt").symlink_to("real/a.txt")
    write_text_atomically(Path("link.txt"), "new")
    assert Path("link.txt").is_symlink()
    assert Path("real/a.txt").read_text() == "new"
    assert sorted(path.name for path in Path("real").iterdir()) == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, step: str, failure: BaseException
) -> None:
    write_text_atomically(Path("a.txt"), "old")

    def fail(*args: object, **options: object) -> None:
        raise failure

    with monkeypatch.context() as patched:
        if step == "fsync":
            patched.setattr(os, "fsync", fail)
        elif step == "replace":
            patched.setattr(Path, "replace", fail)
        else:
            patched.setattr(Path, "open", fail)
        with pytest.raises((OutputError, KeyboardInterrupt)):
            write_text_atomically(Path("a.txt"), "new")
    assert Path("a.txt").read_text() == "old"
    assert [str(path) for path in Path().iterdir()] == ["a.txt"]


def test_the_file_is_on_the_disk_before_it_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def note_sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("folder" if is_folder else f"file of {os.fstat(descriptor).st_size}")
        sync(descriptor)

    def note_replace(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_replace)
    write_text_atomically(Path("a.txt"), "12345")
    assert steps == ["file of 5", "rename", "folder"]


def test_a_folder_that_is_gone_is_said(folder: Path) -> None:
    with pytest.raises(OutputError) as caught:
        write_text_atomically(folder / "gone" / "a.txt", "x")
    assert caught.value.where == str(folder / "gone" / "a.txt")
    assert "folder" in (caught.value.hint or "")


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputError) as caught:
        write_text_atomically(Path("a.txt"), "x")
    assert "no space" in caught.value.problem
    assert "space" in (caught.value.hint or "")
    assert isinstance(caught.value.__cause__, OSError)


def test_outputs_go_to_stdout_and_to_files(capsys: pytest.CaptureFixture[str]) -> None:
    transcript = make_transcript([make_segment(0.0, 1.0, "東京")])
    targets = (OutputTarget("txt", None), OutputTarget("tsv", Path("a.tsv")))
    write_outputs(transcript, OutputPlan("a.wav", targets), word_times=True)
    assert capsys.readouterr().out == "東京\n"
    assert Path("a.tsv").read_text(encoding="utf-8").endswith("\t東京\n")


class Refusing:
    """A stream that takes nothing."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        raise self._error


def test_a_full_stdout_is_said_and_a_closed_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    to_stdout = OutputPlan("a.wav", (OutputTarget("txt", None),))
    monkeypatch.setattr(sys, "stdout", Refusing(OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OutputError) as caught:
        write_outputs(make_transcript(), to_stdout, word_times=True)
    assert caught.value.where == "stdout"
    monkeypatch.setattr(sys, "stdout", Refusing(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    with pytest.raises(BrokenPipeError):
        write_outputs(make_transcript(), to_stdout, word_times=True)


def test_planning_is_light_to_import() -> None:
    code = "import sys, murmur_cli.transcript.outputs; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "pysubs2", "scipy", "av", "soundfile"} & set(loaded)
