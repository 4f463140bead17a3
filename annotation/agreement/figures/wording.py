"""What the pure modules say, marked for translation: pages show it through ``said``.

The modules, the commands and the stored results keep the English text; it is stable. Where a
sentence holds a number, the number's place has a name here.
"""

import re
from functools import cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

SENTENCES = (
    # stats, coefficient, bootstrap, krippendorff, icc
    _("no item has two votes"),
    _("no item has two rankings that differ in their places"),
    _("only one category was voted for"),
    _("one category: agreement by chance is certain"),
    _("one item has no standard error"),
    _("no resample had a value"),
    _("no resamples were asked for"),
    _(
        "%(n)s different labels over %(tasks)s tasks are too many: labels must be categories that "
        "the tasks share"
    ),
    _("ratio level needs numbers that are not negative"),
    _("the numbers are too close to one another to tell them apart"),
    _("two items and an item with two scores are needed"),
    _("all scores are equal"),
    _("no variance between items"),
    _("not every rater scored every item: only the one-way forms are defined"),
    # report, pairwise
    _("quadratic weights need ordinal level or higher"),
    _("scores are needed: ordinal level or higher"),
    _("no two annotators share an item"),
    _("no two annotators share %(n)s items"),
    _("no two annotators share %(n)s items that the model judged"),
    _("no two models share %(n)s items"),
    _("both annotators of every pair used one and the same category"),
    _("more than %(n)s pairs of votes on the same items"),
    _("an annotator voted twice on one item"),
    _("%(pairs)s annotator pairs of %(n)s categories are too many"),
    # intervals, position, correlation, ratings
    _("nothing was counted"),
    _("two items are needed"),
    _("every item leans to the same side by the same number of votes"),
    _("one of the two scores does not vary"),
    _("two pairs of scores are needed"),
    _("a p-value needs three pairs of scores"),
    _("no pair has both of its scores"),
    _("the two scores of every pair are equal"),
    _("no interval: it was not asked for, or there are too many different scores"),
    # bradley_terry
    _("a model cannot be compared with itself"),
    _("order was not asked for"),
    _("no finite maximum: the side shown first explains the votes"),
    # tiers, easy
    _("the rule needs 2 ≤ minimum ≤ panel votes"),
    _("the rule's thresholds must rise: borderline, hard, medium"),
    _("hard_fill must lie between 0 and %(n)s"),
    _("stop_below must be hard or borderline"),
    _("%(n)s items are too few to check"),
    _("kappa %(kappa)s is outside the band"),
    _("a new panel's kappa of %(kappa)s would be outside the band"),
    _("all items have one pattern of votes: the interval has no width"),
    _("nobody voted on these items"),
    _("all votes are alike: the interval has no width"),
    _("no items"),
    _("the labels are not categories that the tasks share"),
    _("%(n)s of the %(wanted)s pairs to audit"),
    _("the ground truth is not chosen clearly enough"),
    _("pairs of a ground truth and the answer to the question alone are not voted on"),
    # planner
    _("an assumed kappa lies between 0 and 1"),
    _("two votes and two options are needed"),
    _("needs 0 < rate < 1, one vote an item and 0 ≤ kappa ≤ 1"),
    _("the half-width must be above 0"),
    _("%(votes)s votes an item need %(n)s raters or more"),
)


TIER_NAMES = {
    "easy": _("Easy"),
    "medium": _("Medium"),
    "hard": _("Hard"),
    "borderline": _("Borderline"),
    "ambiguous": _("Ambiguous"),
    "ambiguous_tie": _("Ambiguous tie"),
    "pending": _("Pending"),
}


def tier_name(name: str) -> str:
    """A tier in the reader's language."""
    return gettext(TIER_NAMES[name])


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
