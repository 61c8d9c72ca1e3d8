"""The graph of a list as arrays: what scoring needs, and nothing of phrases or bytes.

Scores are pure sums: what a token earns in a state is the state's base, what a phrase that begins in the token earns
(``root_values``), and the values of its arcs in the state and in every state along the links. States are relative to
the list, so they stay valid whatever other lists stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from murmur_cli.bias.index import KEEP, TokenClasses
from murmur_cli.bias.states import FIRST_CUT

__all__ = ["NO_ARC", "NO_LIST", "START", "BiasList"]

START = 0
"""The state of an empty text."""

NO_LIST = -1
"""What names no list, where lists have numbers."""

NO_ARC = -1
"""Where a root has no arc for a token."""


@dataclass(frozen=True, slots=True, eq=False)
class BiasList:
    """A compiled list.

    Attributes:
        links: (n_states,) the state without its first characters; 0 and 1 end the chain.
        bases: (2, n_states) by class of a token's first character, what every token earns.
        words: (n_states,) the class of the last character.
        cuts: (n_states,) the number of the cut character; 0 for none.
        debtors: (n_states,) 1 + the number in ``debts`` of the state's node; 0 where nothing depends on what follows.
        debts: (n_debtors,) how much more is certain where a border follows.
        bounds: (n_states + 1,) where the arcs of each state begin.
        tokens, values, targets: (n_arcs,) sorted by token inside a state.
        root_tokens: (n_roots,) sorted.
        root_values, root_targets: (2, n_roots) by the class of the character before the token's body; -1: no target.
        n_root_level: States in which no phrase has begun.
        depth: The most states with arcs that a chain of links has.
        n_phrases: That were compiled.
        vocabulary: The sha256 of the vocabulary's classes.
        sha256: Of all that this was compiled from.
    """

    links: npt.NDArray[np.int32]
    bases: npt.NDArray[np.float32]
    words: npt.NDArray[np.bool_]
    cuts: npt.NDArray[np.int16]
    debtors: npt.NDArray[np.int32]
    debts: npt.NDArray[np.float32]
    bounds: npt.NDArray[np.int32]
    tokens: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    targets: npt.NDArray[np.int32]
    root_tokens: npt.NDArray[np.int32]
    root_values: npt.NDArray[np.float32]
    root_targets: npt.NDArray[np.int32]
    n_root_level: int
    depth: int
    n_phrases: int
    vocabulary: str
    sha256: str

    @property
    def n_states(self) -> int:
        """How many are stored."""
        return len(self.links)

    @property
    def n_arcs(self) -> int:
        """How many, those of the roots among them."""
        return len(self.tokens) + len(self.root_tokens)

    @property
    def n_bytes(self) -> int:
        """Of all arrays."""
        arrays = (getattr(self, each.name) for each in fields(self))
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def step(self, classes: TokenClasses, state: int, token: int) -> tuple[int, float]:
        """Read one token, slowly.

        Returns:
            The state after it, and what the text has earned by it.
        """
        stored, debtor = self._resolve(state)
        cut, column = int(self.cuts[stored]), int(classes.column[token])
        is_word = int(classes.is_word[cut, column])
        root_class = is_word if cut else int(self.words[stored])
        earned, target = self._base(state, classes, is_word), NO_ARC
        while stored >= FIRST_CUT:
            place = self._find(self.tokens, int(self.bounds[stored]), int(self.bounds[stored + 1]), token)
            if place is not None:
                earned += float(self.values[place])
                target = int(self.targets[place]) if target == NO_ARC else target
            stored = int(self.links[stored])
        place = self._find(self.root_tokens, 0, len(self.root_tokens), token)
        if place is not None:
            earned += float(self.root_values[root_class, place])
            target = int(self.root_targets[root_class, place]) if target == NO_ARC else target
        if target == NO_ARC:
            target = int(classes.after[token])
        if target == KEEP:
            target = int(classes.outcome[cut, column]) if cut else root_class
        only_cut = bool(classes.is_tail[token]) if cut == 0 else classes.after[token] == KEEP
        if debtor and only_cut and FIRST_CUT <= target < self.n_root_level:
            target += self.n_states + (debtor - 1) * (self.n_root_level - FIRST_CUT) - FIRST_CUT
        return target, earned

    def settle(self, classes: TokenClasses, state: int) -> float:
        """What the text earns if it ends here: usually less than nothing, since an unfinished match is taken back."""
        return self._base(state, classes, 0)

    def _resolve(self, state: int) -> tuple[int, int]:
        """The stored state of which the arcs count, and the debtor plus 1."""
        if state < self.n_states:
            return state, int(self.debtors[state])
        debtor, root = divmod(state - self.n_states, self.n_root_level - FIRST_CUT)
        return root + FIRST_CUT, debtor + 1

    def _base(self, state: int, classes: TokenClasses, is_word: int) -> float:
        if state < self.n_states:
            return float(self.bases[is_word, state])
        stored, debtor = self._resolve(state)
        likely = int(classes.likely[self.cuts[stored]])
        return (likely - is_word) * float(self.debts[debtor - 1])

    @staticmethod
    def _find(tokens: npt.NDArray[np.int32], begin: int, end: int, token: int) -> int | None:
        place = begin + int(np.searchsorted(tokens[begin:end], token))
        return place if place < end and tokens[place] == token else None
