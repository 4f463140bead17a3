"""Agreement of a study, and tiers of its selections, derived from its votes whenever due."""

import hashlib
import json
from functools import cached_property
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Prefetch

from annotation.accounts.models import Consent
from annotation.agreement.board import Board
from annotation.agreement.models import (
    AgreementResult,
    EarlyStop,
    ItemTier,
    StoppedItem,
    TopUp,
)
from annotation.agreement.report import CONTENTS, agreement_report, report_of_numbers
from annotation.agreement.statistics import correlation
from annotation.agreement.statistics.tiers import DEFAULT, Judged, TierRule, report_of
from annotation.agreement.tiers import collection, rules
from annotation.judging.kinds import kind_of
from annotation.judging.models import Batch, Item
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting, stored
from annotation.votes.stored import rankings_of
from annotation.votes.table import Votes

# What is computed of tasks without tiers; a change is a new version.
RULE = {"name": "agreement-by-kind", "version": "1"}
# The tables that ``digests`` reads. The second view has what this connection has not reported yet.
_CHANGES = """
    SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint
    FROM (
        SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables
        UNION ALL
        SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_user_tables
    ) AS counts
    WHERE relname = ANY(%s) AND current_setting('track_counts')::boolean
"""
_SOURCES = [
    model._meta.db_table
    for app in ("judging", "studies")
    for model in apps.get_app_config(app).get_models()
] + [model._meta.db_table for model in (Consent, AgreementResult, TopUp, EarlyStop, StoppedItem)]


def changes() -> int | None:
    """How many rows that results depend on were ever written, as PostgreSQL's statistics count.

    The number of a connection's last changes may come some seconds late. None where PostgreSQL
    does not count.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CHANGES, [_SOURCES])
        return cursor.fetchone()[0]


def results_due() -> list[tuple[Study, str]]:
    """(study, task name) of every result that no longer matches what it was computed from."""
    due = []
    batches = Batch.objects.filter(study=OuterRef("pk"))
    studies = Study.objects.filter(Exists(batches)).order_by("pk")
    # Without what pages are drawn from, which can be megabytes.
    digests_of = Prefetch(
        "agreement_results", AgreementResult.objects.only("study", "task", "digest")
    )
    for study in studies.prefetch_related(digests_of):
        stored = {result.task: result.digest for result in study.agreement_results.all()}
        now = digests(study)
        tasks = {task for task in stored.keys() | now.keys() if stored.get(task) != now.get(task)}
        due += [(study, task) for task in sorted(tasks)]
    return due


class _State:
    """What results of a study depend on beside single votes; each part is read once a run."""

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def withdrawn(self) -> list[int]:
        return counting.withdrawn_from(self.study)

    @cached_property
    def closed(self) -> list[int]:
        return counting.closed_batches(self.study)

    @cached_property
    def votes(self) -> dict[str, int]:
        """{name: votes} of the tasks of every kind."""
        return counting.voted_tasks(self.study, self.withdrawn, with_tiers=False)

    @cached_property
    def tiered(self) -> dict[str, TaskDefinition]:
        """{name: newest definition} of the tasks with tiers that have votes."""
        return {task.name: task for task in counting.newest(self.study, self.votes)}

    @cached_property
    def others(self) -> dict[str, TaskDefinition]:
        """{name: newest definition with votes} of the tasks without tiers."""
        tasks = counting.newest_judged(self.study, withdrawn=self.withdrawn)
        return {task.name: task for task in tasks}

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """{name: labels that could be given} of the tasks with tiers."""
        return {
            name: counting.declared(task, measure)
            for name, task in self.tiered.items()
            if (measure := counting.counted_measure(task))
        }

    @cached_property
    def rules(self) -> dict[str, TierRule]:
        """{name: tier rule} of the tasks with tiers."""
        changed = collection.rules_of(self.study)
        return {name: changed.get(name, DEFAULT) for name in self.tiered}


def digests(study: Study, state: _State | None = None) -> dict[str, str]:
    """{task: digest of all that its result depends on} of the tasks that have votes.

    That is the votes, the labels that could be given, the rule, what is closed or topped up, and
    who withdrew or was excluded.
    """
    state = state or _State(study)
    excluded = study.desks.exclude(excluded_at=None).values_list("annotator", flat=True)
    shared = [state.closed, state.withdrawn, sorted(excluded)]
    changes, topped = counting.changes(study), collection.counts(study)
    bases = {name: _basis(definition) for name, definition in state.others.items()}
    for name, rule in state.rules.items():
        bases[name] = [rule.as_json(), state.labels[name], CONTENTS, topped[name]]
        if not kind_of(state.tiered[name].kind).chooses:
            bases[name] += _basis(state.tiered[name])
    digests = {}
    for task, basis in bases.items():
        text = json.dumps([state.votes[task], changes[task], *basis, *shared])
        digests[task] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def _basis(definition: TaskDefinition) -> list:
    """The values that the report of a task without tiers depends on, apart from its judgments."""
    measures = [[each.name, each.level, each.labels] for each in counting.measures_of(definition)]
    return [RULE, CONTENTS, definition.kind, measures]


@transaction.atomic
def recompute(study: Study, task: str) -> AgreementResult | None:
    """Compute agreement of ``task``, and tiers of a selection, and store them.

    None while another process recomputes the task. Where no votes are left the result is deleted.
    The result depends on the votes alone, not on their order of arrival or on what was stored
    before: a second run, or one from scratch, stores the same.
    """
    if not _alone(study, task):
        return None
    state = _State(study)
    # Before the votes: one that comes meanwhile makes the result due again.
    digest = digests(study, state).get(task)
    if digest is None:
        study.agreement_results.filter(task=task).delete()
        _store_tiers(study, task, [])
        return None
    if task in state.others:
        report = _report(state.others[task], state.withdrawn)
        closed = not collection.collecting(study, task, state.closed)
        report |= _proposals(state.others[task], state.withdrawn)
        values = {"votes": report["votes"], "closed": closed, "agreement": report, "tiers": {}}
        _store_tiers(study, task, [])
        return _store(study, task, digest=digest, **values)
    return _with_tiers(state, task, digest)


def _with_tiers(state: _State, task: str, digest: str) -> AgreementResult:
    """Agreement of a task, and tiers by its counted question, from its votes."""
    study, definition, rule = state.study, state.tiered[task], state.rules[task]
    collecting, topped = (
        collection.collecting(study, task, state.closed),
        collection.topped(study, task),
    )
    board = Board(study, definition, afresh=True, withdrawn=state.withdrawn)
    board.counted_labels = labels = state.labels[task]
    measure, k = board.counted, len(labels)
    read = stored.task_votes(definition, measure.name, columns=board.votes, declared=labels)
    votes = read.votes
    if measure.chooses:
        agreement = _agreement(votes, "nominal", labels)
    else:
        agreement = _report(definition, state.withdrawn)
    agreement |= _proposals(definition, state.withdrawn)
    judged = rules.judge(votes, k, rule, collecting=collecting, topped=topped)
    tiers = report_of(judged, votes.labels, k, rule, rules.pool_kappa(votes, k, rule))
    collection.stop(study, task, judged, k, rule)
    _store_tiers(study, task, judged, options=measure.chooses)
    values = {"agreement": agreement, "tiers": tiers, "votes": len(votes)} | board.columns()
    return _store(study, task, digest=digest, closed=not collecting, **values)


def _agreement(votes: Votes, level: str, labels: list[str]) -> dict:
    if level == "interval":
        return report_of_numbers(votes)
    report = agreement_report(votes, level, labels)
    # Tens of thousands of pairs of raters are possible; their number and mean are what is shown.
    cohen = report["cohen_kappa"]
    report["cohen_kappa"] = {"mean": cohen["mean"], "pairs": len(cohen["pairs"])}
    return report


def _report(definition: TaskDefinition, withdrawn: list[int]) -> dict:
    """Agreement on a task without tiers, for storing.

    ``items``, ``votes`` (judgments) and ``workers``; with "level" and "rule" and what
    ``report.agreement_report`` has them; of several measures under "criteria" for each that was
    answered, with its own "level". Answers that are one person's own have no agreement.
    """
    judgments = counting.votes_of(definition, withdrawn=withdrawn)
    counts = judgments.aggregate(
        items=Count("slot__item", distinct=True),
        votes=Count("pk"),
        workers=Count("annotator", distinct=True),
    )
    measures = counting.measures_of(definition)
    if not measures:
        return counts
    head = {"level": measures[0].level, "rule": RULE} | counts
    if not measures[0].name:
        return head | _of_measure(definition, measures[0], withdrawn)
    questions = judgments.order_by().values_list("answers__question", flat=True).distinct()
    answered = set(questions)
    parts = {
        # JSON's keys have no order: the place of each is kept.
        each.name: {"level": each.level, "place": place} | _of_measure(definition, each, withdrawn)
        for place, each in enumerate(measures)
        if each.question in answered
    }
    return head | {"criteria": parts}


def _proposals(definition: TaskDefinition, withdrawn: list[int]) -> dict:
    """How many judgments of a task with pre-filled answers began from a proposal, and alpha on what
    is counted without them (None where it is undefined); {} of other tasks.
    """
    if not counting.proposes(definition.study, definition.name):
        return {}
    measures, alpha = counting.measures_of(definition), {}
    if measures and measures[0].level != "ranks":
        columns = stored.read(definition, measures[0], withdrawn=withdrawn, proposed=False)
        if len(columns):
            votes = stored.task_votes(definition, measures[0].name, columns=columns)
            report = _agreement(votes.votes, votes.level, votes.declared)
            alpha = report["krippendorff_alpha"][votes.level]
    judgments = counting.votes_of(definition, withdrawn=withdrawn)
    began = judgments.exclude(proposal__isnull=True).count()
    return {"proposals": {"judgments": began, "alpha": alpha.get("value")}}


def _of_measure(definition: TaskDefinition, measure: Measure, withdrawn: list[int]) -> dict:
    columns = stored.read(definition, measure, withdrawn=withdrawn)
    if measure.level == "ranks":
        return correlation.concordance_report([places for _item, places in rankings_of(columns)])
    votes = stored.task_votes(definition, measure.name, columns=columns)
    report = _agreement(votes.votes, votes.level, votes.declared)
    return report if counting.is_numbered(measure) else report | {"classes": list(measure.labels)}


def _store(study: Study, task: str, **values: Any) -> AgreementResult:
    result, _ = AgreementResult.objects.update_or_create(study=study, task=task, defaults=values)
    return result


def _alone(study: Study, task: str) -> bool:
    """Take the task's lock until the transaction ends; False where another process has it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))",
            [f"recompute {study.pk} {task}"],
        )
        return cursor.fetchone()[0]


def _store_tiers(study: Study, task: str, judged: list[Judged], *, options: bool = False) -> None:
    """Write the tiers that are new or have changed, mostly a few of very many; drop the others'.

    ``options``: labels are numbers of options, of which one may have won.
    """
    items = Item.objects.filter(study=study, batch__task__name=task)
    ItemTier.objects.filter(item__in=items.filter(done=0)).delete()
    items = items.filter(done__gt=0)
    fields = ("tier", "winner", "share", "votes")
    rows = items.values_list("external_id", "pk", *(f"tier__{field}" for field in fields))
    stored = {name: (pk, tuple(tier)) for name, pk, *tier in rows}
    fresh = []
    for item in judged:
        pk, old = stored.pop(item.task)
        winner = int(item.winner) if options and item.winner and item.winner.isdigit() else None
        tier = (item.tier, winner, float(item.share), item.n)
        if tier != old:
            fresh.append(ItemTier(item_id=pk, **dict(zip(fields, tier, strict=True))))
    unjudged = [pk for pk, old in stored.values() if old[0]]
    ItemTier.objects.filter(item__in=unjudged).delete()
    ItemTier.objects.bulk_create(
        fresh,
        batch_size=5000,
        update_conflicts=True,
        unique_fields=["item"],
        update_fields=fields,
    )
