#!/usr/bin/env python3
"""One run of murmur's own diarizer over one recording, as a child of diarization.py.

It prints one line of JSON: who spoke when and what that took. Decoding the file and loading the networks are not
in it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict

from murmur_cli.audio.source import open_recording
from murmur_cli.models.slots_diarizer import load_slots_diarizer
from murmur_cli.speakers.limits import ANY_NUMBER
from murmur_cli.speakers.windows import SPEAKER_RATE
from murmur_cli.types import RecordingId


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audio")
    args = parser.parse_args()

    diarizer = load_slots_diarizer()
    with open_recording(args.audio, recording_id=RecordingId(0), sample_rate=SPEAKER_RATE) as recording:
        cpu, wall = time.process_time(), time.perf_counter()
        found = diarizer.turns(recording.iter_vad_blocks(), ANY_NUMBER)
        cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
    outcome = {
        "diarization_cpu_s": cpu_s,
        "diarization_wall_s": wall_s,
        "turns": [asdict(turn) for turn in found.turns],
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
