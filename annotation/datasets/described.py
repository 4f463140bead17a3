"""What a release tells of its annotators and of what they were shown, as far as the study knows."""

from collections import Counter
from collections.abc import Mapping

from django.db.models import Sum

from annotation.core import languages
from annotation.datasets.frozen import Reading
from annotation.datasets.models import Release
from annotation.judging.models import Batch, Item, Judgment
from annotation.queries.models import Query
from annotation.studies import survey
from annotation.studies.models import Study


def pay(study: Study) -> str:
    """What people are paid, in words; "" where the study does not say."""
    if study.pay_per_hour is not None:
        return f"{study.pay_per_hour} {study.currency} an hour"
    if study.pay_per_judgment is not None:
        return f"{study.pay_per_judgment} {study.currency} a judgment"
    return ""


def annotators(reading: Reading) -> dict:
    """Of the people who judged here: their number, training, pay, and hours at the page.

    None is not known. Of imported judgments nothing is claimed.
    """
    release, here = reading.release, reading.counted.filter(imported=False)
    seconds = here.aggregate(seconds=Sum("seconds"))["seconds"]
    number = here.values("annotator").distinct().count()
    if not number:
        return {"here": 0, "training": None, "pay": None, "hours": None, "pilots": None}
    items = Item.objects.filter(
        study=release.study_id,
        batch__purpose=Batch.Purpose.TRAINING,
        batch__created_at__lte=release.as_of,
        made_for=None,
    )
    trained = Judgment.objects.filter(
        slot__study=release.study_id,
        slot__item__batch__purpose=Batch.Purpose.TRAINING,
        pk__lte=release.frozen["judgment"],
        annotator__in=here.values("annotator"),
    )
    return {
        "here": number,
        "training": {
            "items": items.count(),
            "people": trained.values("annotator").distinct().count(),
        },
        "pay": release.frozen["about"]["pay"] or None,
        "hours": None if seconds is None else round(seconds / 3600, 1),
        # No study says which of its batches was a pilot.
        "pilots": None,
    }


def material(reading: Reading, sessions: list[Counter]) -> dict:
    """Of the questions that items show: their number, scenarios and languages; of the ``sessions``
    (kinds of each owner's) that are published how many of each kind, and how many a person has.
    """
    shown = Query.objects.filter(items__in=reading.shown).distinct()
    rows = shown.values_list("pk", "scenario", "language", "text").order_by("pk")
    scenarios, spoken, number = set(), Counter(), 0
    for _pk, scenario, language, text in rows.iterator(chunk_size=2_000):
        number += 1
        scenarios.add(scenario)
        script = languages.script(text)
        spoken[language or (f"{script} script" if script else "no letters")] += 1
    about = {
        "queries": number,
        "scenarios": len(scenarios - {""}),
        "languages": dict(sorted(spoken.items())),
    }
    if held := sorted(kinds.total() for kinds in sessions if kinds):
        kinds = dict(sorted(sum(sessions, Counter()).items()))
        about["sessions"] = kinds | {"people": len(held), "fewest": held[0], "most": held[-1]}
    return about


Told = Mapping[int, Mapping[str, str]]


def people(reading: Reading) -> tuple[list[dict], dict]:
    """Rows of what people say of themselves, and what the manifest tells; [], {} without a survey.

    Which choices are not told would tell that somebody made them: how many people answered stays.
    Where an earlier release and this one together would tell of fewer than LEAST people, nothing is
    told here, and the manifest names the earlier one.
    """
    stated = reading.frozen["survey"]
    if not stated:
        return [], {}
    about = {"version": stated["version"], "least": survey.LEAST}
    rows, questions, number = _told(reading)
    if earlier := _clash(reading, rows):
        return [], about | {"told_in": earlier}
    workers = reading.workers
    told = [
        {"worker": worker, "question": question, "answer": answer}
        for worker, choices in sorted((workers[user], choices) for user, choices in rows.items())
        for question, answer in choices.items()
    ]
    shown = [
        {name: entry[name] for name in ("question", "people", "choices")}
        | {"evenness": survey.evenness(entry["choices"].values())}
        for entry in questions
    ]
    return told, about | {"people": number, "released": len(rows), "questions": shown}


def _told(reading: Reading) -> tuple[Told, list[dict], int]:
    """{annotator: what is told of them}, what is lost by question, and how many people answered."""
    stated = reading.frozen["survey"]
    everybody = {int(user): choices for user, choices in stated["answers"].items()}
    answers = {user: everybody[user] for user in everybody if user in reading.workers}
    return *survey.coarsened(stated["questions"], answers), len(answers)


def _clash(reading: Reading, rows: Told) -> int:
    """The first earlier release beside which ``rows`` would tell of too few people; 0 for none."""
    release, told = reading.release, {}
    others = Release.objects.filter(study=release.study_id, version__lt=release.version)
    others = others.exclude(status=Release.Status.FAILED).exclude(frozen__survey={})
    for other in (Reading(each, reading.alive) for each in others.order_by("version")):
        theirs = _everybody(other, _told(other)[0])
        if any(theirs.values()) and not any(few_differ(told[each], theirs) for each in told):
            told[other.release.version] = theirs
    people = _everybody(reading, rows)
    return next((version for version, before in told.items() if few_differ(before, people)), 0)


def _everybody(reading: Reading, rows: Told) -> Told:
    return {worker: rows.get(worker, {}) for worker in reading.workers}


def few_differ(before: Told, now: Told) -> bool:
    """Whether 1 to LEAST - 1 people of a group are in one of two releases alone.

    A group says the same to every question that both releases tell of; not told is an answer, too.
    What differs between the releases would be known of these people.
    """
    names = set.intersection(*({n for row in each.values() for n in row} for each in (before, now)))
    groups = [
        {user: tuple((name, row.get(name)) for name in sorted(names)) for user, row in each.items()}
        for each in (before, now)
    ]
    return bool(names) and any(
        0 < size < survey.LEAST
        for old, new in (groups, groups[::-1])
        for size in Counter(group for user, group in new.items() if old.get(user) != group).values()
    )
