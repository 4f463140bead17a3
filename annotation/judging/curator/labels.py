"""Labels of answers (the `label` of a kind's Answer): in words, and in a form."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.judging.kinds import config_of, preference
from annotation.judging.models import AttributeVerdict, ClaimVerdict, Item


@dataclass(frozen=True)
class Field:
    """One choice of a form: the part of the label that it gives ("" for all of it)."""

    part: str
    title: str
    choices: list[tuple[str, str]]


def words(item: Item, label, order=None) -> list[str]:
    """A label in words, a line each; ``item`` comes with its batch's task.

    Answers are named by their places in ``order`` (canonical numbers as shown), or without it by
    their canonical numbers.
    """
    lines = []
    for field in fields(item, order):
        value = label.get(field.part) if isinstance(label, dict) else label
        said = dict(field.choices).get(str(value))
        if said is not None:
            lines.append(f"{field.title}: {said}" if field.part else said)
    return lines


def fields(item: Item, order=None) -> list[Field]:
    """What a form must ask to get a label of ``item``."""
    task = item.batch.task
    config = config_of(task.kind, task.config)
    numbers = [one.number for one in item.options.all()]
    places = {number: n for n, number in enumerate(order or sorted(numbers), start=1)}
    return _FIELDS[task.kind](item, config, places)


def read(item: Item, data):
    """The label that a form's data give; DomainError where something is missing or unknown."""
    found = {}
    for field in fields(item):
        value = data.get(f"label-{field.part}" if field.part else "label", "")
        if value not in dict(field.choices):
            sentence = _("Choose an answer for “%(title)s”.") % {"title": field.title}
            raise DomainError(sentence, code="label")
        found[field.part] = value
    if "" in found:
        return found[""]
    scored = item.batch.task.kind == "feedback"
    return {part: int(value) if scored else value for part, value in found.items()}


def _answer(place: int) -> str:
    return _("Answer %(n)d") % {"n": place}


def _selection(item, config, places) -> list[Field]:
    choices = [(str(number), _answer(place)) for number, place in places.items()]
    special = {"tie": _("Equally good"), "none": _("None meets the need")}
    choices += [(name, said) for name, said in special.items() if config[name]]
    return [Field("", _("Label"), choices)]


def _preference(item, config, places) -> list[Field]:
    names = [str(name) for name in preference.NAMES[config["points"]]]
    if list(places) == [2, 1]:
        names.reverse()
    return [Field("", _("Label"), [(str(n), name) for n, name in enumerate(names, start=1)])]


def _feedback(item, config, places) -> list[Field]:
    scores = [(str(n), str(n)) for n in range(1, 6)]
    return [
        Field(f"{number}/{name}", f"{_answer(place)}, {_(name)}", scores)
        for number, place in places.items()
        for name in config["criteria"]
    ]


def _attribute(item, config, places) -> list[Field]:
    choices = [(value, str(said)) for value, said in AttributeVerdict.Verdict.choices]
    return [Field("", _("Label"), choices)]


def _relevance(item, config, places) -> list[Field]:
    choices = [("yes", _("Yes, it should")), ("no", _("No, it should not"))]
    return [Field("", _("Label"), choices)]


def _claims(item, config, places) -> list[Field]:
    choices = [(value, str(said)) for value, said in ClaimVerdict.Verdict.choices]
    claims = item.gold.claims.order_by("number") if item.gold_id else []
    return [
        Field(str(claim.pk), _("Claim %(n)d") % {"n": n}, choices)
        for n, claim in enumerate(claims, start=1)
    ]


_FIELDS = {
    "selection": _selection,
    "preference": _preference,
    "feedback": _feedback,
    "attribute": _attribute,
    "relevance": _relevance,
    "claims": _claims,
}
