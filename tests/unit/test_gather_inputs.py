"""Which inputs a command line means: names, folders, lists."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from murmur_cli.cli.gather import Inputs, gather_inputs
from murmur_cli.cli.outcome import Outcome
from murmur_cli.cli.render import Talk
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.options import InputOptions, OutputOptions, RunOptions
from murmur_cli.transcript.outputs import plan_outputs

AWKWARD = ("spa ce", "new\nline", "-dash", "%03d", "smile😀", "bad\udcffbytes", "x" * 240, "[a]*?")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


class Gathered:
    """What came of it, and what was said."""

    def __init__(self, *named: str, is_pcm: bool = False, **options: object) -> None:
        stream = io.StringIO()
        talk = Talk(Console(file=stream, width=200), RunOptions())
        self.outcome = Outcome(talk, fail_fast=False)
        chosen = InputOptions(**options)  # type: ignore[arg-type]
        self.inputs: Inputs = gather_inputs(named, chosen, is_pcm=is_pcm, talk=talk, outcome=self.outcome)
        self.names = list(self.inputs.names)
        self.said = stream.getvalue()


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


# --- folders


def test_a_folder_stands_for_its_recordings_in_order() -> None:
    touch("d/b.mp3", "d/a.WAV", "d/sub/c.mkv", "d/notes.txt", "d/wav", "d/.hidden.mp3")
    found = Gathered("z.mp3", "d")
    assert found.names == ["z.mp3", "d/a.WAV", "d/b.mp3"]
    assert found.inputs.subfolders == ("", "", "")
    assert found.inputs.are_several
    assert found.outcome.exit_code == ExitCode.OK
    assert found.said.count("\n") == 1
    assert "2 files are skipped" in found.said


def test_recursion_goes_into_folders_but_not_through_links() -> None:
    touch("d/a.mp3", "d/sub/b.mp3", "d/sub/deep/c.mp3", "d/.git/d.mp3", "other/e.mp3", "d/old/f.mp3")
    Path("d/sub/round").symlink_to("..")
    Path("d/link").symlink_to("../other")
    Path("d/sub/linked.mp3").symlink_to("../../other/e.mp3")
    found = Gathered("d", recursive=True, exclude=("old",))
    assert found.names == ["d/a.mp3", "d/sub/b.mp3", "d/sub/linked.mp3", "d/sub/deep/c.mp3"]
    assert found.inputs.subfolders == ("", "sub", "sub", "sub/deep")
    assert found.said == ""


def test_patterns_choose_by_name_or_by_path() -> None:
    touch("d/talk1.mp3", "d/talk2.dat", "d/x.mp3", "d/sub/talk3.mp3", "d/sub/x.mp3")

    def names(*include: str, exclude: tuple[str, ...] = ()) -> list[str]:
        return Gathered("d", recursive=True, include=include, exclude=exclude).names

    assert names("talk*") == ["d/talk1.mp3", "d/talk2.dat", "d/sub/talk3.mp3"]
    assert names("*.dat", "x.*") == ["d/talk2.dat", "d/x.mp3", "d/sub/x.mp3"]
    assert names("sub/*") == ["d/sub/talk3.mp3", "d/sub/x.mp3"]
    assert names(exclude=("x.mp3",)) == ["d/talk1.mp3", "d/sub/talk3.mp3"]
    assert names(exclude=("sub",)) == ["d/talk1.mp3", "d/x.mp3"]
    assert names(exclude=("sub/x*",)) == ["d/talk1.mp3", "d/x.mp3", "d/sub/talk3.mp3"]
    assert "4 files are skipped" in Gathered("d", include=("talk1*",), recursive=True).said
    assert Gathered("named.xyz", include=("talk*",)).names == ["named.xyz"]


def test_without_a_header_other_endings_count() -> None:
    touch("d/a.raw", "d/b.mp3", "d/c.s16le")
    assert Gathered("d", is_pcm=True).names == ["d/a.raw", "d/c.s16le"]


def test_a_folder_without_recordings_fails_and_the_others_go_on() -> None:
    touch("empty/notes.txt", "empty/sub/a.mp3", "d/a.mp3")
    found = Gathered("empty", "d")
    assert found.names == ["d/a.mp3"]
    assert "empty: " in found.said
    assert "--recursive" in found.said
    assert found.outcome.exit_code == ExitCode.ERROR  # nothing is written yet


def test_a_folder_that_cannot_be_read_fails_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    touch("d/a.mp3", "d/locked/b.mp3", "d/open/c.mp3")
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = Gathered("d", recursive=True)
    assert found.names == ["d/a.mp3", "d/open/c.mp3"]
    assert "d/locked: " in found.said
    assert found.said.count("\n") == 1


def test_every_awkward_name_is_found_and_named_apart() -> None:
    touch(*(f"d/{stem}.mp3" for stem in AWKWARD))
    found = Gathered("d")
    assert sorted(found.names) == sorted(f"d/{stem}.mp3" for stem in AWKWARD)
    options = OutputOptions(output="out", format=("srt",))
    plans = plan_outputs(found.names, options, subfolders=found.inputs.subfolders, are_several=True)
    assert {target.path for plan in plans for target in plan.targets} == {Path(f"out/{stem}.srt") for stem in AWKWARD}


# --- lists


@pytest.mark.parametrize(("end", "null"), [("\n", False), ("\0", True)])
def test_a_list_holds_any_name(monkeypatch: pytest.MonkeyPatch, end: str, null: bool) -> None:  # noqa: FBT001
    names = [name for name in (*AWKWARD, " lead", "trail ", "-") if null or "\n" not in name]
    content = b"".join(os.fsencode(name + end) for name in names)
    Path("list").write_bytes(content.removesuffix(end.encode()))  # the last line may have no end
    pipe(monkeypatch, content)
    for source in ("list", "-"):
        found = Gathered("first.mp3", files_from=source, null=null)
        assert found.names == ["first.mp3", *names[:-1], "./-"]
        assert found.inputs.are_several


def test_a_list_may_be_empty_or_name_folders() -> None:
    touch("d/a.mp3")
    Path("list").write_bytes(b"\n\nd\n")
    assert Gathered(files_from="list").names == ["d/a.mp3"]
    Path("list").write_bytes(b"")
    assert Gathered(files_from="list").names == []


def test_what_cannot_be_meant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, b"a.mp3\n")
    for named, files_from, where in (
        ((), None, None),
        (("-",), "-", "--files-from -"),
        ((), "gone.txt", "gone.txt"),
        ((), ".", "."),
    ):
        with pytest.raises(UsageError) as caught:
            Gathered(*named, files_from=files_from)
        assert caught.value.where == where
    for options in ({"null": True}, {"files_from": ""}, {"include": ("",)}, {"exclude": ("a", "")}):
        with pytest.raises(UsageError):
            InputOptions(**options)  # type: ignore[arg-type]


def test_a_terminal_is_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    for named, files_from in ((("-",), None), ((), "-")):
        with pytest.raises(UsageError, match="terminal"):
            Gathered(*named, files_from=files_from)


# --- many


def test_ten_thousand_files_are_found_and_planned_at_once() -> None:
    Path("d").mkdir()
    for i in range(10_000):
        Path(f"d/{i:05}.mp3").touch()
    start = time.process_time()
    found = Gathered("d")
    options = OutputOptions(output="out")
    plans = plan_outputs(found.names, options, subfolders=found.inputs.subfolders, are_several=True)
    assert time.process_time() - start < 3.0  # 0.7 s on a slow core
    assert plans[-1].targets[0].path == Path("out/09999.txt")
