"""How the scores of a study's answers on aspects go with what people chose in a release."""

from collections import defaultdict

from django.core.cache import cache
from django.db.models import Count, Max, QuerySet

from annotation.candidates.models import AspectScore
from annotation.datasets import folders
from annotation.datasets.models import Release
from annotation.evaluation import pairs, tables

CACHED_SECONDS = 24 * 3600


def tables_of(release: Release) -> dict[str, tables.Table]:
    """Table 4 ("aspects") and Figure 4 ("correlations") of a finished release of pairs.

    From the scores that were imported for the study's answers; {} where no answer of the release
    has any. They are kept until there are further scores.
    """
    if not pairs.settings(release.layout) or release.status != Release.Status.DONE:
        return {}
    rows = AspectScore.objects.filter(candidate__study=release.study_id)
    state = rows.aggregate(n=Count("pk"), last=Max("pk"))
    if not state["n"]:
        return {}
    key = f"aspects/2:{release.pk}:{state['n']}:{state['last']}"
    if (made := cache.get(key)) is None:
        made = _made(release, rows)
        cache.set(key, made, CACHED_SECONDS)
    return made


def _made(release: Release, rows: QuerySet) -> dict[str, tables.Table]:
    asked = pairs.read(folders.present(release)).pairs
    shown = {name for pair in asked for name in (pair.chosen_id, pair.reject_id)}
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    several = rows.values("aspect").annotate(n=Count("source", distinct=True)).filter(n__gt=1)
    shared = set(several.values_list("aspect", flat=True))
    columns = ("candidate__external_id", "aspect", "source", "score")
    ordered = rows.order_by("aspect", "source").values_list(*columns)
    for answer, aspect, source, score in ordered.iterator(chunk_size=10_000):
        if answer in shown:
            # Two judges' scores of one aspect are two columns.
            scores[f"{aspect} ({source})" if aspect in shared else aspect][answer] = score
    if not scores:
        return {}
    return {
        "aspects": tables.aspects(asked, scores),
        "correlations": tables.correlations(asked, scores),
    }
