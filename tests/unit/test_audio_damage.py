"""When a file is called damaged."""

from __future__ import annotations

from dataclasses import replace

from murmur_cli.audio.damage import DecodingAccount, describe_damage

WHOLE = DecodingAccount(
    decoded_s=100.0, reached_s=100.0, stated_s=None, seams={0.0, 100.0}, refused={}, broke_off=False
)


def test_a_whole_file_is_not() -> None:
    assert describe_damage(WHOLE) is None
    assert describe_damage(replace(WHOLE, stated_s=100.0)) is None
    assert describe_damage(replace(WHOLE, stated_s=90.0)) is None


def test_less_than_95_percent_of_what_is_stated_is() -> None:
    assert describe_damage(replace(WHOLE, stated_s=105.0)) is None
    text = describe_damage(replace(WHOLE, stated_s=106.0))
    assert text == "decoded 100.0 s of 106.0 s: the file is damaged"


def test_padding_that_an_encoder_counts_in_is_not() -> None:
    short = replace(WHOLE, decoded_s=0.767, reached_s=0.767)
    assert describe_damage(replace(short, stated_s=0.811)) is None
    assert describe_damage(replace(short, stated_s=1.5)) is not None


def test_a_hole_that_the_container_left_in_time_is_not() -> None:
    assert describe_damage(replace(WHOLE, reached_s=108.0, stated_s=108.0)) is None


def test_refused_packets_are() -> None:
    one = describe_damage(replace(WHOLE, refused={12.34: 1}))
    assert one == "a packet at 12.3 s could not be decoded: the file is damaged"
    more = describe_damage(replace(WHOLE, refused={40.0: 2, 12.34: 1}))
    assert more == "3 packets at 12.3 s and later could not be decoded: the file is damaged"


def test_one_torn_packet_at_a_seam_is_not_but_more_are() -> None:
    assert describe_damage(replace(WHOLE, refused={0.0: 1, 100.0: 1})) is None
    assert describe_damage(replace(WHOLE, seams={0.0, 40.0, 100.0}, refused={40.0: 1})) is None
    assert describe_damage(replace(WHOLE, refused={0.0: 2})) is not None
    assert describe_damage(replace(WHOLE, refused={100.0: 50})) is not None


def test_a_container_that_breaks_off_is() -> None:
    assert describe_damage(replace(WHOLE, broke_off=True)) is not None


def test_all_that_is_wrong_is_said() -> None:
    text = describe_damage(replace(WHOLE, stated_s=200.0, refused={1.0: 1}, broke_off=True))
    assert text is not None
    assert text.count(";") == 2
    assert text.endswith(": the file is damaged")
