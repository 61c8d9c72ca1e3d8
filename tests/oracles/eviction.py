"""The slow, obvious counterpart of eviction: the list of positions that are held, and everything else worked out anew
from all that was written, at every look."""

from __future__ import annotations

from murmur_cli.decode.entries import Broken, Entry, OpenEntry, iter_entries
from murmur_cli.decode.eviction import EvictionOptions, RowLayout


def decode_bytes(tokens: object) -> str:
    """Every byte is a token."""
    return bytes(tokens).decode("utf-8", errors="replace")


class PlainEviction:
    """One row. ``held`` are its positions; the looks number the tokens that were written when it was looked at."""

    def __init__(self, options: EvictionOptions, row: RowLayout, n_cells: int, n_steps: int, prefix: list[int]) -> None:
        self.options, self.row, self.n_cells, self.n_steps = options, row, n_cells, n_steps
        self.tokens = prefix
        self.looks = [0, len(prefix)]
        self.pins: set[int] = set()
        self.front = 0  # of the frames; never less than before
        self.n_read = row.n_prompt + len(prefix)
        self.before = self.held = list(range(self.n_read))
        if self.options.policy in ("speech", "both"):
            self.drop_speech()

    def look(self, tokens: list[int]) -> list[int]:
        """What is forgotten now."""
        self.tokens = [*self.tokens, *tokens]
        read = list(range(self.n_read, self.row.n_prompt + len(self.tokens) - 1))  # the last token is not read yet
        self.n_read += len(read)
        self.held, before = self.held + read, self.before + read
        self.looks.append(len(self.tokens))
        if self.options.policy in ("speech", "both"):
            self.drop_speech()
        if self.options.policy in ("output", "both"):
            self.drop_output(at_most=len(self.tokens))
        self.drop_output(at_most=len(self.held) + self.n_ahead - self.n_cells)
        self.before = self.held
        return sorted(set(before) - set(self.held))

    @property
    def n_ahead(self) -> int:
        """Positions that are added before the next look."""
        return min(self.n_steps, self.row.max_tokens - len(self.tokens))

    def text(self, n_tokens: int) -> str:
        return decode_bytes(self.tokens[:n_tokens]).removesuffix("\ufffd")

    # --- audio

    def drop_speech(self) -> None:
        speech = self.options.speech
        claim, believed = self.follow_times()
        self.front = max(self.front, min(claim, believed) - speech.margin)
        kept = set(range(speech.sink)) | self.pins | set(range(self.front, self.row.n_frames))
        gone = {self.row.audio_start + frame for frame in set(range(self.row.n_frames)) - kept}
        self.held = [position for position in self.held if position not in gone]

    def follow_times(self) -> tuple[int, int]:
        """Where the newest entry says that the text is, and the furthest such place that is believed; pins frames."""
        speech = self.options.speech
        claims = [0]
        ended, heard = 0, {}
        for piece in iter_entries(self.text(len(self.tokens))):
            if isinstance(piece, Broken) or piece.start is None:
                continue
            first = self.to_frame(piece.start)
            if not 0 <= first <= self.row.n_frames:
                continue
            claims.append(min(first, ended))
            self.pins |= set(range(first - speech.onset_pin, first + speech.onset_pin))
            if isinstance(piece, Entry):
                ended = min(self.to_frame(piece.end), self.row.n_frames - 1)
                if piece.speaker is not None:
                    said = heard.setdefault(piece.speaker, [])
                    said += range(first, ended + 1)
                    self.pins |= set(said[: speech.speaker_pin])
        return claims[-1], self.believe(claims)

    def believe(self, claims: list[int]) -> int:
        reached, doubted = 0, None
        for claim in claims:
            if claim <= reached + self.options.speech.max_jump:
                reached, doubted = max(reached, claim), None
            elif doubted is not None and abs(claim - doubted) <= self.options.speech.max_jump:
                reached, doubted = min(claim, doubted), None
            else:
                doubted = claim
        return reached

    def to_frame(self, seconds: float) -> int:
        return int(seconds * self.row.frames_per_s)

    # --- the answer

    def drop_output(self, *, at_most: int) -> None:
        n = len(self.tokens)
        stays = set(range(self.options.output_sink)) | set(range(n - self.options.output_window, n))
        stays |= set(self.header())
        kept = {self.row.n_prompt + token for token in stays} | set(range(self.row.n_prompt))
        gone = [position for position in self.held if position not in kept][: max(at_most, 0)]
        self.held = [position for position in self.held if position not in gone]

    def header(self) -> range:
        """Tokens of the open entry's header, from the look in which its brace came."""
        *_, last = [None, *iter_entries(self.text(len(self.tokens)))]
        if not isinstance(last, OpenEntry):
            return range(0)
        index = next(i for i, n_tokens in enumerate(self.looks) if len(self.text(n_tokens)) > last.first)
        return range(self.looks[index - 1], self.looks[index] + self.options.output_header)
