"""Frozen records as JSON, and back by the types of their fields, to the same bits.

Nothing is left out and nothing is guessed: a field that is missing, unknown or of another type is an error.
"""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
from collections.abc import Callable
from typing import NewType, TypeAlias, TypeVar, Union, cast

import numpy as np

__all__ = ["Json", "make_reader", "to_json"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What ``json`` writes and reads."""

_Kind = TypeVar("_Kind")
_Read: TypeAlias = Callable[[object], object]


def to_json(value: object) -> Json:
    """Turn a frozen record, or one of the values that a record may hold, into JSON.

    Raises:
        TypeError: It is, or holds, something that records do not hold.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value)  # written by repr, so that it is read as the same number; also NaN and infinity
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.ndim == 1:
        return base64.b64encode(value.astype("<f4").tobytes()).decode("ascii")
    if dataclasses.is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(f"a record holds no {type(value).__name__}")


def make_reader(kind: type[_Kind]) -> Callable[[object], _Kind]:
    """Make a function that turns what ``to_json`` made of a record back into that record.

    Args:
        kind: A frozen dataclass whose fields are such again, numbers, texts, tuples of any length, vectors of float32,
            or one of these or None.

    Returns:
        The function. It raises ValueError where what it is given is no such record.
    """
    return cast("Callable[[object], _Kind]", _make_reader(kind))


def _make_reader(kind: object) -> _Read:
    if isinstance(kind, NewType):
        return _make_reader(kind.__supertype__)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _make_record_reader(kind)
    if isinstance(kind, type) and kind in _PLAIN:
        return _make_plain_reader(*_PLAIN[kind])
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _make_tuple_reader(_make_reader(arguments[0]))
    if origin is np.ndarray:
        return _read_vector
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        (other,) = (argument for argument in arguments if argument is not type(None))
        return _make_optional_reader(_make_reader(other))
    raise TypeError(f"a record holds no {kind}")


# A whole number may stand where the type says float: Python takes one for the other, and so do engines.
_PLAIN: dict[type, tuple[type, ...]] = {bool: (bool,), int: (int,), str: (str,), float: (float, int)}


def _make_plain_reader(*kinds: type) -> _Read:
    def read(value: object) -> object:
        if type(value) not in kinds:  # a bool is an int to isinstance
            raise ValueError(f"not {kinds[0].__name__}: {value!r}")
        return value

    return read


def _make_optional_reader(read_other: _Read) -> _Read:
    return lambda value: None if value is None else read_other(value)


def _make_tuple_reader(read_item: _Read) -> _Read:
    def read(value: object) -> object:
        if isinstance(value, list):
            return tuple([read_item(item) for item in value])
        raise ValueError(f"not a list: {value!r}")

    return read


def _make_record_reader(kind: type) -> _Read:
    hints = typing.get_type_hints(kind)
    readers = {field.name: _make_reader(hints[field.name]) for field in dataclasses.fields(kind)}

    def read(value: object) -> object:
        if not isinstance(value, dict) or value.keys() != readers.keys():
            raise ValueError(f"not a {kind.__name__}: {value!r}")
        return kind(**{name: readers[name](item) for name, item in value.items()})

    return read


def _read_vector(value: object) -> object:
    if isinstance(value, str):  # what is no base64 is a ValueError, too
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
    raise ValueError(f"not a vector: {value!r}")
