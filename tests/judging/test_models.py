"""What the table of answers refuses, whoever writes to it."""

import pytest
from django.db import IntegrityError, transaction

from annotation.judging.models import Answer, Judgment
from annotation.judging.work import queue, submit


@pytest.fixture
def judgment(cast, tea, ann):
    """Ann's judgment of one item: she chose the first answer."""
    cast.open(tea, options=2)
    slot = tea.slots.get(pk=queue.claim(tea, ann))
    chosen = slot.item.options.get(number=1).candidate_id
    submit.submit(tea, slot.pk, ann, {"choice": str(chosen)}, key="k")
    return Judgment.objects.get()


def refused(**answer) -> str:
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        Answer.objects.create(**answer)
    return error.value.__cause__.diag.constraint_name


def test_a_question_about_one_thing_is_answered_once(judgment):
    again = {"judgment": judgment, "question": "choice", "label": "2"}
    assert refused(**again) == "one_answer_a_question"
    for number in (1, 2):
        judgment.answers.create(question="Tone", option=number, value=5)
    assert refused(judgment=judgment, question="Tone", option=2, value=1) == "one_answer_a_question"
    judgment.answers.create(question="claims", part=7, label="keep")
    assert refused(judgment=judgment, question="claims", part=7, label="drop") == (
        "one_answer_a_question"
    )
    assert judgment.answers.count() == 4


def test_an_answer_says_something(judgment):
    empty = {"judgment": judgment, "question": "why"}
    assert refused(**empty) == "answer_says_something"
    for said in ({"value": 0}, {"label": "1"}, {"text": "It fits."}, {"chips": ["Short"]}):
        judgment.answers.create(question=f"why {said}", **said)
