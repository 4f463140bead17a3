"""The gap between people and models in a study, task by task, and the items behind its numbers."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.coefficient import Coefficient
from annotation.candidates.strategies import GENERIC
from annotation.evaluation import gap
from annotation.evaluation.gap import MODELS, PEOPLE
from annotation.evaluation.models import Verdict
from annotation.judging.kinds.presets import CAUSE, CAUSES
from annotation.judging.models import Item, ItemOption
from annotation.papers.personalbench.layout import explicit, mentioned
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting, stored
from annotation.votes.table import VotesError

STAGES = {
    "attribute": gettext_lazy("Does the attribute hold?"),
    "relevance": gettext_lazy("Does the attribute matter to the prompt?"),
    "preference": gettext_lazy("Is the personalised answer better?"),
}
# Uncertain and rejected are one: an attribute holds, or it is problematic.
PROBLEMATIC = ("uncertain", "rejected")
NO_MODELS = f"no two models share {gap.SHARED} items"


def stages(study: Study) -> list[dict]:
    """A report for each task of a stage that has votes, in the order of the stages."""
    definitions = study.tasks.filter(kind__in=STAGES).order_by("name", "-version").distinct("name")
    tasks = sorted(definitions, key=lambda task: (list(STAGES).index(task.kind), task.name))
    reports = []
    for task in tasks:
        try:
            reports.append(_report(study, task))
        except VotesError:  # nobody has judged it yet
            continue
    return reports


def material(study: Study, task: TaskDefinition) -> tuple:
    """People's votes, each model's labels by item, and the labels; VotesError where nobody voted.

    Ratings are turned towards the personalised answer; items without one are left out.
    """
    read = stored.task_votes(task)
    verdicts = _verdicts(study, task)
    labels = read.declared
    people = _People(read, labels)
    if task.kind == "preference":
        flips = _flips(study, task)
        people.orient(flips)
        verdicts = {
            model: {
                item: str(len(labels) + 1 - int(label)) if flips[item] else label
                for item, label in label_of.items()
                if item in flips
            }
            for model, label_of in verdicts.items()
        }
    return people, verdicts, labels


def _report(study: Study, task: TaskDefinition) -> dict:
    people, verdicts, labels = material(study, task)
    if task.kind == "preference":
        figures = _ratings(people, verdicts, labels)
        outright = mentions_of(study, task)
        figures["mentions"] = _split(outright, people, verdicts, labels, task.kind)
    else:
        figures = _labels(people, verdicts, labels)
        figures["causes"] = _causes(study, task) if task.kind == "attribute" else []
    changed = changed_of(study, task)
    figures["changes"] = _split(changed, people, verdicts, labels, task.kind)
    return {
        "task": task,
        "question": STAGES[task.kind],
        "labels": labels,
        "items": people.votes.items,
        "n": len(people.votes.code),
        "workers": len(np.unique(people.votes.worker)),
        "left_out": people.left_out,
        "people": _distribution(people.votes.code, len(labels)),
        **figures,
    }


def _causes(study: Study, task: TaskDefinition) -> list[dict]:
    """What is wrong with attributes found problematic: judgments, and per cent of them."""
    counted = Counter(with_causes(study, task).values_list("cause", flat=True))
    return [
        {"cause": cause, "words": CAUSES[cause], "n": n, "share": 100 * n / counted.total()}
        for cause, n in counted.most_common()
    ]


def with_causes(study: Study, task: TaskDefinition) -> QuerySet:
    """The judgments of a task's attributes that say what is wrong."""
    rows = counting.judgments(study).filter(slot__item__batch__task__name=task.name)
    return rows.filter(answers__question=CAUSE).annotate(cause=F("answers__label"))


def _split(
    flags: dict[str, int], people: "_People", verdicts: dict, labels: Sequence[str], kind: str
) -> list[dict]:
    """Means over items with and without a flag by who judges: of ratings from 1, else the per cent
    of the first label; nothing where no item is flagged.
    """
    if 1 not in flags.values():
        return []
    place = np.arange(len(labels))
    scores = place + 1 if kind == "preference" else 100 * (place == 0)
    flag = np.array([flags.get(name, -1) for name in people.names], dtype=int)
    v = people.votes
    rows = [(_("People"), flag[v.item], v.code)]
    for model, label_of in sorted(verdicts.items()):
        codes = people.of_model(label_of, labels)
        rows.append((model, flag[codes >= 0], codes[codes >= 0]))
    return [_effect(who, flags, scores[codes]) for who, flags, codes in rows]


def _effect(who: object, flag: np.ndarray, values: np.ndarray) -> dict:
    """Both means, None where nothing was judged, and how much the flag adds."""
    means = [float(values[flag == n].mean()) if (flag == n).any() else None for n in (1, 0)]
    counts = [int((flag == n).sum()) for n in (1, 0)]
    flagged, others = means
    effect = None if flagged is None or others is None else flagged - others
    return {"who": who, "with": flagged, "without": others, "effect": effect, "n": counts}


def changed_of(study: Study, task: TaskDefinition) -> dict[str, int]:
    """{item: 1 where its attribute began or ended on a day that is known, else 0}."""
    items = Item.objects.filter(study=study, batch__task__name=task.name, attribute__isnull=False)
    dated = items.values_list("external_id", "attribute__since", "attribute__until")
    return {name: int(since is not None or until is not None) for name, since, until in dated}


def mentions_of(study: Study, task: TaskDefinition) -> dict[str, int]:
    """{item: 1 where its personalised answer mentions the attribute outright, else 0}."""
    items = Item.objects.filter(study=study, batch__task__name=task.name, attribute__isnull=False)
    options = ItemOption.objects.filter(item__in=items).exclude(candidate__strategy__in=GENERIC)
    rows = options.values_list(
        "item__external_id", "item__attribute__text", "candidate__text", "item__query__text"
    )
    shares = {name: explicit(mentioned(*texts)) for name, *texts in rows}
    return {name: int(verdict) for name, verdict in shares.items() if verdict is not None}


class _People:
    """People's votes as codes; ``names`` are the items in the order of their codes."""

    def __init__(self, read: stored.StudyVotes, labels: Sequence[str]) -> None:
        number = {label: n for n, label in enumerate(labels)}
        codes = np.array([number[label] for label in read.votes.labels])
        self.names, self.left_out = list(read.votes.tasks), 0
        self.votes = gap.CodedVotes(
            item=np.asarray(read.votes.task, dtype=int),
            worker=np.asarray(read.votes.worker, dtype=int),
            code=codes[read.votes.label],
            items=len(self.names),
            categories=len(labels),
        )

    def orient(self, flips: dict[str, bool]) -> None:
        """Turn ratings towards the personalised answer; leave out items where none is known."""
        oriented = np.array([name in flips for name in self.names])
        turned = np.array([flips.get(name, False) for name in self.names])
        v, number = self.votes, np.cumsum(oriented) - 1
        at = oriented[v.item]
        top = v.categories - 1
        code = np.where(turned[v.item], top - v.code, v.code)[at]
        self.names = [name for name, there in zip(self.names, oriented, strict=True) if there]
        self.left_out = int((~oriented).sum())
        items = len(self.names)
        self.votes = gap.CodedVotes(number[v.item[at]], v.worker[at], code, items, v.categories)

    def of_model(self, label_of: dict, labels: Sequence[str]) -> np.ndarray:
        """A model's labels as codes, an item each; -1 for none."""
        number = {label: n for n, label in enumerate(labels)}
        codes = [number[label_of[name]] if name in label_of else -1 for name in self.names]
        return np.array(codes, dtype=int)


def classes(labels: Sequence[str]) -> np.ndarray:
    """What kappas tell apart (labels,): attribute accepted or problematic, relevant or not."""
    return np.array([int(label in PROBLEMATIC or label == "no") for label in labels])


def sides_of(points: int) -> np.ndarray:
    """What kappas of ratings tell apart (points,): generic 0, no preference 1, personalised 2."""
    return np.sign(np.arange(points) - (points - 1) / 2).astype(int) + 1


def _labels(people: _People, verdicts: dict, labels: Sequence[str]) -> dict:
    """Agreement on attributes (accepted or problematic) and relevance."""
    merged, v = classes(labels), people.votes
    votes = gap.CodedVotes(v.item, v.worker, merged[v.code], v.items, 2)
    pairs = gap.pairs(votes)
    return {
        "agreement": _agreement(votes),
        "pairs": gap.mean_kappa(pairs, votes, gap.NO_PAIR),
        "between_models": _between_models(people, verdicts, labels, merged),
        "models": [
            _label_model(
                model, people.of_model(label_of, labels), merged, votes, pairs, len(labels)
            )
            for model, label_of in sorted(verdicts.items())
        ],
    }


def _between_models(
    people: _People, verdicts: dict, labels: Sequence[str], merged: np.ndarray
) -> Coefficient:
    """The mean Cohen's kappa of two models, over items that both judged."""
    every = [people.of_model(label_of, labels) for _model, label_of in sorted(verdicts.items())]
    codes = np.array(every, dtype=int).reshape(len(every), people.votes.items)
    worker, item = np.nonzero(codes >= 0)
    categories = int(merged.max()) + 1
    votes = gap.CodedVotes(
        item, worker, merged[codes[worker, item]], people.votes.items, categories
    )
    return gap.mean_kappa(gap.pairs(votes), votes, NO_MODELS)


def _label_model(
    model: str,
    codes: np.ndarray,
    merged: np.ndarray,
    votes: gap.CodedVotes,
    pairs: gap.Rows,
    k: int,
) -> dict:
    two = np.where(codes >= 0, merged[codes], -1)
    people, single = gap.beside(pairs, two)
    majority = gap.against_majority(votes, two)
    # An item of three votes counts three times for the model, too.
    verdicts = two[votes.item]
    marked = _share_of_first(votes.code[verdicts >= 0])
    return {
        # How many times as often as people it says "relevant", or that an attribute holds.
        "over_selection": _share_of_first(verdicts[verdicts >= 0]) / marked if marked else None,
        "model": model,
        "n": int((codes >= 0).sum()),
        "shares": _distribution(codes[votes.item][verdicts >= 0], k),
        "majority": gap.mean_kappa(
            majority, votes, "the model or the majority says one thing only"
        ),
        "single": gap.mean_kappa(single, votes, gap.NO_SHARED),
        "difference": gap.difference(people, single, votes),
    }


def _share_of_first(codes: np.ndarray) -> float:
    return float((codes == 0).mean()) if len(codes) else 0.0


def _ratings(people: _People, verdicts: dict, labels: Sequence[str]) -> dict:
    """Agreement on ratings from 1 to the scale's end, the personalised answer much better."""
    v, k = people.votes, len(labels)
    side = sides_of(k)
    sides = gap.CodedVotes(v.item, v.worker, side[v.code], v.items, 3)
    return {
        **_means(v.code, k),
        "spearman": gap.mean_spearman(gap.pairs(v), k, gap.NO_PAIR),
        "pairs": gap.mean_kappa(gap.pairs(sides), sides, gap.NO_PAIR),
        "between_models": _between_models(people, verdicts, labels, side),
        "models": [
            _rating_model(model, people.of_model(label_of, labels), v, side, sides)
            for model, label_of in sorted(verdicts.items())
        ],
    }


def _means(ratings: np.ndarray, k: int) -> dict:
    """Per cent of single ratings that are in the middle or towards the generic answer, and their
    mean. Single ones of people, too, since the mean of several is less extreme than one; a model's
    count as often as its items have votes.
    """
    if not len(ratings):
        return {"no_better": None, "mean_rating": None}
    no_better = float(100 * (ratings <= (k - 1) / 2).mean())
    return {"no_better": no_better, "mean_rating": float(ratings.mean() + 1)}


def _rating_model(
    model: str, codes: np.ndarray, votes: gap.CodedVotes, side: np.ndarray, sides: gap.CodedVotes
) -> dict:
    """``side`` is what kappas tell apart of each rating, ``sides`` are the votes so."""
    k, ratings = len(side), codes[votes.item]
    _, single = gap.beside(gap.pairs(votes), codes)
    _, of_sides = gap.beside(gap.pairs(sides), np.where(codes >= 0, side[codes], -1))
    return {
        "model": model,
        "n": int((codes >= 0).sum()),
        "shares": _distribution(ratings[ratings >= 0], k),
        **_means(ratings[ratings >= 0], k),
        "mean": gap.spearman_with_mean(votes, codes),
        "single": gap.mean_spearman(single, k, gap.NO_SHARED),
        "kappa": gap.mean_kappa(of_sides, sides, gap.NO_SHARED),
    }


def _agreement(votes: gap.CodedVotes) -> list[tuple]:
    """Agreement of people; kappas differ much where one label is rare, so three are shown."""
    counts = kappas.count_votes(votes.item, votes.code, votes.items, votes.categories)
    patterns = kappas.patterns_of(counts)
    return [
        (_("Percent agreement"), kappas.percent_agreement(patterns)),
        (_("Fleiss' kappa"), kappas.fleiss_kappa(patterns)),
        (_("Symmetric kappa"), kappas.symmetric_kappa(patterns)),
        (_("Gwet's AC1"), kappas.gwet_ac1(patterns)),
    ]


def _distribution(codes: np.ndarray, k: int) -> list[float]:
    """Per cent of each label; all 0 where there is none."""
    return (100 * np.bincount(codes, minlength=k) / max(len(codes), 1)).tolist()


def _verdicts(study: Study, task: TaskDefinition) -> dict[str, dict[str, str]]:
    rows = Verdict.objects.filter(item__study=study, item__batch__task__name=task.name)
    verdicts = defaultdict(dict)
    for model, item, label in rows.values_list("model", "item__external_id", "label"):
        verdicts[model][item] = label
    return verdicts


def _flips(study: Study, task: TaskDefinition) -> dict[str, bool]:
    """{item: whether its first candidate is the personalised one}, where one is generic."""
    items = Item.objects.filter(study=study, batch__task__name=task.name)
    options = ItemOption.objects.filter(item__in=items).order_by("item", "number")
    generic = defaultdict(list)
    for name, strategy in options.values_list("item__external_id", "candidate__strategy"):
        generic[name].append(strategy in GENERIC)
    return {
        name: not generic_options[0]
        for name, generic_options in generic.items()
        if sum(generic_options) == 1
    }


# --- The items behind each number -----------------------------------------------------------------

DIFFER, NO_BETTER = "differ", "no-better"


@dataclass(frozen=True)
class Wanted:
    """Which items: those to which ``who`` (PEOPLE or a model; "" both) gave ``label`` ("" any).

    ``show`` DIFFER are those on which PEOPLE, MODELS, or a model and a person say something else,
    as the report's kappas count it; NO_BETTER those with a rating of ``who`` by which the
    personalised answer is no better than the generic one. ``cause`` was named of an attribute, and
    ``mention`` ("yes", "no") says whether the personalised answer mentions the attribute outright.
    """

    who: str = ""
    label: str = ""
    show: str = ""
    cause: str = ""
    mention: str = ""

    def words(self) -> str:
        """What the items have in common; "" of all items."""
        texts = {
            (DIFFER, PEOPLE): _("people do not agree"),
            (DIFFER, MODELS): _("models do not agree"),
        }
        if words := texts.get((self.show, self.who)):
            return words
        if self.show == DIFFER:
            return _("%(model)s and a person do not agree") % {"model": self.who}
        if self.label and self.who == PEOPLE:
            return _("people said “%(label)s”") % {"label": _(self.label)}
        if self.label and self.who:
            return _("%(who)s said “%(label)s”") % {"who": self.who, "label": _(self.label)}
        who = "" if self.who == PEOPLE else self.who
        return ": ".join(part for part in (who, self.label, self._property()) if part)

    def _property(self) -> str:
        if self.show == NO_BETTER:
            return _("the personalised answer is no better")
        if self.cause:
            return str(CAUSES.get(self.cause, self.cause))
        if self.mention == "yes":
            return _("the answer mentions the attribute outright")
        return _("the answer does not mention the attribute outright") if self.mention else ""


def units(study: Study, task: TaskDefinition, wanted: Wanted) -> list[dict]:
    """The items of ``wanted``: ``{"pk", "name", "people": [(label, votes)], "models": [(model,
    label)]}`` in their order. Ratings count towards the personalised answer, as in the report.
    """
    people, verdicts, labels = material(study, task)
    named = _named(study, task, wanted)
    votes: dict[str, Counter[str]] = {name: Counter() for name in people.names}
    for item, code in zip(people.votes.item, people.votes.code, strict=True):
        votes[people.names[item]][labels[code]] += 1
    rows = Item.objects.filter(study=study, batch__task__name=task.name).order_by("position")
    shown = []
    for pk, name in rows.values_list("pk", "external_id"):
        of_models = {
            model: label_of[name] for model, label_of in verdicts.items() if name in label_of
        }
        if name not in votes or (named is not None and name not in named):
            continue
        if _fits(votes[name].keys(), of_models, wanted, labels, task.kind):
            by_label = sorted(votes[name].items(), key=lambda pair: labels.index(pair[0]))
            unit = {"pk": pk, "name": name, "people": by_label, "models": sorted(of_models.items())}
            shown.append(unit)
    return shown


def _named(study: Study, task: TaskDefinition, wanted: Wanted) -> set[str] | None:
    """The items of a cause or with a mention; None where neither is asked for."""
    if wanted.cause:
        rows = with_causes(study, task).filter(cause=wanted.cause)
        return set(rows.values_list("slot__item__external_id", flat=True))
    if wanted.mention:
        mentions = mentions_of(study, task).items()
        return {name for name, outright in mentions if outright == (wanted.mention == "yes")}
    return None


def _fits(
    people: Collection[str],
    models: dict[str, str],
    wanted: Wanted,
    labels: Sequence[str],
    kind: str,
) -> bool:
    """Whether an item is wanted, by the labels of people and of each model."""
    ratings, who = kind == "preference", wanted.who
    if wanted.show == DIFFER:
        merged = sides_of(len(labels)) if ratings else classes(labels)
        return _differ(people, models, who, dict(zip(labels, merged.tolist(), strict=True)))
    chosen = people if who in ("", PEOPLE) else {models[who]} if who in models else set()
    if wanted.show == NO_BETTER:
        # In the middle of the scale, or towards the generic answer.
        return ratings and any(2 * labels.index(label) <= len(labels) - 1 for label in chosen)
    return wanted.label in chosen if wanted.label else bool(chosen)


def _differ(
    people: Collection[str], models: dict[str, str], who: str, class_of: dict[str, int]
) -> bool:
    of_people = {class_of[label] for label in people}
    of_models = {model: class_of[label] for model, label in models.items()}
    if who in (PEOPLE, MODELS):
        return len(of_people if who == PEOPLE else set(of_models.values())) > 1
    return who in of_models and of_people != {of_models[who]}
