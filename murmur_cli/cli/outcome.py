"""Keep count of what became of each recording, say it, and turn it into an exit code."""

from __future__ import annotations

from murmur_cli.cli.render import Talk
from murmur_cli.errors import ExitCode, MurmurError
from murmur_cli.types import Gap, Transcript

__all__ = ["Outcome", "describe_gap"]


class Outcome:
    """What a run has done so far. With ``fail_fast``, ``is_over`` turns true at the first failure."""

    def __init__(self, talk: Talk, *, fail_fast: bool) -> None:
        self._talk = talk
        self._fail_fast = fail_fast
        self._n_written = 0
        self._n_partial = 0
        self._codes: list[ExitCode] = []  # of the recordings of which nothing is usable

    def is_over(self) -> bool:
        """Tell whether the run should end here."""
        return self._fail_fast and bool(self._codes or self._n_partial)

    @property
    def exit_code(self) -> ExitCode:
        """0 when all is done, 3 when some of it is, else the code of the first failure."""
        if self._codes and not self._n_written:
            return self._codes[0]
        return ExitCode.PARTIAL if self._codes or self._n_partial else ExitCode.OK

    def failed(self, error: MurmurError) -> None:
        """A recording, or its output, failed; the others go on."""
        self._talk.error(error)
        self._codes.append(error.exit_code)

    def written(self, transcript: Transcript) -> None:
        """A transcript is written; say what is missing from it."""
        name = transcript.source
        if transcript.damage is not None:
            self._talk.warn(f"{name}: {transcript.damage}")
        for gap in transcript.gaps:
            self._talk.warn(f"{name}: {describe_gap(gap)}")
        if not transcript.segments and not transcript.gaps:
            self._talk.note(f"{name}: no speech found")
        if transcript.gaps and not transcript.segments:
            self._codes.append(ExitCode.ERROR)
            return
        self._n_written += 1
        self._n_partial += bool(transcript.gaps or transcript.damage)

    def planned(self, name: str, damage: str | None) -> None:
        """A recording could be transcribed; say what is missing from it."""
        if damage is not None:
            self._talk.warn(f"{name}: {damage}")
        self._n_written += 1
        self._n_partial += damage is not None

    def up_to_date(self, name: str) -> None:
        """The transcripts of a recording are there already, from a run like this one."""
        self._talk.note(f"{name}: up to date")
        self._n_written += 1


def describe_gap(gap: Gap) -> str:
    """Say in one clause what is missing."""
    return f"not transcribed from {gap.start:.1f} s to {gap.end:.1f} s: {gap.reason}"
