"""Scores: golden values, sums over recordings, and what cannot be compared."""

from __future__ import annotations

import builtins
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from transcript_samples import make_segment, make_transcript

from murmur_cli.errors import MurmurError, TranscriptError, UsageError
from murmur_cli.options import METRICS, ScoreOptions
from murmur_cli.score import Figure, Score, score_files
from murmur_cli.score.annotations import Utterance, load_annotations
from murmur_cli.score.counts import SpeakerErrors, WordErrors
from murmur_cli.score.normalize import load_normalizer
from murmur_cli.score.report import render_json, render_table
from murmur_cli.score.turns import count_speaker_errors
from murmur_cli.score.words import WORD_METRICS, find_obstacle, load_word_metric
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.types import Speaker, Transcript

RAW = ScoreOptions(normalizer="none")


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def by_metric(score: Score) -> dict[tuple[str, float | None], Figure]:
    return {(figure.metric, figure.collar_s): figure for figure in score.figures}


def say(speaker: str, start: float, end: float, text: str = "") -> Utterance:
    return Utterance(start, end, Speaker(speaker), text)


# --- golden values, from meeteval's own example files


@pytest.mark.data
@pytest.mark.parametrize("kind", ["stm", "seglst.json"])
def test_word_errors_are_the_golden_ones(kind: str, data_dir: Path) -> None:
    refs = data_dir / "metric_refs"
    options = ScoreOptions(metric=WORD_METRICS, normalizer="none")
    found = by_metric(score_files(refs / f"ref.{kind}", refs / f"hyp.{kind}", options))
    assert found["cpwer", None].errors == WordErrors(length=92, insertions=8, deletions=15, substitutions=2)
    assert found["tcpwer", 5.0].errors == found["cpwer", None].errors
    assert (found["orcwer", None].errors.errors, found["orcwer", None].errors.length) == (9, 92)
    assert (found["wer", None].errors.errors, found["wer", None].errors.length) == (9, 92)


@pytest.mark.data
def test_speaker_errors_are_the_golden_ones(data_dir: Path) -> None:
    refs = data_dir / "metric_refs"
    found = by_metric(score_files(refs / "ref.rttm", refs / "hyp.rttm", ScoreOptions()))
    assert set(found) == {("der", 0.25), ("der", 0.0)}
    assert found["der", 0.0].errors.rate == pytest.approx(0.54, abs=1e-9)
    assert found["der", 0.25].errors.rate == pytest.approx(0.60, abs=1e-9)


# --- words


def _edit(reference: Sequence[str], hypothesis: Sequence[str]) -> int:
    """The plain edit distance, by its table."""
    row = list(range(len(hypothesis) + 1))
    for i, word in enumerate(reference, start=1):
        before, row = row, [i] + [0] * len(hypothesis)
        for j, other in enumerate(hypothesis, start=1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other))
    return row[-1]


def _words_of(utterances: Sequence[Utterance], speaker: str | None) -> list[str]:
    mine = [u for u in utterances if u.speaker == speaker]
    return [word for u in sorted(mine, key=lambda u: u.start) for word in u.text.split()]


def _cpwer_by_trial(reference: Sequence[Utterance], hypothesis: Sequence[Utterance]) -> int:
    """The best of all pairings of speakers, each tried."""
    theirs, ours = (sorted({str(u.speaker) for u in side}) for side in (reference, hypothesis))
    size = max(len(theirs), len(ours))
    refs: list[str | None] = [*theirs, *[None] * (size - len(theirs))]
    hyps: list[str | None] = [*ours, *[None] * (size - len(ours))]
    return min(
        sum(_edit(_words_of(reference, r), _words_of(hypothesis, h)) for r, h in zip(refs, order, strict=True))
        for order in itertools.permutations(hyps)
    )


def _orcwer_by_trial(reference: Sequence[Utterance], hypothesis: Sequence[Utterance]) -> int:
    """The best of all ways to give each utterance of the reference to a speaker of the hypothesis."""
    ours = sorted({str(u.speaker) for u in hypothesis}) or ["nobody"]
    in_order = sorted(reference, key=lambda u: u.start)
    return min(
        sum(
            _edit(
                [
                    word
                    for u, taker in zip(in_order, takers, strict=True)
                    if taker == speaker
                    for word in u.text.split()
                ],
                _words_of(hypothesis, speaker),
            )
            for speaker in ours
        )
        for takers in itertools.product(ours, repeat=len(in_order))
    )


def _made_up(seed: int, *, n_speakers: int) -> list[Utterance]:
    source = random.Random(seed)
    return [
        say(f"s{source.randrange(n_speakers)}", i, i + 1.5, " ".join(source.choices("abc", k=source.randrange(4))))
        for i in range(source.randrange(6))
    ]


@pytest.mark.parametrize("seed", range(30))
def test_errors_are_those_of_trying_everything(seed: int) -> None:
    reference = _made_up(seed, n_speakers=3)
    hypothesis = _made_up(seed + 1000, n_speakers=1 + seed % 3)
    found = {metric: load_word_metric(metric, collar_s=100.0)(reference, hypothesis) for metric in WORD_METRICS}
    texts = [" ".join(u.text for u in side).split() for side in (reference, hypothesis)]
    assert found["wer"].errors == _edit(*texts)
    assert found["cpwer"].errors == _cpwer_by_trial(reference, hypothesis)
    assert found["tcpwer"].errors == found["cpwer"].errors  # with a collar longer than all
    assert found["orcwer"].errors == _orcwer_by_trial(reference, hypothesis)
    assert {errors.length for errors in found.values()} == {len(texts[0])}


@pytest.mark.parametrize("metric", WORD_METRICS)
def test_nothing_said_and_nothing_heard_are_counted(metric: str) -> None:
    count = load_word_metric(metric, collar_s=5.0)
    said = [say("A", 0, 1, "a b c")]
    assert count(said, []) == WordErrors(length=3, deletions=3)
    assert count([], said) == WordErrors(insertions=3)
    assert count([], []) == WordErrors()
    assert count([], []).rate is None


def test_tcpwer_takes_a_word_at_another_time_for_another_word() -> None:
    reference, hypothesis = [say("A", 0, 1, "yes")], [say("A", 9, 10, "yes")]
    assert load_word_metric("tcpwer", collar_s=5.0)(reference, hypothesis).errors == 2
    assert load_word_metric("tcpwer", collar_s=10.0)(reference, hypothesis).errors == 0
    assert load_word_metric("cpwer", collar_s=5.0)(reference, hypothesis).errors == 0


@pytest.mark.parametrize("metric", WORD_METRICS)
def test_utterances_are_compared_in_order_of_time(metric: str) -> None:
    said = [say("A", i, i + 1, word) for i, word in enumerate("abcdefgh")]
    assert load_word_metric(metric, collar_s=5.0)(said, said[::-1]).errors == 0


def test_long_and_overlapping_segments_raise_no_warnings(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    reference = [say("A", 0, 60, "a b c d"), say("A", 1, 5, "e f"), say("A", 2, 3, "g")]
    assert load_word_metric("tcpwer", collar_s=5.0)(reference, reference).errors == 0
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_what_cannot_be_had_has_a_reason() -> None:
    crowd = [say(f"s{i}", i, i + 1, "word") for i in range(21)]
    assert find_obstacle("cpwer", crowd[:20], crowd[:20]) is None
    assert "21 speakers" in str(find_obstacle("cpwer", crowd, crowd[:2]))
    assert "21 speakers" in str(find_obstacle("tcpwer", crowd[:2], crowd))
    assert find_obstacle("wer", crowd, crowd) is None
    assert find_obstacle("orcwer", crowd, crowd[:10]) is None
    assert find_obstacle("orcwer", crowd, crowd[:11]) is not None
    talk = [say(f"s{i % 3}", i, i + 1, "word " * 10) for i in range(300)]
    assert find_obstacle("orcwer", talk, talk) is not None
    assert find_obstacle("orcwer", talk, [say("one", 0, 300, "word " * 3000)]) is None


def test_words_are_compared_after_normalising(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref.stm", "x 1 A 0 1 You're twenty-one, Mr. Smith!")
    hypothesis = write(tmp_path / "hyp.stm", "x 1 S1 0 1 you are 21 mister smith")
    normalised, raw = (
        by_metric(score_files(reference, hypothesis, ScoreOptions(normalizer=name)))["wer", None]
        for name in ("whisper-english", "none")
    )
    assert (normalised.errors.errors, normalised.errors.length) == (0, 5)
    assert (raw.errors.errors, raw.errors.length) == (5, 4)
    assert raw.normalizer == "none"
    assert str(normalised.normalizer).startswith("whisper-english (whisper-normalizer ")


# --- speakers


def _der_by_ticks(reference: Sequence[Utterance], hypothesis: Sequence[Utterance], *, collar_s: float) -> SpeakerErrors:
    """DER of whole seconds, second by second, with the best pairing of speakers of all."""
    theirs, ours = (sorted({u.speaker for u in side}) for side in (reference, hypothesis))
    names = [*theirs, *(Speaker(f"nobody{i}") for i in range(len(ours)))]
    best: SpeakerErrors | None = None
    for order in itertools.permutations(names, len(ours)):
        name = dict(zip(ours, order, strict=True))
        missed = false_alarm = confusion = total = 0.0
        for tick in range(40):
            middle = tick + 0.5
            if any(abs(middle - border) < collar_s for u in reference for border in (u.start, u.end)):
                continue
            speaking = {u.speaker for u in reference if u.start < middle < u.end}
            found = {name[u.speaker] for u in hypothesis if u.start < middle < u.end}
            total += len(speaking)
            missed += max(0, len(speaking) - len(found))
            false_alarm += max(0, len(found) - len(speaking))
            confusion += min(len(speaking), len(found)) - len(speaking & found)
        errors = SpeakerErrors(total, missed, false_alarm, confusion)
        if best is None or errors.errors < best.errors:
            best = errors
    assert best is not None
    return best


def _turns(seed: int, *, n_speakers: int) -> list[Utterance]:
    source = random.Random(seed)
    starts = [source.randrange(30) for _ in range(source.randrange(1, 7))]
    return [say(f"s{source.randrange(n_speakers)}", start, start + source.randrange(1, 9)) for start in starts]


@pytest.mark.parametrize("seed", range(20))
def test_der_is_that_of_counting_every_second(seed: int) -> None:
    reference, hypothesis = _turns(seed, n_speakers=3), _turns(seed + 500, n_speakers=2)
    found = count_speaker_errors(reference, hypothesis, collar_s=0.0)
    expected = _der_by_ticks(reference, hypothesis, collar_s=0.0)
    assert (found.length, found.missed, found.false_alarm) == pytest.approx(
        (expected.length, expected.missed, expected.false_alarm)
    )
    assert found.confusion == pytest.approx(expected.confusion)


def test_the_collar_is_on_both_sides_of_a_border() -> None:
    reference, hypothesis = [say("A", 10, 20)], [say("x", 9, 22)]
    assert count_speaker_errors(reference, hypothesis, collar_s=0.0) == SpeakerErrors(10, 0, 3, 0)
    assert count_speaker_errors(reference, hypothesis, collar_s=1.0) == SpeakerErrors(8, 0, 1, 0)


def test_a_speaker_who_overlaps_with_himself_counts_once() -> None:
    reference = [say("A", 0, 10), say("A", 5, 8), say("A", 9, 12)]
    assert count_speaker_errors(reference, [say("x", 0, 12)], collar_s=0.0) == SpeakerErrors(length=12)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ([], [], SpeakerErrors()),
        ([], [say("x", 1, 3)], SpeakerErrors(false_alarm=2)),
        ([say("A", 1, 3)], [], SpeakerErrors(length=2, missed=2)),
        ([say("A", 1, 1)], [say("x", 1, 1)], SpeakerErrors()),
    ],
)
def test_silence_is_scored_too(
    reference: list[Utterance], hypothesis: list[Utterance], expected: SpeakerErrors
) -> None:
    assert count_speaker_errors(reference, hypothesis, collar_s=0.0) == expected


def test_der_needs_neither_the_extra_nor_torch_and_reports_to_nobody() -> None:
    code = (
        "import os, sys\n"
        "from murmur_cli.score.annotations import Utterance\n"
        "from murmur_cli.score.turns import count_speaker_errors\n"
        "turns = [Utterance(0.0, 1.0, 'A')]\n"
        "assert count_speaker_errors(turns, turns, collar_s=0.0).errors == 0\n"
        "print(os.environ['PYANNOTE_METRICS_ENABLED'], *{'torch', 'opentelemetry', 'meeteval'} & sys.modules.keys())\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYANNOTE_METRICS_ENABLED"}
    environment |= {"HOME": "/dev/null", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": ""}  # nowhere to keep a cache
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


# --- sums


def test_counts_add_up_and_rates_are_not_averaged(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref.stm", "a 1 A 0 1 one", "b 1 B 0 9 one two three four five six seven eight nine")
    hypothesis = write(
        tmp_path / "hyp.stm", "a 1 S1 0 1 two", "b 1 S1 0 9 one two three four five six seven eight nine"
    )
    score = score_files(reference, hypothesis, RAW)
    figure = by_metric(score)["wer", None]
    assert score.recordings == ("a", "b")
    assert figure.by_recording == (WordErrors(1, 0, 0, 1), WordErrors(9))
    assert figure.errors.rate == 0.1  # not the mean of 1 and 0


def test_sums_of_counts_are_counts() -> None:
    assert WordErrors(1, 2, 3, 4) + WordErrors(10, 20, 30, 40) == WordErrors(11, 22, 33, 44)
    assert SpeakerErrors(1, 2, 3, 4) + SpeakerErrors(10, 20, 30, 40) == SpeakerErrors(11, 22, 33, 44)
    assert WordErrors(11, 22, 33, 44).errors == 99
    assert SpeakerErrors(11, 22, 33, 44).rate == 9


# --- files


def transcript_of(name: str) -> Transcript:
    return make_transcript(
        [
            make_segment(0, 1, "Good morning.", speaker="S1"),
            make_segment(1.5, 3, "Hello there.", speaker="Ann Lee"),
        ],
        source=f"somewhere/{name}.wav",
        duration=4.0,
    )


@pytest.mark.parametrize("kind", ["stm", "seglst", "json"])
def test_every_format_that_is_written_can_be_scored(kind: str, tmp_path: Path) -> None:
    transcript = transcript_of("my talk")
    paths = [tmp_path / "ref.json", tmp_path / f"hyp.{kind}"]
    for path in paths:
        path.write_text(render_transcript(transcript, path.suffix[1:], word_times=True), encoding="utf-8")
    score = score_files(*paths, ScoreOptions())
    assert score.recordings == ("my talk",)
    assert [figure.metric for figure in score.figures] == [*METRICS, "der"]
    assert [figure.errors.errors for figure in score.figures] == [0] * 6
    assert score.audio_s == 4.0
    assert score.models == (("whisper-base (000000000000, int8)",) if kind == "json" else ())


def test_rttm_says_who_spoke_when_and_its_folder_what_was_said(tmp_path: Path) -> None:
    reference, hypothesis = tmp_path / "ref", tmp_path / "hyp"
    for name in ("a", "b"):
        for folder, kind in ((reference, "stm"), (reference, "rttm"), (hypothesis, "json")):
            text = render_transcript(transcript_of(name), kind, word_times=True)
            write(folder / f"{name}.{kind}", text)
    write(reference / "a.rttm", "SPEAKER a 1 0 4 <NA> <NA> S1 <NA> <NA>")
    score = score_files(reference, hypothesis, ScoreOptions(metric=("wer", "der")))
    figures = by_metric(score)
    assert figures["wer", None].errors == WordErrors(length=8)
    assert figures["der", 0.0].by_recording == (
        SpeakerErrors(length=4.0, missed=1.5, confusion=1.0),
        SpeakerErrors(length=2.5),
    )
    assert score.audio_s == 8.0


@pytest.mark.parametrize("kind", ["stm", "rttm", "seglst", "json"])
def test_a_recording_without_speech_is_one_named_as_its_file(kind: str, tmp_path: Path) -> None:
    reference = write(tmp_path / "ref" / "silence.rttm", "SPEAKER silence 1 0 4 <NA> <NA> S1 <NA> <NA>")
    silent = tmp_path / f"silence.{kind}"
    silent.write_text(render_transcript(make_transcript(source="silence.wav"), kind, word_times=True), encoding="utf-8")
    (session,) = load_annotations(silent)
    assert (session.name, session.turns) == ("silence", ())
    assert score_files(reference, silent, ScoreOptions(metric=("der",))).figures[1].errors == SpeakerErrors(4.0, 4.0)


def test_labels_and_comments_of_stm_are_no_words(tmp_path: Path) -> None:
    path = write(
        tmp_path / "ref.stm",
        ";; a comment",
        "",
        "a%20b A Ann%20Lee 0.5 1.5 <o,f0,male> Good morning",
        "a%20b A Bob 2 3 <laughs> no label",
        "a%20b A Bob 3 4",
        "a%20b A Bob 4 5 <NA>",
    )
    (session,) = load_annotations(path)
    assert session.name == "a b"
    assert session.utterances == (
        say("Ann Lee", 0.5, 1.5, "Good morning"),
        say("Bob", 2, 3, "<laughs> no label"),
        say("Bob", 3, 4),
        say("Bob", 4, 5),
    )


BAD_LINES = {
    "ref.stm": [
        "x 1 A 0",
        "x 1 A zero 1 text",
        "x 1 A 2 1 text",
        "x 1 A -1 1 text",
        "x 1 A nan 1 text",
        "x 1 inter_segment_gap 0 1 ignore_time_segment_in_scoring",
    ],
    "ref.rttm": [
        "SPEAKER x 1 0 1 <NA>",
        "SPEAKER x 1 0 -1 <NA> <NA> A <NA> <NA>",
        "NOSCORE x 1 0 1 <NA> <NA> <NA> <NA>",
        "x 1 A 0 1 this is an stm line",
    ],
    "ref.json": [
        '[{"session_id": "x", "speaker": "A", "start_time": 0, "end_time": 1}]',
        '[{"session_id": "x", "speaker": "A", "start_time": null, "end_time": 1, "words": ""}]',
        '[{"session_id": "x", "speaker": "A", "start_time": 2, "end_time": "1", "words": ""}]',
        "[1]",
        '{"segments": []}',
        "{",
    ],
    "ref.txt": ["some text"],
    "ref.ctm": ["x 1 0 1 word"],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in BAD_LINES.items() for line in lines])
def test_a_bad_line_is_one_clear_error(name: str, line: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, line)
    with pytest.raises(TranscriptError) as caught:
        load_annotations(path)
    assert str(caught.value.where).startswith(str(path))
    assert caught.value.hint


def test_the_number_of_a_bad_line_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "ref.stm", "x 1 A 0 1 fine", ";; comment", "x 1 A 2 1 text")
    with pytest.raises(TranscriptError, match="line 3"):
        load_annotations(path)


def test_other_lines_of_rttm_are_passed_over(tmp_path: Path) -> None:
    lines = ["SPKR-INFO x 1 <NA> <NA> <NA> adult_male A <NA> <NA>", "SPEAKER x 1 0 1 <NA> <NA> A <NA> <NA>"]
    (session,) = load_annotations(write(tmp_path / "ref.rttm", *lines))
    assert (session.utterances, session.turns) == (None, (say("A", 0, 1),))


# --- what cannot be compared


def test_recordings_without_a_partner_are_an_error_that_names_them(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref.stm", "a 1 A 0 1 x", "b 1 A 0 1 x")
    hypothesis = write(tmp_path / "hyp.stm", "b 1 A 0 1 x", "c 1 A 0 1 x")
    with pytest.raises(TranscriptError) as caught:
        score_files(reference, hypothesis, RAW)
    assert f"only in {reference}: a" in str(caught.value)
    assert f"only in {hypothesis}: c" in str(caught.value)


@pytest.mark.parametrize(("n_references", "n_hypotheses"), [(1, 2), (2, 1)])
def test_one_recording_too_many_on_either_side_is_an_error(
    n_references: int, n_hypotheses: int, tmp_path: Path
) -> None:
    lines = ["a 1 A 0 1 x", "b 1 A 0 1 x"]
    reference = write(tmp_path / "ref.stm", *lines[:n_references])
    hypothesis = write(tmp_path / "hyp.stm", *lines[:n_hypotheses])
    with pytest.raises(TranscriptError, match="without a partner"):
        score_files(reference, hypothesis, RAW)


def test_the_only_recordings_are_a_pair_and_their_names_are_said(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref.stm", "a 1 A 0 1 x")
    hypothesis = write(tmp_path / "hyp.stm", "b 1 A 0 1 y")
    score = score_files(reference, hypothesis, RAW)
    assert score.recordings == ("a",)
    assert score.figures[0].errors == WordErrors(1, 0, 0, 1)
    (note,) = score.notes
    assert f"a in {reference} with b in {hypothesis}" in note
    assert score_files(reference, reference, RAW).notes == ()


def test_two_files_that_say_the_same_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "ref" / "one.stm", "a 1 A 0 1 x")
    write(tmp_path / "ref" / "two.stm", "a 1 A 0 1 y")
    with pytest.raises(TranscriptError) as caught:
        score_files(tmp_path / "ref", tmp_path / "ref", RAW)
    assert {"one.stm", "two.stm"} == {name for name in ("one.stm", "two.stm") if name in str(caught.value)}


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="nothing in this folder"):
        score_files(tmp_path, tmp_path, RAW)


def test_what_the_files_do_not_hold_is_left_out_or_refused(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref.stm", "a 1 A 0 1 x")
    hypothesis = write(tmp_path / "hyp.rttm", "SPEAKER a 1 0 1 <NA> <NA> S1 <NA> <NA>")
    score = score_files(reference, hypothesis, ScoreOptions())
    assert [figure.metric for figure in score.figures] == ["der", "der"]
    (reason,) = score.notes
    assert reason.startswith("no wer, cpwer, tcpwer, orcwer: ")
    with pytest.raises(TranscriptError, match="does not say what is said"):
        score_files(reference, hypothesis, ScoreOptions(metric=("der", "wer")))


@pytest.mark.parametrize("package", ["meeteval", "whisper_normalizer"])
def test_without_the_extra_word_errors_are_an_error_and_der_is_not(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **named: object) -> object:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    path = write(tmp_path / "ref.stm", "a 1 A 0 1 x")
    with pytest.raises(MurmurError, match=r"pip install 'murmur-asr\[eval\]'") as caught:
        score_files(path, path, ScoreOptions())
    assert caught.value.exit_code == 1
    assert package in caught.value.problem
    assert len(score_files(path, path, ScoreOptions(metric=("der",))).figures) == 2


@pytest.mark.parametrize(
    "wrong",
    [{"metric": ("bleu",)}, {"normalizer": "german"}, {"collar": 0.0}, {"collar": -1.0}, {"collar": float("nan")}],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        ScoreOptions(**wrong)  # type: ignore[arg-type]


def test_there_are_no_other_normalisers_and_metrics() -> None:
    with pytest.raises(ValueError, match="german"):
        load_normalizer("german")
    with pytest.raises(ValueError, match="bleu"):
        load_word_metric("bleu", collar_s=5.0)


# --- reports


def test_the_table_says_how_every_figure_was_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "ref.stm", "a 1 A 0 1 x y", "b 1 A 0 2.5 z")
    hypothesis = write(tmp_path / "hyp.stm", "a 1 A 0 1 x", "b 1 A 0 2 z z")
    lines = render_table(score_files(path, hypothesis, ScoreOptions())).splitlines()
    assert [line.split()[0] for line in lines[:6]] == ["WER", "cpWER", "tcpWER", "ORC-WER", "DER", "DER"]
    assert lines[0].split()[1:6] == ["66.67", "%", "2", "of", "3"]
    assert all("whisper-english (whisper-normalizer " in line and "meeteval " in line for line in lines[:4])
    assert all("collar 5 s" in line for line in lines[2:3])
    assert ["collar 0.25 s" in lines[4], "collar 0 s" in lines[5]] == [True, True]
    assert lines[6] == "2 recordings, 3.5 s of audio"


def test_json_holds_counts_by_recording_and_a_rate_only_where_there_is_one(tmp_path: Path) -> None:
    reference = write(tmp_path / "ref.stm", "a 1 A 0 1 x y", "b 1 A 0 1")
    hypothesis = write(tmp_path / "hyp.stm", "a 1 A 0 1 x", "b 1 A 0 1 z")
    described = json.loads(render_json(score_files(reference, hypothesis, RAW)))
    wer = described["figures"][0]
    assert (wer["metric"], wer["rate"], wer["errors"], wer["length"]) == ("wer", 1.0, 2, 2)
    assert wer["by_recording"]["a"] == {
        "rate": 0.5, "errors": 1, "length": 2, "insertions": 0, "deletions": 1, "substitutions": 0
    }  # fmt: skip
    assert wer["by_recording"]["b"]["rate"] is None
    assert (described["v"], described["n_recordings"], described["audio_s"]) == (1, 2, 2.0)
    assert {figure["metric"]: figure["collar_s"] for figure in described["figures"][:4]} == {
        "wer": None, "cpwer": None, "tcpwer": 5.0, "orcwer": None
    }  # fmt: skip
