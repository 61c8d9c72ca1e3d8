"""Pipelines as pyannote.audio builds them, with the weights that come with murmur."""

from __future__ import annotations

import torch
from pyannote.audio import Model, Pipeline
from pyannote.audio.core.plda import PLDA
from pyannote.audio.core.task import Problem, Resolution, Specifications
from pyannote.audio.models.segmentation import PyanNet
from pyannote.audio.pipelines import SpeakerDiarization
from torch.nn import functional

from murmur_cli.models.bundled import read_bundled
from murmur_cli.models.campplus import embed_features, load_campplus
from murmur_cli.models.fbank import FilterBank


class _Embedding(Model):
    dimension = 192

    def __init__(self) -> None:
        super().__init__(sample_rate=16_000, num_channels=1)
        self.encoder = load_campplus()

    def forward(self, waveforms: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        if waveforms.shape[-1] < 6_400:
            raise ValueError("too short")  # this is how a pipeline finds out what is
        vectors = torch.full((len(waveforms), 192), float("nan"))
        for i, wave in enumerate(waveforms):
            features = FilterBank()(wave[0])
            if weights is not None:
                mask = functional.interpolate(weights[i][None, None].float(), size=len(features), mode="nearest")
                features = features[mask[0, 0] > 0.5]
            if len(features) >= 40:
                vectors[i] = torch.from_numpy(embed_features(self.encoder, [features])[0])
        return vectors


class _NoPlda(PLDA):
    def __init__(self) -> None:
        """Nothing is loaded: the clustering has no use for one, but None is refused."""


def _make_segmentation() -> PyanNet:
    model = PyanNet(lstm={"num_layers": 4})
    model.specifications = Specifications(
        problem=Problem.MONO_LABEL_CLASSIFICATION,
        resolution=Resolution.FRAME,
        duration=10.0,
        classes=["speaker#1", "speaker#2", "speaker#3"],
        powerset_max_classes=2,
        permutation_invariant=True,
    )
    model.build()
    model.load_state_dict(read_bundled("segmentation-3.0.safetensors"))
    return model.eval()


class LocalDiarization(SpeakerDiarization):
    def __init__(self, token: str | None = None, cache_dir: str | None = None) -> None:
        super().__init__(
            segmentation=_make_segmentation(),
            segmentation_step=0.5,
            segmentation_batch_size=4,
            embedding=_Embedding(),
            embedding_exclude_overlap=True,
            embedding_batch_size=4,
            plda=_NoPlda(),
            clustering="AgglomerativeClustering",
        )


class Silence(Pipeline):
    """A pipeline that is none for diarization."""

    def __init__(self, token: str | None = None, cache_dir: str | None = None) -> None:
        super().__init__()
