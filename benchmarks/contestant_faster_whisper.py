#!/usr/bin/env python3
"""One run of faster-whisper over one file, as a child of cpu_batch.py, in an environment of its own.

It needs nothing but faster-whisper, and prints one line of JSON: what it heard and what that took.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib import metadata

from faster_whisper import BatchedInferencePipeline, WhisperModel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audio")
    parser.add_argument("--model", required=True, help="folder in CTranslate2 layout")
    parser.add_argument("--mode", required=True, choices=("batched", "seek"))
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--language", help="detected when not given")
    args = parser.parse_args()

    model = WhisperModel(args.model, device="cpu", compute_type="int8", cpu_threads=args.threads, local_files_only=True)
    batch_size = {"batch_size": 8} if args.mode == "batched" else {}
    transcriber = BatchedInferencePipeline(model) if args.mode == "batched" else model
    load_cpu_s, start = time.process_time(), time.perf_counter()  # the former counts from the start of the process

    segments, info = transcriber.transcribe(
        args.audio,
        language=args.language,
        beam_size=5,
        vad_filter=True,
        word_timestamps=True,
        **batch_size,
    )
    heard = list(segments)  # recognition happens here: transcribe returns a generator
    outcome = {
        "load_cpu_s": load_cpu_s,
        "recognition_cpu_s": time.process_time() - load_cpu_s,
        "recognition_wall_s": time.perf_counter() - start,
        "audio_s": info.duration,
        "text": " ".join(segment.text.strip() for segment in heard),
        "n_timed_words": sum(len(segment.words or ()) for segment in heard),
        "gap_s": 0.0,  # it knows no gaps
        "engine": f"{model.model.compute_type}, {args.threads} threads, "
        + ", ".join(f"{name} {metadata.version(name)}" for name in ("faster-whisper", "ctranslate2", "onnxruntime")),
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
