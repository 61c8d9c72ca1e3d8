"""What a recogniser is asked and what it answers.

An engine pulls jobs as it has room and yields answers as chunks finish, in any order. What a chunk
answers does not depend on the run it is in.
"""

from __future__ import annotations

from murmur_cli.engine.extras import Extras
from murmur_cli.engine.live import StreamDecoder, StreamDraft, StreamEngine, StreamSegment, StreamUpdate
from murmur_cli.engine.recordings import Answer, Bias, ChunkStats, Engine, Job
from murmur_cli.engine.require import refuse_keywords, require_extras

__all__ = [
    "Answer",
    "Bias",
    "ChunkStats",
    "Engine",
    "Extras",
    "Job",
    "StreamDecoder",
    "StreamDraft",
    "StreamEngine",
    "StreamSegment",
    "StreamUpdate",
    "refuse_keywords",
    "require_extras",
]
