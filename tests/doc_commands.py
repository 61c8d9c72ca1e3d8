"""The command lines of the documentation, and a shell in which they do nothing but tell how ``murmur`` is called.

A block of code without a language is command lines, one with ``bash`` is one script; all other blocks are no commands.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)

# Each call of murmur is a folder: its arguments, and what it was given on stdin if a "-" reads that. What it says is
# enough for what stands behind it in a pipe.
_MURMUR = r"""#!/bin/sh
call=$(mktemp -d "$DOC_CALLS/XXXXXX")
printf '%s\0' "$@" >"$call/args"
case " $* " in *' - '*) cat >"$call/stdin" ;; esac
case " $* " in
    *' stream '*' jsonl '*) cat "$DOC_SAID/session.jsonl" ;;
    *' jsonl '*) cat "$DOC_SAID/events.jsonl" ;;
    *' json '*) cat "$DOC_SAID/transcript.json" ;;
    *' models path '*) echo . ;;
    *) echo 'S1: Good morning.' ;;
esac
"""
_SAMPLES = '#!/bin/sh\ncat "$DOC_SAID/samples.raw"\n'
_RECORDING = '#!/bin/sh\ncat "$DOC_SAID/recording.wav"\n'
_PROGRAMS = {
    "murmur": _MURMUR,
    "arecord": _SAMPLES,
    "parec": _SAMPLES,
    "ssh": _RECORDING,
    "curl": _RECORDING,
    "pdftotext": "#!/bin/sh\necho 'New York City'\n",
    "pip": "#!/bin/sh\n",
    "make": f'#!/bin/sh\nexec {shutil.which("make")} -n -f "$DOC_MAKEFILE" "$@" >&2\n',
    "ffmpeg": f'#!/bin/sh\ncase " $* " in *" URL "*) cat "$DOC_SAID/samples.raw" ;; *) {shutil.which("ffmpeg")} '
    '-loglevel error "$@" ;; esac\n',
}


@dataclass(frozen=True)
class Snippet:
    """What a shell is given at once."""

    page: str
    text: str


@dataclass(frozen=True)
class Call:
    """How ``murmur`` was called. ``stdin`` is None where the arguments do not name it."""

    arguments: tuple[str, ...]
    stdin: bytes | None


def find_snippets() -> list[Snippet]:
    """All command lines and scripts of all pages, each once, where it stands first."""
    found: dict[str, Snippet] = {}
    for page in PAGES:
        for text in _iter_texts(page.read_text(encoding="utf-8")):
            found.setdefault(text.partition("  #")[0].strip(), Snippet(page.name, text))
    return list(found.values())


def _iter_texts(page: str) -> Iterator[str]:
    for language, block in _BLOCKS.findall(page):
        if language == "bash":
            yield block
        elif not language:
            yield from (line for line in block.splitlines() if line.strip())


class Shell:
    """Runs snippets; ``murmur`` and what needs a network or a sound card are stand-ins.

    Args:
        place: A folder for the stand-ins.
        said: What they write: ``samples.raw``, ``recording.wav``, ``transcript.json``, ``events.jsonl``,
            ``session.jsonl``.
    """

    def __init__(self, place: Path, said: Path) -> None:
        self._place, self._said = place, said
        self._numbers = itertools.count()
        (place / "bin").mkdir()
        for name, script in _PROGRAMS.items():
            (place / "bin" / name).write_text(script)
            (place / "bin" / name).chmod(0o755)

    def run(self, snippet: Snippet, folder: Path) -> tuple[str, list[Call]]:
        """Run a snippet in a folder: what it writes to stdout, and how it calls ``murmur``; it must end well."""
        calls = self._place / f"calls{next(self._numbers)}"
        calls.mkdir()
        places = {"DOC_CALLS": calls, "DOC_SAID": self._said, "DOC_MAKEFILE": ROOT / "Makefile"}
        env = os.environ | {name: str(path) for name, path in places.items()}
        env["PATH"] = f"{self._place / 'bin'}{os.pathsep}{env['PATH']}"
        done = subprocess.run(
            ["bash", "-uo", "pipefail", "-c", snippet.text],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, [_read_call(call) for call in sorted(calls.iterdir())]


def _read_call(call: Path) -> Call:
    arguments = (call / "args").read_bytes().decode().split("\0")[:-1]
    stdin = call / "stdin"
    return Call(tuple(arguments), stdin.read_bytes() if stdin.exists() else None)
