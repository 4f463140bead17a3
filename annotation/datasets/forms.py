from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.agreement.forms import FractionField
from annotation.core.pages import in_groups
from annotation.datasets import layouts, papers
from annotation.datasets.choices import (
    FEWEST_SHARD_ROWS,
    MOST_SHARD_ROWS,
    MOST_SHOTS,
    MOST_VOTES,
    TIERS,
)
from annotation.datasets.freeze import LICENCE_LIMIT

FORMATS = {"jsonl": "JSON Lines", "csv": "CSV", "parquet": "Parquet"}


class ReleaseUploadForm(forms.Form):
    """A zipped release and the address of the study it is to be."""

    file = forms.FileField(label=_("Zip of the release"))
    slug = forms.SlugField(
        label=_("Address of the study"),
        max_length=60,
        help_text=_("A new one, or that of a study you run: it gets what it lacks."),
    )


def _layouts() -> list[tuple[str, str]]:
    return [(name, name) for name in layouts.by_name()]


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


class ReleaseForm(forms.Form):
    """The options of a new release. ``freeze.request`` checks that layout and format match."""

    layout = forms.ChoiceField(label=_("Layout"), choices=_layouts)
    format = forms.ChoiceField(
        label=_("Format"), required=False, choices=[("", _("the layout's own")), *FORMATS.items()]
    )
    safe_csv = forms.BooleanField(
        label=_("Make CSV files safe for spreadsheets"),
        required=False,
        initial=True,
        help_text=_(
            "A cell that a spreadsheet would run as a formula gets an apostrophe before it. "
            "Without this every cell is exact."
        ),
    )
    hard_fill = FractionField(
        label=_("Borderline items in the hard tier, at most (share)"),
        required=False,
        help_text=_(
            "None unless you ask for them: 1/5 lets borderline items join up to a fifth of the "
            "hard tier, as long as its kappa stays above 0.42. For layouts with tiers."
        ),
    )
    easy_share = FractionField(
        label=_("Votes for the ground truth of an easy pair, at least (share)"),
        required=False,
        help_text=_("For example 2/3; without it the most votes are enough."),
    )
    rule = forms.ChoiceField(
        label=_("Pairs by"),
        required=False,
        choices=[
            ("tiers", _("tiers of agreement")),
            ("majority", _("majority of few votes")),
            ("more-than-half", _("more than half of the votes")),
            ("imported", _("tiers they were imported with")),
        ],
    )
    min_votes = forms.IntegerField(
        label=_("By majority: votes an item has, at least"),
        required=False,
        min_value=1,
        max_value=MOST_VOTES,
    )
    min_margin = forms.IntegerField(
        label=_("By majority: votes the winner is ahead, at least"),
        required=False,
        min_value=1,
        max_value=MOST_VOTES,
    )
    shots = forms.IntegerField(
        label=_("Responses of a query that are shots for a judge model"),
        required=False,
        min_value=1,
        max_value=MOST_SHOTS,
    )
    shard_rows = forms.IntegerField(
        label=_("Rows a file, at most"),
        required=False,
        min_value=FEWEST_SHARD_ROWS,
        max_value=MOST_SHARD_ROWS,
        help_text=_(
            "For large releases: a table goes on in another file after so many rows. One file a "
            "table, with its published name, unless you say otherwise."
        ),
    )
    licence = forms.CharField(
        label=_("Licence"),
        required=False,
        max_length=LICENCE_LIMIT,
        help_text=_("Stands on the dataset card, for example CC-BY-4.0."),
    )
    GROUPS = (
        (_("What it is for"), ("layout",)),
        (_("Files"), ("format", "shard_rows", "safe_csv", "licence")),
        (_("Pairs"), ("rule", "min_votes", "min_margin")),
        (_("Tiers"), ("hard_fill", "easy_share")),
        (_("Judge models"), ("shots",)),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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
