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
from scripted_stream import write_model
from whisper_normalizer.english import EnglishTextNormalizer

from murmur_cli.models.scripted import ScriptEntry
from murmur_cli.options import FORMATS

pytestmark = pytest.mark.weights

EXAMPLE = ROOT / "examples" / "conversation.flac"
JFK = "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country."
REFERENCE = ROOT / "examples" / "conversation.txt"


class Run(Protocol):
    def __call__(self, *args: str | bytes | Path, timeout: float = 60.0, **more: object) -> Finished: ...


class Call(Protocol):
    def __call__(self, *args: str | Path) -> Finished: ...


@pytest.fixture
def murmur(run_murmur: Run, whisper_base: Path) -> Run:
    """The command, with its default weights in the cache."""
    del whisper_base
    return run_murmur


@pytest.fixture
def called(call_murmur: Call, whisper_base: Path) -> Call:
    """The same in this process."""
    del whisper_base
    return call_murmur


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


def test_a_voice_that_is_known_has_its_name(called: Call, tmp_path: Path) -> None:
    samples, rate = soundfile.read(EXAMPLE, dtype="int16")
    soundfile.write(tmp_path / "winam.flac", samples[: round(15.5 * rate)], rate)
    soundfile.write(tmp_path / "talk.flac", samples[round(25 * rate) :], rate)  # winam, another reader, winam
    options = ("--enrol", "winam=winam.flac", "--speaker-names", "S1=Ken T.", "-f", "srt,rttm", "-o", "out/")
    done = called("batch", "talk.flac", *options)
    assert done.code == 0, done.stderr
    turns = (tmp_path / "out" / "talk.rttm").read_text(encoding="utf-8").splitlines()
    assert [name for name, _ in itertools.groupby(line.split()[7] for line in turns)] == ["winam", "Ken%20T.", "winam"]
    cues = pysubs2.load(str(tmp_path / "out" / "talk.srt"))
    assert {cue.plaintext.partition(": ")[0] for cue in cues} == {"winam", "Ken T."}


@pytest.mark.data
def test_every_format_in_one_run_and_the_exact_precision(called: Call, data_dir: Path, tmp_path: Path) -> None:
    jfk = data_dir / "speech" / "jfk.flac"
    done = called("batch", jfk, "-f", ",".join(FORMATS), "-o", "out/", "--dtype", "float32", "--speakers", "none")
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
def test_each_channel_is_one_person_also_where_both_talk_at_once(called: Call, data_dir: Path) -> None:
    folder = data_dir / "speech"
    done = called("batch", folder / "stereo_diarization.wav", "--channels", "speakers", "-f", "json")
    assert done.code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["language"] == "en"
    for line in (folder / "stereo_diarization.jsonl").read_text(encoding="utf-8").splitlines():
        wanted = json.loads(line)
        name = f"S{wanted['channel'] + 1}"
        said = " ".join(segment["text"] for segment in document["segments"] if segment["speaker"] == name)
        assert word_error_rate(wanted["text"], said) <= 0.1


@pytest.mark.data
def test_good_files_are_written_beside_a_missing_and_a_broken_one(called: Call, data_dir: Path, tmp_path: Path) -> None:
    shutil.copy(data_dir / "speech" / "jfk.flac", tmp_path / "good.flac")
    shutil.copy(data_dir / "formats" / "digital_silence.wav", tmp_path / "silent.wav")
    (tmp_path / "text.wav").write_text("this is not audio\n")
    done = called("batch", "good.flac", "missing.mp3", "text.wav", "silent.wav")
    assert done.code == 3, done.stderr
    assert done.stdout == b""
    assert "fellow Americans" in (tmp_path / "good.txt").read_text(encoding="utf-8")
    assert (tmp_path / "silent.txt").read_text(encoding="utf-8") == ""
    assert not (tmp_path / "text.txt").exists()
    assert sum("missing.mp3: " in line for line in done.stderr.splitlines()) == 1
    assert sum("text.wav: " in line for line in done.stderr.splitlines()) == 1
    # what is as the command left it is passed over; what is not is refused before any work
    again = called("batch", "good.flac", "silent.wav")
    assert (again.code, again.stderr.count(": up to date\n")) == (0, 2)
    (tmp_path / "silent.txt").write_text("mine\n", encoding="utf-8")
    refused = called("batch", "good.flac", "silent.wav")
    assert refused.code == 2
    assert "--overwrite" in refused.stderr


@pytest.fixture
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that says more about the example than a pipe holds."""
    script = tuple(ScriptEntry(i / 10, (i + 1) / 10, f"This is sentence {i}." * 40) for i in range(400))
    return write_model(tmp_path_factory.mktemp("talkative"), script)


def test_a_reader_that_goes_away_is_no_failure(talkative: Path, tmp_path: Path) -> None:
    command = f"'{MURMUR}' batch '{EXAMPLE}' --model '{talkative}' -f tsv --progress none"
    command += " | head -c 3; echo code ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False, cwd=tmp_path)
    assert done.stdout.endswith(b"code 0\n"), done
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("model", "after", "number", "code"),
    [("whisper_base", 0.5, signal.SIGTERM, 143), ("talkative", 0.0, signal.SIGINT, 130)],
)
def test_a_signal_ends_the_run_and_leaves_no_half_file(
    request: pytest.FixtureRequest, tmp_path: Path, model: str, after: float, number: signal.Signals, code: int
) -> None:
    folder: Path = request.getfixturevalue(model)
    command = [MURMUR, "batch", EXAMPLE, "--model", folder, "-o", tmp_path / "x.json", "-v"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:  # the model is loaded: recognition begins
            if " on cpu, " in line:
                break
        time.sleep(after)
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


def test_the_language_can_be_given_and_must_exist(called: Call) -> None:
    done = called("batch", EXAMPLE, "--language", "klingon")
    assert done.code == 2
    assert done.stdout == b""
    assert "klingon" in done.stderr
