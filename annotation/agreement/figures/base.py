"""A figure of a task's page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

TABLE_ROWS = 50


class About(NamedTuple):
    """A figure's name, its title, what it shows and how that is computed."""

    key: str
    title: str
    lead: str
    how: str

    def draw(self, chart: Callable[..., SafeString], *data: Any, **options: Any) -> SafeString:
        """``data`` as a ``chart`` (of core.charts) of this name."""
        return chart((self.key, self.title, self.lead), *data, **options)


@dataclass(frozen=True)
class Figure:
    """One chart with its table. ``reason`` stands where there is nothing to draw.

    ``lead`` says what it shows, ``how`` how it is computed; ``votes`` and ``items`` are what it was
    computed from. ``rows`` are whole: the page shows the first of them, the download all.
    """

    key: str
    title: str
    lead: str
    how: str
    header: tuple = ()
    rows: list = field(default_factory=list)
    svg: str = ""
    reason: str = ""
    votes: int = 0
    items: int = 0

    @property
    def size(self) -> str:
        """What the figure was computed from, in words."""
        votes = ngettext("%(n)d vote", "%(n)d votes", self.votes) % {"n": self.votes}
        items = ngettext("%(n)d item", "%(n)d items", self.items) % {"n": self.items}
        return ", ".join(([votes] if self.votes else []) + ([items] if self.items else []))

    @property
    def caption(self) -> str:
        """What a paper prints below the figure: what it shows, how it is computed, and n."""
        return f"{self.title}. {self.lead} {self.how} n = {self.size}."

    @property
    def cells(self) -> list[list[str]]:
        """The table's first rows as text; a dash for what is not known."""
        return [[_shown(value) for value in row] for row in self.rows[:TABLE_ROWS]]


def _shown(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
