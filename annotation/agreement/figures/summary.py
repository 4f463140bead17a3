"""What is asked first of a task's votes: how far it is, how well people agree, and the tiers."""

import math
from dataclasses import dataclass

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext
from django.utils.translation import gettext as _

from annotation.agreement.board import Board
from annotation.agreement.figures.base import About
from annotation.agreement.models import AgreementResult
from annotation.agreement.tiers.rules import TIERS
from annotation.agreement.wording import FORMULAS_OF, tier_name, translated
from annotation.core import charts
from annotation.core.charts import Dot
from annotation.votes.counting import AUDIT_TASK, has_tiers

# How many coefficients stand at the head of a page.
FIRST = 3
NO_WIDTH = "all items have one pattern of votes: the interval has no width"


@dataclass(frozen=True)
class Cell:
    """One figure: its name, what the page has behind it, its value as text, what stands below."""

    name: str
    address: str
    value: str
    about: str


# Upper ends and names of Landis and Koch (1977), The measurement of observer agreement.
BANDS = (
    (0.0, gettext_noop("Poor agreement")),
    (0.2, gettext_noop("Slight agreement")),
    (0.4, gettext_noop("Fair agreement")),
    (0.6, gettext_noop("Moderate agreement")),
    (0.8, gettext_noop("Substantial agreement")),
    (1.0, gettext_noop("Almost perfect agreement")),
)
# The reliability that a panel is asked for, and the most votes more that are worth naming.
WANTED, MOST = 0.8, 50


@dataclass(frozen=True)
class Verdict:
    """What alpha says of a task in one sentence, with its value and interval for a picture."""

    sentence: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def at(self) -> int:
        return _x(self.value or 0)

    @property
    def left(self) -> int:
        return _x(self.low or 0)

    @property
    def width(self) -> int:
        return 0 if self.low is None or self.high is None else _x(self.high) - self.left


def _x(value: float) -> int:
    """The place of a value on the picture's line, from 10 to 450."""
    return round(10 + 440 * min(max(value, 0), 1))


def verdict(report: dict, level: str) -> Verdict:
    """How well people agree, in words of a citable scale, and how many votes more would do.

    The reliability of a panel follows from alpha by Spearman's and Brown's formula (1910).
    """
    if "krippendorff_alpha" not in report:
        return _of_orders(report["kendall_w"])
    alpha = report["krippendorff_alpha"][report.get("level", level)]
    value, votes = alpha["value"], report["votes_per_item"]["median"]
    if value is None:
        reason = translated(alpha["reason"])
        return Verdict(_("Agreement cannot be told yet: %(reason)s.") % {"reason": reason})
    name = next(name for most, name in BANDS if value <= most or most == 1.0)
    words = {"name": gettext(name), "value": floatformat(value, 2)}
    if alpha.get("low") is None:
        told = _("%(name)s (alpha %(value)s; Landis and Koch 1977).") % words
    else:
        words |= {"low": floatformat(alpha["low"], 2), "high": floatformat(alpha["high"], 2)}
        told = _("%(name)s (alpha %(value)s, %(low)s to %(high)s; Landis and Koch 1977).") % words
    panel = _panel(value, votes) if value > 0 else _("More votes would not help.")
    return Verdict(f"{told} {panel}", value, alpha.get("low"), alpha.get("high"))


def _of_orders(w: dict) -> Verdict:
    """How alike people put answers in order."""
    if w["value"] is None:
        reason = translated(w["reason"])
        return Verdict(_("Agreement cannot be told yet: %(reason)s.") % {"reason": reason})
    words = {"value": floatformat(w["value"], 2)}
    told = _("Kendall's W %(value)s: 1 is one order by all, 0 none in common.") % words
    return Verdict(told, w["value"], w.get("low"), w.get("high"))


def _panel(alpha: float, votes: float) -> str:
    """How reliable a panel's verdict is, and how many votes more an item make it WANTED."""
    reached = votes * alpha / (1 + (votes - 1) * alpha)
    needed = WANTED * (1 - alpha) / (alpha * (1 - WANTED))
    more = max(math.ceil(round(needed - votes, 6)), 0)
    words = {"votes": floatformat(votes, -1), "reached": floatformat(reached, 2), "more": more}
    words["wanted"] = floatformat(WANTED, 2)
    told = _("%(votes)s votes an item together are reliable to %(reached)s (Spearman–Brown)")
    if not more:
        return f"{told % words}."
    if more > MOST:
        return f"{told % words}; " + _("no panel of usual size reaches %(wanted)s.") % words
    return (
        f"{told % words}; "
        + ngettext(
            "%(more)d more each would reach %(wanted)s.",
            "%(more)d more each would reach %(wanted)s.",
            more,
        )
        % words
    )


def not_yet() -> str:
    """What stands in place of figures until the first recomputation."""
    return _("Not computed yet: the worker does it every ten seconds.")


def headline(board: Board) -> list[list[Cell]]:
    """Groups of figures for the head of a task's page, from the most asked for on."""
    # Claims are one person's own.
    agreement = coefficients(board) if board.measures else []
    return [group for group in (progress(board) + agreement, tiers(board)) if group]


def progress(board: Board) -> list[Cell]:
    """Judgments of those wanted, and complete items of all."""
    totals = board.totals
    wanted = _("of %(n)d wanted") % {"n": totals["wanted"]}
    items = _("of %(n)d") % {"n": totals["items"]}
    complete = "#patterns" if has_tiers(board.definition) else "#days"
    return [
        Cell(_("Judgments"), "#days", str(totals["votes"]), wanted),
        Cell(_("Items complete"), complete, str(totals["complete"]), items),
    ]


def coefficients(board: Board) -> list[Cell]:
    """The first coefficients with their intervals and n, or the reason why one has no value.

    Of feedback, alpha of each criterion. The figure ``agreement`` has all of them.
    """
    result = board.result
    if result is None:
        reason = not_yet() if board.totals["votes"] else _("There are no votes yet.")
        formulas = list(FORMULAS_OF[board.level].items())[:FIRST]
        return [Cell(str(formula.name), f"#how-{key}", "–", reason) for key, formula in formulas]
    cells = []
    for criterion, report, coefficients in result.parts:
        for key, name, coefficient in coefficients[:FIRST]:
            if criterion and key not in ("krippendorff_alpha", "kendall_w"):
                continue
            if criterion and key == "krippendorff_alpha":
                name = _("%(criterion)s, alpha") % {"criterion": _(criterion)}
            elif criterion:
                name = f"{_(criterion)}, {name}"
            cells.append(_coefficient(name, key, coefficient, report))
    return cells


def _coefficient(name: str, key: str, coefficient: dict, report: dict) -> Cell:
    if coefficient["value"] is None:
        return Cell(str(name), f"#how-{key}", "–", translated(coefficient["reason"]))
    items = report["paired_items"]
    n = ngettext("%(n)d item", "%(n)d items", items) % {"n": items}
    limits = (floatformat(coefficient[side], 2) for side in ("low", "high"))
    if coefficient["low"] is None:
        about = _("no interval · %(n)s") % {"n": n}
    elif coefficient["low"] == coefficient["high"]:
        about = _("no interval: all items are alike · %(n)s") % {"n": n}
    else:
        about = "{} … {} · {}".format(*limits, n)
    return Cell(str(name), f"#how-{key}", floatformat(coefficient["value"], 3), about)


def tiers(board: Board) -> list[Cell]:
    """Items of every tier that has any, leading to them, and whether it is in its band."""
    result = board.result
    if not result or not result.tiers or board.task == AUDIT_TASK:
        return []
    return [_tier(name, result) for name in TIERS if result.tiers["tiers"][name]["items"]]


def _tier(name: str, result: AgreementResult) -> Cell:
    tier, rule = result.tiers["tiers"][name], result.tiers["rule"]["parameters"]
    kappa = tier["symmetric_kappa"]["value"]
    words = [] if kappa is None else [_("kappa %(value)s") % {"value": floatformat(kappa, 2)}]
    if name == "pending":
        least = rule["minimum"] if result.closed else rule["panel"]
        words.append(_("fewer than %(n)d votes") % {"n": least})
    elif tier["in_band"] is False:
        words.append(_("outside its band"))
    elif tier["new_panel_in_band"] is False:
        words.append(_("outside its band for a new panel"))
    elif tier["in_band"]:
        words.append(_("in its band"))
    elif tier["band"]:
        words.append(_("too few to check"))
    return Cell(tier_name(name), f"?tier={name}#disputed", str(tier["items"]), ", ".join(words))


def agreement(board: Board, about: About) -> dict:
    """The figure of every coefficient, of every criterion, as last recomputed."""
    if board.result is None:
        return {"reason": not_yet()}
    rows, marks = [], []
    for criterion, report, coefficients in board.result.parts:
        for key, name, coefficient in coefficients:
            limits, reason = _interval(coefficient)
            start = (_(criterion), str(name)) if criterion else (str(name),)
            size = (report["paired_items"], report.get("votes"))
            rows.append(
                (*start, *size, coefficient["value"], coefficient.get("se"), *limits[1:], reason)
            )
            if not criterion or key in ("krippendorff_alpha", "kendall_w"):
                marks.append(Dot(start[0], *limits))
    header: tuple[str, ...] = (_("Coefficient"), _("Items with two votes"), _("Votes"), _("Value"))
    header += (_("Standard error"), _("low"), _("high"), _("Reason"))
    lead = about.lead
    if any(criterion for criterion, _report, _coefficients in board.result.parts):
        header = (_("Criterion"), _("Coefficient"), _("Answers with two scores"), _("Scores"))
        header += (_("Value"), _("Standard error"), _("low"), _("high"), _("Reason"))
        lead = _("Krippendorff's alpha of each criterion; the table has the other coefficients.")
    if board.config.get("questions"):
        header = (_("Question"), _("Coefficient"), _("Units with two answers"), _("Answers"))
        header += (_("Value"), _("Standard error"), _("low"), _("high"), _("Reason"))
        lead = _("The first coefficient of each question; the table has the others, and the scale.")
    table = {"header": header, "rows": rows, "votes": board.result.votes, "lead": lead}
    if not any(mark.value is not None for mark in marks):
        return table | {"reason": _("No coefficient is defined yet; the table says why.")}
    return table | {
        "svg": about._replace(lead=lead).draw(charts.dots, marks, axes=(_("Value"), header[0]))
    }


def _interval(coefficient: dict) -> tuple[tuple, str]:
    """Value, low and high of a coefficient, and why a number is missing."""
    value, low, high = coefficient["value"], coefficient.get("low"), coefficient.get("high")
    if low is not None and low == high:
        return (value, None, None), translated(NO_WIDTH)
    return (value, low, high), translated(coefficient.get("reason"))


WORDS = {
    "agreement": (
        gettext_lazy("Agreement"),
        gettext_lazy("Each coefficient with its 95 % interval."),
        gettext_lazy(
            "As last recomputed. What each coefficient is stands at the page's end; a dash has "
            "its reason."
        ),
    )
}
