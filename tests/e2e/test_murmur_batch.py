"""The installed command, the real default weights, real recordings."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import jiwer
import jsonschema
import pysubs2
import pytest
import soundfile
from conftest import MURMUR, ROOT, Finished
from whisper_normalizer.english import EnglishTextNormalizer

from murmur_cli.options import FORMATS

pytestmark = pytest.mark.weights

EXAMPLE = ROOT / "examples" / "conversation.flac"
JFK = "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country."
REFERENCE = ROOT / "examples" / "conversation.txt"


class Run(Protocol):
    def __call__(self, *args: str | bytes | Path, timeout: float = 60.0, **more: object) -> Finished: ...


@pytest.fixture
def murmur(run_murmur: Run, whisper_base: Path) -> Run:
    """The command, with its default weights in the cache."""
    del whisper_base
    return run_murmur


def word_error_rate(reference: str, hypothesis: str) -> float:
    normalize = EnglishTextNormalizer()
    return float(jiwer.wer(normalize(reference), normalize(hypothesis)))


def test_the_readme_line_transcribes_the_example(murmur: Run) -> None:
    done = murmur("batch", EXAMPLE, timeout=120)
    assert done.code == 0, done.stderr
    names, texts = zip(*(line.split(": ", 1) for line in done.stdout.decode().splitlines()), strict=True)
    assert word_error_rate(REFERENCE.read_text(), " ".join(texts)) < 0.15
    assert [name for name, _ in itertools.groupby(names)] == ["S1", "S2", "S1", "S2", "S1"]  # two readers in turns
    assert all(line.startswith("murmur: ") for line in done.stderr.splitlines())
    assert "\x1b" not in done.stderr
    assert "\r" not in done.stderr


def test_a_voice_that_is_known_has_its_name(murmur: Run, tmp_path: Path) -> None:
    samples, rate = soundfile.read(EXAMPLE, dtype="int16")
    soundfile.write(tmp_path / "winam.flac", samples[: round(15.5 * rate)], rate)
    soundfile.write(tmp_path / "talk.flac", samples[round(25 * rate) :], rate)  # winam, another reader, winam
    options = ("--enrol", "winam=winam.flac", "--speaker-names", "S1=Ken T.", "-f", "srt,rttm", "-o", "out/")
    done = murmur("batch", "talk.flac", *options, timeout=120)
    assert done.code == 0, done.stderr
    turns = (tmp_path / "out" / "talk.rttm").read_text(encoding="utf-8").splitlines()
    assert [name for name, _ in itertools.groupby(line.split()[7] for line in turns)] == ["winam", "Ken%20T.", "winam"]
    cues = pysubs2.load(str(tmp_path / "out" / "talk.srt"))
    assert {cue.plaintext.partition(": ")[0] for cue in cues} == {"winam", "Ken T."}


@pytest.mark.data
def test_every_format_in_one_run_and_the_exact_precision(murmur: Run, data_dir: Path, tmp_path: Path) -> None:
    jfk = data_dir / "speech" / "jfk.flac"
    done = murmur(
        "batch", jfk, "-f", ",".join(FORMATS), "-o", "out/", "--dtype", "float32", "--speakers", "none", timeout=120
    )
    assert done.code == 0, done.stderr
    assert done.stdout == b""
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {f"jfk.{name}" for name in FORMATS}
    document = json.loads((out / "jfk.json").read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "murmur_cli" / "transcript" / "transcript.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    assert document["language"] == "en"
    said = " ".join(segment["text"] for segment in document["segments"])
    assert word_error_rate(JFK, said) == 0
    words = [word for segment in document["segments"] for word in segment["words"]]
    assert len(words) == 22
    assert all(word["start"] <= word["end"] <= 11.0 for word in words)
    assert [word["start"] for word in words] == sorted(word["start"] for word in words)
    assert len(pysubs2.load(str(out / "jfk.srt"))) >= 1
    assert (out / "jfk.txt").read_text(encoding="utf-8").split() == said.split()


@pytest.mark.data
def test_each_channel_is_one_person_also_where_both_talk_at_once(murmur: Run, data_dir: Path) -> None:
    folder = data_dir / "speech"
    done = murmur("batch", folder / "stereo_diarization.wav", "--channels", "speakers", "-f", "json", timeout=120)
    assert done.code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["language"] == "en"
    for line in (folder / "stereo_diarization.jsonl").read_text(encoding="utf-8").splitlines():
        wanted = json.loads(line)
        name = f"S{wanted['channel'] + 1}"
        said = " ".join(segment["text"] for segment in document["segments"] if segment["speaker"] == name)
        assert word_error_rate(wanted["text"], said) <= 0.1


@pytest.mark.data
def test_good_files_are_written_beside_a_missing_and_a_broken_one(murmur: Run, data_dir: Path, tmp_path: Path) -> None:
    shutil.copy(data_dir / "speech" / "jfk.flac", tmp_path / "good.flac")
    shutil.copy(data_dir / "formats" / "digital_silence.wav", tmp_path / "silent.wav")
    (tmp_path / "text.wav").write_text("this is not audio\n")
    done = murmur("batch", "good.flac", "missing.mp3", "text.wav", "silent.wav", timeout=120)
    assert done.code == 3, done.stderr
    assert done.stdout == b""
    assert "fellow Americans" in (tmp_path / "good.txt").read_text(encoding="utf-8")
    assert (tmp_path / "silent.txt").read_text(encoding="utf-8") == ""
    assert not (tmp_path / "text.txt").exists()
    assert sum("missing.mp3: " in line for line in done.stderr.splitlines()) == 1
    assert sum("text.wav: " in line for line in done.stderr.splitlines()) == 1
    # the same command again would replace what is there: refused before any work
    again = murmur("batch", "good.flac", "silent.wav")
    assert again.code == 2
    assert "--overwrite" in again.stderr


def test_a_reader_that_goes_away_is_no_failure(murmur: Run, tmp_path: Path) -> None:
    command = f"'{MURMUR}' batch '{EXAMPLE}' --progress none -f tsv | head -c 3; echo code ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False, cwd=tmp_path)
    assert done.stdout.endswith(b"code 0\n"), done
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_run_and_leaves_no_half_file(
    whisper_base: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    del whisper_base
    command = [MURMUR, "batch", EXAMPLE, "-o", tmp_path / "x.json", "-v"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:  # the model is loaded: recognition begins
            if "decoder" in line:
                break
        time.sleep(0.5)
        process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == code
    assert "Traceback" not in rest
    assert list(tmp_path.iterdir()) == []


def test_without_weights_and_network_the_code_is_4(run_murmur: Callable[..., Finished], tmp_path: Path) -> None:
    done = run_murmur("batch", EXAMPLE, "--offline", env={"MURMUR_CACHE_DIR": str(tmp_path), "HF_HOME": str(tmp_path)})
    assert done.code == 4
    assert done.stdout == b""
    assert "murmur models pull whisper-base" in done.stderr


def test_the_language_can_be_given_and_must_exist(murmur: Run) -> None:
    done = murmur("batch", EXAMPLE, "--language", "klingon")
    assert done.code == 2
    assert done.stdout == b""
    assert "klingon" in done.stderr
