import pytest

from annotation.candidates import clean

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
    found = clean.check(
        text, question=QUESTION, name="Mina Park", attributes=["Dislikes crowded places"]
    )
    assert [code for code in found if code != "mention"] == [c for c in codes if c != "mention"]


def test_an_explicit_mention_is_noted_and_holds_nothing_back():
    assert clean.check(
        "You prefer night trains: take one.",
        question=QUESTION,
        attributes=["prefer night trains"],
    ) == ["mention"]
    assert "mention" not in clean.HOLDING
    assert "mention" not in clean.REASONS


GERMAN = (
    "Nimm den Weg am Fluss entlang, bevor die Stadt erwacht. Hinter der alten Mühle beginnt ein "
    "schmaler Pfad durch die Wiesen, der auch am Wochenende leer ist. Wer mag, kehrt dann im Café "
    "am Markt ein und liest dort die Zeitung."
)
ENGLISH = (
    "Take the path by the river before the town wakes up. Behind the old mill there is a narrow "
    "way through the meadows, which is empty even on a weekend. If you like, go to the café at the "
    "market afterwards and read the paper there."
)


@pytest.mark.parametrize(
    ("text", "question", "language", "differs"),
    [
        (GERMAN, QUESTION, "en", True),
        (GERMAN, "Where is it quiet, and what should I see there?", "", True),
        (GERMAN, "Quiet walks, Sunday morning?", "", False),  # nothing says which language
        (GERMAN, "Wo kann ich sonntags in Ruhe gehen?", "de", False),
        (ENGLISH, "Wo kann ich sonntags in Ruhe gehen?", "de", True),
        (ENGLISH, "Wo kann ich sonntags in Ruhe gehen?", "", False),
        (ENGLISH, QUESTION, "English", False),
        (ENGLISH, "산책?", "ko", True),  # too short a question for its script to count
        (GERMAN.partition(".")[0], QUESTION, "en", False),  # too short to tell
        ("x = " + " + ".join(f"n{n}" for n in range(40)), QUESTION, "de", False),
    ],
)
def test_an_answer_is_in_another_language_by_script_or_by_its_english_words(
    text, question, language, differs
):
    assert clean.other_language(text, question, language) is differs


def test_what_the_question_names_itself_is_no_third_person():
    assert not clean.third_person("Mina likes tea.", "What does Mina like?", "Mina Park")


def test_lengths_are_compared_with_enough_others():
    assert not clean.outlier(500, [50, 60, 55])
    assert clean.outlier(500, [50, 60, 55, 52])
    assert clean.outlier(10, [50, 60, 55, 52])
    assert not clean.outlier(200, [50, 50, 50, 50])
