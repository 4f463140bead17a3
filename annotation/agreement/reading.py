"""A study's stored judgments as votes: the way from rows to the pure statistics."""

from dataclasses import dataclass, replace

from django.db.models import Count, F, Sum, Window

from annotation.accounts.models import Consent
from annotation.agreement import tiers
from annotation.agreement.votes import Votes, VotesError, votes_from_columns
from annotation.judging.models import Selection
from annotation.studies.models import Study

LABELS = ("1", "2", "3", "tie", "none")


@dataclass(frozen=True)
class StudyVotes:
    """Votes of one task of a study; ``declared`` are all labels that annotators could give."""

    study: Study
    task: str
    declared: list[str]
    votes: Votes


def voted_tasks(study) -> dict[str, int]:
    """Names of the study's tasks that have votes, with their number of votes, in order of name.

    Votes of people who left do not count.
    """
    rows = study.items.values_list("batch__task__name").annotate(n=Sum("done"))
    left = left_out(study)
    votes = {name: n - left.get(name, 0) for name, n in rows.order_by("batch__task__name")}
    return {name: n for name, n in votes.items() if n}


def withdrawn_from(study) -> list[int]:
    """Ids of everybody who took their consent to the study back and has not given it again."""
    if study.consent_text is None:
        return []
    given = Consent.objects.filter(text__name=study.consent_text.name)
    standing = given.filter(withdrawn_at=None)
    left = given.exclude(user__in=standing.values("user"))
    return sorted(left.values_list("user", flat=True).distinct())


def left_out(study) -> dict[str, int]:
    """{task: votes of people who withdrew their consent}, which nothing is computed from."""
    withdrawn = withdrawn_from(study)
    if not withdrawn:
        return {}
    found = Selection.objects.filter(slot__study=study, annotator__in=withdrawn)
    return dict(found.values_list("slot__item__batch__task__name").annotate(n=Count("pk")))


def closed_batches(study) -> list[int]:
    """Ids of the batches that take no new judgments: all of them once the study is closed."""
    found = study.batches.order_by("pk")
    if study.status != Study.Status.CLOSED:
        found = found.exclude(closed_at=None)
    return list(found.values_list("pk", flat=True))


def collecting(study, task: str) -> frozenset[str]:
    """The task's items, by their own ids, that still wait for votes (``tiers.is_closed``)."""
    closed = set(closed_batches(study))
    rows = study.items.filter(batch__task__name=task)
    return frozenset(
        name
        for name, done, overlap, batch in rows.values_list(
            "external_id", "done", "overlap", "batch_id"
        ).iterator(chunk_size=20_000)
        if not tiers.is_closed(done, overlap, batch in closed)
    )


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
    definitions = {}
    for definition in study.tasks.filter(name__in=[task] if task else named).order_by("version"):
        definitions[definition.name] = definition
    if not definitions:
        raise VotesError(f"Study “{slug}” has no votes yet.")
    chosen = min(definitions.values(), key=lambda one: (one.config["options"], one.name))
    return read(study, chosen)


def selections(study, task: str, last: int | None = None):
    """The judgments of a task, of all its versions; only of items placed up to ``last``.

    Those of people who withdrew their consent are left out.
    """
    found = Selection.objects.filter(slot__study=study, slot__item__batch__task__name=task)
    found = found.exclude(annotator__in=withdrawn_from(study))
    return found if last is None else found.filter(slot__item__position__lte=last)


def last_position(study, task: str, most: int) -> int | None:
    """Place of the last item whose votes, with those of all before it, are ``most`` or fewer.

    None where all the task's votes are: whole items are read or left out, so that what is left
    out has nothing to do with how its votes fell.
    """
    items = study.items.filter(batch__task__name=task)
    if (items.aggregate(n=Sum("done"))["n"] or 0) <= most:
        return None
    upto = items.annotate(upto=Window(Sum("done"), order_by=F("position").asc()))
    within = upto.filter(upto__lte=most).order_by("-position")
    return within.values_list("position", flat=True).first() or 0


def worker_name(user: int, worker: str | None) -> str:
    """Name of an annotator in tables: the imported worker's id, or ``user-<n>``.

    An imported id that begins with ``user-`` gets its own account's number appended, so that no
    two people of a study share a name.
    """
    name = worker.partition(":")[2] if worker else ""
    return f"{name} (user-{user})" if name.startswith("user-") else name or f"user-{user}"


def read(study, definition, last: int | None = None) -> StudyVotes:
    """Read the votes of the task ``definition`` and of its other versions.

    ``last`` leaves out the items placed after it.
    """
    rows = (
        selections(study, definition.name, last)
        .order_by("slot__item__external_id", "submitted_at", "pk")
        .values_list(
            "slot__item__external_id",
            "annotator_id",
            "annotator__worker",
            "outcome",
            "choice__number",
            "submitted_at",
        )
    )
    columns = {name: [] for name in ("task", "worker", "label", "submitted_at")}
    for item, user, worker, outcome, number, at in rows.iterator(chunk_size=20_000):
        columns["task"].append(item)
        # The number tells people apart; the name before it puts them in order of name.
        columns["worker"].append(f"{worker_name(user, worker)}\t{user}")
        columns["label"].append(str(number) if number else outcome)
        columns["submitted_at"].append(at.isoformat())
    votes = votes_from_columns(columns)
    votes = replace(votes, workers=[key.rpartition("\t")[0] for key in votes.workers])
    return StudyVotes(study, definition.name, labels(definition), votes)


def labels(definition) -> list[str]:
    """All labels that could be given in some version of the task that has been opened.

    A tie that an older version allowed stays a label: its votes are votes.
    """
    versions = definition.study.tasks.filter(name=definition.name, batches__isnull=False)
    configs = list(versions.values_list("config", flat=True)) or [definition.config]
    found = {label for config in configs for label in declared(config)}
    return sorted(found, key=LABELS.index)


def declared(config: dict) -> list[str]:
    """All labels of a selection task: its options' numbers, and tie and none where allowed."""
    options = [str(number) for number in range(1, config["options"] + 1)]
    return options + [name for name in ("tie", "none") if config[name]]
