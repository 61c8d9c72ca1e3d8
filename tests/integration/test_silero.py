"""Silero VAD with its real network: equal to the package, deaf to what is not speech, not to speech."""

from __future__ import annotations

import math
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from oracles.silero import score_plainly

from murmur_cli.errors import WeightsError
from murmur_cli.models.silero import SileroVad, load_silero
from murmur_cli.options import VadOptions
from murmur_cli.speech.vad import VAD_RATE
from murmur_cli.types import Samples, Span

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def vad() -> SileroVad:
    return load_silero(VadOptions())


def read(path: Path) -> Samples:
    samples, rate = soundfile.read(path, dtype="float32")
    assert (rate, samples.ndim) == (VAD_RATE, 1)
    return samples


def seconds_of(n: float) -> npt.NDArray[np.float64]:
    return np.arange(int(n * VAD_RATE)) / VAD_RATE


def make_voice(duration_s: float) -> Samples:
    """Make a buzz whose pitch, formant and loudness move like those of a voice: the network is unsure about it."""
    t = seconds_of(duration_s)
    pitch = 2 * np.pi * np.cumsum(130 + 30 * np.sin(2 * np.pi * 0.7 * t)) / VAD_RATE
    formant = 700 + 300 * np.sin(2 * np.pi * 1.3 * t)
    harmonics = sum(np.sin(k * pitch) * np.exp(-(((130 * k - formant) / 250) ** 2)) for k in range(1, 25))
    syllables = np.maximum(0, np.sin(2 * np.pi * 2 * t)) * np.maximum(0, np.sin(2 * np.pi * 0.15 * t))
    return (0.1 * syllables * harmonics).astype(np.float32)


def test_scores_are_those_of_the_package(vad: SileroVad) -> None:
    samples = make_voice(21.3)
    expected = score_plainly(samples)
    assert max(expected) > 0.5
    assert min(expected) < 0.1
    np.testing.assert_allclose(vad.score([samples]), expected, atol=10 * TOLERANCE)  # it is unsure: steep places


@pytest.mark.data
@pytest.mark.parametrize("level_db", [0, -30, 20])
def test_scores_of_real_speech_are_those_of_the_package(vad: SileroVad, data_dir: Path, level_db: int) -> None:
    samples = read(data_dir / "ami" / "dev00.wav")[: 15 * VAD_RATE + 100] * np.float32(10 ** (level_db / 20))
    np.testing.assert_allclose(vad.score([samples]), score_plainly(samples), atol=TOLERANCE)


@pytest.mark.parametrize("n_samples", [0, 1, 511, 512, 513, 16_383, 16_385])
def test_recordings_of_any_length_have_one_score_a_frame(vad: SileroVad, n_samples: int) -> None:
    samples = make_voice(2)[:n_samples]
    scores = vad.score([samples] if n_samples else [])
    assert len(scores) == math.ceil(n_samples / 512)
    np.testing.assert_allclose(scores, score_plainly(samples), atol=TOLERANCE)
    assert all(0 <= span.start < span.end <= n_samples for span in vad.detect([samples]))


@pytest.mark.parametrize("n_block", [1, 160, 511, 16_384, 131_072, 480_000])
def test_blocks_make_no_difference(vad: SileroVad, n_block: int) -> None:
    samples = make_voice(20 if n_block > 100 else 2)
    whole = vad.score([samples])
    blocks = [samples[start : start + n_block] for start in range(0, len(samples), n_block)]
    for block in blocks:
        block.flags.writeable = False  # as the blocks of a mapped file are
    np.testing.assert_array_equal(vad.score(blocks), whole)
    assert vad.detect(blocks) == vad.detect([samples])


@pytest.mark.parametrize("n_block", [1, 700, 20_000, 100_000])
@pytest.mark.parametrize("n_samples", [0, 1, 16_384, 40_000, 100_001])
def test_a_session_has_the_scores_of_the_whole_recording(vad: SileroVad, n_block: int, n_samples: int) -> None:
    samples = make_voice(7)[: n_samples if n_block > 1 else min(n_samples, 20_000)]
    scorer, scores = vad.open(), []
    for start in range(0, len(samples), n_block):
        scores += scorer.push(samples[start : start + n_block])
        n_heard = min(start + n_block, len(samples))
        assert len(scores) >= (n_heard // 2048 * 4 if n_heard >= 16_384 else 0)  # at most four frames late
    scores += scorer.finish()
    np.testing.assert_allclose(scores, vad.score([samples]), atol=10 * TOLERANCE)


def test_blocks_are_let_go(vad: SileroVad) -> None:
    alive: list[weakref.ref[Samples]] = []

    def iter_blocks() -> Iterator[Samples]:
        for _ in range(30):
            block = np.zeros(8 * VAD_RATE, np.float32)
            alive.append(weakref.ref(block))
            yield block
            del block
            assert sum(reference() is not None for reference in alive) <= 3

    assert vad.detect(iter_blocks()) == []
    assert len(alive) == 30


def test_recordings_do_not_hear_each_other(vad: SileroVad) -> None:
    voice = make_voice(5)
    first = vad.score([voice])
    vad.score([np.ones(50_000, np.float32)])
    np.testing.assert_array_equal(vad.score([voice]), first)


def make_noise(slope: float, duration_s: float) -> npt.NDArray[np.float64]:
    """Noise whose power falls with frequency by ``slope``: 0 is white, 1 pink, 2 brown. RMS 1."""
    generator = np.random.default_rng(7)
    n_samples = int(duration_s * VAD_RATE)
    spectrum = np.fft.rfft(generator.standard_normal(n_samples))
    frequency = np.maximum(np.fft.rfftfreq(n_samples, 1 / VAD_RATE), 20)
    noise = np.fft.irfft(spectrum * frequency ** (-slope / 2), n_samples)
    return noise / np.sqrt(np.mean(noise**2))


def make_pluck(frequency: float, duration_s: float) -> npt.NDArray[np.float64]:
    """A plucked string (Karplus-Strong)."""
    period = round(VAD_RATE / frequency)
    string = np.random.default_rng(3).uniform(-1, 1, period)
    sound = []
    for _ in range(math.ceil(duration_s * frequency) + 2):
        sound.append(string)
        string = 0.498 * (string + np.roll(string, 1))
    return np.concatenate(sound)[: int(duration_s * VAD_RATE)]


T = seconds_of(12)
TREMOLO = 0.5 + 0.5 * np.sin(2 * np.pi * 4 * T)
CHORD = np.resize(sum(make_pluck(f, 2) for f in (130.8, 164.8, 196.0)), len(T))
NOT_SPEECH = {
    "digital silence": np.zeros(len(T)),
    "last bits": np.random.default_rng(0).integers(-1, 2, len(T)) / 32768,
    "white noise": 0.1 * make_noise(0, 12),
    "pink noise at -60 dB": 0.001 * make_noise(1, 12),
    "wind": 0.1 * make_noise(2, 12) * (0.6 + 0.4 * np.sin(2 * np.pi * 0.3 * T)),
    "noise in bursts": 0.1 * make_noise(1, 12) * TREMOLO,
    "tone": 0.5 * np.sin(2 * np.pi * 440 * T),
    "mains hum": 0.05 * (np.sin(2 * np.pi * 50 * T) + 0.5 * np.sin(2 * np.pi * 150 * T)),
    "beeps": 0.3 * np.sign(np.sin(2 * np.pi * 1000 * T)) * (T % 1 < 0.3),
    "sweep": 0.3 * np.sin(2 * np.pi * (100 * T + 100 * T**2)),
    "plucked chords": 0.2 * CHORD,
    "plucked chords with tremolo": 0.2 * (CHORD + np.sin(2 * np.pi * 330 * T)) * TREMOLO,
}


@pytest.mark.parametrize("gain_db", [0, -40])
@pytest.mark.parametrize("name", NOT_SPEECH)
def test_what_is_not_speech_has_no_spans(vad: SileroVad, name: str, gain_db: int) -> None:
    samples = (NOT_SPEECH[name] * 10 ** (gain_db / 20)).astype(np.float32)
    assert vad.detect([samples]) == []


def covered_s(spans: list[Span], start_s: float, end_s: float) -> float:
    start, end = start_s * VAD_RATE, end_s * VAD_RATE
    return sum(max(0.0, min(span.end, end) - max(span.start, start)) for span in spans) / VAD_RATE


@dataclass(frozen=True)
class Spoken:
    start: float
    end: float


def read_turns(path: Path) -> list[Spoken]:
    fields = [line.split() for line in path.read_text().splitlines()]
    return [Spoken(float(line[3]), float(line[3]) + float(line[4])) for line in fields]


@pytest.mark.data
@pytest.mark.parametrize("recording", ["dev00.wav dev00.full.rttm", "trñ00.wav trn00.full.rttm"])
def test_speech_of_a_meeting_is_found(vad: SileroVad, data_dir: Path, recording: str) -> None:
    audio, turns = (data_dir / "ami" / name for name in recording.split())
    spans = vad.detect([read(audio)])
    spoken = read_turns(turns)
    long = [turn for turn in spoken if turn.end - turn.start > 1]  # shorter ones are "'Kay" and "Mm"
    found = [turn for turn in long if covered_s(spans, turn.start, turn.end) > 0.5 * (turn.end - turn.start)]
    assert len(found) == len(long)
    assert sum(covered_s(spans, t.start, t.end) for t in spoken) > 0.9 * sum(t.end - t.start for t in spoken)


@pytest.mark.data
def test_quiet_and_clipped_speech_is_found_as_it_is_at_its_own_level(vad: SileroVad, data_dir: Path) -> None:
    samples = read(data_dir / "calls" / "katiesteve_mono.wav")
    at_own_level = sum(span.n_samples for span in vad.detect([samples]))
    quiet = np.round(samples * 10 ** (-50 / 20) * 32768).astype(np.float32) / 32768  # 8 steps of 16 bits at most
    clipped = np.clip(samples * 10 ** (30 / 20), -1, 1)
    assert at_own_level > 0.8 * len(samples)
    for other in (quiet, clipped):
        assert 0.85 < sum(span.n_samples for span in vad.detect([other])) / at_own_level < 1.1


@pytest.mark.data
def test_speech_after_minutes_of_silence_is_found(vad: SileroVad, data_dir: Path) -> None:
    first = read(data_dir / "librispeech" / "audio" / "1688-142285-0008.flac")
    second = read(data_dir / "librispeech" / "audio" / "2414-128291-0000.flac")
    silence = np.zeros(240 * VAD_RATE, np.float32)
    spans = vad.detect([first, silence, second])
    resumed = (len(first) + len(silence)) / VAD_RATE
    assert covered_s(spans, 0, len(first) / VAD_RATE) > 0.8 * len(first) / VAD_RATE
    assert covered_s(spans, len(first) / VAD_RATE + 1, resumed - 1) == 0
    assert covered_s(spans, resumed, resumed + len(second) / VAD_RATE) > 0.8 * len(second) / VAD_RATE


@pytest.mark.data
def test_words_on_their_own_are_found(vad: SileroVad, data_dir: Path) -> None:
    """Spoken digits of 0.2 to 0.6 s, from a telephone, a second apart."""
    generator = np.random.default_rng(1)
    pieces, words, n_samples = [], [], 0
    for path in sorted((data_dir / "fsdd").glob("*_[0-2].wav")):
        samples, rate = soundfile.read(path, dtype="float32")
        word = np.repeat(samples, VAD_RATE // rate)
        pieces += [np.zeros(VAD_RATE, np.float32), word]
        words.append(Span(n_samples + VAD_RATE, n_samples + VAD_RATE + len(word)))
        n_samples += VAD_RATE + len(word)
    signal = np.concatenate(pieces)
    signal += 1e-3 * generator.standard_normal(len(signal), dtype=np.float32)
    spans = vad.detect([signal])
    found = [word for word in words if covered_s(spans, word.start / VAD_RATE, word.end / VAD_RATE) > 0.1]
    assert len(words) == 180
    assert len(found) >= 0.98 * len(words)


def test_loading_leaves_the_process_alone() -> None:
    program = """
import sys, numpy, torch
torch.set_num_threads(3)
from murmur_cli.models.silero import load_silero
from murmur_cli.options import VadOptions
load_silero(VadOptions()).detect([numpy.zeros(40000, numpy.float32)])
assert torch.get_num_threads() == 3, torch.get_num_threads()
assert "silero_vad" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@dataclass
class FakePackage:
    submodule_search_locations: list[str]


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(WeightsError, match="silero-vad"):
        load_silero(VadOptions())


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 no network"])
def test_a_damaged_package_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "data" / "silero_vad.jit"
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: FakePackage([str(tmp_path)]))
    with pytest.raises(WeightsError, match=r"silero_vad\.jit"):
        load_silero(VadOptions())
