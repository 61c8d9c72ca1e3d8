"""Which model, and what it is told."""

from __future__ import annotations

from typing import Annotated

import typer

from murmur_cli.options import EVICT

__all__ = [
    "AcousticNoise",
    "BatchSize",
    "Context",
    "ContextMinutes",
    "Device",
    "Dtype",
    "Evict",
    "Force",
    "Language",
    "Model",
    "Offline",
]

_PANEL = "Model"

Model = Annotated[
    str,
    typer.Option("--model", help="Name (see murmur models list), folder or hub id.", rich_help_panel=_PANEL),
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.", rich_help_panel=_PANEL)]
Dtype = Annotated[
    str, typer.Option("--dtype", help="auto (fast), float32 (exact), bfloat16 or float16.", rich_help_panel=_PANEL)
]
BatchSize = Annotated[
    str,
    typer.Option(
        "--batch-size", help="Chunks decoded side by side: auto or a number.", metavar="N", rich_help_panel=_PANEL
    ),
]
Evict = Annotated[
    str,
    typer.Option(
        "--evict",
        help=f"What is forgotten of a chunk while it is decoded: {', '.join(EVICT)}.",
        metavar="WHAT",
        rich_help_panel=_PANEL,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Run a model even where it is too slow to be of use.", rich_help_panel=_PANEL)
]
Offline = Annotated[bool, typer.Option("--offline", help="Use no network.", rich_help_panel=_PANEL)]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        help="Spoken language, such as en. Detected when not given.",
        metavar="CODE",
        rich_help_panel=_PANEL,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        help="What the model should know: names, topic; @FILE reads it from a file.",
        metavar="TEXT",
        rich_help_panel=_PANEL,
    ),
]
ContextMinutes = Annotated[
    float,
    typer.Option(
        "--context-minutes",
        help="What a model that hears live audio has before it at most; older things go, speakers stay.",
        metavar="MIN",
        rich_help_panel=_PANEL,
    ),
]
AcousticNoise = Annotated[
    int | None,
    typer.Option(
        "--acoustic-noise",
        help="Add noise to what the model hears, as its authors do, from this seed.",
        metavar="SEED",
        rich_help_panel=_PANEL,
    ),
]
