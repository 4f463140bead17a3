"""Agreement of a study, and tiers of its selections, derived from its votes whenever due."""

import hashlib
import json
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Voted:
    """A task with votes and the ``digest`` of all that its result depends on.

    ``rule`` and ``labels`` (those that could be given) are of a task with tiers.
    """

    definition: TaskDefinition
    rule: TierRule | None
    labels: list[str]
    digest: str


def digests(study: Study) -> dict[str, str]:
    """{task: digest of all that its result depends on} of the tasks that have votes."""
    withdrawn, closed = counting.withdrawn_from(study), counting.closed_batches(study)
    return {name: task.digest for name, task in _voted(study, withdrawn, closed).items()}


def _voted(study: Study, withdrawn: list[int], closed: list[int]) -> dict[str, _Voted]:
    """The tasks that have votes, by name.

    Their results depend on the votes, the labels that could be given, the rule, what is ``closed``
    or topped up, and who is ``withdrawn`` or was excluded.
    """
    excluded = study.participations.exclude(excluded_at=None).values_list("annotator", flat=True)
    shared = [closed, withdrawn, sorted(excluded)]
    votes, changed = counting.voted_tasks(study, withdrawn), collection.rules_of(study)
    changes, topped = counting.changes(study), collection.counts(study)
    voted = {}
    for definition in counting.newest(study, withdrawn=withdrawn):
        name, rule, labels, basis = definition.name, None, [], []
        measure = counting.counted_measure(definition)
        if measure and counting.has_tiers(definition):
            rule, labels = changed.get(name, DEFAULT), counting.declared(definition, measure)
            basis = [rule.as_json(), labels, CONTENTS, topped[name]]
        if not kind_of(definition.kind).chooses:
            compared = counting.measures_of(definition)
            measures = [[each.name, each.level, each.labels] for each in compared]
            basis += [RULE, CONTENTS, definition.kind, measures]
        text = json.dumps([votes[name], changes[name], *basis, *shared])
        digest = hashlib.sha256(text.encode()).hexdigest()
        voted[name] = _Voted(definition, rule, labels, digest)
    return voted


@transaction.atomic
def recompute(study: Study, task: str) -> AgreementResult | None:
    """Compute agreement of ``task``, and tiers of a selection, and store them.

    None while another process recomputes the task. Where no votes are left the result is deleted.
    The result depends on the votes alone, not on their order of arrival or on what was stored
    before: a second run, or one from scratch, stores the same.
    """
    if not _alone(study, task):
        return None
    withdrawn, closed = counting.withdrawn_from(study), counting.closed_batches(study)
    # Before the votes: one that comes meanwhile makes the result due again.
    voted = _voted(study, withdrawn, closed).get(task)
    if voted is None:
        study.agreement_results.filter(task=task).delete()
        _store_tiers(study, task, [])
        return None
    collecting = collection.collecting(study, task, closed)
    values: dict[str, Any] = {"digest": voted.digest, "closed": not collecting}
    if voted.rule:
        values |= _with_tiers(voted.definition, voted.rule, voted.labels, withdrawn, collecting)
    else:
        agreement = _report(voted.definition, withdrawn)
        values |= {"agreement": agreement, "tiers": {}, "votes": agreement["votes"]}
        _store_tiers(study, task, [])
    values["agreement"] |= _proposals(voted.definition, withdrawn)
    return AgreementResult.objects.update_or_create(study=study, task=task, defaults=values)[0]


def _with_tiers(
    definition: TaskDefinition,
    rule: TierRule,
    labels: list[str],
    withdrawn: list[int],
    collecting: frozenset[str],
) -> dict[str, Any]:
    """Agreement and tiers of a task from its votes, as its result keeps them; stores the tiers."""
    study, k = definition.study, len(labels)
    board = Board(study, definition, afresh=True, withdrawn=withdrawn)
    board.counted_labels, measure = labels, board.counted
    votes = stored.task_votes(definition, measure.name, columns=board.votes, declared=labels).votes
    if measure.chooses:
        agreement = _agreement(votes, "nominal", labels)
    else:
        agreement = _report(definition, withdrawn)
    topped = collection.topped(study, definition.name)
    judged = rules.judge(votes, k, rule, collecting=collecting, topped=topped)
    tiers = report_of(judged, votes.labels, k, rule, rules.pool_kappa(votes, k, rule))
    collection.stop(study, definition.name, judged, k, rule)
    _store_tiers(study, definition.name, judged, options=measure.chooses)
    return {"agreement": agreement, "tiers": tiers, "votes": len(votes)} | board.columns()


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
