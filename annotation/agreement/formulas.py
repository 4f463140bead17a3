"""The name, formula and meaning of each figure, for the pages that show it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True)
class Formula:
    """One statistic. ``source`` is where its formula was published."""

    name: "StrOrPromise"
    formula: str
    meaning: "StrOrPromise"
    source: str


FORMULAS = {
    "symmetric_kappa": Formula(
        _("Symmetric kappa"),
        "κ = (K·P̄ − 1) / (K − 1)",
        _(
            "Fleiss' kappa with every item entered in all orders of its K labels, so the stored "
            "order does not matter. A tier's bands are checked on it."
        ),
        "Fleiss 1971; Warrens 2010",
    ),
    "krippendorff_alpha": Formula(
        _("Krippendorff's alpha"),
        "α = 1 − (n − 1) · Σ o·δ² / Σ nₖ·nₗ·δ²",
        _(
            "One minus the disagreement seen over the disagreement expected by chance, at the "
            "nominal level. Items may have different numbers of votes."
        ),
        "Krippendorff 2011",
    ),
    "percent_agreement": Formula(
        _("Percent agreement"),
        "P̄ = mean of Pᵢ,  Pᵢ = Σ v(v−1) / (n(n−1))",
        _(
            "How often two people who judged the same item said the same. v are an item's votes "
            "for one answer, n all its votes; items with two votes or more count. Chance is "
            "not taken off."
        ),
        "Fleiss 1971",
    ),
    "fleiss_kappa": Formula(
        _("Fleiss' kappa"),
        "κ = (P̄ − Pₑ) / (1 − Pₑ),  Pₑ = Σ π²",
        _(
            "Agreement above chance, where chance is that people answer blindly by the shares π "
            "of each label. It depends on which answer happens to be stored first: tiers do not "
            "use it."
        ),
        "Fleiss 1971; Gwet 2021",
    ),
    "gwet_ac1": Formula(
        _("Gwet's AC1"),
        "(P̄ − Pₑ) / (1 − Pₑ),  Pₑ = Σ π(1 − π) / (K − 1)",
        _("Like kappa, but steady where nearly all votes are for one label."),
        "Gwet 2008",
    ),
}

# What the page of a task on a scale shows in place of FORMULAS.
ORDINAL = {
    "krippendorff_alpha": Formula(
        _("Krippendorff's alpha, ordinal"),
        "α = 1 − (n − 1) · Σ o·δ² / Σ nₖ·nₗ·δ²,  δ = Σ of the n between, half of both ends",
        _(
            "One minus the disagreement seen over the disagreement expected by chance; two "
            "answers disagree the more, the more answers lie between them."
        ),
        "Krippendorff 2011",
    ),
    "percent_agreement": FORMULAS["percent_agreement"],
    "gwet_ac2": Formula(
        _("Gwet's AC2, quadratic weights"),
        "(P̄ − Pₑ) / (1 − Pₑ),  w = 1 − (distance / range)²,  Pₑ = Σw · Σ π(1 − π) / (K(K − 1))",
        _("Neighbours on the scale agree in part; steady where nearly all say the same."),
        "Gwet 2014",
    ),
    "icc1": Formula(
        _("ICC(1)"),
        "(between − within) / (between + (k − 1) · within)",
        _(
            "Share of the variance of single answers that is differences between items, by mean "
            "squares; people are taken as drawn anew for each item, k answers each."
        ),
        "Shrout and Fleiss 1979",
    ),
}

# What the page of a task of rankings shows.
RANKS = {
    "kendall_w": Formula(
        _("Kendall's W"),
        "W = 12·S / (m²(n³ − n) − m·ΣT),  S = Σ (rank sum − mean)²,  T = Σ (t³ − t)",
        _(
            "1 where all m people put an item's n answers in the same order, about 1 / m where "
            "they order blindly; equal places get their mean rank. The mean over items."
        ),
        "Kendall and Babington Smith 1939",
    ),
    "rank_correlation": Formula(
        _("Mean rank correlation"),
        "r = (m·W − 1) / (m − 1)",
        _("Spearman's correlation of two people's orders of an item; 0 is chance."),
        "Kendall and Babington Smith 1939",
    ),
}
FORMULAS_OF = {"nominal": FORMULAS, "ordinal": ORDINAL, "ranks": RANKS}


def of_levels(levels: Sequence[str]) -> dict[str, Formula]:
    """{anchor: formula} of all coefficients of these scales; those of the first are bare keys."""
    shown = dict(FORMULAS_OF[levels[0]])
    for level in levels[1:]:
        known = shown.values()
        more = {f"{key}-{level}": each for key, each in FORMULAS_OF[level].items()}
        shown |= {anchor: each for anchor, each in more.items() if each not in known}
    return shown


INTERVAL = _(
    "Intervals are 95 %: the value ± t times its standard error over items, with one degree less "
    "than there are items. Votes on one item are never counted as independent."
)
DRAWN_INTERVALS = _(
    "The interval of alpha is of percentiles over 1,000 resamples of items, that of ICC is "
    "of the F distribution."
)
TIER_RULE = _(
    "The first nine votes of an item by time count. With S = Σ v(v−1) and D = n(n−1) the item's "
    "kappa is (K·S − D) / ((K−1)·D): above 3/5 medium, above 2/5 hard, above 1/5 borderline, else "
    "ambiguous; a shared top is an ambiguous tie. The comparison is made in whole numbers."
)
