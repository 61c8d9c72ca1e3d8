"""Which channels a mix holds, and how much of each."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.audio.downmix import mix_to_mono, mix_weights

SURROUND = ("FL", "FR", "FC", "LFE", "SL", "SR")


def test_stereo_is_the_mean_of_both() -> None:
    left, right = np.float32([0.5, 0.25, -1.0]), np.float32([0.25, 0.25, 1.0])
    assert mix_to_mono([left, right], ("FL", "FR")).tolist() == [0.375, 0.25, 0.0]


def test_channels_without_names_are_averaged() -> None:
    assert mix_weights(("NONE",) * 6) == pytest.approx([1 / 6] * 6)


def test_quad_and_mono_are_averaged() -> None:
    assert mix_weights(("FL", "FR", "BL", "BR")) == [0.25] * 4
    assert mix_weights(("FC",)) == [1.0]


def test_bass_effects_are_no_speech() -> None:
    assert mix_weights(("FL", "FR", "LFE")) == [0.5, 0.5, 0.0]
    assert dict(zip(SURROUND, mix_weights(SURROUND), strict=True))["LFE"] == 0.0


def test_speech_in_the_centre_alone_keeps_its_level() -> None:
    speech, silence = np.float32([0.1, -0.7]), np.zeros(2, np.float32)
    channels = [speech if name == "FC" else silence for name in SURROUND]
    assert mix_to_mono(channels, SURROUND).tolist() == speech.tolist()


def test_a_front_pair_in_surround_is_as_loud_as_in_stereo() -> None:
    left, right = np.float32([0.5, 0.5]), np.float32([0.25, -0.5])
    silence = np.zeros(2, np.float32)
    channels = [{"FL": left, "FR": right}.get(name, silence) for name in SURROUND]
    assert mix_to_mono(channels, SURROUND).tolist() == mix_to_mono([left, right], ("FL", "FR")).tolist()


def test_surrounds_are_heard_less_than_the_front() -> None:
    weights = dict(zip(SURROUND, mix_weights(SURROUND), strict=True))
    assert 0 < weights["SL"] == weights["SR"] < weights["FL"] == weights["FR"] < weights["FC"]
