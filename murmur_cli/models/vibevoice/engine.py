"""The VibeVoice engine: chunks side by side, each told who speaks in it.

A chunk's answer depends on the chunk, its recording's level and the options alone, in float32 to the last token;
in bfloat16 two tokens that are equally likely may change places with the number of chunks in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from transformers.models.whisper.tokenization_whisper import LANGUAGES

from murmur_cli.bias.cache import ListCache
from murmur_cli.bias.hits import HitFinder
from murmur_cli.decode.decoder import Decoder
from murmur_cli.decode.eviction import EvictionOptions, EvictionWatcher, RowLayout, most_cells
from murmur_cli.decode.gate import build_json_gate
from murmur_cli.decode.heard import mark_text
from murmur_cli.decode.loop import decode_rows
from murmur_cli.decode.rescue import Attempt
from murmur_cli.decode.rows import Row
from murmur_cli.decode.runaway import RunawayWatcher
from murmur_cli.decode.step import N_STEPS
from murmur_cli.decode.watch import Watcher
from murmur_cli.decode.watchers import Watchers
from murmur_cli.engine import Answer, Extras, Job
from murmur_cli.errors import DeviceError
from murmur_cli.models.device import choose_device
from murmur_cli.models.heap import give_back_freed
from murmur_cli.models.vibevoice.checkpoint import Checkpoint, choose_dtype, inspect_checkpoint, load_checkpoint
from murmur_cli.models.vibevoice.features import embed_prompt, encode_audio, find_gain, seed_noise
from murmur_cli.models.vibevoice.frames import FRAME_SAMPLES, SAMPLE_RATE
from murmur_cli.models.vibevoice.keywords import KeywordLists
from murmur_cli.models.vibevoice.memory import measure_free, refuse_slow
from murmur_cli.models.vibevoice.plan import plan_rows
from murmur_cli.models.vibevoice.prompt import Prompt, build_prompt, check_wishes, make_extra_info, strip_control_tokens
from murmur_cli.models.vibevoice.queue import NEXT_ENTRY, RowQueue
from murmur_cli.models.vibevoice.vocabulary import Vocabulary
from murmur_cli.models.whisper.languages import find_language
from murmur_cli.options import BatchOptions, DecodeOptions, ModelOptions
from murmur_cli.types import EngineInfo, Samples

__all__ = ["Running", "VibeVoiceEngine", "lay_out_longest", "load_vibevoice"]

# A second of speech takes 6 to 9 tokens. Where turns are short it may take 12, of 24 chunks of 30 s two needed more: so
# there are some to spare. An answer that needs more than that has gone wrong.
_TOKENS_PER_S = 12
_SPARE_TOKENS, _MOST_TOKENS = 256, 32_768

_OPENING = "<|im_start|>assistant\n"  # the model writes it before every answer


def load_vibevoice(
    folder: Path,
    *,
    name: str,
    weights_sha256: str,
    model: ModelOptions,
    options: BatchOptions,
    on_note: Callable[[str], None],
) -> VibeVoiceEngine:
    """Load a VibeVoice-ASR, after it is clear that it fits.

    Args:
        folder: A long-form checkpoint in the transformers layout or the original one.
        name: What to call it in a transcript.
        weights_sha256: What its weights are known by.
        model: How it runs.
        options: What it will be asked: the longest chunk decides how much memory a row takes.
        on_note: Hears what the user should know.

    Raises:
        UsageError: It is no long-form VibeVoice, or an option does not go with it.
        WeightsError: A file is missing or damaged.
        DeviceError: There is no such device, or it has too little memory, or is too slow.
    """
    place = choose_device(model.device)
    dtype = choose_dtype(model.dtype, place)
    blueprint = inspect_checkpoint(folder)
    if place.type == "cpu" and not model.force:
        refuse_slow(blueprint.size.n_step_parameters * dtype.itemsize, where=name)
    longest = lay_out_longest(blueprint.vocabulary, options)
    eviction, batch_size = plan_rows(blueprint.size, longest, model, itemsize=dtype.itemsize, free=measure_free(place))
    check_wishes(options.decode.context, language=options.decode.language, on_note=on_note)
    if model.evict == "auto" and eviction.policy != "none":
        on_note(f"--evict {eviction.policy}: {batch_size} chunks side by side, more than fit with all of their memory")
    checkpoint = load_checkpoint(blueprint, device=place, dtype=dtype)
    info = EngineInfo(
        model=name,
        weights_sha256=weights_sha256,
        device=str(place),
        precision=str(dtype).removeprefix("torch."),
        eviction=eviction.policy,
    )
    running = Running(batch_size, eviction, noise_seed=options.decode.acoustic_noise)
    return VibeVoiceEngine(checkpoint, info, running, on_note=on_note)


@dataclass(frozen=True, slots=True)
class Running:
    """How a model runs.

    ``batch_size`` chunks are decoded side by side, ``eviction`` is what is forgotten of each, ``noise_seed`` is where
    the noise in what it hears comes from; None: there is none.
    """

    batch_size: int
    eviction: EvictionOptions
    noise_seed: int | None


class VibeVoiceEngine:
    """A VibeVoice that answers jobs side by side.

    Args:
        checkpoint: The model.
        info: What it is called, and how it runs.
        running: The same in numbers.
        on_note: Hears what the user should know while it runs.
    """

    def __init__(
        self, checkpoint: Checkpoint, info: EngineInfo, running: Running, *, on_note: Callable[[str], None]
    ) -> None:
        self._checkpoint = checkpoint
        self._info = info
        self._batch_size = running.batch_size
        self._eviction = running.eviction
        self._noise_seed = running.noise_seed
        self._on_note = on_note
        network = checkpoint.network
        self._decoder = Decoder(network.model.language_model, network.lm_head)
        self._keywords = KeywordLists(checkpoint, build_json_gate)

    @property
    def sample_rate(self) -> int:
        """Samples per second that jobs must have: 24000."""
        return SAMPLE_RATE

    @property
    def info(self) -> EngineInfo:
        """Which model this is and how it runs."""
        return self._info

    @property
    def extras(self) -> Extras:
        """It does all but tell the times of words."""
        return Extras(context=True, acoustic_noise=True, batch_size=True, evict=True, stats=True, bias=True)

    def keyword_lists(self) -> ListCache:
        """What compiles lists of keywords for it.

        Raises:
            UsageError: The model's tokens are not such that keywords can be followed in them.
        """
        return self._keywords.lists()

    def resolve_language(self, language: str) -> str:
        """Turn a language's code or English name into its code; which of them the model speaks is not known.

        Raises:
            UsageError: There is no such language.
        """
        return find_language(language, codes=LANGUAGES)

    def detect_language(self, samples: Samples) -> None:
        """Name none: the model does not say which language it hears."""
        del samples

    def decode(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Answer every job, as soon as nothing is left to try of its chunk.

        Raises:
            DeviceError: The device is out of memory, with half as many chunks side by side, too.
        """
        queue = RowQueue(jobs, self._to_row, self._find_keywords)
        n_slots, is_done = self._batch_size, False
        while not is_done:
            try:
                yield from self._decode(queue, n_slots=n_slots)
                is_done = True
            except torch.OutOfMemoryError as error:
                if n_slots < max(self._batch_size, 2):
                    hint = "give a smaller --batch-size or --max-chunk-s"
                    raise DeviceError("the GPU is out of memory", where="--device", hint=hint) from error
                self._on_note(f"out of memory with {n_slots} chunks side by side, going on with {n_slots // 2}")
                n_slots //= 2
                queue.begin_again()

    def _decode(self, queue: RowQueue, *, n_slots: int) -> Iterator[Answer]:
        vocabulary = self._checkpoint.vocabulary
        for row in decode_rows(queue, self._decoder, n_slots=n_slots, stop_token=vocabulary.end):
            answer = queue.take(row, mark_text(vocabulary.decode, row.tokens, row.changed))
            if answer is not None:
                yield answer

    def _to_row(self, key: int, job: Job, attempt: Attempt) -> Row:
        vocabulary = self._checkpoint.vocabulary
        samples = job.samples[attempt.span.start : attempt.span.end]
        wishes = DecodeOptions(language=job.language, context=job.context)
        prompt = _write_prompt(vocabulary, len(samples), wishes)
        prefix: list[int] = []
        if attempt.prefix:  # which the model wrote as text, and so as text it is read
            prefix = vocabulary.encode(f"{_OPENING}{strip_control_tokens(attempt.prefix)[0]}{NEXT_ENTRY}")
        layout = _lay_out(prompt, max_tokens=max(_count_tokens(len(samples)), len(prefix) + _SPARE_TOKENS))
        return Row(
            key=key,
            n_prompt=layout.n_prompt + len(prefix),
            max_tokens=layout.max_tokens - len(prefix),
            embed_prompt=partial(self._embed, job, attempt, prompt, prefix),
            watcher=self._watch(layout, prefix, duration=len(samples) / SAMPLE_RATE),
            most_cells=most_cells(self._eviction, layout, n_steps=N_STEPS, n_prefix=len(prefix)),
            temperature=attempt.temperature,
            seed=attempt.seed,
            bias=None if job.bias is None else self._keywords.listen(job.bias, written=prefix),
        )

    def _find_keywords(self, job: Job) -> HitFinder | None:
        return None if job.bias is None else self._keywords.find(job.bias)

    def _embed(self, job: Job, attempt: Attempt, prompt: Prompt, prefix: Sequence[int]) -> Tensor:
        """Make what the language model reads: the prompt with its audio, and what is put before the answer."""
        samples = job.samples[attempt.span.start : attempt.span.end]
        start = job.chunk.span.start + attempt.span.start
        seed = None if self._noise_seed is None else seed_noise(self._noise_seed, start=start)
        features = encode_audio(self._checkpoint, samples, gain=find_gain(job.level), noise_seed=seed)
        if features.device.type == "cpu":
            give_back_freed()
        embedded = embed_prompt(self._checkpoint, prompt, features)
        if not prefix:
            return embedded
        tokens = torch.tensor([prefix], device=embedded.device)
        return torch.cat([embedded, self._decoder.embed(tokens)], dim=1)

    def _watch(self, layout: RowLayout, prefix: Sequence[int], *, duration: float) -> Watcher:
        decode = self._checkpoint.vocabulary.decode
        runaway = RunawayWatcher(decode, duration=duration)
        if prefix:
            runaway.look(self._checkpoint.vocabulary.encode(NEXT_ENTRY))
        if self._eviction.policy == "none":
            return runaway
        return Watchers([runaway, EvictionWatcher(self._eviction, layout, decode, n_steps=N_STEPS, prefix=prefix)])


def _count_tokens(n_samples: int) -> int:
    """Say how many tokens the answer to a chunk may have."""
    return min(_MOST_TOKENS, _SPARE_TOKENS + _TOKENS_PER_S * n_samples // SAMPLE_RATE)


def lay_out_longest(vocabulary: Vocabulary, options: BatchOptions) -> RowLayout:
    """Lay out the row of the longest chunk that there can be."""
    n_samples = round(options.chunk.max_chunk_s * SAMPLE_RATE)
    return _lay_out(_write_prompt(vocabulary, n_samples, options.decode), max_tokens=_count_tokens(n_samples))


def _lay_out(prompt: Prompt, *, max_tokens: int) -> RowLayout:
    return RowLayout(
        n_prompt=len(prompt.tokens),
        audio_start=prompt.audio_start,
        n_frames=prompt.n_frames,
        frames_per_s=SAMPLE_RATE / FRAME_SAMPLES,
        max_tokens=max_tokens,
    )


def _write_prompt(vocabulary: Vocabulary, n_samples: int, options: DecodeOptions) -> Prompt:
    context = None if options.context is None else strip_control_tokens(options.context)[0]
    extra_info = make_extra_info(context, language=options.language)
    return build_prompt(vocabulary, n_samples=n_samples, extra_info=extra_info)
