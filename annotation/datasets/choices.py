"""The options of a release, and the forms that ask for one."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from django import forms
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass as schema

from annotation.agreement.statistics.tiers import TierRule
from annotation.agreement.wording import translated
from annotation.core.errors import DomainError
from annotation.core.pages import in_groups
from annotation.core.schema import asked, built, form_of
from annotation.datasets import layouts, papers
from annotation.datasets.truth import RULE
from annotation.queries.scenarios import SHOTS

TIERS, MAJORITY, HALF, IMPORTED = "tiers", "majority", "more-than-half", "imported"
FORMATS = {"jsonl": "JSON Lines", "csv": "CSV", "parquet": "Parquet"}
LICENCE_LIMIT = 100
MOST_VOTES, MOST_SHOTS = 1_000, 100
SHARES = ("hard_fill", "easy_share")
FEWEST_SHARD_ROWS, MOST_SHARD_ROWS = 1_000, 10_000_000


@schema(frozen=True)
class Choices:
    """How a release makes its rows from votes; stored with it and stated in its manifest."""

    hard_fill: Fraction = asked(
        _("Borderline items in the hard tier, at most (share)"),
        Fraction(0),
        _(
            "None unless you ask for them: 1/5 lets borderline items join up to a fifth of the "
            "hard tier, as long as its kappa stays above 0.42. For layouts with tiers."
        ),
    )
    rule: str = asked(
        _("Pairs by"),
        TIERS,
        choices={
            TIERS: _("tiers of agreement"),
            MAJORITY: _("majority of few votes"),
            # 4 : 3 : 2 is a majority and not more than half.
            HALF: _("more than half of the votes"),
            IMPORTED: _("tiers they were imported with"),
        },
    )
    min_votes: int = asked(_("By majority: votes an item has, at least"), 1, ge=1, le=MOST_VOTES)
    min_margin: int = asked(
        _("By majority: votes the winner is ahead, at least"), 1, ge=1, le=MOST_VOTES
    )
    shots: int = asked(
        _("Responses of a query that are shots for a judge model"), SHOTS, ge=1, le=MOST_SHOTS
    )
    easy_share: Fraction = asked(
        _("Votes for the ground truth of an easy pair, at least (share)"),
        Fraction(0),
        _("For example 2/3; without it the most votes are enough."),
    )
    without_proposals: bool = asked(
        _("Leave out judgments that began from a proposal"), False, _("Of pre-filled answers.")
    )
    shard_rows: int = asked(
        _("Rows a file, at most"),
        0,
        _(
            "For large releases: a table goes on in another file after so many rows. One file a "
            "table, with its published name, unless you say otherwise."
        ),
        ge=0,
        le=MOST_SHARD_ROWS,
    )

    @classmethod
    def of(cls, layout: str, **wanted: Any) -> "Choices":
        """The choices ``wanted``, default where None; DomainError for what cannot be."""
        choices = built(cls, wanted)
        choices.check(layout)
        return choices

    @classmethod
    def from_json(cls, frozen: dict) -> "Choices":
        """The choices of a release's ``frozen``."""
        shares: Any = {name: Fraction(frozen["choices"][name]) for name in SHARES}
        return cls(**frozen["choices"] | shares)

    def as_json(self) -> dict:
        """The part of ``frozen`` that ``from_json`` reads."""
        shares = {name: str(getattr(self, name)) for name in SHARES}
        return {"choices": {each.name: getattr(self, each.name) for each in fields(self)} | shares}

    @property
    def by_majority(self) -> bool:
        """Whether pairs come from a majority instead of tiers."""
        return self.rule in (MAJORITY, HALF)

    @property
    def by_tiers(self) -> bool:
        """Whether pairs come from the tier rule."""
        return self.rule == TIERS

    @property
    def tier_rule(self) -> TierRule:
        """The tier rule with this share of borderline items."""
        return replace(RULE, hard_fill=self.hard_fill)

    def rules(self) -> dict:
        """The manifest's description of the rules of pairs."""
        if not self.by_majority:
            return {"name": self.rule}
        return {
            "name": self.rule,
            "min_votes": self.min_votes,
            "min_margin": self.min_margin,
            "note": "every vote counts; the winner is an answer, the margin its votes less those "
            "of the next label",
        }

    def check(self, layout: str) -> None:
        """DomainError where a choice cannot be, or the layout has no use for it."""
        tiered = layouts.layout_of(layout).TIERED
        if self.hard_fill and not tiered:
            raise DomainError(
                f"The layout “{layout}” has no tiers that borderline items could join."
            )
        if self.easy_share and not (tiered and self.rule == TIERS):
            raise DomainError("The share of the ground truth belongs to tiers and their pairs.")
        if not 0 <= self.easy_share <= 1:
            raise DomainError("The share of the ground truth is a number from 0 to 1.")
        if self.hard_fill and self.rule != TIERS:
            raise DomainError("Borderline items join the hard tier by the rule “tiers” alone.")
        if self.rule != TIERS and not tiered:
            raise DomainError(f"The layout “{layout}” has no pairs that a rule could make.")
        if (self.min_votes, self.min_margin) != (1, 1) and not self.by_majority:
            raise DomainError(
                "Minimum votes and margin belong to the rules “majority” and “more-than-half”."
            )
        if self.shard_rows and self.shard_rows < FEWEST_SHARD_ROWS:
            sentence = f"A file has {FEWEST_SHARD_ROWS:,} to {MOST_SHARD_ROWS:,} rows, or all."
            raise DomainError(sentence)
        try:
            _rule = self.tier_rule
        except ValueError as error:
            raise DomainError(translated(str(error))) from error


def _layouts() -> dict[str, Any]:
    words = {
        "long": _("long: everything, one row a judgment"),
        "dpo": _("dpo: preference pairs to train a model on"),
        "arena": _("arena: votes between two answers, in LMArena's columns"),
    }
    of_paper = _("%(name)s: in the form of its paper")
    return {name: words.get(name) or of_paper % {"name": name} for name in layouts.by_name()}


@schema(frozen=True, kw_only=True)
class ReleaseRequest(Choices):
    """A release that is asked for; ``request_release`` checks that layout and format match."""

    layout: str = asked(_("Layout"), choices=_layouts)
    format: str = asked(_("Format"), "", choices={"": _("the layout's own"), **FORMATS})
    safe_csv: bool = asked(
        _("Make CSV files safe for spreadsheets"),
        False,
        _(
            "A cell that a spreadsheet would run as a formula gets an apostrophe before it. "
            "Without this every cell is exact."
        ),
    )
    licence: str = asked(
        _("Licence"),
        "",
        _("Stands on the dataset card, for example CC-BY-4.0."),
        max_length=LICENCE_LIMIT,
    )


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
        every = layouts.by_name()
        tiered = [name for name, layout in every.items() if layout.TIERED]
        field = self["layout"].html_name
        # A script shows the chosen layout's alone.
        self.fields["format"].help_text = format_html_join(
            " ",
            '<span data-used-by="{}" data-values="{}">“{}”: {}.</span>',
            (
                (field, name, name, ", ".join(FORMATS[of] for of in layout.FORMATS))
                for name, layout in every.items()
            ),
        )
        self.fields["rule"].help_text = _(
            "Tiers need nine votes an item. A majority takes items with fewer; the card says so. "
            "For %(layouts)s."
        ) % {"layouts": _quoted(tiered)}
        with_shots = [paper.name for paper in papers.registered().values() if paper.shots]
        self.used_by = dict.fromkeys(("rule", "hard_fill"), tiered) | {"shots": with_shots}
        self.fields["shots"].help_text = _(
            "For %(layouts)s; 5 unless you say otherwise. The others test the judge."
        ) % {"layouts": _quoted(with_shots)}

    @property
    def groups(self) -> Iterator:
        """Legend and fields of each group, and the layouts that use it where not all do."""
        for legend, group in in_groups(self, self.GROUPS):
            yield legend, group, self.used_by.get(group[0].name)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        layout = layouts.by_name().get(data.get("layout", ""))
        # What the page proposes for pairs says nothing about a layout that has none.
        proposed = {"rule", "min_votes", "min_margin"}.isdisjoint(self.changed_data)
        if layout and not layout.TIERED and proposed:
            data |= {"rule": TIERS, "min_votes": 1, "min_margin": 1}
        return data
