"""Lists of keywords made ready for one Whisper."""

from __future__ import annotations

from murmur_cli.bias.cache import ListCache, default_folder
from murmur_cli.bias.hits import HitFinder
from murmur_cli.bias.store import BiasStore
from murmur_cli.bias.vocabulary import read_vocabulary
from murmur_cli.engine import Bias
from murmur_cli.models.whisper.checkpoint import Checkpoint
from murmur_cli.models.whisper.ear import Ear

__all__ = ["Ears"]


class Ears:
    """Makes ears for one model; lists are compiled when they are first asked for, and the newest is kept ready.

    Args:
        checkpoint: The model.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._lists: ListCache | None = None
        self._store: BiasStore | None = None
        self._newest: tuple[Bias, Ear] | None = None

    def lists(self) -> ListCache:
        """What compiles lists for the model.

        Raises:
            UsageError: Its tokenizer is of a kind that cannot be followed.
        """
        if self._lists is None:
            n_tokens = len(self._checkpoint.vocabulary.pieces)
            self._lists = ListCache(read_vocabulary(self._checkpoint.tokenizer, n_tokens=n_tokens), default_folder())
        return self._lists

    def make(self, bias: Bias | None) -> Ear | None:
        """Make an ear for a list; None where nothing is listened for.

        Raises:
            UsageError: See ``lists``.
        """
        if bias is None or not bias.keywords.n_phrases:
            return None
        if self._newest is not None and self._newest[0] == bias:
            return self._newest[1]
        lists = self.lists()
        if self._store is None:
            self._store = BiasStore(lists.classes(), self._checkpoint.decoder.device)
        list_id = self._store.add(lists.compile(bias.keywords))
        if self._newest is not None:
            self._store.remove(self._newest[1].list_id)
        end = self._checkpoint.vocabulary.end
        ear = Ear(self._store, list_id, bias.margin, end, HitFinder(bias.keywords))
        self._newest = bias, ear
        return ear
