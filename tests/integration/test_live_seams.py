"""Somebody who does not pause, live: a reader that hears every word well tells each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from lively_whisper import write_lively_folder
from loud_speech import Loud, make_talk

from murmur_cli.engine import StreamDraft, StreamSegment
from murmur_cli.models.whisper import live_reading
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.live import WhisperStreamEngine, load_whisper_stream
from murmur_cli.options import ModelOptions, StreamOptions
from murmur_cli.speakers.voices import VOICE_SIZE, VoiceVector
from murmur_cli.types import Chunk, Gap, HypGap, Hypothesis, HypSegment, Samples, Word

RATE = 16_000
TALK = make_talk((1.0, 0), (30.0, 0.3), (1.0, 0))
TEXT = ("no", "no", "no", "no", "I", "said", "so", "so", "so", "and", "they", "they", "went", "home", "home", "no")
SAID = [Word(1.1 + i * 0.4, 1.5 + i * 0.4, f" {TEXT[i % len(TEXT)]}", 0.9) for i in range(74)]
Read = Callable[[Chunk], Hypothesis]


class Listener:
    """Hears who speaks, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[Samples] = []

    def embed(self, samples: Samples) -> VoiceVector:
        self.heard.append(samples)
        return np.eye(1, VOICE_SIZE, dtype=np.float32)[0]


def read_well(chunk: Chunk, *gaps: HypGap, said: Sequence[Word] = SAID) -> Hypothesis:
    """Read what is said; half a word is something else, and what is said in gaps is lost."""
    start, end = chunk.span.start / RATE, chunk.span.end / RATE
    words = []
    for word in said:
        if start < word.end and word.start < end and not any(g.start < word.end and word.start < g.end for g in gaps):
            text = word.text if start <= word.start and word.end <= end else " half"
            words.append(Word(max(word.start, start) - start, min(word.end, end) - start, text, 0.9))
    lost = [HypGap(max(g.start, start) - start, min(g.end, end) - start, g.reason) for g in gaps]
    text = "".join(word.text for word in words).strip()
    segments = [HypSegment(words[0].start, words[-1].end, text, None, tuple(words), "en")] if words else []
    return Hypothesis(tuple(segments), tuple(gap for gap in lost if gap.start < gap.end))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lively_folder(tmp_path_factory.mktemp("seams"))


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def engine(folder: Path, listener: Listener) -> WhisperStreamEngine:
    model = ModelOptions(model="tiny", device="cpu", dtype="float32")
    return load_whisper_stream(folder, name="tiny", weights_sha256="0" * 64, model=model, vad=Loud(), embedder=listener)


def use(monkeypatch: pytest.MonkeyPatch, read: Read) -> list[Chunk]:
    """Let a reader read; gives the list of what it will have read, once if it had to look twice."""
    asked: list[Chunk] = []

    def read_chunk(
        _: Checkpoint, chunk: Chunk, samples: Samples, *, language: str, silence_s: float | None = None, ear: None
    ) -> Hypothesis:
        assert len(samples) == chunk.span.n_samples
        assert (language, ear) == ("en", None)
        if silence_s is not None:
            asked.append(chunk)
        return read(chunk)

    monkeypatch.setattr(live_reading, "read_chunk", read_chunk)
    return asked


def hear(engine: WhisperStreamEngine, talk: Samples = TALK) -> tuple[list[Word], list[Gap], list[float]]:
    """Give all words, all gaps, and when every word was told."""
    words: list[Word] = []
    gaps: list[Gap] = []
    times: list[float] = []
    for now, committed, lost, _ in iter_updates(engine, talk):
        new = [word for segment in committed for word in segment.words]
        words, gaps, times = [*words, *new], [*gaps, *lost], [*times, *(now for _ in new)]
    return words, gaps, times


def iter_updates(
    engine: WhisperStreamEngine, talk: Samples, *, drafts: bool = False
) -> Iterator[tuple[float, Sequence[StreamSegment], Sequence[Gap], StreamDraft | None]]:
    with engine.open(StreamOptions(language="en")) as stream:
        for start in range(0, len(talk), RATE // 10):
            update = stream.push(talk[start : start + RATE // 10])
            draft = stream.draft() if drafts else None
            yield start / RATE + 0.1, update.committed, update.gaps, draft
        update = stream.finish()
        yield len(talk) / RATE, update.committed, update.gaps, None


def tell(words: Sequence[Word]) -> list[str]:
    return [word.text.strip() for word in words]


def test_every_word_is_told_once_and_soon(
    engine: WhisperStreamEngine, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = use(monkeypatch, read_well)
    words, gaps, times = hear(engine)
    assert tell(words) == tell(SAID)
    assert gaps == []
    late = [now - word.end for now, word in zip(times, words, strict=True)]
    assert min(late[:-5]) > 1.4  # the last ones need not wait so long
    assert max(late) < 6.2
    assert len(asked) == 7
    assert max(chunk.span.n_samples for chunk in asked) <= 9.5 * RATE
    np.testing.assert_array_equal(
        np.concatenate(listener.heard), TALK[RATE // 512 * 512 : 31 * RATE // 512 * 512 + 512]
    )


def test_words_behind_a_pause_are_new_whatever_they_are(
    engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [Word(at / 10, at / 10 + 0.4, " no", 0.9) for start in (10, 210, 260) for at in range(start, start + 40, 4)]
    said += [Word(at / 10, at / 10 + 0.4, " no", 0.9) for at in range(50, 190, 4)]
    said.sort(key=lambda word: word.start)
    use(monkeypatch, lambda chunk: read_well(chunk, said=said))
    talk = make_talk((1.0, 0), (18.0, 0.3), (2.0, 0), (4.0, 0.3), (1.0, 0), (4.0, 0.3), (1.0, 0))
    words, _, _ = hear(engine, talk)
    assert [word.start for word in words] == pytest.approx([word.start for word in said])


def test_a_draft_shows_what_was_not_told(engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, read_well)
    told: list[Word] = []
    n_drafts = 0
    for now, committed, _, draft in iter_updates(engine, TALK, drafts=True):
        told += [word for segment in committed for word in segment.words]
        seen = [*tell(told), *(draft.text.split() if draft else [])]
        whole = [word for word in seen if word != "half"]
        assert whole == tell(SAID[: len(whole)])
        assert not draft or min(now, 31.0) - SAID[len(whole) - 1].end < 0.6
        if draft and told:
            assert told[-1].end - 0.01 <= draft.start <= SAID[len(told)].start + 0.01
        n_drafts += draft is not None
    assert n_drafts > 200


def test_what_cannot_be_read_is_a_gap_and_is_told_once(
    engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [HypGap(4.5, 5.5, "lost"), HypGap(7.4, 9.0, "lost too"), HypGap(13.0, 13.5, "again")]
    use(monkeypatch, lambda chunk: read_well(chunk, *lost))
    words, gaps, _ = hear(engine)
    heard = [word for word in SAID if not any(g.start < word.end and word.start < g.end for g in lost)]
    assert tell(words) == tell(heard)
    for gap in lost:
        parts = sorted((found for found in gaps if found.reason == gap.reason), key=lambda found: found.start)
        assert (parts[0].start, parts[-1].end) == pytest.approx((gap.start, gap.end))
        assert [part.end for part in parts[:-1]] == pytest.approx([part.start for part in parts[1:]])


def test_what_a_reading_loses_at_its_end_is_read_again(
    engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It breaks off after four seconds, but finds its way where it begins later."""
    use(monkeypatch, lambda chunk: read_well(chunk, *([HypGap(5.0, 99.0, "loop")] if chunk.span.start < RATE else [])))
    words, gaps, _ = hear(engine)
    assert tell(words) == tell(SAID)
    assert gaps == []


@pytest.mark.parametrize("lost", [HypGap(0.0, 99.0, "noise"), HypGap(2.4, 99.0, "noise")])
def test_where_no_word_is_sure_a_quiet_moment_is(
    engine: WhisperStreamEngine, monkeypatch: pytest.MonkeyPatch, lost: HypGap
) -> None:
    asked = use(monkeypatch, lambda chunk: read_well(chunk, lost))
    words, gaps, _ = hear(engine)
    assert tell(words) == tell([word for word in SAID if word.end <= lost.start])
    found = sorted(gaps, key=lambda gap: gap.start)
    assert (found[0].start, found[-1].end) == pytest.approx((max(lost.start, 0.6), 31.2), abs=0.1)
    assert [gap.end for gap in found[:-1]] == pytest.approx([gap.start for gap in found[1:]], abs=0.05)
    over = [chunk for chunk, following in pairwise(asked) if following.index > chunk.index]
    ends = [over[0].span.start, *(chunk.span.end for chunk in over)]
    assert all(4.7 * RATE < later - earlier < 6.5 * RATE for earlier, later in pairwise(ends))
    assert len(asked) < 12
