"""A study's stored judgments as votes: the way from rows to the pure statistics."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

import numpy as np
import pyarrow as pa
from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Length

from annotation.accounts.models import Consent, User
from annotation.agreement.votes.arrow import from_numpy, from_text, to_numpy
from annotation.agreement.votes.table import Votes, VotesError, votes_from_columns
from annotation.core import copied
from annotation.core.sql import among
from annotation.judging.kinds import codes, kind_of, labelled
from annotation.judging.kinds.imported import NO_ANSWER
from annotation.judging.models import Batch, Item, Judgment
from annotation.studies.models import Study, TaskDefinition

# Kinds whose items get tiers, and every label they can have.
TIERED = tuple(codes(COUNTED=True))
LABELS = tuple(Item.COUNTERS)
# The task of two answers that audits the easy tier (``easy``): its items give no pairs.
AUDIT_TASK = "easy-audit"
_VOTES = pa.schema(
    [
        ("item", pa.int64()),
        ("user", pa.int64()),
        ("label", pa.string()),
        ("at", pa.int64()),
        ("pk", pa.int64()),
    ]
)


@dataclass(frozen=True)
class StudyVotes:
    """Votes of one task of a study; ``declared`` are all labels that annotators could give."""

    study: Study
    task: str
    declared: list[str]
    votes: Votes


class StudyState:
    """What results of a study depend on beside single votes; each part is read once.

    One is made for each run of the recomputation: nothing in it is read again.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def withdrawn(self) -> list[int]:
        return withdrawn_from(self.study)

    @cached_property
    def closed(self) -> list[int]:
        return closed_batches(self.study)

    @cached_property
    def votes(self) -> dict[str, int]:
        """``voted_tasks`` of every kind."""
        return voted_tasks(self.study, None, self.withdrawn)

    @cached_property
    def definitions(self) -> dict:
        """{name: newest definition} of the tasks with tiers that have votes."""
        return {definition.name: definition for definition in newest(self.study, self.votes)}

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """{name: labels} of the tasks of ``definitions``."""
        return {name: labels(definition) for name, definition in self.definitions.items()}


def items(
    study: Study,
    task: str = "",
    kinds: Collection[str] | None = TIERED,
    withdrawn: list[int] | None = None,
) -> QuerySet:
    """The items that people work on (checks are none), with the counts of the votes that count.

    ``judged`` is how many, ``judged_1`` … ``judged_none`` how many for each of LABELS: the item's
    own counters without the votes of people who left (``withdrawn``, read where it is None).
    ``kinds`` None stands for tasks of every kind.
    """
    rows = _of_task(study.items.work(), task, kinds)
    rows = rows.annotate(
        judged=F("done"), **{f"judged_{name}": F(to) for name, to in Item.COUNTERS.items()}
    )
    gone = withdrawn_from(study) if withdrawn is None else withdrawn
    if not _leave_votes(study, gone):
        return rows
    left = {f"judged_{name}": F(to) - _left(gone, name) for name, to in Item.COUNTERS.items()}
    return rows.annotate(judged=F("done") - _left(gone), **left)


def _of_task(rows: QuerySet, task: str, kinds: Collection[str] | None) -> QuerySet:
    """The rows (of items or of their counts) of one task, and of some kinds."""
    if task:
        rows = rows.filter(batch__task__name=task)
    return rows.filter(batch__task__kind__in=kinds) if kinds else rows


def _leave_votes(study: Study, gone: list[int]) -> bool:
    """Whether votes of these people, who left, are counted on items of the study still."""
    if not gone:
        return False
    left_out = Judgment.objects.standing().filter(slot__study=study, annotator__in=gone)
    return left_out.exists()


def totals(rows: QuerySet) -> dict[str, int]:
    """Votes that count and are wanted, items and complete items of ``rows`` of ``items``."""
    return rows.aggregate(
        votes=Sum("judged", default=0),
        wanted=Sum("overlap", default=0),
        complete=Count("pk", filter=Q(judged__gte=F("overlap"))),
        items=Count("pk"),
    )


def _left(gone: list[int], label: str = "") -> Coalesce:
    """Number of an item's judgments by these people: of all of them, or of those for a label."""
    judgments: QuerySet = Judgment.objects.standing().filter(
        slot__item=OuterRef("pk"), annotator__in=gone
    )
    if label:
        judgments = labelled(judgments).filter(label=label)
    count = judgments.order_by().values("slot__item").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(count), 0)


def shown_characters(items: QuerySet) -> Counter:
    """{item's position: characters of its question and answers}."""
    characters = Counter()
    answers = items.annotate(n=Sum(Length("options__candidate__text")))
    questions = items.annotate(n=Length("query__text"))
    for rows in (answers, questions):
        for position, n in rows.order_by().values_list("position", "n"):
            characters[position] += n or 0
    return characters


def progress(study: Study) -> dict[str, int]:
    """``totals`` over the study's tasks of every kind; of very many votes as last computed."""
    kept = dict(study.agreement_results.exclude(sums=None).values_list("task", "sums__totals"))
    others = study.batches.exclude(task__name__in=kept).values_list("pk", flat=True)
    live = totals(items(study, kinds=None).filter(batch__in=list(others)))
    return {name: n + sum(each[name] for each in kept.values()) for name, n in live.items()}


def voted_tasks(
    study: Study, kinds: Collection[str] | None = TIERED, withdrawn: list[int] | None = None
) -> dict[str, int]:
    """Names of the study's tasks of some ``kinds`` that have votes, with their number, by name.

    Votes of people who left do not count. ``kinds`` None stands for tasks of every kind.
    """
    rows = items(study, "", kinds, withdrawn).order_by("batch__task__name")
    voted = rows.values_list("batch__task__name").annotate(n=Sum("judged"))
    return {name: n for name, n in voted if n}


def changes(study: Study) -> dict[str, list]:
    """{task: what another vote, revision, voided judgment or wanted judgment changes}."""
    rows = study.items.work().order_by("batch__task__name").values_list("batch__task__name")
    counted = rows.annotate(n=Count("pk"), votes=Sum("done"), wanted=Sum("overlap"))
    return {name: each for name, *each in counted.annotate(last=Max("last_judgment"))}


def withdrawn_from(study: Study) -> list[int]:
    """Ids of everybody who took their consent to the study back and has not given it again."""
    if study.consent_text is None:
        return []
    consents = Consent.objects.filter(text__name=study.consent_text.name)
    standing = consents.filter(withdrawn_at=None)
    left = consents.exclude(user__in=standing.values("user"))
    return sorted(left.values_list("user", flat=True).distinct())


def closed_batches(study: Study) -> list[int]:
    """Ids of the batches that take no new judgments: all of them once the study is closed."""
    batches = study.batches.order_by("pk")
    if study.status != Study.Status.CLOSED:
        batches = batches.exclude(closed_at=None)
    return list(batches.values_list("pk", flat=True))


def study_votes(slug: str, task: str = "") -> StudyVotes:
    """Return the votes of a study's task; by default of its pairs, or else of its triples.

    A label is the canonical number of the chosen option, ``tie`` or ``none``; a task is the item's
    own id; a worker is named as by ``worker_name``. Raises VotesError with a sentence where there
    is no such study, task or vote.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise VotesError(f"There is no study “{slug}”.")
    named = voted_tasks(study)
    if task and task not in named:
        raise VotesError(f"Study “{slug}” has no votes in a task “{task}”.")
    if not named:
        raise VotesError(f"Study “{slug}” has no votes yet.")
    definitions = newest(study, [task] if task else named)
    # The audit of the easy tier is about pairs that were made from other votes.
    chosen = min(
        definitions,
        key=lambda definition: (
            definition.name == AUDIT_TASK,
            definition.config["options"],
            definition.name,
        ),
    )
    return read(study, chosen)


def newest(study: Study, names: Iterable[str]) -> list:
    """The newest definition of each task with tiers of these names, in order of name."""
    tasks = study.tasks.filter(name__in=names, kind__in=TIERED).order_by("name", "-version")
    return list(tasks.distinct("name"))


def judgments(study: Study, withdrawn: list[int] | None = None) -> QuerySet:
    """The judgments that count, of all tasks of a study.

    That is the newest of each slot of work, unless it was voided or its author left (is among
    ``withdrawn``, read where it is None).
    """
    standing = Judgment.objects.standing().filter(
        slot__study=study, slot__item__batch__purpose=Batch.Purpose.WORK
    )
    gone = withdrawn_from(study) if withdrawn is None else withdrawn
    return standing.exclude(annotator__in=gone)


def votes_of(
    definition: TaskDefinition, last: int | None = None, withdrawn: list[int] | None = None
) -> QuerySet:
    """The votes of a task, of all its versions; only of items placed up to ``last``."""
    votes = judgments(definition.study, withdrawn=withdrawn).filter(
        slot__item__batch__task__name=definition.name,
        slot__item__batch__task__kind=definition.kind,
    )
    return votes if last is None else votes.filter(slot__item__position__lte=last)


def last_position(
    study: Study, task: str, most: int, kinds: Collection[str] | None = TIERED
) -> int | None:
    """Place of the last item whose votes, with those of all before it, are ``most`` or fewer.

    None where all the task's votes are: whole items are read or left out, so that what is left
    out has nothing to do with how its votes fell.
    """
    if totals(items(study, task, kinds))["votes"] <= most:
        return None
    rows = items(study, task, kinds).filter(judged__gt=0)
    # So many items of one vote or more have all the votes that may be read.
    rows = rows.order_by("position").values_list("position", "judged")[: most + 1]
    places, votes = np.array(list(rows)).T
    within = places[np.cumsum(votes) <= most]
    return int(within[-1]) if len(within) else 0


def worker_name(user: int, worker: str | None) -> str:
    """Name of an annotator in tables: the imported worker's id, or ``user-<n>``.

    An imported id that begins with ``user-`` gets its own account's number appended, so that no
    two people of a study share a name.
    """
    name = worker.partition(":")[2] if worker else ""
    return f"{name} (user-{user})" if name.startswith("user-") else name or f"user-{user}"


def read(
    study: Study,
    definition: TaskDefinition,
    last: int | None = None,
    state: StudyState | None = None,
    only: list[UUID] | None = None,
) -> StudyVotes:
    """Read the votes of the task ``definition`` and of its other versions.

    ``last`` leaves out the items placed after it, ``only`` all but these. ``state`` is a StudyState
    that was read before.
    """
    rows = votes_of(definition, last, state.withdrawn if state else None)
    if only is not None:
        rows = rows.filter(among("slot__item", only))
    rows = labelled(rows).annotate(at=copied.instant("submitted_at"))
    names = ("slot__item__position", "annotator_id", "label", "at", "pk")
    table = copied.whole(rows.order_by().values_list(*names), _VOTES)
    columns = {
        name: to_numpy(table[name].combine_chunks()) for name in ("item", "user", "at", "pk")
    }
    order = np.lexsort((columns["pk"], columns["at"], columns["item"]))
    item, user = columns["item"][order], columns["user"][order]
    votes = votes_from_columns(
        {
            "task": _named(item, _item_names(study, item)),
            "worker": _named(user, _worker_keys(user)),
            "label": table["label"].combine_chunks().take(from_numpy(order)),
        }
    )
    workers = [key.rpartition("\t")[0] for key in votes.workers]
    votes = replace(votes, workers=workers, submitted=columns["at"][order])
    declared = state.labels[definition.name] if state else labels(definition)
    return StudyVotes(study, definition.name, declared, votes)


def _named(ids: np.ndarray, names: dict[int, str]) -> pa.Array:
    """The name of each id, as a column of text."""
    different, code = np.unique(ids, return_inverse=True)
    return from_text([names[each] for each in different.tolist()]).take(from_numpy(code))


def _item_names(study: Study, positions: np.ndarray) -> dict[int, str]:
    wanted = among("position", np.unique(positions).tolist())
    rows = study.items.filter(wanted).values_list("position", "external_id")
    return {position: name for position, name in rows if position is not None}


def _worker_keys(users: np.ndarray) -> dict[int, str]:
    """{annotator: name and number}: the number makes names distinct, and the name sorts them."""
    people = User.objects.filter(pk__in=np.unique(users).tolist()).values_list("pk", "worker")
    return {user: f"{worker_name(user, worker)}\t{user}" for user, worker in people}


def labels(definition: TaskDefinition) -> list[str]:
    """All labels that could be given in some version of the task that has been opened.

    A tie that an older version allowed stays a label: its votes are votes. Where all votes were
    imported, nobody here could give a tie or "none": they are labels where they occur.
    """
    versions = definition.study.tasks.filter(
        name=definition.name, kind=definition.kind, batches__isnull=False
    )
    configs = list(versions.values_list("config", flat=True)) or [definition.config]
    labels_of = kind_of(definition.kind).labels
    named = {label for config in configs for label in labels_of(config)}
    return sorted(named - _never_offered(definition, named), key=LABELS.index)


def _never_offered(definition: TaskDefinition, named: set[str]) -> set[str]:
    """Those of a tie and "none" that have no vote, where every vote was imported."""
    study, special = definition.study, sorted(named.intersection(NO_ANSWER))
    if not special:
        return set()
    sums = {name: Sum(f"judged_{name}") for name in special} | {"votes": Sum("judged")}
    given = items(study, definition.name).order_by().aggregate(**sums)
    unused = {name for name in special if not given[name]}
    if not unused or not given["votes"]:
        return set()
    here = Judgment.objects.filter(slot__study=study, imported=False)
    here = here.filter(slot__item__batch__task__name=definition.name)
    return set() if here.exists() else unused
