"""What a kind is given of a slot: to read an answer, and to show the item."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

# A form (a QueryDict, whose fields may have several values) or a body of the API.
Data = Mapping[str, Any]
Config = dict[str, Any]


class Option(Protocol):
    """One of an item's answers: its canonical number and its candidate's id."""

    @property
    def number(self) -> int: ...

    @property
    def candidate(self) -> str: ...


class Held(Protocol):
    """A slot whose answer is read; ``shown`` are the options' numbers in the order shown."""

    @property
    def config(self) -> Config: ...

    @property
    def options(self) -> Sequence[Option]: ...

    @property
    def shown(self) -> Sequence[int]: ...

    @property
    def gold(self) -> int | None: ...


class Ordered(Protocol):
    """The options of a slot as shown: their numbers, and their ids with their texts."""

    @property
    def config(self) -> Config: ...

    @property
    def order(self) -> Sequence[int]: ...

    @property
    def answers(self) -> Sequence[tuple[str, str]]: ...


class Shown(Ordered, Protocol):
    """A slot as it is shown (work.present.Shown)."""

    @property
    def evidence(self) -> Sequence[list[dict]]: ...

    @property
    def gold(self) -> str: ...

    @property
    def claims(self) -> Sequence[dict]: ...

    @property
    def rows(self) -> Sequence[tuple[Any, str]]: ...
