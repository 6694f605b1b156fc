"""What a name of the kit says where no Loopwright runs the file."""

from __future__ import annotations

from typing import NoReturn


class OutsideError(RuntimeError):
    """A piece of the kit was used outside Loopwright."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"skills.kit.{name} works only while Loopwright runs the skill. Try the file with `loopwright skills check"
            " FILE`; put it into a folder of LOOPWRIGHT_SKILL_PATH to have it run."
        )


class Outside:
    """Stands in for `name`: it may be imported, and says why it cannot be used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, _attribute: str) -> NoReturn:
        raise OutsideError(self._name)

    def __repr__(self) -> str:
        return f"<skills.kit.{self._name}, outside Loopwright>"
