"""What a task's votes say of its answers, with and without what models say of the same items, and
by what people said of themselves.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement.report import agreement_report, report_of_numbers
from annotation.agreement.statistics import bradley_terry, prediction_powered
from annotation.agreement.statistics.bootstrap import over_groups
from annotation.agreement.statistics.coefficient import CONFIDENCE, Coefficient, undefined
from annotation.agreement.statistics.prediction_powered import confidence_sequence
from annotation.agreement.statistics.raters import Alternative, alternative_test
from annotation.agreement.statistics.tiers import DEFAULT, TIERS, tier_of
from annotation.agreement.wording import tier_name
from annotation.core.errors import DomainError
from annotation.evaluation.models import Verdict
from annotation.evaluation.raters import Asked, asked, newest_task
from annotation.judging.models import Batch, Item, Judgment, Slot
from annotation.judging.work import hidden_checks
from annotation.questions.base import Measure
from annotation.studies import survey as surveys
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting, stored

# What is judged: an item, with the option's number where it is one of its answers.
Unit = tuple[str, int | None]
NOT_NAMED, NONE = "not named", "none"
# What ``as_json`` gives as it is.
HEAD = ("task", "question", "questions", "proposals", "capped")
# What the planner answers for: three points of a share.
PLANNED = 0.03


@dataclass(frozen=True)
class Quantity(prediction_powered.Estimate):
    """One quantity by people, by people and ``judge``, and by the judge alone.

    ``always`` are the ends of people's interval that holds however often one looked before: a
    confidence sequence over the items that have all votes asked for, in the order in which they got
    the last, so that a later look only adds items. None where items were not all drawn alike, none
    is complete, or it is no mean.
    """

    name: str
    judge: str
    always: tuple[float, float] | None = None

    def as_json(self) -> dict:
        """The contract's form: null with the reason where there is no value."""
        effective = None if self.effective is None else round(self.effective, 1)
        always = list(self.always) if self.always else None
        return {
            "name": self.name,
            "people": self.people.as_json() | {"n": self.votes, "always": always},
            "combined": self.combined.as_json()
            | {"n": self.votes, "n_effective": effective, "lambda": self.weight},
            "model": {"value": self.model, "n": self.predicted, "model": self.judge},
            "sentence": self.sentence,
            "planned": self.planned,
        }

    @property
    def planned(self) -> dict[str, float | None]:
        """The votes that give a share ± PLANNED; {} where it is no share or has no error."""
        if not self.name.startswith(("share:", "accuracy:")) or not self.people.se:
            return {}
        return {"half_width": PLANNED} | self.votes_needed(PLANNED)

    def votes_needed(self, half_width: float) -> dict[str, float | None]:
        """How many votes, as many an item and a rater as so far, give ± ``half_width`` to "people"
        and "combined"; None where that is more than all items give.

        Of n' items the variance is that of n times n / n'. The model takes the part ρ² (1 − n'/M)
        off it, ρ² from what it takes off now: nothing is left to gain once all M are judged.
        """
        people, both = self.people.se or 0.0, self.combined.se or 0.0
        n, number = self.judged, self.items
        of_one = n * (float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * people) ** 2
        needed: dict[str, float | None] = {}
        for name, taken in {"people": 0.0, "combined": 1 - (both / people) ** 2}.items():
            explained = taken * number / (number - n) if taken > 0 else 0.0
            left = half_width**2 - of_one * explained / number
            items = of_one * (1 - explained) / left if left > 0 else np.inf
            needed[name] = int(np.ceil(self.votes * items / n - 1e-9)) if items <= number else None
        return needed

    @property
    def words(self) -> str:
        """What it is the figure of: ``share:A1`` is the share of A1."""
        what, _colon, of = self.name.partition(":")
        return str(QUANTITIES[what] % {"of": of.replace(":", ", ")}) if of else _("Mean")

    @property
    def sentence(self) -> str:
        """What the model saves, in words."""
        if self.effective is None or not self.weight:
            return _("the model does not help: the interval is people's")
        counts = {"effective": f"{self.effective:,.0f}", "votes": f"{self.votes:,}"}
        return _("as precise as %(effective)s votes; %(votes)s were cast") % counts


@dataclass(frozen=True)
class Agreement:
    """How often one model says what single people say: of all items ("all"), or of those of a
    ``tier``.
    """

    judge: str
    question: str
    tier: str
    votes: int
    value: Coefficient

    @property
    def tier_words(self) -> str:
        return _("all") if self.tier == "all" else tier_name(self.tier)

    def as_json(self) -> dict:
        named = {"model": self.judge, "question": self.question, "tier": self.tier}
        return named | {"n": self.votes} | self.value.as_json()


@dataclass(frozen=True)
class Material:
    """A task's answers to one question, by people and by models, and the items that show what.

    ``votes`` are (unit, annotator, label), ``verdicts`` {model: {unit: label}}, ``confidences``
    {(model, unit): how sure it is} where that is known; ``origins`` are {item: {option's number:
    (strategy, model)}}; ``chances`` {item: the probability with which it was drawn for votes}, {}
    where items are not drawn.
    """

    asked: Asked
    votes: list[tuple[Unit, int, str]]
    verdicts: dict[str, dict[Unit, str]]
    origins: dict[str, dict[int, tuple[str, str]]]
    options: int
    units: list[Unit] = field(default_factory=list)
    chances: dict[str, float] = field(default_factory=dict)
    confidences: dict[tuple[str, Unit], float] = field(default_factory=dict)
    # {unit: when its last vote came}, of items that wait for no further vote
    ended: dict[Unit, int] = field(default_factory=dict)

    def chance(self, units: list[Unit]) -> np.ndarray | None:
        """The probability of each unit; what is not drawn is there for certain."""
        if not self.chances:
            return None
        return np.array([self.chances.get(item, 1.0) for item, _option in units])


def estimates(
    study: Study, task: str, question: str = "", most: int | None = None, *, proposed: bool = True
) -> dict:
    """The quantities of a task on one of its questions, by default its first, for each model.

    ``proposed``: also of judgments that began from a proposal.

    Returns ``task``, ``question``, ``questions`` (all names), ``quantities`` (Quantity),
    ``alternatives`` ({model: Alternative}), ``agreements`` (Agreement), ``proposals``
    (``counting.proposals``) and ``capped``: whether only the first items' votes were read, ``most``
    of them.
    Raises DomainError where there is no such task or question, or no model judged its items.
    """
    definition = newest_task(study, task)
    chosen, last = measures_of(definition, question), _last(definition, most)
    quantities, alternatives, agreements = [], {}, []
    for one in chosen:
        material = material_of(study, definition, one, last, proposed=proposed)
        for judge in sorted(material.verdicts):
            quantities += _quantities(material, judge)
            alternatives.setdefault(judge, _alternative(material, judge))
            agreements += _agreements(material, judge)
    if not alternatives:
        raise DomainError(_("No model has judged items of this task."), code="verdicts")
    if not chosen[0].measure.name and not chosen[0].of_options:
        quantities += _gold(study, definition, alternatives, proposed)
    return {
        "task": task,
        "question": chosen[0].measure.question,
        "questions": _questions(definition),
        "quantities": quantities,
        "alternatives": alternatives,
        "agreements": agreements,
        "proposals": counting.proposals(study, task, left_out=not proposed),
        "capped": last is not None,
    }


def as_json(found: dict) -> dict:
    """``estimates`` as the command and the API give them."""
    quantities = [quantity.as_json() for quantity in found["quantities"]]
    tests = [
        {"model": judge, "omega": test.share, "rho": test.advantage, "passed": test.passed,
         "raters": len(test.raters)} | ({"reason": test.reason} if test.reason else {})
        for judge, test in found["alternatives"].items()
    ]  # fmt: skip
    head = {name: found[name] for name in HEAD}
    agreements = [each.as_json() for each in found["agreements"]]
    return head | {"quantities": quantities, "alternatives": tests, "agreements": agreements}


def questions_of(study: Study, task: str) -> list[str]:
    """The names of a task's questions; none where there is no such task."""
    definition = study.tasks.filter(name=task).order_by("-version").first()
    return _questions(definition) if definition else []


# What is estimated, by the beginning of a quantity's name.
QUANTITIES = {
    "share": gettext_lazy("Share of %(of)s"),
    "accuracy": gettext_lazy("Right on %(of)s items"),
    "mean": gettext_lazy("Mean: %(of)s"),
    "strength": gettext_lazy("Strength of %(of)s"),
}


def _last(definition: TaskDefinition, most: int | None) -> int | None:
    """The place of the last item that is read where ``most`` votes are; None: of all."""
    if most is None:
        return None
    return counting.last_position(definition.study, definition.name, most, definition.kind)


def _questions(definition: TaskDefinition) -> list[str]:
    every = asked(definition.kind, definition.config).values()
    return list(dict.fromkeys(each.measure.question for each in every))


def measures_of(definition: TaskDefinition, question: str) -> list[Asked]:
    """What is estimated: of a rating without a name all criteria, of several classes each."""
    every = asked(definition.kind, definition.config)
    if not every:
        raise DomainError(_("The answers to this task are one person's own."), code="kind")
    first = next(iter(every.values())).measure.question
    if not question and counting.are_scores([each.measure for each in every.values()]):
        return list(every.values())
    wanted = question or first
    found = [each for name, each in every.items() if wanted in (name, each.measure.question)]
    if not found:
        names = ", ".join(_questions(definition))
        raise DomainError(f"The task's questions are {names}.", code="question")
    return found


def material_of(
    study: Study,
    definition: TaskDefinition,
    one: Asked,
    last: int | None = None,
    *,
    proposed: bool = True,
) -> Material:
    items = Item.objects.filter(
        study=study, batch__task__name=definition.name, batch__task__kind=definition.kind,
        batch__purpose=Batch.Purpose.WORK,
    )  # fmt: skip
    names = dict(items.order_by("position").values_list("position", "external_id"))
    origins: dict[str, dict[int, tuple[str, str]]] = {name: {} for name in names.values()}
    shown = stored.candidates_of(study, np.array(list(names)), "strategy", "endpoint", "model")
    for (position, number), (strategy, endpoint, model) in shown.items():
        named = endpoint or model or ""
        origin = (strategy or named or NOT_NAMED, named or strategy or NOT_NAMED)
        origins[names[position]][number] = origin
    verdicts: dict[str, dict[Unit, str]] = defaultdict(dict)
    said = Verdict.objects.filter(item__in=items, question=one.measure.name)
    confidences = {}
    for judge, item, option, label, sure in said.values_list(
        "model", "item__external_id", "option", "label", "confidence"
    ).iterator(20_000):
        verdicts[judge][item, option] = label
        if sure is not None:
            confidences[judge, (item, option)] = sure
    read = stored.read(definition, one.measure, last=last, proposed=proposed)
    columns = (read.item, read.option, read.rater, read.label, read.at)
    waits = Slot.objects.filter(item__in=items, status__in=[Slot.Status.OPEN, Slot.Status.HELD])
    waiting = set(waits.values_list("item__external_id", flat=True))
    votes, ended = [], {}
    for place, option, rater, label, at in zip(*(c.tolist() for c in columns), strict=True):
        unit = (names[place], option if one.of_options else None)
        votes.append((unit, rater, read.labels[label]))
        if names[place] not in waiting:
            ended[unit] = at  # votes on one are in the order of time
    most = max((len(each) for each in origins.values()), default=0)
    units: list[Unit] = [(name, None) for name in names.values()]
    if one.of_options:
        units = [(name, number) for name, shown in origins.items() for number in sorted(shown)]
    rows = items.exclude(chance=None).values_list("external_id", "chance")
    drawn = {item: chance for item, chance in rows if chance is not None}
    return Material(one, votes, verdicts, origins, most, units, drawn, confidences, ended)


def _quantities(material: Material, judge: str) -> Iterator[Quantity]:
    one = material.asked
    if one.chooses or one.scale:
        strategies = {each[0] for shown in material.origins.values() for each in shown.values()}
        for name in sorted(strategies):
            offering = [
                unit
                for unit in material.units
                if name in {strategy for strategy, _model in material.origins[unit[0]].values()}
            ]

            def won(unit: Unit, label: str, name: str = name) -> float:
                chosen = material.origins[unit[0]].get(side_of(one, label), ("", ""))
                return float(chosen[0] == name)

            yield _mean(material, judge, f"share:{name}", offering, won)
        if material.options == 2 and len(strategies) > 1:
            yield from strengths(material, judge, sorted(strategies))
    elif is_numeric(one.measure):
        by_model = defaultdict(list)
        for unit in material.units:
            shown = material.origins[unit[0]]
            number = unit[1] or (next(iter(shown)) if len(shown) == 1 else None)
            by_model[shown[number][1] if number else ""].append(unit)
        numbers = [float(label) for label in one.measure.labels]
        for model, units in sorted(by_model.items()):
            name = ":".join(part for part in ("mean", model, one.measure.question) if part)
            yield _mean(material, judge, name, units, _number, min(numbers), max(numbers))
    else:
        classes = ["yes"] if one.measure.of_class else one.measure.labels
        for label in classes:

            def named(_unit: Unit, said: str, label: str = label) -> float:
                return float(said == label)

            name = f"share:{one.measure.of_class or label}"
            yield _mean(material, judge, name, material.units, named)


def is_numeric(measure: Measure) -> bool:
    """Whether a mean of its labels says something: they are numbers in their order."""
    points = measure.level in ("ordinal", "ranks") and all(map(str.isdecimal, measure.labels))
    return points or measure.level == "interval"


def _number(_unit: Unit, label: str) -> float:
    return float(label)


def side_of(one: Asked, label: str) -> int:
    """The number of the option that a label prefers; 0 for none of them."""
    if not one.scale:
        return int(label) if label.isdecimal() else 0
    middle = (len(one.measure.labels) + 1) / 2
    return 1 if int(label) < middle else 2 if int(label) > middle else 0


def _mean(
    material: Material,
    judge: str,
    name: str,
    units: list[Unit],
    value: Callable[[Unit, str], float],
    low: float = 0.0,
    high: float = 1.0,
) -> Quantity:
    code = {unit: place for place, unit in enumerate(units)}
    votes = [(code[unit], who, value(unit, label)) for unit, who, label in material.votes
             if unit in code]  # fmt: skip
    verdicts = material.verdicts[judge]
    predicted = [value(unit, verdicts[unit]) if unit in verdicts else np.nan for unit in units]
    chance = material.chance(units)
    quantity = _quantity(name, judge, votes, np.array(predicted), low, high, chance)
    if not votes or (chance is not None and np.ptp(chance)):
        return quantity
    values: dict[Unit, list[float]] = defaultdict(list)
    for place, _who, each in votes:
        values[units[place]].append(each)
    complete = [unit for unit in units if unit in values and unit in material.ended]
    order = sorted(complete, key=material.ended.__getitem__)
    if not order:
        return quantity
    means = np.array([np.mean(values[unit]) for unit in order])
    lower, upper = confidence_sequence(means, low, high)
    return replace(quantity, always=(float(lower[-1]), float(upper[-1])))


def _quantity(
    name: str,
    judge: str,
    votes: list[tuple[int, int, float]],
    predicted: np.ndarray,
    low: float = 0.0,
    high: float = 1.0,
    chance: np.ndarray | None = None,
) -> Quantity:
    estimate = prediction_powered.mean(_votes(votes, predicted, chance), low=low, high=high)
    return Quantity(**vars(estimate), name=name, judge=judge)


def _votes(
    votes: list[tuple[int, int, float]], predicted: np.ndarray, chance: np.ndarray | None
) -> prediction_powered.Votes:
    item, rater, value = np.array(votes, dtype=float).reshape(-1, 3).T
    return prediction_powered.Votes(item.astype(int), rater.astype(int), value, predicted, chance)


def strengths(material: Material, judge: str, names: list[str]) -> Iterator[Quantity]:
    """Bradley-Terry strengths of strategies, from items that show two of them; a tie is ½, a "none"
    is left out.
    """
    code = {name: place for place, name in enumerate(names)}
    one, verdicts = material.asked, material.verdicts[judge]
    points = {1: 1.0, 2: 0.0, 0: 0.5}
    compared = [unit for unit in material.units
                if len({each[0] for each in material.origins[unit[0]].values()}) == 2]  # fmt: skip
    shown = [material.origins[item] for item, _option in compared]
    first, second = (np.array([code[each[side][0]] for each in shown], int) for side in (1, 2))
    place = {unit: n for n, unit in enumerate(compared)}
    scores = [(place[unit], who, points[side_of(one, label)]) for unit, who, label in material.votes
              if unit in place and label != NONE]  # fmt: skip
    predicted = np.array([
        points[side_of(one, verdicts[unit])] if verdicts.get(unit, NONE) != NONE else np.nan
        for unit in compared
    ])  # fmt: skip
    if not scores or len(np.unique([first, second])) < len(names):
        return
    votes = _votes(scores, predicted, material.chance(compared))
    fit = bradley_terry.powered(first, second, votes, len(names))
    rows = np.flatnonzero(~np.isnan(predicted))
    pairs = first[rows], second[rows]
    model = bradley_terry.bradley_terry(*pairs, predicted[rows], len(names)).strength
    sizes = len(np.unique(votes.item)), len(compared)
    for n, name in enumerate(names):
        people, combined = fit.people[n], fit.combined[n]
        effective = None
        if people.se and combined.se:
            effective = len(scores) * (people.se / combined.se) ** 2
        # A strategy that the model compared with none has no strength.
        alone = float(model[n]) if model is not None and n in np.concatenate(pairs) else None
        counts = len(scores), len(rows), effective, fit.weight, *sizes
        yield Quantity(people, combined, alone, *counts, f"strength:{name}", judge)


def _gold(
    study: Study, definition: TaskDefinition, judges: dict, proposed: bool
) -> Iterator[Quantity]:
    """How often people and models say what is expected of hidden checks."""
    gold = Item.objects.filter(
        study=study, batch__task__name=definition.name, batch__task__kind=definition.kind,
        batch__purpose=Batch.Purpose.GOLD,
    ).exclude(expected=None).select_related("batch__task")  # fmt: skip
    items = list(gold.order_by("position", "pk"))
    code = {item.pk: place for place, item in enumerate(items)}
    verdicts = Verdict.objects.filter(item__in=list(code), question="")
    rows = Judgment.objects.standing().filter(slot__item__in=list(code))
    rows = rows.exclude(annotator__in=counting.withdrawn_from(study))
    if not proposed:
        rows = rows.filter(proposal__isnull=True)
    read = stored.read_judgments(rows, counting.measures_of(definition)[0])
    if not items or not (len(read) or verdicts.exists()):
        return
    place = {item.position: code for code, item in enumerate(items)}
    said = zip(read.item.tolist(), read.rater.tolist(), read.label.tolist(), strict=True)

    def right(place: int, label: str) -> float:
        item = items[place]
        return float(hidden_checks.agrees(item, label, item.expected))

    votes = [(place[at], who, right(place[at], read.labels[label])) for at, who, label in said]
    for judge in sorted(judges):
        predicted = np.full(len(items), np.nan)
        for item, label in verdicts.filter(model=judge).values_list("item", "label"):
            predicted[code[item]] = right(code[item], label)
        yield _quantity("accuracy:gold", judge, votes, predicted)


def _agreements(material: Material, judge: str) -> Iterator[Agreement]:
    """Of all units that people and the model judged, and by tier where answers are one label."""
    measure, verdicts = material.asked.measure, material.verdicts[judge]
    counts: dict[Unit, Counter[str]] = defaultdict(Counter)
    for unit, _who, label in material.votes:
        counts[unit][label] += 1
    by_tier: dict[str, list[tuple[Unit, int, float]]] = {"all": []}
    for unit, who, label in material.votes:
        if unit not in verdicts:
            continue
        vote = (unit, who, float(label == verdicts[unit]))
        by_tier["all"].append(vote)
        if measure.is_one_label:
            options = len(measure.labels)
            tier = tier_of(counts[unit].values(), options, DEFAULT, closed=True)
            by_tier.setdefault(tier, []).append(vote)
    if by_tier.keys() == {"all", "pending"}:  # no item has votes enough for a tier
        del by_tier["pending"]
    for tier in ("all", *TIERS):
        votes = by_tier.get(tier, [])
        if not votes:
            continue
        code = {unit: place for place, unit in enumerate(dict.fromkeys(u for u, *_rest in votes))}
        coded = [(code[unit], who, same) for unit, who, same in votes]
        cast = _votes(coded, np.full(len(code), np.nan), material.chance(list(code)))
        value = prediction_powered.mean(cast, low=0.0, high=1.0).people
        yield Agreement(judge, measure.name or measure.question, tier, len(votes), value)


def _alternative(material: Material, judge: str) -> Alternative:
    labels = {label: place for place, label in enumerate(material.asked.measure.labels)}
    code = {unit: place for place, unit in enumerate(material.units)}
    votes = [(code[unit], who, labels[said]) for unit, who, said in material.votes
             if unit in code and said in labels]  # fmt: skip
    predicted = np.full(len(code), np.nan)
    for unit, label in material.verdicts[judge].items():
        if unit in code and label in labels:
            predicted[code[unit]] = labels[label]
    item, rater, value = np.array(votes, dtype=int).reshape(-1, 3).T
    numbers = material.asked.measure.level != "nominal"
    chance = material.chance(material.units)
    return alternative_test(item, rater, value, predicted, chance=chance, numbers=numbers)


# --- By what five people or more said of themselves ---------------------------------------------

RESAMPLES = 1000
AGREEMENT = ("percent_agreement", "symmetric_kappa")


@dataclass(frozen=True)
class Group:
    """People who gave ``answer`` to ``question``.

    ``figures`` are {name: coefficient as JSON}: agreement with intervals over items, the others
    over people, 95 %.
    """

    question: str
    answer: str
    people: int
    votes: int
    figures: dict[str, dict]


def groups(
    study: Study, task: str, question: str = "", most: int | None = None, *, proposed: bool = True
) -> list[Group]:
    """What each group says to one question of a task, by default its first.

    Of people with votes on it; who shares an answer with fewer than ``survey.LEAST`` of them is in
    no group. ``most`` votes are read, with ``proposed`` also those that began from a proposal.
    Raises DomainError where there is no such task or question, and where people are asked nothing.
    """
    definition = newest_task(study, task)
    survey = surveys.current(study)
    if survey is None:
        raise DomainError(_("The study asks people nothing about themselves."), code="survey")
    asked, last = measures_of(definition, question)[0], _last(definition, most)
    votes = stored.read(definition, asked.measure, last=last, proposed=proposed)
    raters = set(votes.rater.tolist())
    answers = {user: row for user, row in surveys.answers_of(survey).items() if user in raters}
    released, _lost = surveys.coarsened(survey.questions, answers)
    values = _values(study, asked, votes)
    made = []
    for entry in survey.questions:
        for choice in entry["choices"]:
            name = entry["question"]
            users = [user for user, row in released.items() if row.get(name) == choice]
            if users:
                rows = np.isin(votes.rater, users)
                figures = _agreement(definition, asked, votes.take(rows))
                figures |= {key: _mean_over_people(value[rows], votes.rater[rows])
                            for key, value in values.items()}  # fmt: skip
                made.append(Group(name, choice, len(users), int(rows.sum()), figures))
    return made


def _values(study: Study, asked: Asked, votes: stored.QuestionVotes) -> dict[str, np.ndarray]:
    """{figure: its value in each vote}: shares by strategy or label, or the mean of scores; NaN
    where an item does not offer the strategy.
    """
    labels = [votes.labels[code] for code in votes.label.tolist()]
    if asked.chooses or asked.scale:
        shown = stored.candidates_of(study, votes.item, "strategy")
        chosen = [(item, side_of(asked, label))
                  for item, label in zip(votes.item.tolist(), labels, strict=True)]  # fmt: skip
        names = [shown.get(side, ("",))[0] for side in chosen]
        shares = _shares(names, sorted({strategy for (strategy,) in shown.values() if strategy}))
        for key, share in shares.items():
            offered = [item for (item, _n), (each,) in shown.items() if f"share:{each}" == key]
            share[~np.isin(votes.item, offered)] = np.nan
        return shares
    if is_numeric(asked.measure):
        return {"mean": np.array(labels, dtype=float)}
    return _shares(labels, asked.measure.labels)


def _shares(names: list[str], wanted: Sequence[str]) -> dict[str, np.ndarray]:
    column = np.array(names)
    return {f"share:{name}": (column == name).astype(float) for name in wanted}


def _mean_over_people(values: np.ndarray, rater: np.ndarray) -> dict:
    offered = ~np.isnan(values)
    if not offered.any():
        return undefined("no items").as_json()
    values, code = values[offered], np.unique(rater[offered], return_inverse=True)[1]

    def mean(weights: np.ndarray) -> float:
        return weights @ values / weights.sum()

    value, low, high = over_groups(mean, code, RESAMPLES)
    return Coefficient(value, None, low, high).as_json()


def _agreement(
    definition: TaskDefinition, asked: Asked, votes: stored.QuestionVotes
) -> dict[str, dict]:
    if asked.measure.level == "ranks":
        return {}
    read = stored.task_votes(definition, asked.measure.name, columns=votes)
    if read.level == "interval":
        report = report_of_numbers(read.votes, resamples=0)
        return {"krippendorff_alpha": report["krippendorff_alpha"]["interval"]}
    report = agreement_report(read.votes, read.level, read.declared, resamples=0)
    return {name: report[name] for name in AGREEMENT}
