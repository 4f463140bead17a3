"""Which items and judgments of a study count, and which labels could be given."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Length
from django.utils.translation import gettext as _

from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.kinds.files import NO_ANSWER
from annotation.judging.models import Batch, Judgment, votes_for
from annotation.questions.base import SCALES, Measure
from annotation.studies.access import withdrawn_from
from annotation.studies.models import Study, TaskDefinition

# The task of two answers that audits the easy tier: its items give no pairs.
AUDIT_TASK = "easy-audit"


def items(
    study: Study,
    task: str = "",
    kind: str = "",
    withdrawn: list[int] | None = None,
    labels: Sequence[str] = (),
) -> QuerySet:
    """The items that people work on (checks are none), of one task and kind or of all.

    ``judged`` is how many votes count, ``judged_0`` … how many for each of ``labels`` of the
    counted question: the item's own counts without the votes of people who left (``withdrawn``,
    read where it is None).
    """
    rows = study.items.work()
    if task:
        rows = rows.filter(batch__task__name=task)
    if kind:
        rows = rows.filter(batch__task__kind=kind)
    gone = withdrawn_from(study) if withdrawn is None else withdrawn
    judged: Combinable = F("done")
    by_label = [votes_for(label) for label in labels]
    if _leave_votes(study, gone):
        judged = judged - _left(gone)
        questions = _counted_questions(study)
        by_label = [votes - _left(gone, label, questions)
                    for label, votes in zip(labels, by_label, strict=True)]  # fmt: skip
    counts = {f"judged_{place}": votes for place, votes in enumerate(by_label)}
    return rows.annotate(judged=judged, **counts)


def _counted_questions(study: Study) -> set[str]:
    questions = (kind_of(each.kind).counted_question(config_of_task(each))
                 for each in study.tasks.all())  # fmt: skip
    return {question.name for question in questions if question}


def has_tiers(task: TaskDefinition) -> bool:
    """Whether a task's items get tiers."""
    return kind_of(task.kind).has_tiers(config_of_task(task))


def proposes(study: Study, task: str = "") -> bool:
    """Whether forms of a task, of any without a name, began from a proposal in some version."""
    tasks = study.tasks.filter(config__proposal__in=("model", "earlier"))
    return (tasks.filter(name=task) if task else tasks).exists()


def proposals(study: Study, task: str, *, left_out: bool) -> dict | None:
    """How many "judgments" that count on a task began from a proposal, and whether figures leave
    them out ("left_out"); None where no form began from one.
    """
    if not proposes(study, task):
        return None
    tasks = newest(study, task)
    judgments = sum(votes_of(each).exclude(proposal__isnull=True).count() for each in tasks)
    return {"judgments": judgments, "left_out": left_out}


def said_of_proposals(study: Study, task: str, *, left_out: bool) -> str:
    """``proposals`` as a command's line, with its option; empty where there are none."""
    began = proposals(study, task, left_out=left_out)
    if not (began and began["judgments"]):
        return ""
    what = "are left out" if left_out else "are among them (--without-proposals)"
    return f"{began['judgments']} judgments began from a proposal: they {what}."


def counted_measure(task: TaskDefinition) -> Measure | None:
    """What is counted on each item of a task (``Kind.counted_question``)."""
    question = kind_of(task.kind).counted_question(config_of_task(task))
    name = question.name if question else None
    return next((each for each in measures_of(task) if each.question == name), None)


def tiered(study: Study, task: str) -> list[TaskDefinition]:
    """All versions with tiers of a task, the newest first."""
    versions = study.tasks.filter(name=task).order_by("-version")
    return [version for version in versions if has_tiers(version)]


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


def _left(gone: list[int], label: str = "", questions: Collection[str] = ()) -> Coalesce:
    """Number of an item's judgments by these people: of all, or of those for a label."""
    judgments: QuerySet = Judgment.objects.standing().filter(
        slot__item=OuterRef("pk"), annotator__in=gone
    )
    if label:
        stated = Q(answers__label=label)
        if label.isdecimal():
            stated |= Q(answers__label="", answers__value=int(label))
        about = {"answers__option": None, "answers__part": None}
        judgments = judgments.filter(stated, answers__question__in=questions, **about)
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
    live = totals(items(study).filter(batch__in=list(others)))
    return {name: n + sum(each[name] for each in kept.values()) for name, n in live.items()}


def voted_tasks(study: Study, withdrawn: list[int] | None = None) -> dict[str, int]:
    """Names of the study's tasks that have votes, with their number, by name.

    Votes of people who left do not count.
    """
    rows = items(study, withdrawn=withdrawn).order_by("batch__task__name")
    voted = rows.values_list("batch__task__name").annotate(n=Sum("judged"))
    return {name: n for name, n in voted if n}


def changes(study: Study) -> dict[str, list]:
    """{task: what another vote, revision, voided judgment or wanted judgment changes}."""
    rows = study.items.work().order_by("batch__task__name").values_list("batch__task__name")
    counted = rows.annotate(n=Count("pk"), votes=Sum("done"), wanted=Sum("overlap"))
    return {name: each for name, *each in counted.annotate(last=Max("last_judgment"))}


def closed_batches(study: Study) -> list[int]:
    """Ids of the batches that take no new judgments: all of them once the study is closed."""
    batches = study.batches.order_by("pk")
    if study.status != Study.Status.CLOSED:
        batches = batches.exclude(closed_at=None)
    return list(batches.values_list("pk", flat=True))


def newest(
    study: Study, task: str = "", withdrawn: list[int] | None = None
) -> list[TaskDefinition]:
    """The newest definition that has votes of each task (of ``task`` alone), in order of name.

    Choices of all versions are counted together, so theirs is the newest, with votes or without.
    """
    judged = items(study, task, withdrawn=withdrawn).filter(judged__gt=0)
    voted = list(study.tasks.filter(pk__in=judged.order_by().values("batch__task")))
    names = {version.name for version in voted}
    newest: dict[str, TaskDefinition] = {}
    for version in study.tasks.filter(name__in=names).order_by("name", "-version"):
        if version in voted or kind_of(version.kind).chooses:
            newest.setdefault(version.name, version)
    return list(newest.values())


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


def judgments_as_of(study: int, last: int, void: Collection[int] = ()) -> QuerySet[Judgment]:
    """A study's judgments as they stood at the judgment ``last``, without those ``void`` then."""
    newer = Judgment.objects.filter(replaces=OuterRef("pk"), pk__lte=last)
    rows = Judgment.objects.filter(~Exists(newer), slot__study=study, pk__lte=last)
    return rows.exclude(pk__in=void) if void else rows


def versions(definition: TaskDefinition) -> list[TaskDefinition]:
    """The versions of a task whose answers are compared with those of ``definition``.

    Places on another scale, or classes of another list, are not comparable. Another number of
    answers to choose from or to put in order is.
    """
    tasks = definition.study.tasks.filter(name=definition.name, kind=definition.kind)
    measures = {each.name: each for each in measures_of(definition)}
    return [
        task
        for task in tasks.order_by("version")
        if all(_comparable(each, measures.get(each.name, each)) for each in measures_of(task))
    ]


def _comparable(one: Measure, other: Measure) -> bool:
    same = one.level == other.level and one.labels == other.labels
    return same or one.level == other.level == "ranks" or (one.chooses and other.chooses)


def is_numbered(measure: Measure) -> bool:
    """Whether its labels are words without an order, or numbers already."""
    return measure.level != "ordinal" or all(label.isdecimal() for label in measure.labels)


def are_scores(measures: Sequence[Measure]) -> bool:
    """Whether these are numbers for each of some criteria, and nothing else."""
    scores = (each.name and each.level in SCALES and is_numbered(each) for each in measures)
    return bool(measures) and all(scores)


def is_one_label(measures: Sequence[Measure]) -> bool:
    """Whether an answer is one label, and not an order of answers or several of them."""
    return [each.name for each in measures] == [""] and measures[0].level != "ranks"


def scored_tasks(study: Study) -> list[TaskDefinition]:
    """The newest definition of each task whose answers are scores, in order of name."""
    tasks = study.tasks.order_by("name", "-version").distinct("name")
    return [task for task in tasks if are_scores(measures_of(task))]


def answers_chosen(
    task: TaskDefinition, measure: Measure, labels: list[str]
) -> tuple[list[str], list[int]]:
    """What each of the labels of a measure chooses, and the answer's number.

    A place on a scale from one answer to another chooses its side; 0 stands for no answer.
    """
    kind, config = kind_of(task.kind), config_of_task(task)
    choices = [str(kind.choice(label, config)) for label in labels]
    if not measure.chooses and kind.choices(config) == kind.labels(config):
        return choices, [0] * len(labels)
    return choices, [int(choice) if choice.isdecimal() else 0 for choice in choices]


def measures_of(definition: TaskDefinition) -> list[Measure]:
    """What people are compared on in a task; the first one is primary."""
    return kind_of(definition.kind).measures(config_of_task(definition))


def titles_of(definition: TaskDefinition) -> dict[str, str]:
    """{name of a question, or of what of it is compared: its words in the reader's language}."""
    asked = kind_of(definition.kind).questions(config_of_task(definition))
    # Criteria of presets are translated by their names.
    titles = {each.name: each.words if each.title else _(each.name) for each in asked if each.name}
    classes = {each.name: dict(each.choices(0)) for each in asked}
    for each in measures_of(definition):
        if each.of_class:
            words = classes[each.question].get(each.of_class, each.of_class)
            titles[each.name] = f"{titles[each.question]}: {words}"
    often = Counter(titles.values())
    # Two questions may be asked in the same words: figures by title would join them.
    return {
        name: words if often[words] == 1 else f"{words} ({name})" for name, words in titles.items()
    }


def titles_of_task(study: Study, task: str) -> dict[str, str]:
    """``titles_of`` the newest version of the task of this name; none without one."""
    newest = study.tasks.filter(name=task).order_by("-version").first()
    return titles_of(newest) if newest else {}


def votes_of(
    definition: TaskDefinition, last: int | None = None, withdrawn: list[int] | None = None
) -> QuerySet:
    """The judgments of a task that count, of ``versions``; only of items placed up to ``last``."""
    votes = judgments(definition.study, withdrawn=withdrawn).filter(
        slot__item__batch__task__in=[task.pk for task in versions(definition)]
    )
    return votes if last is None else votes.filter(slot__item__position__lte=last)


def last_position(study: Study, task: str, most: int, kind: str = "") -> int | None:
    """Place of the last item whose votes, with those of all before it, are ``most`` or fewer.

    None where all the task's votes are: whole items are read or left out, so that what is left
    out has nothing to do with how its votes fell.
    """
    if totals(items(study, task, kind))["votes"] <= most:
        return None
    rows = items(study, task, kind).filter(judged__gt=0)
    # So many items of one vote or more have all the votes that may be read.
    rows = rows.order_by("position").values_list("position", "judged")[: most + 1]
    places, votes = zip(*rows, strict=True)
    within = bisect_right(list(accumulate(votes)), most)
    return places[within - 1] if within else 0


def worker_name(user: int, worker: str | None) -> str:
    """Name of an annotator in tables: the imported worker's id, or ``user-<n>``.

    An imported id that begins with ``user-`` gets its own account's number appended, so that no
    two people of a study share a name.
    """
    name = worker.partition(":")[2] if worker else ""
    return f"{name} (user-{user})" if name.startswith("user-") else name or f"user-{user}"


def declared(definition: TaskDefinition, measure: Measure) -> list[str]:
    """All labels that could be given to a measure, in its order, in a version that was opened.

    A tie that an older version allowed stays a label: its votes are votes. Where all votes were
    imported, nobody here could give a tie or "none": they are labels where they occur.
    """
    if not measure.chooses:
        return list(measure.labels)
    tasks = definition.study.tasks.filter(name=definition.name, kind=definition.kind)
    opened = list(tasks.filter(batches__isnull=False).distinct()) or [definition]
    every = (each for task in opened for each in measures_of(task) if each.name == measure.name)
    named = {label for each in every if each.chooses for label in each.labels}
    named -= _never_offered(definition, named)
    return [*sorted(named.difference(NO_ANSWER), key=int), *(n for n in NO_ANSWER if n in named)]


def _never_offered(definition: TaskDefinition, named: set[str]) -> set[str]:
    """``never_offered`` of the labels ``named``, by the items' own counts of them."""
    study, special = definition.study, sorted(named.intersection(NO_ANSWER))
    if not special:
        return set()
    sums = {name: Sum(f"judged_{place}") for place, name in enumerate(special)}
    rows = items(study, definition.name, definition.kind, labels=special).order_by()
    given = rows.aggregate(votes=Sum("judged"), **sums)
    unused = {name for name in special if not given[name]}
    if not unused or not given["votes"]:
        return set()
    here = Judgment.objects.filter(slot__study=study, imported=False)
    here = here.filter(slot__item__batch__task__name=definition.name)
    return set() if here.exists() else unused


def never_offered(measures: list[Measure], votes: QuerySet[Judgment]) -> set[str]:
    """Those of a tie and "none" that none of the ``votes`` is for, where all were imported.

    Nobody here could give them: a file that allowed them had shown them.
    """
    if not measures or not measures[0].chooses:
        return set()
    if not votes.exists() or votes.filter(imported=False).exists():
        return set()
    special = votes.filter(answers__question=measures[0].question, answers__label__in=NO_ANSWER)
    labels = special.order_by().values_list("answers__label", flat=True).distinct()
    return set(measures[0].labels).intersection(NO_ANSWER) - set(labels)
