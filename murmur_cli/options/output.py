"""What is written, and where."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.options.require import require
from murmur_cli.options.template import require_template

__all__ = ["FORMATS", "LIVE_FORMATS", "OutputOptions", "SubtitleOptions"]

FORMATS = ("txt", "srt", "vtt", "ass", "json", "jsonl", "tsv", "rttm", "stm", "ctm", "seglst")
"""The transcript formats, as ``--format`` spells them."""

LIVE_FORMATS = ("txt", "jsonl", "srt", "vtt", "json")
"""Those of ``FORMATS`` that can be written while somebody still speaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What is written where, and how.

    ``output`` is a file, a folder, or ``-`` for stdout. ``output_template`` is what the names of files are made from,
    as in ``{stem}.{ext}``; with it, everything is written to files. ``word_times`` None writes the times of words where
    there are any. ``speaker_names`` are new names for speakers, as in ``S1=Ann,S2=Bob``.
    """

    format: tuple[str, ...] = ()
    output: str | None = None
    output_template: str | None = None
    overwrite: bool = False
    word_times: bool | None = None
    speaker_names: str | None = None
    no_speakers: bool = False

    def __post_init__(self) -> None:
        for name in self.format:
            require("--format", f"no such format: {name}", f"choose from {', '.join(FORMATS)}", unless=name in FORMATS)
        if self.output_template is not None:
            require_template(self.output_template)
            free = self.output != "-"
            require("--output-template", "goes against --output -", "choose one", unless=free)
        shown = self.speaker_names is None or not self.no_speakers
        require("--speaker-names", "goes against --no-speakers", "choose one", unless=shown)

    @property
    def writes_word_times(self) -> bool:
        """Whether the times of words are written where there are any."""
        return self.word_times is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtitleOptions:
    """What a viewer can read; widths count columns (wide characters such as Han take two), durations are in seconds.

    Source: the guidelines of broadcasters (Netflix, Timed Text Style Guide): two lines of 42 characters, 20
    characters a second, 7 s at most, 20 frames (0.8 s) at least.
    """

    max_line_width: int = 42
    max_lines: int = 2
    max_cps: float = 20.0
    min_duration: float = 0.8
    max_duration: float = 7.0

    def __post_init__(self) -> None:
        for option, value, least, most in (
            ("--max-line-width", self.max_line_width, 10, 1000),
            ("--max-lines", self.max_lines, 1, 10),
            ("--max-cps", self.max_cps, 1, 1000),
            ("--min-duration", self.min_duration, 0, 3600),
            ("--max-duration", self.max_duration, 0.1, 3600),
        ):
            sane = least <= value <= most
            require(option, f"{value} is not between {least} and {most}", "leave it out for what most use", unless=sane)
        problem = f"{self.min_duration} s is longer than --max-duration {self.max_duration}"
        require("--min-duration", problem, "make it shorter", unless=self.min_duration <= self.max_duration)

    @property
    def min_duration_ms(self) -> int:
        """The least that a cue is shown, if there is room."""
        return round(self.min_duration * 1000)

    @property
    def max_duration_ms(self) -> int:
        """The most that a cue is shown."""
        return round(self.max_duration * 1000)
