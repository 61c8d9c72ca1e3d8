"""What is written, and where."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require

__all__ = ["FORMATS", "LIVE_FORMATS", "OutputOptions"]

FORMATS = ("txt", "srt", "vtt", "ass", "json", "jsonl", "tsv", "rttm", "stm", "ctm", "seglst")
"""The transcript formats, as ``--format`` spells them."""

LIVE_FORMATS = ("txt", "jsonl", "srt", "vtt", "json")
"""Those of ``FORMATS`` that can be written while somebody still speaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What is written where, and how.

    ``output`` is a file, a folder, or ``-`` for stdout. ``word_times`` None writes the times of words where there are
    any. ``speaker_names`` are new names for speakers, as in ``S1=Ann,S2=Bob``.
    """

    format: tuple[str, ...] = ()
    output: str | None = None
    overwrite: bool = False
    word_times: bool | None = None
    speaker_names: str | None = None
    no_speakers: bool = False

    def __post_init__(self) -> None:
        for name in self.format:
            require("--format", f"no such format: {name}", f"choose from {', '.join(FORMATS)}", unless=name in FORMATS)
        shown = self.speaker_names is None or not self.no_speakers
        require("--speaker-names", "goes against --no-speakers", "choose one", unless=shown)

    @property
    def writes_word_times(self) -> bool:
        """Whether the times of words are written where there are any."""
        return self.word_times is not False
