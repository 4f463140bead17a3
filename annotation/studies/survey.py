"""What people of a study say about themselves: asked once, skippable, released only in groups."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from math import log

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.studies import crowd
from annotation.studies.models import Membership, Study, Survey, SurveyAnswer

# The fewest people that anything is told of.
LEAST = 5
QUESTIONS, CHOICES, LONGEST = 20, 30, 200
Answers = Mapping[str, str]

# Sent in the transaction in which ``user`` takes back what they said, with ``study`` and ``user``.
taken_back = Signal()


def read_questions(text: str) -> list[dict]:
    """Questions of lines "question | choice | choice"; DomainError with the first line at fault."""
    rows = [[part.strip() for part in line.split("|")] for line in text.splitlines()]
    questions = [{"question": first, "choices": choices} for first, *choices in rows if first]
    if len(questions) > QUESTIONS:
        raise DomainError(_("A survey has %d questions at most.") % QUESTIONS)
    if len({entry["question"] for entry in questions}) < len(questions):
        raise DomainError(_("A question stands there twice."))
    for entry in questions:
        choices = entry["choices"]
        if not 2 <= len(set(choices)) == len(choices) <= CHOICES:
            words = _("“%(question)s” needs 2 to %(n)d different choices.")
            raise DomainError(words % {"question": entry["question"][:60], "n": CHOICES})
        if not all(choices) or max(map(len, [entry["question"], *choices])) > LONGEST:
            raise DomainError(_("Questions and choices have 1 to %d characters.") % LONGEST)
    return questions


def as_json(study: Study, *, by_people: bool) -> dict:
    """The survey as API and command tell it; ``by_people`` with what a release tells."""
    survey = current(study)
    if survey is None:
        return {"version": None, "questions": []}
    about = {name: getattr(survey, name) for name in ("version", "questions")}
    about["consent"] = survey.consent_text.body
    return about | (summary(survey) if by_people else {})


def as_form(survey: Survey | None) -> dict[str, str]:
    """The lines that ``read_questions`` reads, and the consent text; {} without a survey."""
    if survey is None:
        return {}
    lines = (" | ".join([row["question"], *row["choices"]]) for row in survey.questions)
    return {"questions": "\n".join(lines), "consent": survey.consent_text.body}


def current(study: Study) -> Survey | None:
    """The newest version; None where the study asks nothing."""
    newest = study.surveys.select_related("consent_text").order_by("-version").first()
    return newest if newest and newest.questions else None


@transaction.atomic
def publish(study: Study, questions: list[dict], text: str, *, by: User | None) -> Survey | None:
    """Ask ``questions`` from now on, under the consent ``text``; [] ends the survey.

    What differs is a new version, which people are asked anew. Raises DomainError without a text.
    """
    if questions and not text.strip():
        raise DomainError(_("Say what people agree to who answer: the survey has its own consent."))
    newest = study.surveys.order_by("-version").first()
    agreed = consent.publish(f"{study.slug}/survey", text)
    asked = (questions, agreed.pk)
    if (newest and (newest.questions, newest.consent_text_id) == asked) or not (
        newest or questions
    ):
        return current(study)
    version = newest.version + 1 if newest else 1
    survey = study.surveys.create(version=version, questions=questions, consent_text=agreed)
    audit.record(by, "survey.publish", survey, version=version)
    return current(study)


def answer(survey: Survey, user: User, choices: Answers) -> None:
    """Store what ``user`` chose and their consent; {} skips it. Raises DomainError.

    Conflict (code "full") where a group that ``user`` names has all the people the study takes:
    then nothing is stored, and the membership ends, unless there is work of theirs already.
    """
    try:
        _store(survey, user, choices)
    except Conflict:
        Membership.objects.filter(study=survey.study, user=user).update(left_at=timezone.now())
        if entry := crowd.entry_of(user, survey.study):  # its place is another's
            crowd.give_back(entry)
        audit.record(user, "survey.full", survey)
        raise


@transaction.atomic
def _store(survey: Survey, user: User, choices: Answers) -> None:
    offered = {entry["question"]: entry["choices"] for entry in survey.questions}
    answers = {question: choice for question, choice in choices.items() if choice}
    for question, choice in answers.items():
        if choice not in offered.get(question, ()):
            raise DomainError(_("“%s” is none of the choices.") % choice[:60])
    _refuse_full(survey, user, answers)
    if answers:
        consent.grant(user, survey.consent_text)
        audit.record(user, "consent.grant", survey.consent_text)
    SurveyAnswer.objects.update_or_create(survey=survey, user=user, defaults={"answers": answers})


def _refuse_full(survey: Survey, user: User, answers: Answers) -> None:
    """Conflict where as many other members as the study takes gave one of these ``answers``."""
    # Joins take turns: the people of a group are counted.
    study = Study.objects.select_for_update(no_key=True).get(pk=survey.study_id)
    if not study.group_places or study.slots.filter(annotator=user).exists():
        return
    others = survey.answers.filter(
        user__memberships__study=study, user__memberships__left_at=None
    ).exclude(user=user)
    for question, choice in answers.items():
        if study.group_places <= others.filter(answers__contains={question: choice}).count():
            sentence = _(
                "Enough people who answered “%s” take part already. Thank you for coming: nothing "
                "of your answers is kept, and there is no work for you in this study."
            )
            raise Conflict(sentence % choice[:60], code="full")


@transaction.atomic
def take_back(study: Study, user: User, until: datetime | None = None) -> bool:
    """Delete what ``user`` said in any version (``until`` then), and end their consent to it.

    Whether they had said anything.
    """
    rows = SurveyAnswer.objects.filter(survey__study=study, user=user)
    if until:
        rows = rows.filter(answered_at__lte=until)
    if not rows.exists():
        return False
    for survey in study.surveys.select_related("consent_text"):
        consent.withdraw(user, survey.consent_text)
    rows.delete()
    audit.record(user, "survey.take_back", study)
    taken_back.send(sender=None, study=study, user=user)
    return True


def answers_of(survey: Survey) -> dict[int, Answers]:
    """{user's id: {question: choice}} of those who answered something."""
    rows = survey.answers.exclude(answers={}).values_list("user_id", "answers")
    return dict(rows)


def frozen(study: Study) -> dict:
    """What a release keeps of the survey; {} where there is none."""
    survey = current(study)
    if survey is None:
        return {}
    answers = {str(user): row for user, row in answers_of(survey).items()}
    return {"version": survey.version, "questions": survey.questions, "answers": answers}


def evenness(people: Collection[int]) -> float | None:
    """Shannon's evenness of groups of so many people, 0 to 1; None of fewer than two groups."""
    whole = sum(people)
    if len(people) < 2:
        return None
    return -sum(n / whole * log(n / whole) for n in people) / log(len(people))


def summary(survey: Survey) -> dict:
    """``people`` who answered, ``released``: of how many, and what is ``lost`` by question."""
    answers = answers_of(survey)
    released, lost = coarsened(survey.questions, answers)
    return {"people": len(answers), "released": len(released), "lost": lost}


def coarsened(
    questions: list[dict], answers: Mapping[int, Answers]
) -> tuple[dict[int, Answers], list[dict]]:
    """``answers`` so coarse that of LEAST people or more each says the same, and what is lost.

    Choices of fewer people are not told. Then whole questions are left out, the one with most
    choices first, until no combination of answers is of fewer people: not told counts as an answer.
    Lost: {"question", "people", "choices": {choice: people}, "not_told": [choice],
    "left_out": bool} of each question.
    """
    asked = [entry["question"] for entry in questions]
    every = {name: Counter(row.get(name, "") for row in answers.values()) for name in asked}
    rare = {name: _rare(counts) for name, counts in every.items()}
    rows = {
        user: {name: row[name] for name in asked if row.get(name, "") not in {"", *rare[name]}}
        for user, row in answers.items()
    }
    names = [name for name in asked if any(name in row for row in rows.values())]
    while names and _fewest(rows, names) < LEAST:
        # Of equally many choices the question asked last goes.
        names.remove(max(reversed(names), key=lambda name: len(every[name].keys() - rare[name])))
    released = {user: {name: row[name] for name in names if name in row}
                for user, row in rows.items()}  # fmt: skip
    lost = [_lost(name, every[name], rare[name], name in names) for name in asked]
    return {user: row for user, row in released.items() if row}, lost


def _fewest(rows: Mapping[int, Answers], names: list[str]) -> int:
    """Of how many people the rarest combination of answers is."""
    return min(Counter(tuple(row.get(name) for name in names) for row in rows.values()).values())


def _rare(counts: Counter) -> set[str]:
    """Choices that are not told: those of few people, and more until of LEAST or more none is."""
    rare = {choice for choice, people in counts.items() if people < LEAST}
    hidden = sum(counts[choice] for choice in rare | {""})
    for choice in sorted(counts.keys() - rare - {""}, key=lambda choice: (counts[choice], choice)):
        if not 0 < hidden < LEAST:
            break
        rare.add(choice)
        hidden += counts[choice]
    return rare


def _lost(name: str, counts: Counter, rare: set[str], released: bool) -> dict:
    choices = {choice: n for choice, n in sorted(counts.items()) if choice not in {"", *rare}}
    return {
        "question": name,
        "people": counts.total() - counts[""],
        "choices": choices if released else {},
        "not_told": sorted(rare - {""}),
        "left_out": not released,
    }
