"""The benchmark on a corpus: what it finds, counts and times."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.engine import Answer, Job
from murmur_cli.listen import SpeakerModels
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.options import ScoreOptions
from murmur_cli.score.counts import SpeakerErrors, WordErrors
from murmur_cli.speakers.diarize import Diarization
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.voices import VoiceVector
from murmur_cli.types import Samples, Span, Speaker, Turn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
corpus = importlib.import_module("corpus")

SPOKEN = [Span(4000, 30_000)]


class SlowEngine(ScriptedEngine):
    """Sleeps over each job, and over each language."""

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        for answer in super().decode(jobs):
            time.sleep(0.03)
            yield answer

    def detect_language(self, samples: object) -> str | None:
        time.sleep(0.02)
        return "en"


class SlowDiarizer:
    """Hears two people, the second one late, and takes its time."""

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        time.sleep(0.1)
        turns = Turn(0.4, 1.0, Speaker("S1")), Turn(1.0, 1.6, Speaker("S2"))
        return Diarization(turns, (), forced=False)


class NoEmbedder:
    def embed(self, samples: Samples) -> VoiceVector:
        raise AssertionError("nothing to embed")


def make_corpus(folder: Path, *, is_flat: bool) -> Path:
    for kind in ("wav", "stm", "rttm"):
        (folder / ("" if is_flat else kind)).mkdir(parents=True, exist_ok=True)
    for name in ("a", "b"):
        tone = 0.1 * np.sin(np.arange(32_000) / 10)
        soundfile.write(folder / ("" if is_flat else "wav") / f"{name}.wav", tone, 16_000)
        stm, rttm = (folder / ("" if is_flat else kind) / f"{name}.{kind}" for kind in ("stm", "rttm"))
        stm.write_text(f"meeting-{name} 1 A 0.5 1.5 hello {name}\n", encoding="utf-8")
        rttm.write_text(f"SPEAKER meeting-{name} 1 0.5 1.25 <NA> <NA> A <NA> <NA>\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("is_flat", [True, False])
def test_every_recording_is_scored_with_its_stm_and_rttm(tmp_path: Path, *, is_flat: bool) -> None:
    items = corpus.find_items(make_corpus(tmp_path / "corpus", is_flat=is_flat))
    assert [item.audio.name for item in items] == ["a.wav", "b.wav"]
    measured = corpus.transcribe_corpus(
        items,
        SlowEngine([ScriptEntry(0.5, 1.0, "Hello"), ScriptEntry(1.0, 1.5, "A.")]),
        vad=ScriptedVad(SPOKEN),
        speaker_models=SpeakerModels(SlowDiarizer(), NoEmbedder()),
        language=None,
        kept=tmp_path / "kept",
    )
    score = corpus.score_corpus(items, tmp_path / "kept", ScoreOptions())
    figures = {(figure.metric, figure.collar_s): figure.errors for figure in score.figures}
    assert (score.recordings, score.notes) == (("a", "b"), ())
    assert figures["wer", None] == WordErrors(length=4, substitutions=1)  # "A." where "b" is said
    # Of the one who speaks, half is given to somebody else.
    assert figures["tcpwer", 5.0] == WordErrors(length=4, insertions=2, deletions=2)
    assert figures["der", 0.0] == SpeakerErrors(length=2.5, missed=0.5, confusion=1.0)
    assert sorted(path.name for path in (tmp_path / "kept" / "json").iterdir()) == ["a.json", "b.json"]
    assert measured.model_s >= 0.1  # twice 0.03 s and 0.02 s
    assert measured.model_s + 0.2 <= measured.recognition.wall_s  # and telling speakers apart is not the model's


def test_only_the_model_is_timed() -> None:
    def slow_jobs() -> Iterator[Job]:
        time.sleep(0.2)
        yield from ()

    engine = corpus.TimedEngine(ScriptedEngine([]))
    assert list(engine.decode(slow_jobs())) == []
    assert abs(engine.seconds) < 0.1


def test_a_corpus_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no stm"):
        corpus.find_items(tmp_path)
    folder = make_corpus(tmp_path / "corpus", is_flat=True)
    (folder / "a.wav").rename(folder / "c.wav")
    with pytest.raises(SystemExit, match="0 recordings"):
        corpus.find_items(folder)
    (folder / "c.wav").rename(folder / "a.wav")
    (folder / "b.flac").touch()
    with pytest.raises(SystemExit, match="2 recordings"):
        corpus.find_items(folder)
