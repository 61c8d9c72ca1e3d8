"""Live sessions of tiny VibeVoices with random weights: token for token those of a plain loop."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.streaming import cut_windows, stream_plainly
from torch import Tensor
from vibevoice_models import add_geometry, make_network, token_id, write_original_layout, write_transformers_layout

from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.gate import build_line_gate
from murmur_cli.decode.rollover import Rollover
from murmur_cli.engine import StreamSegment, StreamUpdate
from murmur_cli.errors import DeviceError, MurmurError, UsageError, WeightsError
from murmur_cli.models.load import load_stream_engine
from murmur_cli.models.vibevoice import streaming as streaming_module
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.geometry import Geometry, read_geometry
from murmur_cli.models.vibevoice.interleave import ChunkText, Interleaver
from murmur_cli.models.vibevoice.keywords import KeywordLists
from murmur_cli.models.vibevoice.memory import Free
from murmur_cli.models.vibevoice.overrun import MOST_TOKENS, cut_overrun
from murmur_cli.models.vibevoice.prompt import encode_stream_prompt, strip_control_tokens
from murmur_cli.models.vibevoice.rolling import ReadChunk, RollingContext
from murmur_cli.models.vibevoice.silence import GATE_SAMPLES, SilenceGate
from murmur_cli.models.vibevoice.stream_text import StreamPiece
from murmur_cli.models.vibevoice.streaming import VibeVoiceStream, VibeVoiceStreamEngine, load_vibevoice_stream
from murmur_cli.models.vibevoice.windows import Window
from murmur_cli.models.weights import pull_weights
from murmur_cli.options import ModelOptions, StreamOptions
from murmur_cli.types import Samples, Span

GEOMETRIES = [Geometry(22, 4), Geometry(15, 4)]
PROMPT = [5, 6, 7]
NOISE = (np.random.default_rng(0).standard_normal(240_000) * 0.1).astype(np.float32)


def load_lively(folder: Path, *, seed: int, ends: float) -> Checkpoint:
    """A model that ends its chunks the sooner the more ``ends`` is."""
    network = make_network(seed=seed)
    with torch.no_grad():
        network.lm_head.weight[token_id("<|text_chunk_end|>")] *= ends
    write_transformers_layout(folder, network)
    return load_checkpoint(inspect_checkpoint(folder), device=torch.device("cpu"), dtype=torch.float32)


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return load_lively(tmp_path_factory.mktemp("lively"), seed=2, ends=3.0)


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Every chunk that it writes is too long."""
    return load_lively(tmp_path_factory.mktemp("endless"), seed=2, ends=1.0)


class Recorder(Interleaver):
    """Notes what is written, and which audio that is for."""

    def __init__(self, checkpoint: Checkpoint, geometry: Geometry) -> None:
        decoder = Decoder(checkpoint.network.model.language_model, checkpoint.network.lm_head)
        chunk_end = token_id("<|text_chunk_end|>")
        seconds = geometry.window_samples / 24_000
        super().__init__(decoder, checkpoint.vocabulary, prompt=PROMPT, chunk_end=chunk_end, seconds=seconds)
        self.written: list[ChunkText] = []
        self.silent: list[bool] = []

    def read(self, features: Tensor, *, is_silent: bool) -> ChunkText:
        self.silent.append(is_silent)
        self.written.append(super().read(features, is_silent=is_silent))
        return self.written[-1]

    @property
    def tokens(self) -> list[list[int]]:
        return [list(text.tokens) for text in self.written]


class Loud:
    """Takes for speech what is loud, and a tenth of a second on both sides."""

    def detect(self, blocks: object) -> list[Span]:
        samples = np.concatenate([np.zeros(0, np.float32), *blocks])  # type: ignore[misc]
        places = np.flatnonzero(np.abs(samples) > 0.3)
        if not len(places):
            return []
        return [Span(max(int(places[0]) - 1600, 0), min(int(places[-1]) + 1600, len(samples)))]


def record(checkpoint: Checkpoint, geometry: Geometry, audio: Samples, gate: SilenceGate | None = None) -> Recorder:
    recorder = Recorder(checkpoint, geometry)
    context = RollingContext(recorder, checkpoint.vocabulary, Rollover(1000))
    play(
        VibeVoiceStream(checkpoint, geometry, context, gate, keywords=KeywordLists(checkpoint, build_line_gate)),
        [audio],
    )
    return recorder


def play(stream: VibeVoiceStream, blocks: Sequence[Samples]) -> StreamUpdate:
    updates = [*(stream.push(block) for block in blocks), stream.finish()]
    committed = [segment for update in updates for segment in update.committed]
    return StreamUpdate(tuple(committed), tuple(gap for update in updates for gap in update.gaps))


def make_engine(checkpoint: Checkpoint, geometry: Geometry, notes: list[str] | None = None) -> VibeVoiceStreamEngine:
    from murmur_cli.types import EngineInfo

    info = EngineInfo(model="tiny", weights_sha256="0" * 64, device="cpu", precision="float32")
    heard = [] if notes is None else notes
    return VibeVoiceStreamEngine(checkpoint, geometry, info, vad=None, on_note=heard.append)


# --- the same tokens as a plain loop


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_tokens_are_those_of_the_plain_loop(lively: Checkpoint, geometry: Geometry, *, folds: bool) -> None:
    recorder = record(lively, geometry, NOISE)
    windows = cut_windows(NOISE, chunk=geometry.chunk_samples, window=geometry.window_samples)
    expected = stream_plainly(lively.network, windows, prompt=PROMPT, names=token_id, folds=folds)
    assert recorder.tokens == expected
    assert len({tuple(tokens) for tokens in expected}) > 2  # they depend on the audio
    assert not any(text.fault for text in recorder.written)


def test_what_was_cut_off_is_not_in_the_context(endless: Checkpoint) -> None:
    geometry = GEOMETRIES[0]
    recorder = record(endless, geometry, NOISE[:100_000])
    windows = cut_windows(NOISE[:100_000], chunk=geometry.chunk_samples, window=geometry.window_samples)
    seconds = geometry.window_samples / 24_000

    def cut(tokens: list[int]) -> list[int]:
        return cut_overrun(tokens, seconds=seconds)[0] if len(tokens) == MOST_TOKENS else list(tokens)

    expected = stream_plainly(endless.network, windows, prompt=PROMPT, names=token_id, folds=False, cut=cut)
    assert recorder.tokens == expected
    assert any(text.fault for text in recorder.written)


def test_a_silent_chunk_is_heard_and_stays_empty(lively: Checkpoint) -> None:
    geometry = GEOMETRIES[0]
    audio = NOISE.copy()
    audio[80_000:] *= 0.01
    audio[:80_000] *= 5
    recorder = record(lively, geometry, audio, SilenceGate(Loud()))
    windows = cut_windows(audio, chunk=geometry.chunk_samples, window=geometry.window_samples)
    expected = stream_plainly(lively.network, windows, prompt=PROMPT, names=token_id, folds=True, silent={2, 3})
    assert recorder.tokens == expected
    assert recorder.silent == [False, False, True, True]


def test_the_end_of_a_text_ends_the_chunk_alone(lively: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = record(lively, GEOMETRIES[0], NOISE).tokens
    end, chunk_end = lively.vocabulary.end, token_id("<|text_chunk_end|>")
    choose = Interleaver._choose

    def swap(self: Interleaver, hidden: Tensor) -> int:
        token = choose(self, hidden)
        return end if token == chunk_end else token

    monkeypatch.setattr(Interleaver, "_choose", swap)
    assert record(lively, GEOMETRIES[0], NOISE).tokens == whole


def test_windows_of_ten_seconds(lively: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Samples] = []
    encode = streaming_module.encode_audio

    def listen(checkpoint: Checkpoint, samples: Samples, *, gain: float) -> Tensor:
        assert gain == 1.0
        heard.append(samples)
        return encode(checkpoint, samples, gain=gain)

    monkeypatch.setattr(streaming_module, "encode_audio", listen)
    with make_engine(lively, GEOMETRIES[0]).open(StreamOptions()) as stream:
        play(stream, [NOISE])
    starts = [0, 70_400, 140_800, 211_200]  # 0, 2.933, 5.867, 8.8 s
    assert [len(window) for window in heard] == [83_200] * 4
    for start, window in zip(starts, heard, strict=True):
        n = min(len(NOISE) - start, 83_200)
        assert np.array_equal(window[:n], NOISE[start : start + n])
        assert not window[n:].any()


# --- however the audio comes in


SMALL = Geometry(2, 1)


@settings(max_examples=10)
@given(n_samples=st.integers(0, 26_000), cuts=st.lists(st.integers(0, 26_000), max_size=8))
def test_any_split_commits_the_same(lively: Checkpoint, n_samples: int, cuts: list[int]) -> None:
    audio = NOISE[:n_samples]
    engine = make_engine(lively, SMALL)
    borders = [0, *sorted(min(cut, n_samples) for cut in cuts), n_samples]
    with engine.open(StreamOptions()) as stream:
        whole = play(stream, [audio])
    with engine.open(StreamOptions()) as stream:
        assert play(stream, [audio[a:b] for a, b in pairwise(borders)]) == whole
    check_times(whole.committed, n_samples / 24_000)


@settings(max_examples=4)
@given(n_known=st.integers(0, 26_000))
def test_what_is_committed_does_not_depend_on_what_follows(lively: Checkpoint, n_known: int) -> None:
    engine = make_engine(lively, SMALL)
    futures = (NOISE[n_known:26_000], NOISE[100_000:110_000] * 3)
    shown, wholes = [], []
    for future in futures:
        with engine.open(StreamOptions()) as stream:
            shown.append(stream.push(NOISE[:n_known]).committed)
            wholes.append((*shown[-1], *play(stream, [future]).committed))
    assert shown[0] == shown[1]
    with engine.open(StreamOptions()) as stream:
        assert play(stream, [NOISE[:26_000]]).committed == wholes[0]


def check_times(segments: Sequence[StreamSegment], duration: float) -> None:
    now = 0.0
    for segment in segments:
        assert segment.times == "chunk"
        assert now - 1e-9 <= segment.start < segment.end <= duration + 1e-9
        now = segment.end


def test_no_audio_and_hardly_any(lively: Checkpoint) -> None:
    engine = make_engine(lively, GEOMETRIES[0])
    with engine.open(StreamOptions()) as stream:
        assert stream.push(NOISE[:0]) == StreamUpdate()
        assert stream.finish() == StreamUpdate()
    recorder = record(lively, GEOMETRIES[0], NOISE[:5])
    windows = cut_windows(NOISE[:5], chunk=70_400, window=83_200)
    assert recorder.tokens == stream_plainly(lively.network, windows, prompt=PROMPT, names=token_id, folds=True)
    assert len(recorder.tokens) == 1


def test_a_session_remembers_nothing_of_the_one_before(lively: Checkpoint) -> None:
    engine = make_engine(lively, SMALL)
    played = []
    for _ in range(2):
        with engine.open(StreamOptions()) as stream:
            played.append(play(stream, [NOISE[:30_000]]))
    assert played[0] == played[1]
    assert played[0].committed


def test_cut_chunks_are_gaps(endless: Checkpoint) -> None:
    with make_engine(endless, GEOMETRIES[0]).open(StreamOptions()) as stream:
        gaps = play(stream, [NOISE[:100_000]]).gaps
    assert gaps
    for gap in gaps:
        assert gap.reason
        assert (gap.start, gap.end) in {(0.0, 70_400 / 24_000), (70_400 / 24_000, 100_000 / 24_000)}


# --- sessions of several contexts


class Listener(Recorder):
    """Notes what a new context is built of."""

    def __init__(self, checkpoint: Checkpoint, geometry: Geometry) -> None:
        super().__init__(checkpoint, geometry)
        self.heard: list[Tensor] = []
        self.expected: list[list[int]] = []
        self.parts = [self._embed(PROMPT)]
        self._network = checkpoint.network
        self.n_contexts = 1

    def begin_again(self, chunks: Sequence[tuple[Tensor, Sequence[int]]]) -> None:
        super().begin_again(chunks)
        self.n_contexts += 1
        self.parts = [self._embed(PROMPT)]
        for features, tokens in chunks:
            assert any(torch.equal(features, heard) for heard in self.heard)  # as it was encoded when it was heard
            self.parts += [self._wrap(features), self._embed([*tokens, token_id("<|text_chunk_end|>")])]

    def read(self, features: Tensor, *, is_silent: bool) -> ChunkText:
        self.heard.append(features)
        self.parts.append(self._wrap(features))
        text = super().read(features, is_silent=is_silent)
        if self.n_contexts > 1:
            self.expected.append(self.write_plainly(len(text.tokens)))
        self.parts.append(self._embed([*text.tokens, token_id("<|text_chunk_end|>")]))
        return text

    @torch.no_grad()
    def write_plainly(self, n_tokens: int) -> list[int]:
        """The next tokens, and what ends them: all that is in the context is read anew for each."""
        tokens: list[int] = []
        while len(tokens) <= n_tokens:
            embedded = torch.cat([*self.parts, self._embed(tokens)], dim=1) if tokens else torch.cat(self.parts, dim=1)
            hidden = self._network.model.language_model(inputs_embeds=embedded, use_cache=False).last_hidden_state
            tokens.append(int(self._network.lm_head(hidden[0, -1]).argmax()))
        return tokens

    def _wrap(self, features: Tensor) -> Tensor:
        begin, end = (self._embed([token_id(name)]) for name in ("<|object_ref_start|>", "<|object_ref_end|>"))
        return torch.cat([begin, features[None], end], dim=1)


def test_a_new_context_is_read_as_if_it_had_been_there_from_the_start(lively: Checkpoint) -> None:
    listener = Listener(lively, SMALL)
    context = RollingContext(listener, lively.vocabulary, Rollover(16))
    play(
        VibeVoiceStream(lively, SMALL, context, None, keywords=KeywordLists(lively, build_line_gate)),
        [NOISE[: 30 * SMALL.chunk_samples]],
    )
    assert listener.n_contexts >= 2
    written = [text for text in listener.written[-len(listener.expected) :] if text.fault is None]
    ends = {token_id("<|text_chunk_end|>"), lively.vocabulary.end}
    assert [list(text.tokens) for text in written] == [tokens[:-1] for tokens in listener.expected]
    assert {tokens[-1] for tokens in listener.expected} <= ends
    assert len({text.tokens for text in written}) > 2


@settings(max_examples=4)
@given(cuts=st.lists(st.integers(0, 160_000), max_size=8))
def test_any_split_commits_the_same_over_new_contexts(lively: Checkpoint, cuts: list[int]) -> None:
    audio = NOISE[:160_000]
    borders = [0, *sorted(cuts), len(audio)]
    played = []
    for blocks in ([audio], [audio[a:b] for a, b in pairwise(borders)]):
        recorder = Recorder(lively, SMALL)
        context = RollingContext(recorder, lively.vocabulary, Rollover(16))
        played.append(
            play(VibeVoiceStream(lively, SMALL, context, None, keywords=KeywordLists(lively, build_line_gate)), blocks)
        )
        assert len(recorder.written) > 16
        assert context.n_held <= 16
    assert played[0] == played[1]
    check_times(played[0].committed, len(audio) / 24_000)


def test_the_context_never_holds_more_than_was_asked_for(lively: Checkpoint) -> None:
    engine = make_engine(lively, Geometry(22, 0))
    most = 0.0
    with engine.open(StreamOptions(context_minutes=1.0)) as stream:
        for _ in range(30):
            stream.push(NOISE[: 22 * 3200])
            most = max(most, stream.context_s)
    assert 55.0 < most <= 60.0
    with (
        pytest.raises(UsageError) as caught,
        make_engine(lively, Geometry(60, 0)).open(StreamOptions(context_minutes=1)),
    ):
        pass
    assert caught.value.where == "--context-minutes"


class HeldBack:
    """Plays a ``RollingContext`` with two pieces for each chunk, and one that is held back to the end."""

    def read(self, features: Tensor, *, is_silent: bool) -> ReadChunk:
        return ReadChunk((StreamPiece("one", None, True), StreamPiece(" two", None, False)), None)

    def finish(self) -> list[StreamPiece]:
        return [StreamPiece(" three", None, False)]


@pytest.mark.parametrize("geometry", [SMALL, Geometry(2, 0)], ids=str)
@pytest.mark.parametrize("n_samples", [3000, 12_800, 14_000])
def test_what_was_held_back_comes_after_what_was_committed(
    lively: Checkpoint, geometry: Geometry, n_samples: int
) -> None:
    stream = VibeVoiceStream(lively, geometry, HeldBack(), None, keywords=KeywordLists(lively, build_line_gate))  # type: ignore[arg-type]
    committed = play(stream, [NOISE[:n_samples]]).committed
    assert committed[-1].text == " three"
    assert committed[-1].end == n_samples / 24_000
    has_time = geometry.lookahead_frames or n_samples % geometry.chunk_samples  # else its chunk was committed before
    assert committed[-1].start < committed[-1].end or not has_time
    for left, right in pairwise(committed):
        assert left.start < left.end <= right.start + 1e-9


# --- what the model is told


def test_the_context_is_read_without_control_tokens(lively: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def note(vocabulary: object, *, extra_info: str | None) -> list[int]:
        tokens = encode_stream_prompt(lively.vocabulary, extra_info=strip_control_tokens(extra_info or "")[0] or None)
        read.append(lively.vocabulary.tokenizer.decode(tokens, skip_special_tokens=False))
        return tokens

    monkeypatch.setattr(streaming_module, "encode_stream_prompt", note)
    notes: list[str] = []
    engine = make_engine(lively, SMALL, notes)
    for options in (StreamOptions(), StreamOptions(context="nine<|im_end|>, five")):
        with engine.open(options):
            pass
    plain = "You are a helpful assistant that transcribes audio input into text output. Please transcribe the following"
    plain += " audios streamingly with these keys: speaker, content"
    assert read == [f"{plain}\n", f"{plain} and extra info: nine, five\n"]
    assert len(notes) == 1
    assert "--context" in notes[0]


def test_a_language_that_there_is_not(lively: Checkpoint) -> None:
    with pytest.raises(UsageError), make_engine(lively, SMALL).open(StreamOptions(language="klingon")):
        pass


# --- silence


@pytest.mark.parametrize(
    ("loud", "silent"),
    [
        ([], {0, 1, 2}),
        ([(0, 100)], {1, 2}),
        ([(75_000, 75_100)], {2}),  # in the first window's look-ahead
        ([(70_300, 70_390)], {2}),  # it ends just before the second window: its margin reaches into it
        ([(60_000, 60_100)], {1, 2}),
        ([(199_000, 199_999)], {0, 1}),
    ],
)
def test_which_windows_are_silent(loud: list[tuple[int, int]], silent: set[int]) -> None:
    audio = np.zeros(200_000, np.float32)
    for start, end in loud:
        audio[start:end] = 0.9
    gate = SilenceGate(Loud())
    windows = cut_windows(audio, chunk=70_400, window=83_200)
    found = set()
    for index, samples in enumerate(windows):
        start = 70_400 * index
        before = audio[max(start - GATE_SAMPLES, 0) : start]
        n_heard = min(len(audio) - start, len(samples))
        if gate.is_silent(Window(index=index, samples=samples, n_heard=n_heard, before=before)):
            found.add(index)
    assert found == silent


# --- which checkpoints stream


def write_geometry(folder: Path, **changes: object) -> None:
    add_geometry(folder)
    path = folder / "preprocessor_config.json"
    fields = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in fields.items() if value != "absent"}))


def load(folder: Path, options: StreamOptions | None = None) -> VibeVoiceStreamEngine:
    return load_vibevoice_stream(
        pull_weights(str(folder), offline=True),
        model=ModelOptions(model=str(folder), device="cpu"),
        options=options or StreamOptions(),
        vad=None,
        on_note=print,
    )


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = add_geometry(write_transformers_layout(tmp_path))
    monkeypatch.setattr(streaming_module, "measure_free", lambda _: Free("cpu", 80_000_000))
    load(folder, StreamOptions(context_minutes=1.0))  # 25 MB
    monkeypatch.setattr(streaming_module, "load_checkpoint", None)
    with pytest.raises(DeviceError) as caught:
        load(folder, StreamOptions(context_minutes=60.0))
    assert (caught.value.exit_code, caught.value.where) == (5, "--context-minutes")


def refuse(folder: Path, kind: type[MurmurError]) -> str:
    options = ModelOptions(model=str(folder), device="cpu")
    with pytest.raises(kind) as caught:
        load_stream_engine(options, load_gate=Loud, on_note=print)
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize("frames", [22, 15])
def test_geometry_is_the_checkpoints(tmp_path: Path, frames: int) -> None:
    write_geometry(tmp_path, chunk_frames=frames)
    assert read_geometry(tmp_path) == Geometry(frames, 4)
    assert (Geometry(15, 4).chunk_samples, Geometry(15, 4).window_samples) == (48_000, 60_800)


@pytest.mark.parametrize("architecture", ["VibeVoiceForASRStreamingTraining", "VibeVoiceForASRTraining"])
def test_the_original_layout_streams(tmp_path: Path, lively: Checkpoint, architecture: str) -> None:
    folder = add_geometry(write_original_layout(tmp_path, lively.network, architecture=architecture))
    engine = load_stream_engine(ModelOptions(model=str(folder), device="cpu"), load_gate=Loud, on_note=print)
    assert engine.sample_rate == 24_000
    assert engine.info.precision == "float32"
    with engine.open(StreamOptions()) as stream, make_engine(lively, GEOMETRIES[0]).open(StreamOptions()) as other:
        assert [stream.push(NOISE), stream.finish()] == [other.push(NOISE), other.finish()]


def test_a_checkpoint_that_does_not_stream_is_refused(tmp_path: Path) -> None:
    folder = write_transformers_layout(tmp_path)
    assert "does not stream" in refuse(folder, UsageError)
    for changes in ({"chunk_frames": "absent"}, {"lookahead_frames": "absent"}):
        write_geometry(folder, **changes)
        assert "does not stream" in refuse(folder, UsageError)


@pytest.mark.parametrize(
    "changes",
    [
        {"chunk_frames": 0},
        {"chunk_frames": 2.5},
        {"chunk_frames": True},
        {"lookahead_frames": -1},
        {"normalize_audio": True},
        {"normalize_audio": "absent"},
        {"target_sample_rate": 16_000},
        {"speech_tok_compress_ratio": 1600},
    ],
)
def test_a_geometry_that_cannot_be(tmp_path: Path, changes: dict[str, object]) -> None:
    write_geometry(tmp_path, **changes)
    with pytest.raises(WeightsError, match=next(iter(changes))):
        read_geometry(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "\xff"])
def test_a_geometry_that_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "preprocessor_config.json").write_text(content, encoding="latin-1")
    with pytest.raises(WeightsError):
        read_geometry(tmp_path)


def test_a_tokenizer_without_the_end_of_a_chunk(tmp_path: Path) -> None:
    folder = add_geometry(write_transformers_layout(tmp_path))
    path = folder / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8").replace("<|text_chunk_end|>", "<|text_chunk_over|>"))
    with pytest.raises(WeightsError, match="text_chunk_end"):
        load(folder)


def test_a_model_for_recordings_is_refused_before_it_is_fetched() -> None:
    with pytest.raises(UsageError, match="does not stream"):
        load_stream_engine(ModelOptions(model="vibevoice"), on_note=print)
