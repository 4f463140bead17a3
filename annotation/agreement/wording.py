"""What pages say of figures: names and formulas, and the sentences of the pure modules.

The pure modules, the commands and the stored results keep the English text, which is stable; pages
show it through ``translated``. Where a sentence holds a number, its place has a name here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from annotation.core.words import StrOrPromise


@dataclass(frozen=True)
class Formula:
    """One statistic. ``source`` is where its formula was published."""

    name: StrOrPromise
    formula: str
    meaning: StrOrPromise
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

# What the page of a task of numbers shows.
NUMBERS = {
    "krippendorff_alpha": Formula(
        _("Krippendorff's alpha, interval"),
        "α = 1 − (n − 1) · Σ o·δ² / Σ nₖ·nₗ·δ²,  δ = difference",
        _(
            "One minus the disagreement seen over the disagreement expected by chance; two "
            "numbers disagree by the square of their difference."
        ),
        "Krippendorff 2011",
    ),
    "icc1": ORDINAL["icc1"],
    "icc2": Formula(
        _("ICC(2,1)"),
        "(between − error) / (between + (k − 1) · error + k · (raters − error) / items)",
        _(
            "Absolute agreement where the same people judged every item: a person's own mean "
            "counts as disagreement."
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
FORMULAS_OF = {"nominal": FORMULAS, "ordinal": ORDINAL, "interval": NUMBERS, "ranks": RANKS}


def coefficients_of(report: dict, level: str) -> list[tuple[str, str, dict]]:
    """Key of the formula, name and values of each coefficient that pages show of ``report``."""
    # Each question of a task has a level of its own.
    level = report.get("level", level)
    values = report | report.get("icc", {})
    if "krippendorff_alpha" in report:
        values["krippendorff_alpha"] = report["krippendorff_alpha"][level]
    return [
        (key, str(formula.name), values[key])
        for key, formula in FORMULAS_OF[level].items()
        if key in values
    ]


def of_levels(levels: Sequence[str]) -> dict[str, Formula]:
    """{anchor: formula} of all coefficients of these scales; those of the first are bare keys."""
    shown = dict(FORMULAS_OF[levels[0]])
    for level in levels[1:]:
        formulas = FORMULAS_OF[level].items()
        new = [(key, formula) for key, formula in formulas if formula not in shown.values()]
        shown |= {f"{key}-{level}": formula for key, formula in new}
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


SENTENCES = (
    # stats, coefficient, bootstrap, krippendorff, icc
    gettext_noop("no item has two votes"),
    gettext_noop("no item has two rankings that differ in their places"),
    gettext_noop("only one category was voted for"),
    gettext_noop("one category: agreement by chance is certain"),
    gettext_noop("one item has no standard error"),
    gettext_noop("no resample had a value"),
    gettext_noop("no resamples were asked for"),
    gettext_noop(
        "%(n)s different labels over %(tasks)s tasks are too many: labels must be categories that "
        "the tasks share"
    ),
    gettext_noop("ratio level needs numbers that are not negative"),
    gettext_noop("the numbers are too close to one another to tell them apart"),
    gettext_noop("two items and an item with two scores are needed"),
    gettext_noop("all scores are equal"),
    gettext_noop("no variance between items"),
    gettext_noop("not every rater scored every item: only the one-way forms are defined"),
    # report, pairwise
    gettext_noop("quadratic weights need ordinal level or higher"),
    gettext_noop("scores are needed: ordinal level or higher"),
    gettext_noop("no two annotators share an item"),
    gettext_noop("no two annotators share %(n)s items"),
    gettext_noop("no two annotators share %(n)s items that the model judged"),
    gettext_noop("no two models share %(n)s items"),
    gettext_noop("both annotators of every pair used one and the same category"),
    gettext_noop("more than %(n)s pairs of votes on the same items"),
    gettext_noop("an annotator voted twice on one item"),
    gettext_noop("%(pairs)s annotator pairs of %(n)s categories are too many"),
    # intervals, position, correlation, ratings
    gettext_noop("nothing was counted"),
    gettext_noop("two items are needed"),
    gettext_noop("every item leans to the same side by the same number of votes"),
    gettext_noop("one of the two scores does not vary"),
    gettext_noop("two pairs of scores are needed"),
    gettext_noop("a p-value needs three pairs of scores"),
    gettext_noop("no pair has both of its scores"),
    gettext_noop("the two scores of every pair are equal"),
    gettext_noop("no interval: it was not asked for, or there are too many different scores"),
    # bradley_terry
    gettext_noop("a model cannot be compared with itself"),
    gettext_noop("order was not asked for"),
    gettext_noop("no finite maximum: the side shown first explains the votes"),
    gettext_noop("no finite maximum of the strengths"),
    gettext_noop(
        "Regularised: the votes do not connect all of them, so each got half a win and half "
        "a loss against an opponent of strength 0."
    ),
    # tiers, easy
    gettext_noop("the rule needs 2 ≤ minimum ≤ panel votes"),
    gettext_noop("the rule's thresholds must rise: borderline, hard, medium"),
    gettext_noop("hard_fill must lie between 0 and %(n)s"),
    gettext_noop("stop_below must be hard or borderline"),
    gettext_noop("1 item is too few to check"),
    gettext_noop("%(n)s items are too few to check"),
    gettext_noop("kappa %(kappa)s is outside the band"),
    gettext_noop("a new panel's kappa of %(kappa)s would be outside the band"),
    gettext_noop("all items have one pattern of votes: the interval has no width"),
    gettext_noop("nobody voted on these items"),
    gettext_noop("all votes are alike and have no bounds"),
    gettext_noop("no items"),
    gettext_noop("the labels are not categories that the tasks share"),
    gettext_noop("%(n)s of the %(wanted)s pairs to audit"),
    gettext_noop("the ground truth is not chosen clearly enough"),
    gettext_noop("pairs of a ground truth and the answer to the question alone are not voted on"),
    # planner
    gettext_noop("an assumed kappa lies between 0 and 1"),
    gettext_noop("two votes and two options are needed"),
    gettext_noop("needs 0 < rate < 1, one vote an item and 0 ≤ kappa ≤ 1"),
    gettext_noop("the half-width must be above 0"),
    gettext_noop("%(votes)s votes an item need %(n)s raters or more"),
)


TIER_NAMES = {
    "easy": _("Easy"),
    "medium": _("Medium"),
    "hard": _("Hard"),
    "borderline": _("Borderline"),
    "ambiguous": _("Ambiguous"),
    "ambiguous_tie": _("Ambiguous tie"),
    "pending": _("Pending"),
    # No tier: how a release without tiers makes its pairs.
    "majority": _("By majority"),
}


def tier_name(name: str) -> str:
    """A tier in the reader's language; a word that is none stays as it is."""
    return str(TIER_NAMES.get(name, name))


def translated(text: str | None) -> str:
    """A sentence of a pure module, or several joined by "; ", in the reader's language."""
    return "; ".join(map(_translated, text.split("; "))) if text else ""


def _translated(text: str) -> str:
    if text in SENTENCES:
        return gettext(text)
    for sentence, pattern in _patterns():
        if match := pattern.fullmatch(text):
            return gettext(sentence) % match.groupdict()
    return text


@cache
def _patterns() -> list:
    """The sentences that hold numbers, each with the expression that finds them."""
    hole = re.compile(r"%\\\((\w+)\\\)s")
    return [
        (sentence, re.compile(hole.sub(r"(?P<\1>[-\\d.,]+)", re.escape(sentence))))
        for sentence in SENTENCES
        if "%(" in sentence
    ]
