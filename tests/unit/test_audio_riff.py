"""How much of its stated data a WAV file holds."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from murmur_cli.audio.riff import find_present_fraction

FMT = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16_000, 32_000, 2, 16)


def fraction_of(folder: Path, content: bytes) -> float | None:
    path = folder / "a.wav"
    path.write_bytes(content)
    with path.open("rb") as file:
        return find_present_fraction(file)


def wav(*, stated: int, present: int, before: bytes = b"", kind: bytes = b"RIFF") -> bytes:
    data = b"data" + struct.pack("<I", stated) + bytes(present)
    return kind + struct.pack("<I", 0xFFFFFFFF) + b"WAVE" + before + FMT + data


def test_a_whole_file(tmp_path: Path) -> None:
    assert fraction_of(tmp_path, wav(stated=1000, present=1000)) == 1.0
    assert fraction_of(tmp_path, wav(stated=1000, present=1100)) == 1.0  # tags behind the data


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    assert fraction_of(tmp_path, wav(stated=1000, present=250)) == 0.25


def test_chunks_before_the_data_are_walked_over(tmp_path: Path) -> None:
    odd = b"LIST" + struct.pack("<I", 5) + b"data!" + b"\0"  # chunks begin at even places
    assert fraction_of(tmp_path, wav(stated=1000, present=500, before=odd)) == 0.5


@pytest.mark.parametrize("placeholder", [0, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x7FFFF000])
def test_placeholders_of_streaming_programs_state_nothing(tmp_path: Path, placeholder: int) -> None:
    assert fraction_of(tmp_path, wav(stated=placeholder, present=500)) is None


def test_a_long_file_states_its_length_elsewhere(tmp_path: Path) -> None:
    ds64 = b"ds64" + struct.pack("<IQQQI", 28, 0, 2000, 0, 0)
    assert fraction_of(tmp_path, wav(stated=0xFFFFFFFF, present=500, before=ds64, kind=b"RF64")) == 0.25


def test_a_length_beyond_4_gb_is_not_cut_off(tmp_path: Path) -> None:
    ds64 = b"ds64" + struct.pack("<IQQQI", 28, 0, 10 * 2**32, 0, 0)
    found = fraction_of(tmp_path, wav(stated=0xFFFFFFFF, present=2**12, before=ds64, kind=b"RF64"))
    assert found == pytest.approx(2**12 / (10 * 2**32))


@pytest.mark.parametrize("content", [b"", b"RIFF", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0AVI data\0\0\0\0", b"text" * 20])
def test_anything_else_states_nothing(tmp_path: Path, content: bytes) -> None:
    assert fraction_of(tmp_path, content) is None


def test_a_header_without_data_states_nothing(tmp_path: Path) -> None:
    assert fraction_of(tmp_path, wav(stated=1000, present=0)) is None
