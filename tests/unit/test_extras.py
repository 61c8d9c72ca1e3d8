"""What not every engine does is refused before any audio is read."""

from __future__ import annotations

from dataclasses import fields

import pytest

from murmur_cli.engine import Extras, require_extras
from murmur_cli.errors import UsageError
from murmur_cli.models.scripted import ScriptedEngine


class AbleEngine(ScriptedEngine):
    """Does one thing more than the script."""

    def __init__(self, extra: str) -> None:
        super().__init__(())
        self._extra = extra

    @property
    def extras(self) -> Extras:
        return Extras(**{self._extra: True})


@pytest.mark.parametrize("extra", [field.name for field in fields(Extras)])
def test_only_what_the_engine_does_not_do_is_refused(extra: str) -> None:
    wanted = Extras(**{extra: True})
    require_extras(AbleEngine(extra), wanted)
    require_extras(ScriptedEngine(()), Extras())
    with pytest.raises(UsageError) as refusal:
        require_extras(ScriptedEngine(()), wanted)
    assert refusal.value.where == f"--{extra.replace('_', '-')}"
