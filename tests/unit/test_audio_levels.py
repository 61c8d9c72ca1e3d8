"""What is corrected in a whole file, and what is left as it is."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.audio.levels import Correction, Levels


def find(*blocks: np.ndarray) -> Correction:
    levels = Levels()
    for block in blocks:
        levels.add(block.astype(np.float32))
    return levels.find_correction()


def tone(amplitude: float) -> np.ndarray:
    return amplitude * np.sin(np.arange(16_000) * 2 * np.pi / 160)


def test_an_ordinary_signal_is_left_alone() -> None:
    for correction in (find(tone(1.0)), find(tone(0.5) + 0.005), find(np.zeros(100)), find()):
        assert correction == Correction(offset=0.0, gain=1.0)
        assert not correction.is_needed
        assert correction.notes == ()


def test_the_overshoot_of_a_codec_is_left_alone() -> None:
    assert not find(tone(1.1)).is_needed


def test_a_constant_offset_is_found_over_all_blocks() -> None:
    correction = find(tone(0.5) + 0.3, tone(0.1) + 0.3)
    assert correction.offset == pytest.approx(0.3, abs=1e-6)
    assert correction.gain == 1.0
    assert len(correction.notes) == 1
    assert "0.300" in correction.notes[0]


def test_a_negative_offset_is_one_too() -> None:
    assert find(tone(0.2) - 0.05).offset == pytest.approx(-0.05, abs=1e-6)


def test_a_speaker_who_is_quiet_half_of_the_time_has_no_offset() -> None:
    assert find(tone(0.9), np.zeros(16_000)).offset == 0.0


def test_what_is_louder_than_full_scale_is_brought_to_it_by_one_gain() -> None:
    correction = find(tone(0.1), tone(4.0))
    assert correction.gain == pytest.approx(1 / 4.0)
    assert correction.notes == ("4 times louder than full scale, scaled by -12.0 dB",)


def test_the_peak_is_measured_without_the_offset() -> None:
    correction = find(tone(1.0) + 0.9)
    assert correction.offset == pytest.approx(0.9, abs=1e-6)
    assert correction.gain == 1.0


def test_negative_peaks_count() -> None:
    assert find(np.array([0.0, -2.0, 0.0, 2.0 - 1e-3])).gain == pytest.approx(0.5, abs=1e-3)
    assert find(-np.abs(tone(8.0)) + tone(8.0)).gain < 0.2
