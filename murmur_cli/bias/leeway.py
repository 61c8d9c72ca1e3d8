"""Which tokens of a list must be likely by themselves to be raised, and how likely.

A keyword of several tokens is put to the test several times: what the model does not hear falls back. One that is a
single token is decided at once, so its own probability counts, and not only how far it is behind the best one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.bias.allocation import AllocationOptions, measure_rarity
from murmur_cli.bias.index import TokenClasses
from murmur_cli.bias.packed import START, BiasList

__all__ = ["ANY_LEEWAY", "Leeways", "measure_leeways"]

ANY_LEEWAY = 1e6
"""Of most tokens: more than any margin leaves."""

_FREQUENT_SHARE = 0.5  # of the margin; such a word its model knows without a list
_NOTHING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Leeways:
    """Of a list's arcs: how far below certainty their tokens may be, as a part of the margin.

    Attributes:
        own: (n_arcs,) float32.
        roots: (n_roots,) float32.
    """

    own: npt.NDArray[np.float32]
    roots: npt.NDArray[np.float32]


def measure_leeways(source: BiasList, classes: TokenClasses) -> Leeways:
    """Measure the leeways of a list: any, but for tokens that hold a whole phrase by themselves.

    A text that is one of those and nothing else keeps something if it ends. A rare one has the whole margin, a frequent
    one half of it.

    Source:
        Digit words with the tiny trained model, with noise and without, in conversations that no figure is given of.
    """
    options = AllocationOptions()
    rarity = np.array([measure_rarity(token, options) for token in source.root_tokens.tolist()])
    targets = source.root_targets
    is_stored = (targets >= 0) & (targets < source.n_states)  # what has no target adds nothing, as the start does
    settled = source.bases[0][np.where(is_stored, targets, START)]
    for place in zip(*np.nonzero(targets >= source.n_states), strict=True):
        settled[place] = source.settle(classes, int(targets[place]))
    is_whole = (source.root_values + settled > _NOTHING).any(axis=0)
    roots = np.where(is_whole, _FREQUENT_SHARE + (1.0 - _FREQUENT_SHARE) * rarity, ANY_LEEWAY).astype(np.float32)
    root = np.searchsorted(source.root_tokens, source.tokens)
    is_root = np.append(source.root_tokens, -1)[root] == source.tokens
    return Leeways(np.append(roots, np.float32(ANY_LEEWAY))[np.where(is_root, root, -1)], roots)
