"""Agreement of a study, and tiers of its selections, derived from its votes whenever due."""

import hashlib
import json
from functools import cached_property
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Prefetch

from annotation.accounts.models import Consent
from annotation.agreement import kind_votes, reading
from annotation.agreement.models import (
    AgreementResult,
    EarlyStop,
    ItemTier,
    StoppedItem,
    TopUp,
)
from annotation.agreement.report import CONTENTS, agreement_report
from annotation.agreement.task_votes import TaskVotes
from annotation.agreement.tiers import early_stop, reserve
from annotation.agreement.tiers.rules import DEFAULT, TierRule, tiers_report
from annotation.judging.models import Batch, Item
from annotation.studies.models import Study

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


def due() -> list[tuple[Study, str]]:
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


class _State(reading.StudyState):
    """What one run of the recomputation knows of a study."""

    @cached_property
    def kinds(self) -> dict:
        """{name: newest definition} of the tasks without tiers that have votes."""
        definitions = kind_votes.newest(self.study, withdrawn=self.withdrawn)
        return {definition.name: definition for definition in definitions}

    @cached_property
    def rules(self) -> dict[str, TierRule]:
        """{name: tier rule} of the tasks of ``definitions``."""
        changed = early_stop.rules_of(self.study)
        return {name: changed.get(name, DEFAULT) for name in self.definitions}


def digests(study: Study, state: _State | None = None) -> dict[str, str]:
    """{task: digest of all that its result depends on} of the tasks that have votes.

    That is the votes, the labels that could be given, the rule, what is closed or topped up, and
    who withdrew or was excluded.
    """
    state = state or _State(study)
    excluded = study.desks.exclude(excluded_at=None).values_list("annotator", flat=True)
    shared = [state.closed, state.withdrawn, sorted(excluded)]
    changes, topped = reading.changes(study), reserve.counts(study)
    bases = {name: kind_votes.basis(definition) for name, definition in state.kinds.items()}
    for name, rule in state.rules.items():
        bases[name] = [rule.as_json(), state.labels[name], CONTENTS, topped[name]]
    digests = {}
    for task, basis in bases.items():
        text = json.dumps([state.votes[task], changes[task], *basis, *shared])
        digests[task] = hashlib.sha256(text.encode()).hexdigest()
    return digests


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
    if task in state.kinds:
        report = kind_votes.report(study, state.kinds[task])
        closed = not reserve.collecting(study, task, state.closed)
        values = {"votes": report["votes"], "closed": closed, "agreement": report, "tiers": {}}
        return _store(study, task, digest=digest, **values)
    return _with_tiers(state, task, digest)


def _with_tiers(state: _State, task: str, digest: str) -> AgreementResult:
    """Agreement and tiers of a task of selections, from its votes."""
    study, definition, rule = state.study, state.definitions[task], state.rules[task]
    collecting, topped = reserve.collecting(study, task, state.closed), reserve.topped(study, task)
    task_votes = reading.read(study, definition, state=state)
    agreement = agreement_report(task_votes.votes, declared=task_votes.declared)
    # Tens of thousands of pairs of raters are possible; their number and mean are what is shown.
    agreement["cohen_kappa"] = {
        "mean": agreement["cohen_kappa"]["mean"],
        "pairs": len(agreement["cohen_kappa"]["pairs"]),
    }
    options = len(task_votes.declared)
    tiers = tiers_report(task_votes.votes, options, rule, collecting=collecting, topped=topped)
    early_stop.stop(study, task, tiers["items"], options, rule)
    _store_tiers(study, task, tiers.pop("items"))
    values = {"agreement": agreement, "tiers": tiers, "votes": len(task_votes.votes)}
    values |= TaskVotes(study, definition, afresh=True, state=state).columns()
    return _store(study, task, digest=digest, closed=not collecting, **values)


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


def _store_tiers(study: Study, task: str, judged: list[dict]) -> None:
    """Write the tiers that are new or have changed, mostly a few of very many; drop the others'."""
    items = Item.objects.filter(study=study, batch__task__name=task)
    ItemTier.objects.filter(item__in=items.filter(done=0)).delete()
    items = items.filter(done__gt=0)
    fields = ("tier", "winner", "share", "votes")
    rows = items.values_list("external_id", "pk", *(f"tier__{field}" for field in fields))
    stored = {name: (pk, tuple(tier)) for name, pk, *tier in rows}
    fresh = []
    for item in judged:
        pk, old = stored.pop(item["task"])
        tier = (item["tier"], _winner_of(item["winner"]), item["share"], item["n"])
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


def _winner_of(label: str | None) -> int | None:
    """The canonical number of the option that won; None for none of them."""
    return int(label) if label and label.isdigit() else None
