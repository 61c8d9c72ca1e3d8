"""What ``murmur batch`` does once its options are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from murmur_cli.batch import Listeners, transcribe_all
from murmur_cli.cli.inputs import open_all
from murmur_cli.cli.outcome import Outcome
from murmur_cli.cli.plan_run import Reading, Writing, plan_run
from murmur_cli.cli.progress import make_progress
from murmur_cli.cli.pull import PullDisplay
from murmur_cli.cli.render import Talk, make_console
from murmur_cli.cli.resume import Asked, find_open
from murmur_cli.cli.stats import StatsLog
from murmur_cli.engine import Extras, require_extras
from murmur_cli.errors import OutputError
from murmur_cli.journal.store import Journals
from murmur_cli.options import (
    BatchOptions,
    JournalOptions,
    ModelOptions,
    OutputOptions,
    RunOptions,
)
from murmur_cli.speakers.channels import ChannelMerger
from murmur_cli.speakers.labels import describe_absent, label_speakers
from murmur_cli.transcript.outputs import OutputPlan, OutputTarget, write_outputs

if TYPE_CHECKING:
    from murmur_cli.speakers.enrol import Enrolment
    from murmur_cli.speakers.voices import VoiceVector
    from murmur_cli.types import Speaker, Transcript

__all__ = ["load_listeners", "transcribe"]


def transcribe(
    reading: Reading,
    model: ModelOptions,
    options: BatchOptions,
    *,
    writing: Writing,
    journal: JournalOptions,
    run: RunOptions,
) -> int:
    """Transcribe what is named, and write it; gives the exit code.

    Raises:
        MurmurError: What was asked for cannot be; or the engine cannot go on.
    """
    from murmur_cli.models.load import load_engine

    console = make_console(run)
    talk = Talk(console, run)
    output = writing.output
    plan = plan_run(reading, writing, options, journal=journal, run=run, talk=talk)
    if plan.is_over:
        return plan.outcome.exit_code
    keywords, outcome = plan.keywords, plan.outcome
    enrolled = _hear_enrolled(plan.enrolments, talk) if plan.enrolments else {}
    with PullDisplay(console, quiet=run.quiet) as pull:
        engine = load_engine(model, options=options, on_note=talk.note, on_progress=pull.show)
    extras = _name_extras(model, options, output=output, run=run)
    require_extras(engine, replace(extras, bias=keywords.are_there))
    keywords.prepare(engine)
    talk.detail(f"{engine.info.model} on {engine.info.device}, {engine.info.precision}")
    asked = Asked(options, output, writing.subtitles, engine.info, enrolled, keywords.key)
    present = find_open(plan.present, plan.outputs, asked=asked, finished=plan.finished, outcome=outcome)
    if not present:
        return outcome.exit_code
    merger = ChannelMerger()
    listeners = replace(load_listeners(options, enrolled, offline=model.offline), bias_of=keywords.of)
    with (
        make_progress(console, run, n_files=len(present), on_note=talk.note) as progress,
        StatsLog(run.stats, overwrite=output.overwrite, observer=progress, on_error=outcome.failed) as log,
        Journals(
            plan.folder, options=options, engine=engine.info, on_note=talk.note, list_of=keywords.list_key
        ) as journals,
    ):
        transcripts = transcribe_all(
            open_all(
                present,
                sample_rate=engine.sample_rate,
                options=options.audio,
                journals=journals,
                merger=merger,
                talk=talk,
                outcome=outcome,
            ),
            engine,
            listeners=listeners,
            options=options,
            observer=log,
            journal_of=journals.of,
        )
        for transcript in merger.iter_files(transcripts):
            if absent := describe_absent(transcript, plan.labels):
                talk.note(f"{transcript.source}: {absent}")
            said = keywords.take(label_speakers(transcript, plan.labels))
            _write(said, plan.outputs[transcript.recording_id], asked=asked, journals=journals, outcome=outcome)
            if outcome.is_over():
                break
    keywords.sum_up()
    return outcome.exit_code


def load_listeners(options: BatchOptions, enrolled: Mapping[Speaker, VoiceVector], *, offline: bool) -> Listeners:
    """Load what hears recordings beside the engine, as far as the options need it."""
    from murmur_cli.models.diarizers import load_speaker_models
    from murmur_cli.models.silero import load_silero

    vad = load_silero(options.vad)
    if options.speakers.speakers == "none" or options.audio.channels == "speakers":
        return Listeners(vad, None)
    models = load_speaker_models(options.speakers.diarizer, offline=offline)
    return Listeners(vad, replace(models, enrolled=enrolled))


def _name_extras(model: ModelOptions, options: BatchOptions, *, output: OutputOptions, run: RunOptions) -> Extras:
    """Name what was asked for that not every engine does."""
    return Extras(
        word_times=output.word_times is True,
        context=options.decode.context is not None,
        acoustic_noise=options.decode.acoustic_noise is not None,
        batch_size=model.batch_size != "auto",
        evict=model.evict not in ("auto", "none"),
        stats=run.stats is not None,
    )


def _hear_enrolled(enrolments: Sequence[Enrolment], talk: Talk) -> dict[Speaker, VoiceVector]:
    """Hear the voices, with the networks that come with murmur whatever --diarizer says, before any long work."""
    from murmur_cli.models.slots_diarizer import load_slots_diarizer
    from murmur_cli.speakers.enrolled_voices import hear_enrolled

    return hear_enrolled(enrolments, load_slots_diarizer(), on_note=talk.note)


def _write(transcript: Transcript, plan: OutputPlan, *, asked: Asked, journals: Journals, outcome: Outcome) -> None:
    def announce(target: OutputTarget, text: str) -> None:
        if (kept := asked.describe(plan.source, target, text)) is not None:
            journals.announce(transcript.recording_id, kept)

    word_times, subtitles = asked.output.writes_word_times, asked.subtitles
    try:
        write_outputs(transcript, plan, word_times=word_times, subtitles=subtitles, announce=announce)
    except OutputError as error:
        journals.abandon(transcript)
        outcome.failed(error)
    else:
        journals.finish(transcript)
        outcome.written(transcript)
