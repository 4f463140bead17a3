"""Agreement and tiers of a study, derived from its votes whenever they are due."""

from django.db import transaction

from annotation.agreement import reading
from annotation.agreement.models import AgreementResult, ItemTier
from annotation.agreement.report import agreement_report
from annotation.agreement.tiers import tiers_report
from annotation.judging.models import Item
from annotation.studies.models import Study


def due() -> list[tuple[Study, str]]:
    """(study, task name) of every result that no longer matches the votes there are."""
    found = []
    for study in Study.objects.exclude(items=None).prefetch_related("agreement_results"):
        closed = is_closed(study)
        known = {one.task: (one.votes, one.closed) for one in study.agreement_results.all()}
        found += [
            (study, task)
            for task, votes in reading.voted_tasks(study).items()
            if known.get(task) != (votes, closed)
        ]
    return found


@transaction.atomic
def recompute(study, task: str) -> AgreementResult:
    """Compute agreement and tiers of ``task`` from all its votes and store them.

    The result depends on the votes alone, not on their order of arrival or on what was stored
    before: a second run, or one from scratch, stores the same.
    """
    # One at a time for a study; judging does not wait for this lock.
    Study.objects.select_for_update(of=["self"], no_key=True).get(pk=study.pk)
    known = reading.study_votes(study.slug, task)
    closed = is_closed(study)
    agreement = agreement_report(known.votes, declared=known.declared)
    # Tens of thousands of pairs of raters are possible; their number and mean are what is shown.
    agreement["cohen_kappa"] = {
        "mean": agreement["cohen_kappa"]["mean"],
        "pairs": len(agreement["cohen_kappa"]["pairs"]),
    }
    tiers = tiers_report(known.votes, len(known.declared), closed=closed)
    _store_tiers(study, known.task, tiers.pop("items"))
    result, _ = AgreementResult.objects.update_or_create(
        study=study,
        task=known.task,
        defaults={
            "votes": len(known.votes),
            "closed": closed,
            "agreement": agreement,
            "tiers": tiers,
        },
    )
    return result


def _store_tiers(study, task: str, judged: list[dict]) -> None:
    """Write the tiers that are not stored yet or have changed: mostly a few of very many."""
    stored = {
        name: (pk, tuple(tier))
        for name, pk, *tier in Item.objects.filter(
            study=study, batch__task__name=task, done__gt=0
        ).values_list(
            "external_id", "pk", "tier__tier", "tier__winner", "tier__share", "tier__votes"
        )
    }
    fresh = []
    for item in judged:
        pk, known = stored[item["task"]]
        winner = int(item["winner"]) if (item["winner"] or "").isdigit() else None
        tier = (item["tier"], winner, item["share"], item["n"])
        if tier != known:
            columns = zip(("tier", "winner", "share", "votes"), tier, strict=True)
            fresh.append(ItemTier(item_id=pk, **dict(columns)))
    ItemTier.objects.bulk_create(
        fresh,
        batch_size=5000,
        update_conflicts=True,
        unique_fields=["item"],
        update_fields=["tier", "winner", "share", "votes"],
    )


def is_closed(study) -> bool:
    """Whether collection is over: then items with 7 or 8 votes are judged too (rule 6.6, 2)."""
    return study.status == Study.Status.CLOSED or not study.batches.filter(closed_at=None).exists()
