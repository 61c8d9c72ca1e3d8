"""The diarizer that comes with murmur: segmentation says when, CAM++ on short slots says who.

The recording passes by in windows; what stays of it are the frames' activity and one vector for every
2 s of speech.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from murmur_cli.models.campplus import LEAST_FRAMES, CampplusNetwork, embed_features, load_campplus
from murmur_cli.models.fbank import FBANK_FRAME_SAMPLES, FBANK_STEP_SAMPLES, FilterBank
from murmur_cli.models.segmentation import SegmentationNetwork, load_segmentation
from murmur_cli.speakers.diarize import Diarization, Hearing, find_turns
from murmur_cli.speakers.limits import SpeakerLimits
from murmur_cli.speakers.slots import Slot, iter_slots
from murmur_cli.speakers.voices import LEAST_VOICE_S, VOICE_SIZE, VoiceVector, VoiceVectors, average_voice
from murmur_cli.speakers.windows import (
    FRAME_S,
    FRAMES_PER_WINDOW,
    SPEAKER_RATE,
    WINDOW_SAMPLES,
    BoolArray,
    Window,
    find_frame_start,
    iter_windows,
)
from murmur_cli.types import Samples

__all__ = ["CampplusEmbedder", "SlotsDiarizer", "load_embedder", "load_slots_diarizer"]

_SEGMENTATION_BATCH = 4  # windows; more are no faster on a CPU
_LISTENING_BATCH = 32  # windows whose slots are embedded together, so that there are some of each length
_PIECE_S = 6.0  # that are embedded at once of a long stretch of speech,
_MOST_S = 30.0  # of which no more than this is heard


class SlotsDiarizer:
    """A diarizer; see ``speakers.diarize.Diarizer``."""

    def __init__(self, segmentation: SegmentationNetwork, encoder: CampplusNetwork) -> None:
        self._segmentation = segmentation
        self._encoder = encoder
        self._filter_bank = FilterBank()

    def turns(self, blocks: Iterable[Samples], limits: SpeakerLimits) -> Diarization:
        """Diarize one recording; its blocks are let go as they are heard."""
        return find_turns(self.hear(blocks), limits)

    def hear(self, blocks: Iterable[Samples]) -> Hearing:
        """Run the networks over one recording: what there is to know before people are counted."""
        n_samples = 0

        def count(blocks: Iterable[Samples]) -> Iterator[Samples]:
            nonlocal n_samples
            for block in blocks:
                n_samples += len(block)
                yield block

        activity: list[BoolArray] = []
        slots: list[Slot] = []
        vectors: list[VoiceVectors] = [np.zeros((0, VOICE_SIZE), np.float32)]
        windows = iter_windows(count(blocks))
        while batch := list(itertools.islice(windows, _LISTENING_BATCH)):
            active = self._find_activity(batch)
            features: list[Tensor] = []
            for window, spoken in zip(batch, active, strict=True):
                for slot, heard in self._iter_features(window, spoken, number=len(activity)):
                    slots.append(slot)
                    features.append(heard)
                activity.append(spoken)
            vectors.append(embed_features(self._encoder, features))
        return Hearing(n_samples, activity, slots, np.concatenate(vectors))

    def _find_activity(self, windows: Sequence[Window]) -> list[BoolArray]:
        active: list[BoolArray] = []
        for start in range(0, len(windows), _SEGMENTATION_BATCH):
            batch = windows[start : start + _SEGMENTATION_BATCH]
            found = self._segmentation.find_activity(torch.from_numpy(np.stack([window.samples for window in batch])))
            active += [spoken & window.inside[:, np.newaxis] for spoken, window in zip(found, batch, strict=True)]
        return active

    def _iter_features(self, window: Window, active: BoolArray, *, number: int) -> Iterator[tuple[Slot, Tensor]]:
        """Yield the slots of a window that have a voice, with the features of those frames in which it is heard."""
        if not active.any():
            return
        features = self._filter_bank(torch.from_numpy(window.samples))
        for cut in iter_slots(active, number):
            heard = features[torch.from_numpy(cut.heard[_FRAME_OF_FEATURE])]
            if len(heard) >= LEAST_FRAMES:
                yield cut.slot, heard


def _pair_frames() -> npt.NDArray[np.intp]:
    """Give for every frame of the filter bank the nearest frame of segmentation."""
    n_features = (WINDOW_SAMPLES - FBANK_FRAME_SAMPLES) // FBANK_STEP_SAMPLES + 1
    centres = (np.arange(n_features) * FBANK_STEP_SAMPLES + FBANK_FRAME_SAMPLES / 2) / SPEAKER_RATE
    first_centre = find_frame_start(0) + FRAME_S / 2
    return np.rint((centres - first_centre) / FRAME_S).clip(0, FRAMES_PER_WINDOW - 1).astype(np.intp)


_FRAME_OF_FEATURE = _pair_frames()


class CampplusEmbedder:
    """An embedder of speech; see ``speakers.voices.SpeakerEmbedder``."""

    def __init__(self, encoder: CampplusNetwork) -> None:
        self._encoder = encoder
        self._filter_bank = FilterBank()

    def embed(self, samples: Samples) -> VoiceVector:
        """Embed the first 30 s of one person's speech, as the mean over pieces of about 6 s."""
        if len(samples) < LEAST_VOICE_S * SPEAKER_RATE:
            raise ValueError(f"{len(samples) / SPEAKER_RATE:g} s are no voice")
        speech = samples[: round(_MOST_S * SPEAKER_RATE)]
        pieces = np.array_split(speech, max(1, round(len(speech) / (_PIECE_S * SPEAKER_RATE))))
        features = [self._filter_bank(torch.tensor(piece)) for piece in pieces]
        return average_voice(embed_features(self._encoder, features), np.ones(len(pieces)))


def load_slots_diarizer() -> SlotsDiarizer:
    """Load both networks that come with murmur.

    Raises:
        WeightsError: A file is missing or damaged.
    """
    return SlotsDiarizer(load_segmentation(), load_campplus())


def load_embedder() -> CampplusEmbedder:
    """Load the network for voices that comes with murmur.

    Raises:
        WeightsError: Its file is missing or damaged.
    """
    return CampplusEmbedder(load_campplus())
