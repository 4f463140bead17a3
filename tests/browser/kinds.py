"""A study with items of any kind of judgment, for the tests of the judging page."""

from annotation.candidates.models import Candidate
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.models import Participation
from annotation.personas.models import Attribute, Evidence
from annotation.queries.models import GoldClaim, GoldResponse
from annotation.studies.models import TaskDefinition

ALL = tuple(KINDS)
# Texts that try a page: long, short, Chinese and Korean, code, a wide table.
LONG = "\n\n".join(f"**Step {n}.** " + "Walk along the river to the mill. " * 12 for n in range(20))
MIXED = """## 第一周

根据您的情况，我建议先从每天二十分钟的散步开始，然后再逐步增加强度。您喜欢安静的环境。

아침에는 가볍게 걷고 저녁에는 충분히 쉬는 것이 좋습니다. 무리하지 말고 몸의 신호에 귀를 기울이세요.

```python
def plan(day: int, minutes: int = 30) -> list[str]:
    return [f"day {day}: {what}" for what in ("walk", "read", "stretch") if minutes > len(what)]
```

| Day | Morning | Noon | Afternoon | Evening | Night | Cost |
|---|---|---|---|---|---|---|
| Monday | a slow walk | rice and greens | reading | stretching | sleep by ten | 0 |

> A plan that survives the first week survives the month.
"""
PROFILE = {
    "Occupation": "night-shift nurse " * 15,
    "Lifestyle": {"Food_Drinks": "no hazelnuts", "Sports": {"Now": "none", "Before": "swimming"}},
    "Languages": ["한국어", "一点中文"],
    "Page": "https://example.org/" + "a-long-address-without-a-space/" * 6,
}
QUERY = "I cannot sleep after a night shift. What could I do that wakes nobody? " * 4
NEED = "Something that **calms** her and fits into a small flat."
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
        Participation.objects.update_or_create(
            study=study, annotator=member.user, defaults={"toured": names}
        )
