"""Choose the best of two or three answers; where the task allows, a tie or none of them."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging.models import Selection

MODEL = Selection
TEMPLATE = "judging/kinds/selection.html"
REASON_LIMIT = 5_000
FLAGS = {
    "uncomfortable",
    "over-personalised",
    "wrong-fact",
    "ignores-need",
    "unsafe",
    "broken-text",
}


_COUNT = {
    counter: f"""
    UPDATE judging_item SET done = done + 1, {counter} = {counter} + 1
    WHERE id = %(item)s RETURNING id"""  # noqa: S608 - constants only
    for counter in ("votes_1", "votes_2", "votes_3", "ties", "nones")
}


@dataclass(frozen=True)
class Answer:
    """What the annotator said, checked against the slot's item and task."""

    outcome: str
    option: object | None
    reason: str
    flags: list[str]


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it.

    ``options`` 2 or 3, ``tie`` and ``none`` booleans, ``reason`` off, optional or required,
    ``pairs_per_query`` how many pairs of a query's answers a batch of pairs draws.
    """
    known = {"options": 2, "tie": False, "none": False, "reason": "off", "pairs_per_query": 1}
    for key in config.keys() - known.keys():
        raise DomainError(f"A selection task has no setting “{key}”.", code="config")
    full = known | config
    if type(full["options"]) is not int or full["options"] not in (2, 3):
        raise DomainError("options must be 2 or 3.", code="config")
    for key in ("tie", "none"):
        if not isinstance(full[key], bool):
            raise DomainError(f"{key} must be true or false.", code="config")
    if full["reason"] not in ("off", "optional", "required"):
        raise DomainError("reason must be off, optional or required.", code="config")
    if type(full["pairs_per_query"]) is not int or not 1 <= full["pairs_per_query"] <= 100:
        raise DomainError("pairs_per_query must be a number from 1 to 100.", code="config")
    return full


def read(data, config: dict, options: list) -> Answer:
    """Read an answer from a form or an API body (``choice``, ``reason``, ``flags``).

    ``choice`` is the candidate of one of the item's ``options``, or ``tie`` or ``none`` where
    ``config`` allows it. Raises DomainError with a sentence for the annotator.
    """
    choice = data.get("choice")
    by_id = {option.candidate: option for option in options}
    allowed = [name for name in ("tie", "none") if config[name]]
    if not isinstance(choice, str) or choice not in {*by_id, *allowed}:
        raise DomainError(_("Choose one of the answers first."), code="choice")
    return Answer(
        outcome=choice if choice in allowed else "choice",
        option=by_id.get(choice),
        reason=_reason(data.get("reason"), config["reason"]),
        flags=_flags(data.getlist("flags") if hasattr(data, "getlist") else data.get("flags")),
    )


def store(held, answer: Answer, **common) -> Selection:
    """Add the judgment and count it on its item; part of the caller's transaction."""
    counter = {"tie": "ties", "none": "nones"}.get(answer.outcome)
    counter = counter or f"votes_{answer.option.number}"
    selection = Selection.objects.create(
        slot_id=held.slot,
        outcome=answer.outcome,
        choice_id=answer.option and answer.option.pk,
        reason=answer.reason,
        flags=answer.flags,
        **common,
    )
    sql.first(_COUNT[counter], {"item": held.item})
    return selection


def _reason(value, rule: str) -> str:
    reason = value.strip() if isinstance(value, str) else ""
    if value is not None and not isinstance(value, str):
        raise DomainError("The reason must be text.", code="reason")
    if "\x00" in reason:
        raise DomainError(_("The reason holds a character that cannot be stored."), code="reason")
    if rule == "required" and not reason:
        raise DomainError(_("Say in a few words why you chose this answer."), code="reason")
    if len(reason) > REASON_LIMIT:
        raise DomainError(
            _("The reason may have %(n)d characters.") % {"n": REASON_LIMIT}, code="reason"
        )
    return "" if rule == "off" else reason


def _flags(value) -> list[str]:
    flags = value or []
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        raise DomainError("Flags must be a list of names.", code="flags")
    for flag in set(flags) - FLAGS:
        raise DomainError(f"There is no flag “{flag[:40]}”.", code="flags")
    return sorted(set(flags))
