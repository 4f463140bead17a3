from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.pages import in_groups
from annotation.core.schema import form_of
from annotation.datasets import layouts, papers
from annotation.datasets.choices import FORMATS, TIERS, ReleaseRequest


class ReleaseUploadForm(forms.Form):
    """A zipped release and the address of the study it is to be."""

    file = forms.FileField(label=_("Zip of the release"))
    slug = forms.SlugField(
        label=_("Address of the study"),
        max_length=60,
        help_text=_("A new one, or that of a study you run: it gets what it lacks."),
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


class ReleaseForm(form_of(ReleaseRequest)):  # type: ignore[misc]
    """The options of a new release."""

    GROUPS = (
        (_("What it is for"), ("layout",)),
        (_("Files"), ("format", "shard_rows", "safe_csv", "licence")),
        (_("Pairs"), ("rule", "min_votes", "min_margin")),
        (_("Tiers"), ("hard_fill", "easy_share")),
        (_("Judge models"), ("shots",)),
        (_("Judgments"), ("without_proposals",)),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rule"].required = False
        self.fields["safe_csv"].initial = True
        known = layouts.by_name()
        self.fields["format"].help_text = "; ".join(
            f"“{name}”: {', '.join(FORMATS[format] for format in layout.FORMATS)}"
            for name, layout in known.items()
        )
        self.fields["rule"].help_text = _(
            "Tiers need nine votes an item. A majority takes items with fewer; the card says so. "
            "For %(layouts)s."
        ) % {"layouts": _quoted(name for name, layout in known.items() if layout.TIERED)}
        with_shots = (paper.name for paper in papers.registered().values() if paper.shots)
        self.fields["shots"].help_text = _(
            "For %(layouts)s; 5 unless you say otherwise. The others test the judge."
        ) % {"layouts": _quoted(with_shots)}

    @property
    def groups(self) -> Iterator:
        """Legend and fields of each group."""
        return in_groups(self, self.GROUPS)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        layout = layouts.by_name().get(data.get("layout", ""))
        # What the page proposes for pairs says nothing about a layout that has none.
        proposed = {"rule", "min_votes", "min_margin"}.isdisjoint(self.changed_data)
        if layout and not layout.TIERED and proposed:
            data |= {"rule": TIERS, "min_votes": 1, "min_margin": 1}
        return data
