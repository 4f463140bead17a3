"""The items of a task of selections by the split of their votes, and by their tiers."""

from django.utils.translation import gettext as _

from annotation.agreement.figures import summary
from annotation.agreement.figures.board import About, Board
from annotation.agreement.figures.wording import tier_name, translated
from annotation.agreement.models import AgreementResult
from annotation.agreement.tiers.rules import TIERS
from annotation.core import charts
from annotation.core.charts import Dot


def words() -> dict[str, tuple]:
    """{figure: title, lead and how} in the reader's language."""
    return {
        "patterns": (
            _("Vote patterns"),
            _("Items that have all their judgments, by the split of their votes."),
            _("A count of complete items; the answers of a split are in order of their votes."),
        ),
        "tiers": (
            _("Tiers against their bands"),
            _("Kappa of each tier with its interval; the shade is the band it must lie in."),
            _(
                "Rule kappa-bands, version 1. A band is checked in whole numbers, on 30 items or "
                "more; so is the kappa that new annotators would show. Votes an item: least, "
                "median, most. Fleiss' kappa and alpha depend on which answer is stored first, and "
                "mean little within a tier."
            ),
        ),
    }


def vote_patterns(board: Board, about: About) -> dict:
    """Complete items by the split of their votes, from unanimous to even."""
    tally = {}
    for votes, complete, n in board.patterns:
        if complete:
            split = tuple(sorted(votes, reverse=True))
            tally[split] = tally.get(split, 0) + n
    if not tally:
        return {"reason": _("No item has all its judgments yet.")}
    rows = [("–".join(map(str, split)), n) for split, n in sorted(tally.items(), reverse=True)]
    items = sum(tally.values())
    table = [(name, n, n / items) for name, n in rows]
    svg = about.draw(charts.columns, rows, axes=(_("Votes by answer"), _("Items")))
    header: tuple[str, ...] = (_("Votes by answer"), _("Items"), _("Share"))
    votes = sum(sum(split) * n for split, n in tally.items())
    return {"header": header, "rows": table, "svg": svg, "votes": votes, "items": items}


def tier_rows(result: AgreementResult) -> list[tuple[str, dict, str]]:
    """A result's tiers from clear to disputed: name, figures, and what is to be said of them.

    Empty where no item has a tier.
    """
    rows = [(name, result.tiers["tiers"][name]) for name in TIERS] if result.tiers else []
    if not any(tier["items"] for _name, tier in rows):
        return []
    return [
        (
            name,
            tier,
            translated(
                "; ".join(filter(None, (tier["note"], tier["symmetric_kappa"].get("reason"))))
            ),
        )
        for name, tier in rows
    ]


def tiers(board: Board, about: About) -> dict:
    """Every tier's kappa against its band, as last recomputed; before them that of all items."""
    result = board.result
    if result is None:
        return {"reason": summary.not_yet()}
    rows = [(_("All items"), *_group(result.tiers["all"]), *[None] * 5, "")]
    marks = []
    for name, tier, note in tier_rows(result):
        kappa, band = tier["symmetric_kappa"], tier["band"]
        checks = (tier["in_band"], tier["new_panel_kappa"], tier["new_panel_in_band"], note)
        rows.append((tier_name(name), *_group(tier), *(band or (None, None)), *checks))
        limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
        marks.append(Dot(f"{tier_name(name)} ({tier['items']})", *limits, band))
    header: tuple[str, ...] = (_("Tier"), _("Items"), _("Votes an item"), _("Percent agreement"))
    header += (_("Symmetric kappa"), _("low"), _("high"), _("Fleiss' kappa"), _("Gwet's AC1"))
    header += (_("Krippendorff's alpha"), _("Band above"), _("up to"), _("In band"))
    header += (_("New panel's kappa"), _("In band"), _("Note"))
    svg = about.draw(charts.dots, marks, axes=(_("Symmetric kappa"), _("Tier (items)")))
    items = result.tiers["all"]["items"]
    return {"header": header, "rows": rows, "svg": svg, "votes": result.votes, "items": items}


def _group(group: dict) -> tuple:
    """Items, votes an item and the coefficients of a tier, or of all items."""
    n, kappa = group["votes_per_item"], group["symmetric_kappa"]
    several = "" if n["min"] is None else f"{n['min']} / {n['median']:g} / {n['max']}"
    raw = (group[key]["value"] for key in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"))
    limits = (kappa["value"], kappa.get("low"), kappa.get("high"))
    return (group["items"], several, group["percent_agreement"]["value"], *limits, *raw)
