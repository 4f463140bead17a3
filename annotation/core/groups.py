"""Fields of a long form in groups, as templates/core/_groups.html shows them."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from django.forms import BaseForm, BoundField

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def in_groups(
    form: BaseForm, groups: Iterable[tuple["StrOrPromise", tuple[str, ...]]]
) -> Iterator[tuple["StrOrPromise", list[BoundField]]]:
    """Legend and fields of each group; the first also takes what none names."""
    groups = list(groups)
    named = {name for _legend, names in groups for name in names}
    others = [name for name in form.fields if name not in named]
    for legend, names in groups:
        yield legend, [form[name] for name in (*names, *others) if name in form.fields]
        others = []
