"""One item with all that was said about it, in words, whatever its kind."""

from collections import Counter

from django.utils.translation import gettext as _

from annotation.agreement import reading
from annotation.judging.annotator import overview
from annotation.judging.curator import checks
from annotation.judging.kinds import config_of, preference
from annotation.judging.models import Handback, Judgment


def find(board, pk):
    """The item of the board's task; None where there is none that others may look at.

    What only its owner judges is shown to nobody else.
    """
    found = board.items.filter(checks.shared(), pk=pk)
    beside = ("batch__task", "query", "attribute", "gold", "tier", "persona_version__persona")
    return found.select_related(*beside).first()


def votes(study, item) -> list[dict]:
    """The judgments that count, in order of time, in words."""
    found = reading.judgments(study, Judgment).filter(slot__item=item)
    found = overview.with_answers(found.select_related("annotator", "slot"))
    config = config_of(item.batch.task.kind, item.batch.task.config)
    return [_vote(vote, item, config) for vote in found.order_by("submitted_at", "pk")]


def _vote(vote, item, config) -> dict:
    kind = item.batch.task.kind
    answers, told = _SAID[kind](vote, config)
    number = vote.selection.choice and vote.selection.choice.number if kind == "selection" else None
    return {
        "vote": vote,
        "worker": reading.worker_name(vote.annotator_id, vote.annotator.worker),
        "number": number,
        "place": overview.place_of(vote, number) if number else None,
        "first": vote.shown[0] if vote.shown else None,
        "answers": answers,
        "reasons": [*filter(None, [vote.reason]), *told],
        "remarks": [*vote.chips, *vote.flags],
    }


def options(item, given: list[dict]) -> list[dict]:
    """The item's answers in canonical order, each with how many chose it."""
    counts = Counter(one["number"] for one in given)
    found = item.options.select_related("candidate").order_by("number")
    return [{"option": one, "votes": counts[one.number]} for one in found]


def handbacks(study, item) -> list[tuple]:
    """(annotator, the handback) of everybody who gave the item back, in order of time."""
    found = Handback.objects.filter(item=item).exclude(cause=Handback.Cause.EXPIRED)
    found = found.exclude(annotator__in=reading.withdrawn_from(study))
    return [
        (reading.worker_name(one.annotator_id, one.annotator.worker), one)
        for one in found.select_related("annotator").order_by("at", "pk")
    ]


def comments(study, item) -> list[tuple]:
    """(annotator, what they told the curators about the item), in order of time."""
    found = overview.comments(item).exclude(author__in=reading.withdrawn_from(study))
    return [(reading.worker_name(one.author_id, one.author.worker), one) for one in found]


def _answer(number: int) -> str:
    return _("Answer %(n)d") % {"n": number}


def _selection(vote, config) -> tuple[list[str], list[str]]:
    one = vote.selection
    if one.outcome != one.Outcome.CHOICE:
        return [_("tie") if one.outcome == one.Outcome.TIE else _("none of them")], []
    strength = f", {one.get_strength_display()}" if one.strength else ""
    return [f"{_answer(one.choice.number)}{strength}"], []


def _preference(vote, config) -> tuple[list[str], list[str]]:
    return [str(preference.NAMES[config["points"]][vote.preference.value - 1])], []


def _feedback(vote, config) -> tuple[list[str], list[str]]:
    scores = sorted(vote.feedback.scores.all(), key=lambda one: (one.option.number, one.pk))
    alone = len({one.option_id for one in scores}) == 1
    answers, told = [], []
    for one in scores:
        about = _(one.criterion) if alone else f"{_answer(one.option.number)}, {_(one.criterion)}"
        answers.append(f"{about}: {one.score}")
        words = "; ".join(filter(None, [one.text, *one.chips]))
        told += [f"{about}: {words}"] if words else []
    return answers, told


def _attribute(vote, config) -> tuple[list[str], list[str]]:
    one = vote.attributeverdict
    cause = f": {one.get_cause_display()}" if one.cause else ""
    return [f"{one.get_verdict_display()}{cause}"], []


def _relevance(vote, config) -> tuple[list[str], list[str]]:
    return [_("Yes, it should") if vote.relevance.relevant else _("No, it should not")], []


def _claims(vote, config) -> tuple[list[str], list[str]]:
    answers, told = [], []
    for one in sorted(vote.claimreview.verdicts.all(), key=lambda one: one.claim.number):
        about = _("Claim %(n)d") % {"n": one.claim.number}
        answers.append(f"{about}: {one.get_verdict_display()}")
        told += [f"{about}: {one.text}"] if one.text else []
    return answers, told


_SAID = {
    "selection": _selection,
    "preference": _preference,
    "feedback": _feedback,
    "attribute": _attribute,
    "relevance": _relevance,
    "claims": _claims,
}
