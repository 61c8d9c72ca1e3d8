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
from murmur_cli.models.scripted import ScriptedEngine, ScriptedVad, ScriptEntry
from murmur_cli.options import ScoreOptions
from murmur_cli.score.counts import SpeakerErrors, WordErrors
from murmur_cli.types import Span

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
    measured = corpus.measure_corpus(
        items,
        SlowEngine([ScriptEntry(0.5, 1.5, "Hello A.")]),
        vad=ScriptedVad(SPOKEN),
        language=None,
        options=ScoreOptions(),
        kept=tmp_path / "kept",
    )
    figures = {(figure.metric, figure.collar_s): figure.errors for figure in measured.score.figures}
    assert (measured.score.recordings, measured.score.notes) == (("a", "b"), ())
    assert figures["tcpwer", 5.0] == WordErrors(length=4, substitutions=1)
    assert figures["der", 0.0] == SpeakerErrors(length=2.5, missed=0.5)
    assert sorted(path.name for path in (tmp_path / "kept" / "json").iterdir()) == ["a.json", "b.json"]
    assert 0.1 <= measured.model_s <= measured.recognition.wall_s  # twice 0.03 s and 0.02 s


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
