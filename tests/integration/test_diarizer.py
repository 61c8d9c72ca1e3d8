"""The diarizer with its real networks: equal to the study they come from, and right about who speaks.

``golden/diarizer_networks.npz`` holds what another implementation of both networks and of the filter bank gives
on parts of ``examples/conversation.flac``: every 19th frame of the window from 10 s, the voices of 300 feature
frames from 1 s and of 200 from 17 s, and every 50th feature frame of the former.
"""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch
from oracles.diarize import fbank_plainly

from murmur_cli.errors import WeightsError
from murmur_cli.models import bundled
from murmur_cli.models.campplus import embed_features, load_campplus
from murmur_cli.models.fbank import FilterBank
from murmur_cli.models.segmentation import SegmentationNetwork, load_segmentation
from murmur_cli.models.slots_diarizer import SlotsDiarizer, load_embedder, load_slots_diarizer
from murmur_cli.speakers.diarize import Diarization
from murmur_cli.speakers.limits import ANY_NUMBER, SpeakerLimits
from murmur_cli.speakers.windows import SPEAKER_RATE, WINDOW_SAMPLES
from murmur_cli.types import Samples

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "diarizer_networks.npz"
READERS = ((0.5, 15.5, "S1"), (16.46, 24.84, "S2"), (25.33, 37.95, "S1"), (38.4, 43.82, "S2"), (44.84, 47.68, "S1"))


@pytest.fixture(scope="module")
def diarizer() -> SlotsDiarizer:
    return load_slots_diarizer()


def read(path: Path) -> Samples:
    samples, rate = soundfile.read(path, dtype="float32")
    assert (rate, samples.ndim) == (SPEAKER_RATE, 1)
    return samples


@pytest.fixture(scope="module")
def conversation() -> Samples:
    return read(ROOT / "examples" / "conversation.flac")


def test_activity_is_that_of_the_original(conversation: Samples) -> None:
    window = torch.from_numpy(conversation[10 * SPEAKER_RATE : 20 * SPEAKER_RATE])[None]
    network = load_segmentation()
    with torch.inference_mode():
        scores = network(window)[0].numpy()
    assert scores.shape == (589, 7)
    np.testing.assert_allclose(scores[::19], np.load(GOLDEN)["log_probabilities"], atol=1e-4)
    active = network.find_activity(window)[0]
    assert active.shape == (589, 3)
    np.testing.assert_array_equal(active.sum(1), np.array([0, 1, 1, 1, 2, 2, 2])[scores.argmax(1)])


def test_classes_are_one_or_two_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentationNetwork, "forward", lambda network, windows: torch.eye(7)[None])
    active = load_segmentation().find_activity(torch.zeros(1, WINDOW_SAMPLES))[0]
    assert [np.flatnonzero(frame).tolist() for frame in active] == [[], [0], [1], [2], [0, 1], [0, 2], [1, 2]]


def test_nobody_speaks_after_the_end(diarizer: SlotsDiarizer, conversation: Samples) -> None:
    for start_s in (1, 2, 3, 4):
        hearing = diarizer.hear([conversation[start_s * SPEAKER_RATE :][: 3 * SPEAKER_RATE + 5_000]])
        assert hearing.activity[0].any()
        assert not hearing.activity[0][195:].any()  # 53 000 samples end in frame 195


def test_voices_are_those_of_the_original(conversation: Samples) -> None:
    pieces = conversation[16_000 : 16_000 + 48_240], conversation[17 * 16_000 : 17 * 16_000 + 32_240]
    features = [FilterBank()(torch.from_numpy(piece)) for piece in pieces]
    golden = np.load(GOLDEN)["voices"]
    exact = embed_features(load_campplus(torch.float32), features)
    np.testing.assert_allclose(exact, golden, atol=1e-4)
    longer = [torch.cat([f, f[:19]]) for f in features]  # what is over 0.2 s is not heard
    np.testing.assert_allclose(embed_features(load_campplus(torch.float32), longer), exact, atol=1e-5)
    coarse = embed_features(load_campplus(torch.bfloat16), features)
    assert (exact * coarse).sum(1).min() > 0.995


def test_voices_do_not_hear_each_other(conversation: Samples) -> None:
    """Inputs of many lengths, several to a batch: each has the voice that it has alone."""
    features = FilterBank()(torch.from_numpy(conversation[: 20 * SPEAKER_RATE]))
    generator = np.random.default_rng(0)
    lengths = generator.choice([20, 39, 140, 140, 140, 140, 180, 260, 600, 1000], 9)
    inputs = [features[start : start + length] for start, length in zip(range(60, 600, 60), lengths, strict=True)]
    network = load_campplus(torch.float32)
    together = embed_features(network, inputs)
    for signal, voice in zip(inputs, together, strict=True):
        np.testing.assert_allclose(embed_features(network, [signal])[0], voice, atol=1e-4)


def test_features_are_kaldi_s(conversation: Samples) -> None:
    piece = conversation[16_000 : 16_000 + 48_240]
    features = FilterBank()(torch.from_numpy(piece)).numpy()
    np.testing.assert_allclose(features[::50], np.load(GOLDEN)["features"], atol=1e-3)
    np.testing.assert_allclose(features[:8], fbank_plainly(piece[:1_520].astype(np.float64)), atol=2e-3)
    assert FilterBank()(torch.zeros(399)).shape == (0, 80)


def error_s(found: Diarization, duration: float) -> float:
    """Seconds in which the conversation is given to somebody else than its reader, but for 0.5 s around each turn."""
    times = np.arange(0, duration, 0.01)
    wrong = np.zeros(len(times), np.bool_)
    for turn in found.turns:
        inside = (times >= turn.start) & (times < turn.end)
        own = [(times > start - 0.5) & (times < end + 0.5) for start, end, reader in READERS if reader == turn.speaker]
        wrong |= inside & ~np.any(own, axis=0)
    return float(wrong.sum()) / 100


def test_readers_are_told_apart(diarizer: SlotsDiarizer, conversation: Samples) -> None:
    found = diarizer.turns([conversation], ANY_NUMBER)
    assert [voice.speaker for voice in found.voices] == ["S1", "S2"]
    assert error_s(found, 48.7) < 0.1
    spoken = sum(turn.end - turn.start for turn in found.turns)
    assert spoken > 0.7 * sum(end - start for start, end, _ in READERS)  # readers pause
    assert found.voices[0].vector @ found.voices[1].vector < 0.3


def test_blocks_make_no_difference_and_the_second_run_none_either(
    diarizer: SlotsDiarizer, conversation: Samples
) -> None:
    signal = conversation[: 27 * SPEAKER_RATE]
    whole = diarizer.turns([signal], ANY_NUMBER)
    for n_block in (len(signal), 7_777, 80_000):
        blocks = [signal[start : start + n_block] for start in range(0, len(signal), n_block)]
        for block in blocks:
            block.flags.writeable = False  # as the blocks of a mapped file are
        again = diarizer.turns(blocks, ANY_NUMBER)
        assert again.turns == whole.turns
        for voice, other in zip(again.voices, whole.voices, strict=True):
            np.testing.assert_array_equal(voice.vector, other.vector)


def test_limits_are_obeyed(diarizer: SlotsDiarizer, conversation: Samples) -> None:
    one = diarizer.turns([conversation], SpeakerLimits(1, 1))
    three = diarizer.turns([conversation], SpeakerLimits(3, 3))
    assert (len(one.voices), one.forced) == (1, False)
    assert (len(three.voices), three.forced) == (3, True)


@pytest.mark.parametrize("n_samples", [0, 1, 399, 4_000, 159_999, 160_000, 160_001, 500_000])
def test_silence_of_any_length_has_no_turns(diarizer: SlotsDiarizer, n_samples: int) -> None:
    blocks = [np.zeros(n_samples, np.float32)] if n_samples else []
    found = diarizer.turns(blocks, ANY_NUMBER)
    assert (found.turns, found.voices) == ((), ())


@pytest.mark.parametrize("duration_s", [0.05, 0.25, 0.6, 3.0])
def test_snippets_of_speech_are_of_one_person_at_most(
    diarizer: SlotsDiarizer, conversation: Samples, duration_s: float
) -> None:
    snippet = conversation[SPEAKER_RATE : SPEAKER_RATE + int(duration_s * SPEAKER_RATE)]
    found = diarizer.turns([snippet], ANY_NUMBER)
    assert {turn.speaker for turn in found.turns} <= {"S1"}
    assert all(0 <= turn.start < turn.end <= duration_s for turn in found.turns)
    assert found.turns or duration_s < 0.6


def test_five_minutes_of_noise_before_people_are_nobody(diarizer: SlotsDiarizer, conversation: Samples) -> None:
    hiss = 0.02 * np.random.default_rng(0).standard_normal(300 * SPEAKER_RATE, dtype=np.float32)
    found = diarizer.turns([hiss, conversation[: 27 * SPEAKER_RATE]], ANY_NUMBER)
    assert len(found.voices) == 2
    assert found.turns[0].start > 300


def test_blocks_are_let_go(diarizer: SlotsDiarizer) -> None:
    alive: list[weakref.ref[Samples]] = []

    def iter_blocks() -> Iterator[Samples]:
        for _ in range(12):
            block = np.zeros(10 * SPEAKER_RATE, np.float32)
            alive.append(weakref.ref(block))
            yield block
            del block
            assert sum(reference() is not None for reference in alive) <= 3

    assert diarizer.turns(iter_blocks(), ANY_NUMBER).turns == ()


def test_a_voice_is_itself_and_nobody_else(conversation: Samples) -> None:
    embedder = load_embedder()

    def embed(start: float, end: float) -> np.ndarray:
        return embedder.embed(conversation[int(start * SPEAKER_RATE) : int(end * SPEAKER_RATE)])

    first, again, other = embed(1, 8), embed(26, 37), embed(17, 24)
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)
    assert first @ again > 0.6
    assert first @ other < 0.3
    with pytest.raises(ValueError, match="voice"):
        embed(1, 1.3)


def read_any(path: Path) -> Samples:
    """Any recording as the diarizer hears it."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return soxr.resample(samples.mean(1), rate, SPEAKER_RATE)


def join(pieces: Iterable[Samples], *, pause_s: float) -> Samples:
    pause = np.zeros(round(pause_s * SPEAKER_RATE), np.float32)
    return np.concatenate([part for piece in pieces for part in (piece, pause)])


def read_readers(data_dir: Path) -> dict[str, list[Path]]:
    """The utterances of each of the six readers of LibriSpeech."""
    readers: dict[str, list[Path]] = {}
    for line in (data_dir / "librispeech" / "refs.jsonl").read_text(encoding="utf-8").splitlines():
        utterance = json.loads(line)
        readers.setdefault(utterance["speaker"], []).append(data_dir / "librispeech" / utterance["audio"])
    return readers


@pytest.mark.data
@pytest.mark.parametrize("recording", ["calls/katiesteve_mono.wav 2", "speech/jfk.flac 1"])
def test_people_are_counted(diarizer: SlotsDiarizer, data_dir: Path, recording: str) -> None:
    name, n_people = recording.split()
    found = diarizer.turns([read_any(data_dir / name)], ANY_NUMBER)
    assert len(found.voices) == int(n_people)


@pytest.mark.data
def test_one_reader_stays_one(diarizer: SlotsDiarizer, data_dir: Path) -> None:
    (reader, *_) = read_readers(data_dir).values()
    signal = join(map(read_any, reader), pause_s=0.5)[: 60 * SPEAKER_RATE]
    found = diarizer.turns([signal], ANY_NUMBER)
    assert [voice.speaker for voice in found.voices] == ["S1"]
    assert found.voices[0].speech_s > 30


@pytest.mark.data
def test_a_dozen_people_are_a_dozen(diarizer: SlotsDiarizer, data_dir: Path) -> None:
    """Six readers, three of a podcast, a president, two on the telephone: 10 s of each."""
    readers = [join(map(read_any, paths[:3]), pause_s=0) for paths in read_readers(data_dir).values()]
    podcast = read_any(data_dir / "calls" / "0.mp3")
    telephone, _ = soundfile.read(data_dir / "speech" / "stereo_diarization.wav", dtype="float32")
    starts = (1, 40, 116)  # each of the three is in the middle of a long turn
    people = [*readers, *(podcast[start * SPEAKER_RATE :] for start in starts)]
    people += [read_any(data_dir / "speech" / "jfk.flac"), *telephone.T]
    found = diarizer.turns([join((person[: 10 * SPEAKER_RATE] for person in people), pause_s=0.5)], ANY_NUMBER)
    assert [voice.speaker for voice in found.voices] == [f"S{i}" for i in range(1, 13)]


@pytest.mark.data
@pytest.mark.parametrize("people", [("george",), ("lucas", "yweweler")])
def test_words_of_0_3_s_do_not_make_people(diarizer: SlotsDiarizer, data_dir: Path, people: tuple[str, ...]) -> None:
    """Forty digits of 0.2 to 0.7 s, by each person in turn."""
    names = [f"{i * 7 % 10}_{people[i % len(people)]}_{i}.wav" for i in range(40)]
    signal = join((read_any(data_dir / "fsdd" / name) for name in names), pause_s=0.6)
    found = diarizer.turns([signal], ANY_NUMBER)
    assert 1 <= len(found.voices) <= len(people)
    spoken = sum(turn.end - turn.start for turn in found.turns)
    assert spoken > 10


def test_damaged_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "murmur_cli" / "models" / "diarization"
    (tmp_path / "diarization").mkdir()
    for path in folder.iterdir():
        (tmp_path / "diarization" / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(bundled.resources, "files", lambda package: tmp_path)
    target = tmp_path / "diarization" / "campplus.safetensors"
    content = bytearray(target.read_bytes())
    content[-100] ^= 1
    for damaged in (bytes(content), b""):
        target.write_bytes(damaged)
        with pytest.raises(WeightsError, match=r"campplus\.safetensors"):
            load_campplus()
    target.unlink()
    with pytest.raises(WeightsError, match=r"campplus\.safetensors"):
        load_campplus()
    load_segmentation()


def test_loading_takes_no_library_but_torch() -> None:
    program = """
import sys
from murmur_cli.models.slots_diarizer import load_slots_diarizer
load_slots_diarizer()
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted({"pyannote", "transformers", "torchaudio", "huggingface_hub", "scipy"} & loaded))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
