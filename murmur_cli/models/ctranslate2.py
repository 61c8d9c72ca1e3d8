"""Read a CTranslate2 ``model.bin`` and write it as Whisper in HF layout.

The file is a flat little-endian table: reading it executes nothing. Tensors keep their values and their
precision; only names change, and projections that CTranslate2 fuses are cut apart.

Source:
    The binary format, version 6: OpenNMT/CTranslate2@v4, python/ctranslate2/specs/model_spec.py
    (``ModelSpec._serialize``), src/models/model.cc (``Model::load``).
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from murmur_cli.errors import WeightsError

__all__ = ["Array", "Ct2Model", "read_ct2", "to_hf_tensors"]

Array: TypeAlias = npt.NDArray[np.generic]
"""A tensor of float16 or float32."""

_VERSION = 6
_SPEC = "WhisperSpec"
_MAX_RANK = 4  # Whisper's largest is 3; the limit keeps nonsense out of numpy
_DTYPES: dict[int, np.dtype[np.generic]] = {  # 5 is bfloat16, which numpy does not have
    0: np.dtype("<f4"),
    1: np.dtype("<i1"),
    2: np.dtype("<i2"),
    3: np.dtype("<i4"),
    4: np.dtype("<f2"),
}


@dataclass(frozen=True, slots=True)
class Ct2Model:
    """The variables of a file: float tensors, and the integers that stand alone (``encoder/num_heads``)."""

    path: Path
    tensors: Mapping[str, Array]
    scalars: Mapping[str, int]

    def tensor(self, name: str) -> Array:
        """Return a float tensor.

        Raises:
            WeightsError: There is none of this name.
        """
        if name not in self.tensors:
            raise WeightsError(f"has no float tensor {name}, so it is not a Whisper model", where=str(self.path))
        return self.tensors[name]

    def scalar(self, name: str) -> int:
        """Return an integer.

        Raises:
            WeightsError: There is none of this name.
        """
        if name not in self.scalars:
            raise WeightsError(f"has no number {name}, so it is not a Whisper model", where=str(self.path))
        return self.scalars[name]

    def n_layers(self, side: str) -> int:
        """Count the layers of the ``encoder`` or ``decoder``."""
        return len({name.split("/")[1] for name in self.tensors if name.startswith(f"{side}/layer_")} - {"layer_norm"})


def read_ct2(path: Path) -> Ct2Model:
    """Read a file of the CTranslate2 format.

    Returns:
        Tensors that are views of the mapped file.

    Raises:
        WeightsError: The file is truncated, or something else than a Whisper model.
    """
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            raise WeightsError("is empty", where=str(path))
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    reader = _Reader(path, data)
    version = reader.number("I")
    if version != _VERSION:
        raise reader.error(f"is not a CTranslate2 model of binary version {_VERSION}")
    spec = reader.text()
    if spec != _SPEC:
        raise reader.error(f"holds a {spec}, not a {_SPEC}")
    reader.number("I")  # revision of the spec: says which optional variables there are
    tensors: dict[str, Array] = {}
    scalars: dict[str, int] = {}
    for _ in range(reader.number("I")):
        name, value = reader.variable()
        if isinstance(value, int):
            scalars[name] = value
        elif value is not None:
            tensors[name] = value
    for _ in range(reader.number("I")):
        reader.text(), reader.text()  # aliases: the output projection, which HF ties by itself
    reader.expect_end()
    return Ct2Model(path, tensors, scalars)


class _Reader:
    """A position in a file; every read is checked against the end."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path = path
        self._data = data
        self._position = 0

    def error(self, problem: str) -> WeightsError:
        return WeightsError(problem, where=str(self._path), hint="the file is damaged or of a foreign layout")

    def number(self, code: str) -> int:
        """Read one unsigned number: ``B`` of 1, ``H`` of 2, ``I`` of 4 bytes."""
        size = struct.calcsize(f"<{code}")
        (value,) = struct.unpack_from(f"<{code}", self._data, self._take(size))
        return int(value)

    def text(self) -> str:
        """Read a text: its length with the final NUL, then its bytes."""
        size = self.number("H")
        start = self._take(size)
        raw = self._data[start : start + size]
        if not raw.endswith(b"\0") or not raw.isascii():
            raise self.error(f"has no name at byte {start}")
        return raw[:-1].decode("ascii")

    def variable(self) -> tuple[str, Array | int | None]:
        """Read a variable; integer tensors, which Whisper only has as hints, come back as None."""
        name = self.text()
        rank = self.number("B")
        if rank > _MAX_RANK:
            raise self.error(f"has a tensor {name} of {rank} dimensions")
        shape = tuple(self.number("I") for _ in range(rank))
        kind, n_bytes = self.number("B"), self.number("I")
        dtype = _DTYPES.get(kind)
        if dtype is None:
            raise self.error(f"has a tensor {name} of the unknown type {kind}")
        n_items = math.prod(shape)
        if n_items == 0 or n_items * dtype.itemsize != n_bytes:
            raise self.error(f"has a tensor {name} of shape {shape} in {n_bytes} bytes")
        start = self._take(n_bytes)
        values = np.frombuffer(self._data, dtype, n_items, start)
        if dtype.kind == "f":
            return name, values.reshape(shape)
        return name, None if shape else int(values.tolist()[0])

    def expect_end(self) -> None:
        left = len(self._data) - self._position
        if left:
            raise self.error(f"has {left} bytes after its end")

    def _take(self, size: int) -> int:
        start = self._position
        if start + size > len(self._data):
            raise self.error(f"is truncated: it ends at byte {len(self._data)}, inside of a value")
        self._position += size
        return start


def to_hf_tensors(model: Ct2Model) -> dict[str, Array]:
    """Give every tensor of a Whisper model the name that transformers has for it.

    Raises:
        WeightsError: A tensor is missing, or is there that Whisper does not have.
    """
    parts = list(_iter_parts(model))
    unused = model.tensors.keys() - {part.source for part in parts}
    if unused:
        raise WeightsError(f"has a tensor {min(unused)} that Whisper does not have", where=str(model.path))
    tensors = {part.target: _cut(model, part) for part in parts}
    keys = [name for name in tensors if name.endswith(".k_proj.bias")]
    if any(tensors.pop(name).any() for name in keys):  # Whisper's keys have no bias: CTranslate2 stores zeros
        raise WeightsError("has keys with a bias, so it is not a Whisper model", where=str(model.path))
    return tensors


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the ``n_parts`` equal cuts along the rows of a tensor, and its name in HF layout."""

    source: str
    target: str
    index: int = 0
    n_parts: int = 1


_ENCODER_BLOCKS = (
    ("self_attention/layer_norm", ("self_attn_layer_norm",)),
    ("self_attention/linear_0", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
    ("self_attention/linear_1", ("self_attn.out_proj",)),
    ("ffn/layer_norm", ("final_layer_norm",)),
    ("ffn/linear_0", ("fc1",)),
    ("ffn/linear_1", ("fc2",)),
)
_DECODER_BLOCKS = (
    *_ENCODER_BLOCKS,
    ("attention/layer_norm", ("encoder_attn_layer_norm",)),
    ("attention/linear_0", ("encoder_attn.q_proj",)),
    ("attention/linear_1", ("encoder_attn.k_proj", "encoder_attn.v_proj")),
    ("attention/linear_2", ("encoder_attn.out_proj",)),
)


def _iter_parts(model: Ct2Model) -> Iterator[_Part]:
    yield _Part("decoder/embeddings/weight", "model.decoder.embed_tokens.weight")
    for side, blocks in (("encoder", _ENCODER_BLOCKS), ("decoder", _DECODER_BLOCKS)):
        base = f"model.{side}"
        yield _Part(f"{side}/position_encodings/encodings", f"{base}.embed_positions.weight")
        yield from _iter_block(f"{side}/layer_norm", (f"{base}.layer_norm",))
        for i in range(model.n_layers(side)):
            for source, targets in blocks:
                names = tuple(f"{base}.layers.{i}.{target}" for target in targets)
                yield from _iter_block(f"{side}/layer_{i}/{source}", names)
    for name in ("conv1", "conv2"):
        yield from _iter_block(f"encoder/{name}", (f"model.encoder.{name}",))


def _iter_block(source: str, targets: tuple[str, ...]) -> Iterator[_Part]:
    fields = ("gamma", "beta") if source.endswith("layer_norm") else ("weight", "bias")
    for field, ours in zip(fields, ("weight", "bias"), strict=True):
        for index, target in enumerate(targets):
            yield _Part(f"{source}/{field}", f"{target}.{ours}", index, len(targets))


def _cut(model: Ct2Model, part: _Part) -> Array:
    whole = model.tensor(part.source)
    if not whole.shape or whole.shape[0] % part.n_parts:
        raise WeightsError(f"has a tensor {part.source} of shape {whole.shape}", where=str(model.path))
    rows = whole.shape[0] // part.n_parts
    return np.ascontiguousarray(whole[part.index * rows : (part.index + 1) * rows])
