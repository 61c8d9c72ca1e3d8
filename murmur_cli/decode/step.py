"""One step: one more token of every slot, on the device alone.

All that a step reads and writes are tensors that stay where they are, and it asks the device for nothing: it can be
recorded once and played back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from murmur_cli.decode.bias_filter import BiasFilter
from murmur_cli.decode.cells import TRASH
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.draw import draw_tokens
from murmur_cli.decode.slots import SlotCache

__all__ = ["N_STEPS", "StepState", "run_step"]

N_STEPS = 16  # of a block, between two looks at what was written


class StepState:
    """What slots are about to read, and what they have written in this block.

    Args:
        n_slots: B.
        device: Where the steps run.
    """

    def __init__(self, n_slots: int, device: torch.device) -> None:
        self.tokens = torch.zeros((n_slots, 1), dtype=torch.int64, device=device)  # to read next
        self.positions = torch.zeros_like(self.tokens)  # of these tokens
        self.at = torch.zeros(1, dtype=torch.int64, device=device)  # steps done in this block
        self.cells = torch.full((n_slots, N_STEPS), TRASH, device=device)  # where each step writes
        self.written = torch.zeros_like(self.cells)  # what each step wrote
        self.changed = torch.zeros_like(self.cells, dtype=torch.bool)  # whether a list had a hand in that
        self.temperatures = torch.zeros((n_slots, 1), device=device)
        self.uniforms = torch.zeros((n_slots, N_STEPS), device=device)  # what each step draws by

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All that a step changes here."""
        return self.tokens, self.positions, self.at, self.written, self.changed

    def seat(self, slot: int, token: int, position: int, *, temperature: float) -> None:
        """Let a slot go on with a token at a position."""
        self.tokens[slot] = token
        self.positions[slot] = position
        self.temperatures[slot] = temperature

    def begin_block(self, cells: Sequence[Sequence[int]], uniforms: Sequence[Sequence[float]] | None) -> None:
        """Say where the next steps write, and what they draw by: ``N_STEPS`` of each for every slot."""
        self.cells.copy_(torch.tensor(cells))
        if uniforms is not None:
            self.uniforms.copy_(torch.tensor(uniforms))
        self.at.zero_()

    def read_block(self, n_steps: int) -> list[list[int]]:
        """Fetch what the first steps of the block wrote, for every slot: this waits for the device."""
        written: list[list[int]] = self.written[:, :n_steps].tolist()
        return written

    def read_changed(self, n_steps: int) -> list[list[bool]]:
        """Fetch where lists had a hand in the first steps of the block, for every slot."""
        changed: list[list[bool]] = self.changed[:, :n_steps].tolist()
        return changed


def run_step(
    decoder: Decoder, cache: SlotCache, state: StepState, *, draws: bool = False, bias: BiasFilter | None = None
) -> None:
    """Read one token of every slot and choose the next.

    Args:
        decoder: The model.
        cache: What it has read.
        state: What it reads, and where it writes.
        draws: Draw the tokens of those slots that have a temperature; else take the likeliest everywhere, which costs
            much less than to sort a vocabulary.
        bias: The lists of those slots that have one; None: no slot has.
    """
    mask = cache.hold(state.cells.index_select(1, state.at), state.positions)
    hidden = decoder.read(decoder.embed(state.tokens), positions=state.positions, mask=mask, cache=cache)
    logits = decoder.to_logits(hidden[:, -1])

    def pick(logits: Tensor) -> Tensor:
        if draws:
            return draw_tokens(logits, state.temperatures, state.uniforms.index_select(1, state.at))
        return logits.argmax(-1, keepdim=True)

    if bias is None:
        state.tokens.copy_(pick(logits))
    else:
        state.tokens.copy_(bias.choose(logits, pick))
        bias.read(state.tokens)
        state.changed.index_copy_(1, state.at, bias.changed)
    state.written.index_copy_(1, state.at, state.tokens)
    state.positions.add_(1)
    state.at.add_(1)
