#!/usr/bin/env python3
"""One run of murmur over one file, as a child of cpu_batch.py.

It prints one line of JSON: what it heard and what that took.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from recognise import join_text, recognise

from murmur_cli.models.load import load_engine
from murmur_cli.models.silero import load_silero
from murmur_cli.options import ModelOptions, VadOptions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audio", type=Path)
    parser.add_argument("--model", required=True, help="as in murmur batch")
    parser.add_argument("--dtype", required=True, help="as in murmur batch")
    parser.add_argument("--language", help="detected when not given")
    args = parser.parse_args()

    options = ModelOptions(model=args.model, device="cpu", dtype=args.dtype)
    engine = load_engine(options, on_note=lambda _: None, on_progress=None)
    vad = load_silero(VadOptions())
    load_cpu_s = time.process_time()  # from the start of the process

    recognition = recognise([args.audio], engine, vad=vad, language=args.language)
    (transcript,) = recognition.transcripts
    outcome = {
        "load_cpu_s": load_cpu_s,
        "recognition_cpu_s": recognition.cpu_s,
        "recognition_wall_s": recognition.wall_s,
        "audio_s": transcript.duration,
        "text": join_text(transcript),
        "n_timed_words": sum(len(segment.words) for segment in transcript.segments),
        "gap_s": recognition.gap_s,
        "engine": f"{engine.info.precision}, {torch.get_num_threads()} threads, {engine.info.model}, "
        f"weights sha256 {engine.info.weights_sha256}",
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
