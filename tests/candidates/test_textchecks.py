import pytest

from annotation.candidates import textchecks

QUESTION = "Where shall I walk on a quiet Sunday morning?"
CALM = "Take the river path before the town wakes up."


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (CALM, []),
        ("", ["empty"]),
        ("As ChatGPT I suggest the river path.", ["identity"]),
        ("Mina would enjoy the river path on Sundays.", ["third-person"]),
        ("The user likes the river path on Sundays.", ["third-person"]),
        ("清晨沿着河边的小路走一走，趁小镇还没有醒来的时候。", ["language"]),
        ("Since you dislike crowded places, walk early.", ["mention"]),
    ],
)
def test_what_is_looked_at_before_people_see_an_answer(text, codes):
    found = textchecks.check(
        text, question=QUESTION, name="Mina Park", attributes=["Dislikes crowded places"]
    )
    assert [code for code in found if code != "mention"] == [c for c in codes if c != "mention"]


def test_an_explicit_mention_is_noted_and_holds_nothing_back():
    assert textchecks.check(
        "You prefer night trains: take one.",
        question=QUESTION,
        attributes=["prefer night trains"],
    ) == ["mention"]
    assert "mention" not in textchecks.HOLDING
    assert "mention" not in textchecks.REASONS


def test_what_the_question_names_itself_is_no_third_person():
    assert not textchecks.third_person("Mina likes tea.", "What does Mina like?", "Mina Park")


def test_lengths_are_compared_with_enough_others():
    assert not textchecks.outlier(500, [50, 60, 55])
    assert textchecks.outlier(500, [50, 60, 55, 52])
    assert textchecks.outlier(10, [50, 60, 55, 52])
    assert not textchecks.outlier(200, [50, 50, 50, 50])
