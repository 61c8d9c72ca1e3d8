"""Values of options, from files that have types and from the environment, which has none."""

from __future__ import annotations

from typing import TypeAlias

from typer.core import TyperOption

from murmur_cli.errors import UsageError

__all__ = ["Value", "check_value", "parse_value"]

Value: TypeAlias = str | int | float | bool | tuple[str, ...] | None
"""What an option can be; None: it is not given."""

_TRUTHS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def check_value(option: TyperOption, value: object, *, where: str) -> Value:
    """Take a value of a TOML file for an option.

    Raises:
        UsageError: It is of another type.
    """
    if option.multiple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        hint = f"write [{_quote(value)}]" if isinstance(value, str) else 'write a list such as ["a", "b"]'
        raise UsageError(f"not a list of texts: {value!r}", where=where, hint=hint)
    kind = _find_kind(option)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is kind:  # not isinstance: a bool is an int
        assert isinstance(value, str | int | float | bool)
        return value
    hint = f"write {_quote(value)}" if kind is str and isinstance(value, int | float) else "see the help of the command"
    raise UsageError(f"not {_NOUNS[kind]}: {value!r}", where=where, hint=hint)


def parse_value(option: TyperOption, text: str, *, where: str) -> Value:
    """Take the text of an environment variable for an option; one that can be repeated is given once there.

    Raises:
        UsageError: It does not say a value of its type.
    """
    kind = _find_kind(option)
    if option.multiple:
        return (text,)
    if kind is str:
        return text
    if kind is bool:
        truth = _TRUTHS.get(text.lower())
        if truth is not None:
            return truth
        raise UsageError(f"neither true nor false: {text}", where=where, hint="write 1 or 0")
    try:
        return int(text) if kind is int else float(text)
    except ValueError as error:
        raise UsageError(f"not {_NOUNS[kind]}: {text}", where=where, hint="see the help of the command") from error


_NOUNS: dict[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _find_kind(option: TyperOption) -> type:
    """What a value of the option is: of one that can be repeated, always a text."""
    annotation = option.type_descriptor.annotation
    kind = str if option.multiple else annotation
    assert kind in _NOUNS, f"--{option.name} is of a kind that cannot be set: {annotation}"
    assert isinstance(kind, type)
    return kind


def _quote(value: object) -> str:
    return f'"{value}"'
