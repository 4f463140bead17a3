"""A study with items of any kind of judgment, for the tests of the judging page."""

from annotation.candidates.models import Candidate
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.models import Desk
from annotation.personas.models import Attribute, Evidence
from annotation.queries.models import GoldClaim, GoldResponse
from annotation.studies.models import TaskDefinition
from tests.browser.texts import LONG, MIXED, NEED, PROFILE, QUERY

ALL = tuple(KINDS)
ANSWERS = (LONG, "Yes.", MIXED, LONG[:900], MIXED[:300])
CONVERSATION = [
    {"role": "user", "text": "Find me a night train to Vienna. I **never** fly."},
    {"role": "assistant", "text": MIXED},
]
CLAIMS = ("Tram 2 goes to the river.", "The walk takes five minutes.", "The house is lovely.")


def open_kind(cast, study, kind: str, *, name="", items: int = 2, overlap: int = 9, **config):
    """Open ``items`` items of ``kind`` in ``study``; nobody is shown the tour. The task.

    It is called ``name``, or as its kind is.
    """
    full = kind_of(kind).check_config(config)
    task = TaskDefinition.objects.create(
        study=study, name=name or kind, kind=kind, overlap=overlap, config=full, guideline=MIXED
    )
    persona = cast.persona(study, f"of-{kind}", **PROFILE)
    for n in range(items):
        attribute = Attribute.objects.create(
            persona=persona, external_id=f"{kind}-a{n}", text=f"Prefers trains to planes ({n})."
        )
        Evidence.objects.create(attribute=attribute, messages=CONVERSATION)
        # In a relevance task every attribute goes with every query: one query will do.
        if kind != "attribute" and not (kind == "relevance" and n):
            _asked(cast, study, persona, f"{kind}-q{n}", full.get("options", 0))
    open_batch(study, task)
    tour_is_over(study)
    return task


def _asked(cast, study, persona, name: str, options: int) -> None:
    query = cast.query(study, name, persona, text=QUERY, need=NEED)
    for candidate, text in zip(cast.candidates(query, options), ANSWERS, strict=False):
        Candidate.objects.filter(pk=candidate.pk).update(
            text=f"{text}\n\nThis is {candidate.external_id}."
        )
    gold = GoldResponse.objects.create(query=query, text=MIXED)
    for number, text in enumerate(CLAIMS, start=1):
        GoldClaim.objects.create(response=gold, number=number, text=text)


def tour_is_over(study) -> None:
    """Everybody in ``study`` has seen every tour."""
    names = list(study.tasks.values_list("name", flat=True).distinct())
    for member in study.memberships.filter(role="annotator"):
        Desk.objects.update_or_create(
            study=study, annotator=member.user, defaults={"toured": names}
        )
