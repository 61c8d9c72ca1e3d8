"""A transcript as text, in one of ``options.FORMATS``.

Every format is valid Unicode and valid in itself, for an empty transcript as well.
"""

from __future__ import annotations

from collections.abc import Callable

from murmur_cli.options import SubtitleOptions
from murmur_cli.transcript.formats.segments import render_ctm, render_rttm, render_seglst, render_stm
from murmur_cli.transcript.formats.structured import render_json, render_jsonl
from murmur_cli.transcript.formats.subtitles import render_srt, render_vtt
from murmur_cli.transcript.formats.text import render_tsv, render_txt
from murmur_cli.transcript.notation import replace_undecodable
from murmur_cli.types import Transcript

__all__ = ["render_transcript"]

_WRITERS: dict[str, Callable[[Transcript], str]] = {
    "txt": render_txt,
    "tsv": render_tsv,
    "rttm": render_rttm,
    "stm": render_stm,
    "ctm": render_ctm,
    "seglst": render_seglst,
}

_SUBTITLES = SubtitleOptions()


def render_transcript(
    transcript: Transcript, format_name: str, *, word_times: bool, subtitles: SubtitleOptions = _SUBTITLES
) -> str:
    """Write a transcript as text that ends with a newline, or is empty.

    Bytes of a file's name that are not UTF-8 (lone surrogates in Python) come out as U+FFFD.

    Args:
        transcript: What was said.
        format_name: One of ``options.FORMATS``.
        word_times: List each segment's words; only ``json`` and ``jsonl`` can hold them.
        subtitles: How ``srt``, ``vtt`` and ``ass`` are shaped.

    Raises:
        ValueError: There is no such format.
    """
    match format_name:
        case "json":
            text = render_json(transcript, word_times=word_times)
        case "jsonl":
            text = render_jsonl(transcript, word_times=word_times)
        case "ass":
            from murmur_cli.transcript.formats.substation import render_ass  # noqa: PLC0415 - loads pysubs2

            text = render_ass(transcript, subtitles)
        case "srt":
            text = render_srt(transcript, subtitles)
        case "vtt":
            text = render_vtt(transcript, subtitles)
        case name if name in _WRITERS:
            text = _WRITERS[name](transcript)
        case _:
            raise ValueError(f"no such format: {format_name}")
    return replace_undecodable(text)
