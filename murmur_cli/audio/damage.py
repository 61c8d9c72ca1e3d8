"""Whether a file holds all that it should, told from what was decoded.

A header alone proves nothing: damage is what the decoder met, or what is plainly missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

__all__ = ["DecodingAccount", "describe_damage"]

_WHOLE = 0.95  # of the stated duration; a file with less is damaged
# Encoders count their delay and padding in, up to three frames in all, which decoders cut off again.
_PADDING_S = 0.3


@dataclass(frozen=True, slots=True)
class DecodingAccount:
    """How the decoding of a file went; times are seconds of decoded audio.

    ``reached_s`` is where the decoded audio ends: later than ``decoded_s`` where the container leaves
    holes in time. ``stated_s`` is the duration that the container states, if it does and the stream was read
    to its end. ``seams`` are the places where a signal begins or ends: those of the file, and where another
    rate or layout sets in. ``refused`` maps places to the number of packets that the decoder refused there.
    ``broke_off`` says that the container could not be read to its end.
    """

    decoded_s: float
    reached_s: float
    stated_s: float | None
    seams: AbstractSet[float]
    refused: Mapping[float, int]
    broke_off: bool


def describe_damage(account: DecodingAccount) -> str | None:
    """Say in one clause what is wrong with a file, or None if nothing is."""
    facts = []
    stated_s = account.stated_s or 0.0
    if stated_s - account.reached_s > max(_PADDING_S, (1.0 - _WHOLE) * stated_s):
        facts.append(f"decoded {account.decoded_s:.1f} s of {stated_s:.1f} s")
    # A stream that was cut out of a longer one begins and ends inside a packet: that is no damage.
    refused = {at_s: n for at_s, n in account.refused.items() if n > 1 or at_s not in account.seams}
    if refused:
        n_refused = sum(refused.values())
        packets = "a packet" if n_refused == 1 else f"{n_refused} packets"
        facts.append(f"{packets} at {min(refused):.1f} s {'' if n_refused == 1 else 'and later '}could not be decoded")
    if account.broke_off:
        facts.append(f"nothing could be read after {account.decoded_s:.1f} s")
    return f"{'; '.join(facts)}: the file is damaged" if facts else None
