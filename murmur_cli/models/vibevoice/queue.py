"""What is decoded next: what is left to try of chunks that went wrong, then new chunks.

A chunk is answered once, when nothing is left to try; its neighbours do not wait for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from murmur_cli.bias.hits import HitFinder
from murmur_cli.decode.heard import MarkedText
from murmur_cli.decode.rescue import Attempt, ChunkReading
from murmur_cli.decode.rows import DecodedRow, Row, RowStats
from murmur_cli.engine import Answer, ChunkStats, Job
from murmur_cli.models.vibevoice.frames import SAMPLE_RATE
from murmur_cli.types import Span

__all__ = ["NEXT_ENTRY", "RowQueue"]

NEXT_ENTRY = '{"Start":'
"""How an entry begins. It stands behind the entries that are put before an answer, or their last brace and comma would
be other tokens than those in which the model writes them, and it would take the list for finished."""


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A chunk under way."""

    job: Job
    reading: ChunkReading
    costs: list[RowStats] = field(default_factory=list)


class RowQueue:
    """Makes rows of chunks, and answers of rows. It is an iterator that may go on after it has come to its end.

    Args:
        jobs: New chunks, pulled one by one.
        make_row: Makes the row with a key, for an attempt at a job.
        find_keywords: Gives what finds the keywords of a job, if it has any.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        make_row: Callable[[int, Job, Attempt], Row],
        find_keywords: Callable[[Job], HitFinder | None],
    ) -> None:
        self._jobs = iter(jobs)
        self._make_row = make_row
        self._find_keywords = find_keywords
        self._waiting: deque[tuple[_Task, Attempt]] = deque()
        self._under_way: dict[int, tuple[_Task, Attempt]] = {}
        self._n_rows = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Row:
        """Give the next row; what went wrong before goes first."""
        if not self._waiting:
            job = next(self._jobs)
            task = _open_task(job, self._find_keywords(job))
            self._waiting.append((task, task.reading.first()))
        key, (task, attempt) = self._n_rows, self._waiting.popleft()
        self._n_rows += 1
        self._under_way[key] = (task, attempt)
        return self._make_row(key, task.job, attempt)

    def take(self, row: DecodedRow, written: MarkedText) -> Answer | None:
        """Take in a decoded row.

        Args:
            row: One that was given out.
            written: What its tokens say.

        Returns:
            The answer to its chunk; None if something of that is left to try.
        """
        task, attempt = self._under_way.pop(row.key)
        task.costs.append(row.stats)
        written = written.put_behind(NEXT_ENTRY) if attempt.prefix else written
        asked = task.reading.take(attempt, written, stopped=row.stopped, halted=row.halted)
        self._waiting.extend((task, each) for each in asked)
        if not task.reading.is_done:
            return None
        stats = _add_up(task.costs, n_retries=task.reading.n_retries)
        return Answer(task.job.recording_id, task.job.chunk.index, task.reading.finish(), stats)

    def begin_again(self) -> None:
        """Give out once more what was given out and is not taken in: it was lost."""
        self._waiting.extendleft(reversed(self._under_way.values()))
        self._under_way.clear()


def _open_task(job: Job, finder: HitFinder | None) -> _Task:
    start = job.chunk.span.start
    speech = [Span(span.start - start, span.end - start) for span in job.chunk.speech]
    # The place of a chunk is the same in every run, so what is drawn for it is, too.
    reading = ChunkReading(len(job.samples), speech, sample_rate=SAMPLE_RATE, seed=start, finder=finder)
    return _Task(job, reading)


def _add_up(costs: Sequence[RowStats], *, n_retries: int) -> ChunkStats:
    """Add up what all attempts at a chunk took; shares are averages over the tokens."""
    n_tokens = sum(cost.n_tokens for cost in costs)
    return ChunkStats(
        n_prompt=sum(cost.n_prompt for cost in costs),
        n_tokens=n_tokens,
        n_retries=n_retries,
        seconds=sum(cost.seconds for cost in costs),
        prompt_s=sum(cost.prompt_s for cost in costs),
        live_share=sum(cost.live_share * cost.n_tokens for cost in costs) / n_tokens if n_tokens else 1.0,
        n_kept=sum(cost.n_kept for cost in costs),
        n_logical=sum(cost.n_logical for cost in costs),
    )
