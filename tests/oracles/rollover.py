"""What a new context holds, written plainly: everything is remembered, and looked through anew every time."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.decode.rollover import ChunkNote

__all__ = ["PlainRollover"]


class PlainRollover:
    """Remembers all chunks of a session."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.chunks: list[ChunkNote] = []
        self.forgotten: dict[int, int] = {}  # by speaker: chunks before this one are
        self.context: list[int] = []

    def is_due(self, *, is_silent: bool) -> bool:
        return len(self.context) >= self.most or (is_silent and self.most - len(self.context) <= self.most // 8)

    def note(self, chunk: ChunkNote) -> None:
        self.chunks.append(chunk)
        self.context.append(chunk.index)

    def begin_again(self) -> list[int]:
        recent = [chunk.index for chunk in self.chunks if not chunk.is_silent][-5:]
        written = [chunk.index for chunk in self.chunks if not chunk.is_empty]
        recent = sorted({*recent, *written[-1:]})
        said: dict[int, list[ChunkNote]] = {}
        for chunk in self.chunks:
            for speaker in chunk.speakers:
                if chunk.index >= self.forgotten.get(speaker, 0):
                    said.setdefault(speaker, []).append(chunk)
        by_silence = sorted(said, key=lambda speaker: -said[speaker][-1].index)
        known = by_silence[: self.most // 2 - len(recent)]
        for speaker in by_silence[len(known) :]:
            self.forgotten[speaker] = len(self.chunks)
        self.context = [self.find_clearest(said[speaker], speaker) for speaker in sorted(known)] + recent
        return list(self.context)

    def find_clearest(self, chunks: Sequence[ChunkNote], speaker: int) -> int:
        """The first that nothing is better than."""

        def score(chunk: ChunkNote) -> float:
            letters = min(sum(turn.n_letters for turn in chunk.turns if turn.speaker == speaker), 9)
            following = [turn.speaker for turn in self.chunks[chunk.index + 1].turns] if is_followed(chunk) else [None]
            score = letters + (0.5 if not following or following[0] == speaker else 0)
            if chunk.is_faulty:
                return score
            if chunk.speakers == {speaker}:
                return score + (3000 if chunk.begins_turn else 2000)
            return score + (1000 if max(chunk.speakers) == speaker else 0)

        def is_followed(chunk: ChunkNote) -> bool:
            return chunk.index + 1 < len(self.chunks)

        return max(chunks, key=lambda chunk: (score(chunk), -chunk.index)).index
