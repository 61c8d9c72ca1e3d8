"""Run a command as a child and measure it: CPU and wall seconds, peak memory.

CPU seconds come from the kernel when the child is reaped (user + system, all its threads and its own
reaped children), so nothing that the child says about itself is needed for them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ChildUse", "Memory", "read_memory", "run_child"]

_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process holds now (anonymous) and at most so far (resident)."""

    anonymous_bytes: int = 0
    peak_resident_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ChildUse:
    """How a child ended and what it used.

    ``peak_anonymous_bytes`` is the highest RssAnon that was sampled: memory that only swapping could
    free. ``peak_resident_bytes`` is the kernel's own high-water mark (VmHWM, as last sampled), mapped
    files included; ru_maxrss would be no use, a child inherits its parent's.
    """

    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    peak_anonymous_bytes: int
    peak_resident_bytes: int


def run_child(command: Sequence[str | Path], *, env: Mapping[str, str]) -> ChildUse:
    """Run a command to its end, sampling its memory every 0.2 s.

    Args:
        command: Program and arguments.
        env: The child's whole environment.
    """
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        start = time.perf_counter()
        child = subprocess.Popen(command, env=dict(env), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        try:
            peak, status, usage = _watch(child.pid)
        except BaseException:
            child.kill()
            child.wait()
            raise
        wall_s = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)  # wait4 reaped it: Popen must not look for it again
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", errors="replace"))
    return ChildUse(
        exit_code=child.returncode,
        stdout=texts[0],
        stderr=texts[1],
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_anonymous_bytes=peak.anonymous_bytes,
        peak_resident_bytes=peak.peak_resident_bytes,
    )


def _watch(pid: int) -> tuple[Memory, int, resource.struct_rusage]:
    peak = Memory()
    while True:
        reaped, status, usage = os.wait4(pid, os.WNOHANG)
        if reaped:
            return peak, status, usage
        now = read_memory(pid)
        peak = Memory(
            max(peak.anonymous_bytes, now.anonymous_bytes), max(peak.peak_resident_bytes, now.peak_resident_bytes)
        )
        time.sleep(_POLL_S)


def read_memory(pid: int) -> Memory:
    """Read how much a process holds; nothing once it has given its memory back and waits to be reaped."""
    kib = {"RssAnon": 0, "VmHWM": 0}
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name in kib:
            kib[name] = int(value.split()[0])
    return Memory(kib["RssAnon"] * 1024, kib["VmHWM"] * 1024)
