"""Every command line of the README, of the pages in docs and of the help runs, with scripts in place of models.

A shell reads each line as a user's would; what ``murmur`` is given there is then done in this process by the real
command line, on small files. The README's first line is run with the real model in ``tests/e2e``.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
import typer
from doc_commands import PAGES, ROOT, Call, Shell, Snippet, find_snippets
from fake_portaudio import FakePortAudio, Scene
from transcript_samples import make_segment, make_transcript, make_words
from typer.core import TyperCommand, TyperOption

from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.vocabulary import Vocabulary
from murmur_cli.cli.app import app, run
from murmur_cli.engine import Extras
from murmur_cli.listen import SpeakerModels
from murmur_cli.models import cache, diarizers, forecast, load, silero, slots_diarizer, vocabulary, weights
from murmur_cli.models.cache import LocalWeights
from murmur_cli.models.catalog import resolve_model
from murmur_cli.models.choice import Choice
from murmur_cli.models.scripted import ScriptedEngine, ScriptedStreamEngine, ScriptedVad, ScriptEntry
from murmur_cli.options import ModelOptions
from murmur_cli.speakers.diarize import Diarization, Voice
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVector
from murmur_cli.transcript.formats import render_transcript
from murmur_cli.types import Samples, Span, Speaker, Turn

RATE = 16_000
SCRIPT = [ScriptEntry(i * 0.5, i * 0.5 + 0.4, f"w{i}", drafts=("w",)) for i in range(20)]
MADE = ("film.srt", "talk.json", "meeting.json", "film.json", "out/talk.json", "transcripts/talk.json")
BYTES = Vocabulary(tuple(bytes([byte]) for byte in range(256)), lambda text: list(text.encode()), "bytes")
ALL = Extras(**{field.name: True for field in fields(Extras)})
SNIPPETS = find_snippets()
SPEECH, _ = soundfile.read(ROOT / "examples" / "conversation.flac", dtype="float32", frames=10 * RATE)

pytestmark = [pytest.mark.models, pytest.mark.program("bash", "jq", "ffmpeg", "make")]


class OnePerson:
    """Hears one person, who sounds as the recording is long; implements ``Diarizer`` and ``SpeakerEmbedder``."""

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        samples = np.concatenate(list(blocks))
        voice = Voice(Speaker("S1"), self.embed(samples), len(samples) / RATE)
        return Diarization((Turn(0.0, len(samples) / RATE, voice.speaker),), (voice,), forced=False)

    def embed(self, samples: Samples) -> VoiceVector:
        return np.eye(VOICE_SIZE, dtype=np.float32)[len(samples) % VOICE_SIZE]


class ObligingEngine(ScriptedEngine):
    """Takes every option."""

    extras = ALL

    def keyword_lists(self) -> ListCache:
        return ListCache(BYTES, None)


class ObligingStreamEngine(ScriptedStreamEngine):
    """Takes every option."""

    extras = ALL

    def keyword_lists(self) -> ListCache:
        return ListCache(BYTES, None)


def make_wav(seconds: float = 1.5, *, channels: int = 1) -> bytes:
    file = io.BytesIO()
    samples = np.repeat(SPEECH[: round(seconds * RATE), None], channels, axis=1)
    soundfile.write(file, samples, RATE, format="WAV", subtype="PCM_16")
    return file.getvalue()


def make_film(seconds: int) -> bytes:
    """Two audio streams with sound in their first and last second, and nothing at all between."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        streams = [container.add_stream("pcm_s16le", rate=RATE, layout="mono") for _ in range(2)]
        for stream in streams:
            for at in (0, seconds - 1):
                frame = av.AudioFrame.from_ndarray(np.ones((1, RATE), np.int16), format="s16", layout="mono")
                frame.sample_rate, frame.pts = RATE, at * RATE
                container.mux(stream.encode(frame))
    return file.getvalue()


def make_files() -> dict[str, bytes]:
    """What the lines name, by path."""
    words = make_words("Good morning.", 0.5, 1.5, probability=0.2)
    transcript = make_transcript([make_segment(0.5, 1.5, "Good morning.", speaker="S1", words=words)])
    texts = {name: render_transcript(transcript, name, word_times=True) for name in ("json", "srt", "rttm", "stm")}
    wav, call = make_wav(), make_wav(channels=2)
    recordings = ("talk.m4a", "talk.mp3", "talk.wav", "meeting.m4a", "b.mp3", "a.wav", "b.wav", "x.flac")
    folders = ("recordings/talk1.mp3", "recordings/old/b.mp3", "meetings/a.m4a", "calls/a.wav", "calls/b.wav")
    files = dict.fromkeys((*recordings, *folders, "examples/conversation.flac"), wav)
    files |= {"ann.wav": make_wav(6.0), "bob.m4a": make_wav(7.0)}
    files |= {"call.wav": call, "call.raw": bytes(8000), "film.mkv": make_film(2)}
    files |= dict.fromkeys(MADE, texts["json"].encode()) | {"film.srt": texts["srt"].encode()}
    files |= dict.fromkeys(("reference.stm", "references/talk.stm"), texts["stm"].encode())
    files |= dict.fromkeys(("reference.rttm", "talk.rttm"), texts["rttm"].encode())
    samples = {"audio": "monday.wav", "text": "good morning", "phrases": ["New York City"]}
    files |= {"dev.jsonl": json.dumps(samples).encode(), "monday.wav": wav, "last": b"", "agenda.pdf": b""}
    files |= {
        "own.jsonl": b'{"path": "calls/a.wav", "lists": ["names.txt"]}\n',
        "names.txt": b"New York City\n",
        "drugs.csv": b"phrase\nZoloft\n",
        "notes.txt": b"Zoloft\n",
    }
    return files | {
        "agenda.txt": b"The budget of the third quarter.\n",
        "my-whisper/config.json": b'{"model_type": "scripted"}',
    }


FILES = functools.cache(make_files)
LONG = functools.cache(functools.partial(make_film, 5402))


def make_said(place: Path) -> Path:
    """What stand-ins for programs say."""
    transcript = FILES()["talk.json"].decode()
    segment = json.loads(transcript)["segments"][0]
    events = [{"type": kind, "v": 1, "recording": 0} | segment for kind in ("recording", "segment", "end")]
    session = [{"type": kind, "v": 1} | segment for kind in ("session", "committed", "end")]
    place.mkdir()
    (place / "samples.raw").write_bytes((SPEECH[:RATE] * 2**15).astype("<i2").tobytes())
    (place / "recording.wav").write_bytes(FILES()["talk.wav"])
    (place / "transcript.json").write_text(transcript)
    (place / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (place / "session.jsonl").write_text("".join(json.dumps(event) + "\n" for event in session))
    return place


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("shell")
    return Shell(place, make_said(place / "said"))


@pytest.fixture
def folder(snippet: Snippet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with all files that the line names; what it makes itself is not there."""
    files = {
        name: content for name, content in FILES().items() if name not in MADE or "murmur batch" not in snippet.text
    }
    if "--start" in snippet.text:
        files |= dict.fromkeys(("film.mkv", "meeting.m4a"), LONG())
    for name, content in files.items():
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    monkeypatch.chdir(tmp_path / "here")
    for name in ("CACHE", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("MURMUR_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "here"


@pytest.fixture
def _scripts(folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts in place of models; what is said of a model by its name is looked up all the same."""
    tokens = str(models_dir / "tiny-vibevoice-digits")

    def check(model: ModelOptions) -> None:
        assert model.model == "auto" or resolve_model(model.model)

    def find(name: str, **more: object) -> LocalWeights:
        assert resolve_model(name)
        return LocalWeights(name, folder / "my-whisper", "0" * 64, 1, None, None, None)

    monkeypatch.setattr(load, "load_engine", lambda model, **more: check(model) or ObligingEngine(SCRIPT))
    monkeypatch.setattr(load, "load_stream_engine", lambda model, **more: check(model) or ObligingStreamEngine(SCRIPT))
    monkeypatch.setattr(silero, "load_silero", lambda options: ScriptedVad([Span(0, 10_000 * RATE)]))
    monkeypatch.setattr(diarizers, "load_speaker_models", lambda name, offline: SpeakerModels(OnePerson(), OnePerson()))
    monkeypatch.setattr(slots_diarizer, "load_slots_diarizer", OnePerson)
    monkeypatch.setattr(vocabulary, "_GPU_FILES", (".",))
    monkeypatch.setattr(vocabulary, "choose_model", lambda options: Choice(tokens, "small"))
    for module in (cache, forecast):
        monkeypatch.setattr(module, "find_weights", find)
    monkeypatch.setattr(cache, "remove_weights", lambda name: 1)
    monkeypatch.setattr(weights, "pull_weights", find)
    microphones = FakePortAudio(Scene(devices=(("Desk", 1, 16_000.0), ("USB microphone", 1, 16_000.0)), default=0))
    monkeypatch.setitem(sys.modules, "sounddevice", microphones)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # which the command replaces


def prepare(call: Call) -> list[str]:
    """End sessions with a microphone soon, and have files before what is made of them is used."""
    arguments = list(call.arguments)
    if "drugs.mbias" in arguments and "-o" not in arguments:
        assert run(["bias", "compile", "drugs.csv", "-o", "drugs.mbias", "-q"]) == 0
    if arguments[0] == "stream" and not {"-", "talk.m4a", "--list-microphones"} & set(arguments):
        arguments += ["--duration", "0.5"]
    return arguments


def do(call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Do what the command was called for: its exit code, and what it said on stderr."""
    arguments = prepare(call)
    capsys.readouterr()
    outlet, inlet = os.pipe()
    os.set_blocking(inlet, False)  # a pipe takes 64 KiB: enough for all that is piped here
    with os.fdopen(outlet) as file, os.fdopen(inlet, "wb", buffering=0) as pipe:
        assert pipe.write(call.stdin or b"") == len(call.stdin or b"")
        pipe.close()
        monkeypatch.setattr(sys, "stdin", file)
        code = run(arguments)
    return code, capsys.readouterr().err


@pytest.mark.usefixtures("_scripts")
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: f"{snippet.page}: {snippet.text.strip()[:60]}")
def test_every_line_runs(
    snippet: Snippet, shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said, calls = shell.run(snippet, folder)
    assert len(calls) == re.sub(r"\s#.*", "", snippet.text).count("murmur ")
    if "| jq" in snippet.text or snippet.text.startswith("jq"):
        assert said.strip() not in ("", "null", "[]")
    for call in calls:
        code, stderr = do(call, monkeypatch, capsys)
        if "--captions" in call.arguments:  # what is drawn there is tested in a terminal
            assert "stdout is no terminal" in stderr
        else:
            assert (code, "error" in stderr) == (0, False), stderr


def iter_leaves(command: TyperCommand, path: str = "murmur") -> Iterator[tuple[str, TyperCommand]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from iter_leaves(child, f"{path} {name}")


@pytest.mark.parametrize(("path", "command"), list(iter_leaves(typer.main.get_command(app))))
def test_the_page_of_commands_has_every_option(path: str, command: TyperCommand) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {path}\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    for option in (parameter for parameter in command.params if isinstance(parameter, TyperOption)):
        for name in (*option.opts, *option.secondary_opts):
            assert re.search(rf"^\| `.*{name}\b.*` \| ", section, flags=re.MULTILINE), name


def test_readme_and_guide_show_every_command() -> None:
    every = typer.main.get_command(app).commands
    for page in ("README.md", "docs/guide.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert [name for name in every if f"\nmurmur {name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        if not name.startswith("https:"):
            place = page.parent / name if name else page
            assert place.exists(), target
            assert not anchor or anchor in find_anchors(place), target


def find_anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
