"""Take JSON apart field by field; what is not as it should be is an error that names its place.

Fields that nobody asks for are passed over: a later murmur may have added them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from murmur_cli.errors import TranscriptError

__all__ = ["Field", "parse_json"]


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a JSON text, and where it stands: ``where`` is the file, ``place`` such as ``segments[3].start``."""

    value: object
    where: str
    place: str = ""

    def fail(self, problem: str, *, hint: str = "write the transcript anew") -> TranscriptError:
        """An error about this value."""
        return TranscriptError(f"{self.place} {problem}".lstrip(), where=self.where, hint=hint)

    def has(self, name: str) -> bool:
        """Tell whether this is an object that has a field."""
        return isinstance(self.value, dict) and name in self.value

    def get(self, name: str) -> Field:
        """Return a field of this object.

        Raises:
            TranscriptError: This is no object, or it has no such field. So do the others below.
        """
        if not isinstance(self.value, dict):
            raise self.fail("is not an object")
        if name not in self.value:
            raise self.fail(f"has no field {name!r}")
        return Field(self.value[name], self.where, f"{self.place}.{name}" if self.place else name)

    def items(self) -> Iterator[Field]:
        """Return the elements of this list, in order."""
        if not isinstance(self.value, list):
            raise self.fail("is not a list")
        return (Field(value, self.where, f"{self.place}[{i}]") for i, value in enumerate(self.value))

    def text(self) -> str:
        """Return this string."""
        if not isinstance(self.value, str):
            raise self.fail("is not a string")
        return self.value

    def optional_text(self) -> str | None:
        """Return this string, which holds something, or None for null."""
        if self.value == "":
            raise self.fail("is empty")
        return None if self.value is None else self.text()

    def number(self) -> float:
        """Return this finite number."""
        value = self.value
        try:
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        except OverflowError:  # an int of hundreds of digits
            number = math.inf
        if not math.isfinite(number):
            raise self.fail("is not a number")
        return number

    def count(self) -> int:
        """Return this whole number, which is not below 0."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise self.fail("is not a count")
        return self.value

    def truth(self) -> bool:
        """Return this, which is true or false."""
        if not isinstance(self.value, bool):
            raise self.fail("is neither true nor false")
        return self.value

    def optional_number(self) -> float | None:
        """Return this finite number, or None for null."""
        return None if self.value is None else self.number()

    def seconds(self, *, at_least: float = 0.0, at_most: float = math.inf) -> float:
        """Return this time, which must lie between two others."""
        seconds = self.number()
        if not at_least <= seconds <= at_most:
            limit = f"before {at_least:g} s" if seconds < at_least else f"beyond the recording's end, {at_most:g} s"
            raise self.fail(f"is {seconds:g} s, {limit}")
        return seconds


def parse_json(text: str, *, where: str) -> Field:
    """Read a JSON text.

    Raises:
        TranscriptError: It is none.
    """
    try:
        return Field(json.loads(text), where)
    except (ValueError, RecursionError) as error:
        hint = "give what 'murmur batch --format json' wrote"
        raise TranscriptError(f"is not JSON: {str(error).lower()}", where=where, hint=hint) from error
