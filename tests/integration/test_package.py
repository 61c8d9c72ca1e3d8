"""What the wheel and the source distribution hold: what is missing there is missed only after installing."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = {
    "share/bash-completion/completions/murmur": "completions/murmur.bash",
    "share/fish/vendor_completions.d/murmur.fish": "completions/murmur.fish",
    "share/zsh/site-functions/_murmur": "completions/_murmur",
    **{f"share/man/man1/{page.name}": f"man/{page.name}" for page in (ROOT / "man").glob("*.1")},
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one wheel and one source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, capture_output=True, check=True
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> dict[str, bytes]:
    """The files of the wheel by name."""
    (path,) = built.glob("murmur_asr-*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: dict[str, bytes]) -> None:
    package = [
        path for path in (ROOT / "murmur_cli").rglob("*") if path.is_file() and path.parent.name != "__pycache__"
    ]
    expected = {path.relative_to(ROOT).as_posix() for path in package}
    assert {"murmur_cli/py.typed", "murmur_cli/models/catalog.toml"} <= expected
    assert any(name.endswith(".schema.json") for name in expected)
    assert {name for name in wheel if ".dist-info/" not in name and ".data/" not in name} == expected


def test_the_wheel_installs_completions_and_man_pages(wheel: dict[str, bytes]) -> None:
    data = {name.partition(".data/data/")[2]: content for name, content in wheel.items() if ".data/data/" in name}
    assert data == {name: (ROOT / source).read_bytes() for name, source in SHARED.items()}


def test_the_wheel_carries_the_licence(wheel: dict[str, bytes]) -> None:
    (licence,) = [content for name, content in wheel.items() if name.endswith("/licenses/LICENSE")]
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_the_source_distribution_builds_and_tests_by_itself(built: Path) -> None:
    (path,) = built.glob("murmur_asr-*.tar.gz")
    with tarfile.open(path) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    needed = ("pyproject.toml", "Makefile", "LICENSE", "README.md", "tools/generate_cli_files.py", "tests/conftest.py")
    assert set(needed) <= inside
    assert "examples/conversation.flac" in inside
    assert [name for name in inside if name.startswith(".") and name not in (".gitignore", ".ci/run")] == []
