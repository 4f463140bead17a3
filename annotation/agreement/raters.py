"""How reliable each rater of a study is, and the signs that a person should look at.

The rules of the signs are in ``statistics.raters``. They remove nothing.
"""

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import scipy
from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.statistics import raters as rater_signs
from annotation.agreement.statistics.coefficient import Coefficient, holm, wilson
from annotation.core import sql
from annotation.judging.models import Batch, Handback, Judgment, Participation, Slot
from annotation.judging.work import hidden_checks
from annotation.studies.models import Role, Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import QuestionVotes, read_judgments

Purpose = Batch.Purpose
# The newest judgments of a study that the pages read.
CAP = 50_000
# From so many judgments on they are read once in so many seconds, and when there are others.
KEPT_FROM, KEPT_SECONDS = 5_000, 600
SIDE = 0.05


@dataclass(frozen=True)
class Sign:
    """Something that a curator should look at: what it is, its evidence and its rule, in words."""

    name: str
    evidence: str
    rule: str


@dataclass
class Rater:
    """One annotator of a study; shares are Coefficients, figures of nothing are None."""

    user: User
    name: str
    participation: Participation
    judgments: int = 0
    # Work votes on which the others have one favourite, and those that agree with it.
    compared: int = 0
    agreed: int = 0
    expected: float | None = None
    p: float = 1.0
    gold: Coefficient | None = None
    gold_n: int = 0
    repeats: Coefficient | None = None
    repeats_n: int = 0
    training: tuple[int, int] = (0, 0)
    # Median seconds a thousand characters shown, and the robust z of its logarithm.
    pace: float | None = None
    z: float | None = None
    fast: float = 0.0
    side_p: float | None = None
    same: float | None = None
    skips: int = 0
    flagged: int = 0
    signs: list[Sign] = field(default_factory=list)

    @property
    def agreement(self) -> float | None:
        """Share of votes with the favourite of the others."""
        return self.agreed / self.compared if self.compared else None


@dataclass(frozen=True)
class Votes:
    """Judgments as columns, in order of time: codes of people and tasks, and the labels."""

    users: np.ndarray
    tasks: int
    worker: np.ndarray
    task: np.ndarray
    item: np.ndarray
    # A code of what was chosen (Kind.choice), -1 where an answer has several parts.
    category: np.ndarray
    # Place chosen, from 1 (0 unknown), of how many places.
    place: np.ndarray
    places: np.ndarray
    # Seconds a thousand characters; NaN where missing.
    pace: np.ndarray


@dataclass(frozen=True)
class _Reading:
    """What is read of all judgments of a study: those of work by person, and who was imported."""

    votes: Votes
    judged: Counter
    flagged: Counter
    imported: list[int]


def _reading(study: Study) -> _Reading:
    """Of a large study as read before, until an item changes or somebody leaves."""
    counted = study.items.aggregate(
        items=Count("pk"), votes=Sum("done", default=0), last=Max("last_judgment", default=0)
    )
    if counted["votes"] < KEPT_FROM:
        return _read(study)
    state = repr((counted, counting.withdrawn_from(study)))
    key = f"raters-{study.pk}-{hashlib.sha256(state.encode()).hexdigest()}"
    reading: _Reading | None = cache.get(key)
    if reading is None:
        reading = _read(study)
        cache.set(key, reading, KEPT_SECONDS)
    return reading


def _read(study: Study) -> _Reading:
    flagged = Judgment.objects.exclude(flags=[]).filter(
        slot__study=study, replaced_by=None, slot__item__batch__purpose=Purpose.WORK
    )
    imported = Judgment.objects.filter(slot__study=study, imported=True).order_by()
    return _Reading(
        _votes(study),
        _judged(study),
        _by_annotator(flagged),
        list(imported.values_list("annotator", flat=True).distinct()),
    )


def raters(study: Study, also: User | None = None) -> list[Rater]:
    """Everybody who annotates the study or did, or whose votes were imported; first those with
    signs.

    Computed from the newest CAP judgments that stand; those of ``also`` are looked at although
    they were taken out. People who withdrew are left out.
    """
    reading = _reading(study)
    people = _people(study, reading.imported)
    out = also and Slot.objects.filter(study=study, annotator=also, status=Slot.Status.VOID)
    votes = _votes(study, also) if out and out.exists() else reading.votes
    rated = {code: people[user] for code, user in enumerate(votes.users.tolist()) if user in people}
    _agreement(votes, rated)
    _pace(votes, rated)
    _sides(votes, rated)
    _vectors(study, people)
    _checks(study, people)
    _counts(study, people, reading)
    for rater in people.values():
        rater.signs = _signs(rater)
    return sorted(people.values(), key=lambda each: (not each.signs, -each.judgments, each.name))


def person(study: Study, pk: int) -> User | None:
    """The account of somebody who annotates the study or did; None for others and who withdrew."""
    imported = Judgment.objects.filter(slot__study=study, imported=True, annotator=pk)
    return _users(study, [pk] if imported.exists() else []).filter(pk=pk).first()


def _users(study: Study, imported: list[int]) -> QuerySet[User]:
    of = Q(memberships__study=study, memberships__role=Role.ANNOTATOR) | Q(
        participations__study=study
    )
    # Whose votes were imported has neither.
    of |= Q(pk__in=imported)
    return User.objects.filter(of).exclude(pk__in=counting.withdrawn_from(study)).distinct()


def _people(study: Study, imported: list[int]) -> dict[int, Rater]:
    participations = {
        participation.annotator_id: participation
        for participation in Participation.objects.filter(study=study)
    }
    return {
        user.pk: Rater(
            user,
            counting.worker_name(user.pk, user.worker),
            participations.get(user.pk, Participation()),
        )
        for user in _users(study, imported)
    }


def _votes(study: Study, also: User | None = None) -> Votes:
    since, tasks = _since(study), counting.newest(study)
    # judgment, rater, task, item, category, place, places, seconds
    parts: list[tuple[np.ndarray, ...]] = [(np.zeros(0, dtype=np.int64),) * 8]
    for number, task in enumerate(tasks):
        votes, codes, numbers = _of_task(task, also)
        votes = votes.take(votes.judgment >= since)
        category = np.array(codes, dtype=np.int64)[votes.label]
        place, places, _first = votes.chosen(numbers)
        of_task = np.full(len(votes), number)
        parts.append((votes.judgment, votes.rater, of_task, votes.item, category, place, places,
                      votes.seconds))  # fmt: skip
    columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    rater, in_task, item, category, place, places, seconds = (each[order] for each in columns[1:])
    users, worker = np.unique(rater, return_inverse=True)
    positions, item = np.unique(item, return_inverse=True)
    characters = counting.shown_characters(
        study.items.work().filter(sql.among("position", positions.tolist()))
    )
    # Nothing shown, or no time: no pace.
    shown = np.array([characters[at] or np.nan for at in positions.tolist()], dtype=float)[item]
    pace = 1000 * np.where(seconds > 0, seconds, np.nan) / shown
    return Votes(users, len(tasks), worker, in_task, item, category, place, places, pace)


def _since(study: Study) -> int:
    """The first of the newest CAP judgments that count."""
    newest = counting.judgments(study).order_by("-pk").values_list("pk", flat=True)
    return next(iter(newest[CAP - 1 : CAP]), 0)


def _of_task(task: TaskDefinition, also: User | None) -> tuple[QuestionVotes, list[int], list[int]]:
    """A task's votes on its primary question; what each label chooses as a code; answers' numbers.

    Where that is about single answers a row a judgment, whose code is -1. Those of ``also`` are
    among them although they were taken out.
    """
    judgments = counting.votes_of(task)
    if also:
        newest = Judgment.objects.filter(replaced_by=None, annotator=also)
        judgments = judgments | newest.filter(
            slot__item__batch__task__in=[each.pk for each in counting.versions(task)],
            slot__study=task.study,
            slot__item__batch__purpose=Purpose.WORK,
        )
    measures = counting.measures_of(task)
    votes = read_judgments(judgments, measures[0]) if measures else None
    if votes is None or votes.option.any():
        return read_judgments(judgments, None), [-1], [0]
    choices, numbers = counting.answers_chosen(task, measures[0], votes.labels)
    codes = {choice: code for code, choice in enumerate(dict.fromkeys(choices))}
    return votes, [codes[choice] for choice in choices], numbers


def _agreement(votes: Votes, rated: dict[int, Rater]) -> None:
    """Agreement with the favourite of the others; each task's pool is its own."""
    n = len(votes.users)
    compared, agreed, expected = np.zeros(n), np.zeros(n), np.zeros(n)
    for task in range(votes.tasks):
        in_task = (votes.task == task) & (votes.category >= 0)
        if not in_task.any():
            continue
        items, item = np.unique(votes.item[in_task], return_inverse=True)
        codes, category = np.unique(votes.category[in_task], return_inverse=True)
        shape = (len(items), n, len(codes))
        coded = item, votes.worker[in_task], category
        of_task, with_others, rate = rater_signs.agreement_with_others(*coded, shape)
        compared += of_task
        agreed += with_others
        expected += of_task * (rate or 0)
    for code, rater in rated.items():
        if compared[code]:
            rater.compared, rater.agreed = int(compared[code]), int(agreed[code])
            rater.expected = float(expected[code] / compared[code])
            rater.p = float(scipy.special.bdtr(rater.agreed, rater.compared, rater.expected))


def _pace(votes: Votes, rated: dict[int, Rater]) -> None:
    timed = np.isfinite(votes.pace)
    if not timed.any():
        return
    worker, pace = votes.worker[timed], votes.pace[timed]
    median_z, fast = rater_signs.speeds(worker, pace, votes.task[timed], len(votes.users))
    for code, rater in rated.items():
        paces = pace[worker == code]
        if paces.size:
            rater.pace, rater.fast = float(np.median(paces)), float(fast[code])
            rater.z = None if np.isnan(median_z[code]) else float(median_z[code])


def _sides(votes: Votes, rated: dict[int, Rater]) -> None:
    """The smallest p of "chooses one place too often", Holm over people and numbers of places."""
    cells: list[tuple[int, float]] = []
    for places in np.unique(votes.places[votes.place > 0]):
        rows = (votes.places == places) & (votes.place > 0)
        p = side_p(votes.worker[rows], votes.place[rows], int(places), len(votes.users))
        cells += [(code, p[code]) for code in np.unique(votes.worker[rows]).tolist()]
    for (code, _p), p in zip(cells, holm([p for _code, p in cells]).tolist(), strict=True):
        if rater := rated.get(code):
            rater.side_p = p if rater.side_p is None else min(rater.side_p, p)


def side_p(worker: np.ndarray, place: np.ndarray, places: int, workers: int) -> np.ndarray:
    """Per annotator the exact p-value of choosing each of ``places`` places equally often.

    Sides are balanced within items. Two places: two-sided binomial. More: the upper tail of the
    commonest place, times their number (Bonferroni).
    """
    if places == 2:
        return rater_signs.annotator_side_bias(worker, place == 1, workers)["p"]
    counts = np.zeros((workers, places), dtype=int)
    np.add.at(counts, (worker, place - 1), 1)
    most = counts.max(axis=1)
    tail = scipy.special.bdtrc(np.maximum(most - 1, 0), counts.sum(axis=1), 1 / places)
    return np.minimum(1.0, places * np.where(most > 0, tail, 1.0))


def _vectors(study: Study, people: dict) -> None:
    """Share of the commonest vector of scores, of scored answers with the same criteria."""
    since, scores_of = _since(study), defaultdict(list)
    for task in counting.scored_tasks(study):
        for measure in sorted(counting.measures_of(task), key=lambda each: each.name):
            votes = read_judgments(counting.votes_of(task).filter(pk__gte=since), measure)
            rows = zip(votes.judgment, votes.rater, votes.option, votes.label, strict=True)
            for judgment, user, option, label in rows:
                scores_of[judgment, user, option].append((measure.name, float(votes.labels[label])))
    by_criteria = defaultdict(list)
    for (_judgment, user, _option), scores in scores_of.items():
        criteria, values = zip(*scores, strict=True)
        if user in people:
            by_criteria[criteria].append((user, values))
    for answers in by_criteria.values():
        users, worker = np.unique([user for user, _values in answers], return_inverse=True)
        vectors = [values for _user, values in answers]
        share, same = rater_signs.same_vectors(worker, vectors, len(users))
        for code in np.flatnonzero(same):
            people[int(users[code])].same = float(share[code])


def _checks(study: Study, people: dict) -> None:
    for purpose in (Purpose.GOLD, Purpose.REPEAT, Purpose.TRAINING):
        right, total = Counter(), Counter()
        for outcome in hidden_checks.outcomes(study, purpose):
            total[outcome.annotator] += 1
            right[outcome.annotator] += outcome.right
        for user in total.keys() & people.keys():
            share, rater = wilson(right[user], total[user]), people[user]
            if purpose == Purpose.GOLD:
                rater.gold, rater.gold_n = share, total[user]
            elif purpose == Purpose.REPEAT:
                rater.repeats, rater.repeats_n = share, total[user]
            else:
                rater.training = (right[user], total[user])


def _counts(study: Study, people: dict, reading: _Reading) -> None:
    skips = _by_annotator(Handback.objects.filter(item__study=study, cause=Handback.Cause.SKIPPED))
    for user, rater in people.items():
        rater.judgments, rater.flagged = reading.judged[user], reading.flagged[user]
        rater.skips = skips[user]


def _judged(study: Study) -> Counter:
    """{annotator's id: judgments of work, those that were taken out among them}."""
    # A slot that was judged has one newest judgment. Checks are few: they are taken off.
    judged = Slot.objects.filter(study=study, status__in=(Slot.Status.DONE, Slot.Status.VOID))
    checks = list(study.batches.exclude(purpose=Purpose.WORK).values_list("pk", flat=True))
    counts = _by_annotator(judged)
    counts.subtract(_by_annotator(judged.filter(item__batch__in=checks)))
    return counts


def _by_annotator(rows: QuerySet) -> Counter:
    return Counter(dict(rows.order_by().values_list("annotator").annotate(n=Count("pk"))))


def _signs(rater: Rater) -> list[Sign]:
    """What should be looked at, each with its evidence and its rule."""
    signs = []
    if rater.compared >= rater_signs.LEAST_VOTES and rater.p < rater_signs.TAIL:
        numbers = {"agreed": rater.agreed, "n": rater.compared, "p": rater.p}
        evidence = _("%(agreed)d of %(n)d votes with the majority of the others, p = %(p).2g")
        rule = _(
            "Lower tail of the binomial at everybody's rate (%(rate).2f) under 0.001, of 50 votes "
            "or more."
        )
        signs.append(Sign(_("disagrees"), evidence % numbers, rule % {"rate": rater.expected}))
    if rater.z is not None and rater.z < rater_signs.SLOW_Z:
        evidence = _("%(s).1f seconds a thousand characters, z = %(z).1f")
        rule = _(
            "Median of the robust z of log time a thousand characters, within its task, under −3."
        )
        signs.append(Sign(_("fast"), evidence % {"s": rater.pace, "z": rater.z}, rule))
    if rater.fast > rater_signs.FAST_SHARE:
        evidence = _("%(n)d%% of the last 50 judgments") % {"n": round(100 * rater.fast)}
        rule = _(
            "More than 20%% of the last 50 with z under −3 and under %(s)d seconds a thousand "
            "characters."
        )
        signs.append(Sign(_("often fast"), evidence, rule % {"s": rater_signs.FLOOR}))
    if rater.side_p is not None and rater.side_p < SIDE:
        rule = _(
            "Exact test that each place is chosen equally often, Holm over annotators, under 0.05."
        )
        signs.append(Sign(_("one place"), _("p = %(p).2g") % {"p": rater.side_p}, rule))
    if rater.same is not None:
        evidence = _("%(n)d%% of the scored answers") % {"n": round(100 * rater.same)}
        rule = _("The same scores on 90 percent or more of 20 answers or more.")
        signs.append(Sign(_("same scores"), evidence, rule))
    return signs
