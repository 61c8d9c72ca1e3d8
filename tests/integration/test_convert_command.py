"""``murmur convert``: what it writes where, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from transcript_samples import make_segment, make_transcript, make_words

from murmur_cli.cli.app import run
from murmur_cli.options import FORMATS
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.types import Gap, Speaker, Transcript


def talk(name: str = "talk") -> Transcript:
    return make_transcript(
        [
            make_segment(0.5, 2.0, "Good morning.", speaker="S1", words=make_words("Good morning.", 0.5, 2.0)),
            make_segment(2.5, 4.0, "Hello.", speaker="Ann Lee", words=make_words("Hello.", 2.5, 4.0)),
        ],
        source=f"recordings/{name}.mp3",
    )


def write(path: Path, transcript: Transcript) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(render_transcript(transcript, "json", word_times=True), encoding="utf-8")
    return path


def test_one_format_goes_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "talk.json", talk())
    assert run(["convert", str(path)]) == 0
    assert capsys.readouterr() == ("S1: Good morning.\nAnn Lee: Hello.\n", "")
    assert run(["convert", str(path), "-f", "rttm"]) == 0
    assert capsys.readouterr().out == render_transcript(talk(), "rttm", word_times=True)


def test_every_format_is_what_batch_would_have_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "talk.json", talk())
    assert run(["convert", str(path), "-f", ",".join(FORMATS), "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr() == ("", "")
    written = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "out").iterdir()}
    assert written == {f"talk.{name}": render_transcript(talk(), name, word_times=True) for name in FORMATS}


def test_several_go_beside_their_transcripts(tmp_path: Path) -> None:
    paths = [write(tmp_path / name / f"{name}.json", talk(name)) for name in ("a", "b")]
    assert run(["convert", *map(str, paths), "-f", "stm"]) == 0
    assert [(tmp_path / name / f"{name}.stm").read_text(encoding="utf-8").split()[0] for name in ("a", "b")] == [
        "a",
        "b",
    ]


def test_the_suffix_of_the_output_names_the_format(tmp_path: Path) -> None:
    path = write(tmp_path / "talk.json", talk())
    assert run(["convert", str(path), "-o", str(tmp_path / "x.ass")]) == 0
    assert (tmp_path / "x.ass").read_text(encoding="utf-8").startswith("[Script Info]\n")


def test_word_times_can_be_taken_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "talk.json", talk())
    assert run(["convert", str(path), "-f", "json", "--no-word-times"]) == 0
    assert capsys.readouterr().out == render_transcript(talk(), "json", word_times=False)


def test_speakers_have_other_names_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "talk.json", talk())
    names = ["--speaker-names", "S1=Bob,Ann Lee=Ann"]
    assert run(["convert", str(path), "-f", ",".join(FORMATS), "-o", str(tmp_path / "out"), *names]) == 0
    assert capsys.readouterr() == ("", "")
    segments = tuple(
        replace(segment, speaker=Speaker(name)) for segment, name in zip(talk().segments, ("Bob", "Ann"), strict=True)
    )
    renamed = replace(talk(), segments=segments)
    for name in FORMATS:
        written = (tmp_path / "out" / f"talk.{name}").read_text(encoding="utf-8")
        assert written == render_transcript(renamed, name, word_times=True)
        assert ("Bob" in written) == (name != "ctm")


def test_a_name_for_nobody_is_said_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "talk.json", talk())
    assert run(["convert", str(path), "--speaker-names", "S1=Bob,S7=Cid"]) == 0
    said = capsys.readouterr()
    assert said.out == "Bob: Good morning.\nAnn Lee: Hello.\n"
    (line,) = said.err.splitlines()
    assert [part in line for part in (str(path), "S7", "S1")] == [True, True, False]


def test_speakers_are_left_out_of_every_format_that_can_do_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "talk.json", talk())
    formats = [name for name in FORMATS if name != "rttm"]
    assert run(["convert", str(path), "-f", ",".join(formats), "-o", str(tmp_path / "out"), "--no-speakers"]) == 0
    assert capsys.readouterr() == ("", "")
    for name in formats:
        written = (tmp_path / "out" / f"talk.{name}").read_text(encoding="utf-8")
        assert "Good morning." in written.replace("\n", " ") or name == "ctm"
        assert [label in written for label in ("S1", "Ann")] == [False, False]
    assert run(["convert", str(path), "-f", "rttm", "--no-speakers"]) == 2
    assert run(["convert", str(path), "-o", str(tmp_path / "x.rttm"), "--no-speakers"]) == 2
    assert not (tmp_path / "x.rttm").exists()
    assert [line.startswith("murmur: --no-speakers: ") for line in capsys.readouterr().err.splitlines()] == [True] * 2


def test_a_bad_one_among_good_ones_is_named_and_the_others_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = write(tmp_path / "good.json", talk()), tmp_path / "bad.json"
    bad.write_text("{}", encoding="utf-8")
    assert run(["convert", str(bad), str(good), "-f", "srt"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith(f"murmur: {bad}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "good.json", "good.srt"]
    assert run(["convert", str(bad)]) == 1


def test_nothing_is_replaced_unasked_and_never_the_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "talk.json", talk())
    before = path.read_bytes()
    assert run(["convert", str(path), "-f", "srt,vtt"]) == 0
    assert run(["convert", str(path), "-f", "srt,vtt"]) == 2
    assert run(["convert", str(path), "-f", "srt,vtt", "--overwrite"]) == 0
    assert run(["convert", str(path), "-f", "json,vtt", "--overwrite"]) == 2
    assert path.read_bytes() == before
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_what_a_transcript_lacks_is_said_but_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = make_transcript(gaps=[Gap(1.0, 2.0, "the model repeated itself")], damage="decoded 60 s of 90 s")
    path = write(tmp_path / "talk.json", damaged)
    assert run(["convert", str(path), "-f", "vtt"]) == 0
    said = capsys.readouterr()
    assert said.out == "WEBVTT\n"
    assert ["decoded 60 s" in said.err, "from 1.0 s to 2.0 s" in said.err] == [True, True]
    assert run(["convert", str(path), "-f", "vtt", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("arguments", [["convert"], ["convert", "x.json", "-f", "docx"], ["convert", "x.json", "--no"]])
def test_a_wrong_call_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().out == ""


def test_stdin_is_read_and_no_model_is_loaded(run_murmur: Callable[..., object], tmp_path: Path) -> None:
    content = render_transcript(talk(), "json", word_times=True).encode()
    done = run_murmur("convert", "-", "-f", "stm", stdin=content, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert (done.code, done.stdout.decode()) == (0, render_transcript(talk(), "stm", word_times=True))  # type: ignore[attr-defined]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}  # type: ignore[attr-defined]
    assert "murmur_cli.transcript.read" in imported
    assert imported.isdisjoint({"torch", "transformers", "pyannote"})
