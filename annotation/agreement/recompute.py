"""Agreement of a study, and tiers of its selections, derived from its votes whenever due."""

import hashlib
import json
import logging
import time
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotation.accounts.models import Consent
from annotation.agreement import kind_votes, reading, tallies, vote_counts
from annotation.agreement.models import (
    AgreementResult,
    EarlyStop,
    ItemTier,
    StoppedItem,
    TopUp,
)
from annotation.agreement.report import CONTENTS, agreement_report
from annotation.agreement.task_votes import READ_AT_ONCE, TaskVotes
from annotation.agreement.tiers import early_stop, reserve
from annotation.agreement.tiers.rules import DEFAULT, TierRule, tiers_report
from annotation.core.sql import among
from annotation.judging.models import Batch, Item
from annotation.studies.models import Study

log = logging.getLogger(__name__)

# Single votes are read again after so many times the processor time that it took: at intervals that
# grow with the study.
CHECK_SHARE = 200
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
    for study in studies.prefetch_related("agreement_results"):
        results = study.agreement_results.all()
        stored = {result.task: result.digest for result in results}
        now = digests(study)
        tasks = {task for task in stored.keys() | now.keys() if stored.get(task) != now.get(task)}
        unchecked = (result for result in results if result.digest != result.checked)
        tasks.update(result.task for result in unchecked if result.check_passed)
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
    changes, topped = vote_counts.changes(study), reserve.counts(study)
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

    From all its votes, or, where these are very many, from counts of them until ``check_at``: then
    from the votes again, with which the figures of counts are compared.

    None while another process recomputes the task. Where no votes are left the result is deleted.
    The result depends on the votes alone, not on their order of arrival or on what was stored
    before: a second run, or one from scratch, stores the same.
    """
    if not _alone(study, task):
        return None
    stored = study.agreement_results.filter(task=task).first()
    by_counts = stored is not None and stored.current and not stored.check_passed
    if not by_counts:
        _mend(study, task)
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
        return _store(study, task, digest=digest, checked=digest, **values)
    result = None
    if stored and by_counts and state.votes[task] > READ_AT_ONCE:
        result = _from_counts(state, stored, digest)
    return result or _from_votes(state, task, digest, stored)


def _mend(study: Study, task: str) -> None:
    wrong = vote_counts.mend(study, task)
    if wrong:
        log.error("Study %s, task %s: %s counts were not its items'", study.slug, task, wrong)


def _from_counts(state: _State, stored: AgreementResult, digest: str) -> AgreementResult | None:
    """The result by ``tallies``, with the ``stored`` figures of single votes; None without any."""
    task = stored.task
    counts = tallies.read(state, state.definitions[task], state.rules[task])
    if counts is None:
        return None
    agreement = stored.agreement | counts.agreement(stored.agreement["workers"])
    groups, apart = counts.judged()
    counts.store(groups)
    _store_tiers(state.study, task, [item.as_json() for item in apart], counts.apart)
    values = {"agreement": agreement, "tiers": counts.tiers(groups, apart)}
    values |= {"votes": agreement["votes"], "closed": counts.closed}
    return _store(state.study, task, digest=digest, **values)


def _from_votes(
    state: _State, task: str, digest: str, stored: AgreementResult | None
) -> AgreementResult:
    """The result by single votes, compared with that of counts where there are very many."""
    begin = time.process_time()
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
    changed = _store_tiers(study, task, tiers.pop("items"))
    values = {"agreement": agreement, "tiers": tiers, "votes": len(task_votes.votes)}
    result = _store(study, task, digest=digest, checked=digest, closed=not collecting, **values)
    TaskVotes(study, definition, afresh=True, state=state).store(result)
    differs = _differs(state, result, changed if stored and stored.digest == digest else 0)
    seconds = CHECK_SHARE * (time.process_time() - begin)
    result.check_at = timezone.now() + timedelta(seconds=seconds)
    result.differed_at = timezone.now() if differs else None
    result.save(update_fields=["check_at", "differed_at"])
    return result


def _differs(state: _State, result: AgreementResult, changed: int) -> bool:
    """Whether counts give other figures than single votes did, or gave ``changed`` other tiers."""
    study, task = state.study, result.task
    counts = None
    if result.votes > READ_AT_ONCE:
        counts = tallies.read(state, state.definitions[task], state.rules[task])
    if counts is None:
        return False
    agreement = result.agreement | counts.agreement(result.agreement["workers"])
    same = (agreement, counts.tiers(*counts.judged())) == (result.agreement, result.tiers)
    # Votes that came between the two are no reason.
    if (same and not changed) or digests(study).get(task) != result.digest:
        return False
    log.error("Study %s, task %s: counts gave other figures than votes", study.slug, task)
    return True


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


def _store_tiers(
    study: Study, task: str, judged: list[dict], only: list[UUID] | None = None
) -> int:
    """Write the tiers that are new or have changed, mostly a few of very many; drop the others'.

    Those of all items of the task, or of ``only`` some. Returns how many were not as stored.
    """
    items = Item.objects.filter(study=study, batch__task__name=task)
    ItemTier.objects.filter(item__in=items.filter(done=0)).delete()
    items = items.filter(done__gt=0) if only is None else items.filter(among("pk", only))
    fields = ("tier", "winner", "share", "votes")
    rows = items.values_list("external_id", "pk", *(f"tier__{field}" for field in fields))
    stored = {name: (pk, tuple(tier)) for name, pk, *tier in rows}
    fresh = []
    for item in judged:
        pk, old = stored.pop(item["task"])
        tier = (item["tier"], tallies.winner_of(item["winner"]), item["share"], item["n"])
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
    return len(fresh) + len(unjudged)
