"""Passages: which places of a text are taken, by numbers as by words, and what is said of them."""

import json

import pytest
from django.http import QueryDict
from hypothesis import example, given
from hypothesis import strategies as st

from annotation.core.errors import DomainError
from annotation.questions import questions_of
from annotation.questions.base import Options, Passage, Row

TEXTS = {1: "Walk 🚶 along\nthe river.", 2: "the end, the end"}
OPTIONS = Options({1: "a", 2: "b"}, order=(2, 1), texts=TEXTS)
MARK = {"option": "a", "start": 5, "end": 6}


def question(*classes, **settings):
    asked = {"type": "passages", "name": "wrong", "classes": list(classes)} | settings
    return questions_of([asked], 2)[0]


def read(sent, *classes):
    return question(*classes).read(sent, OPTIONS, [None])


def form(**fields):
    sent = QueryDict(mutable=True)
    for name, value in fields.items():
        sent["answer-" + name.replace("_", "/")] = value
    return sent


def by_form(*classes, **fields):
    asked = question(*classes)
    return asked.read(asked.sent_by_form(form(**fields), OPTIONS), OPTIONS, [None])


def test_a_place_counts_code_points_of_the_stored_text_and_a_row_has_an_answers_passages():
    marks = [{"option": "b", "start": 0, "end": 3}, MARK | {"start": 7, "end": 13}, MARK]
    first, second = read(marks)
    assert (first.option, second.option) == (1, 2)
    assert [each.words for each in first.passages] == ["🚶", "along\n"]
    assert second == Row("wrong", option=2, passages=(Passage(0, 3),))
    assert question().exported([first, second], OPTIONS.ids) == [MARK, marks[1], marks[0]]
    assert first.columns["marks"] == [{"start": 5, "end": 6}, {"start": 7, "end": 13}]
    assert first.stated is None and question().measures(2) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"option": "c"}, "there is no answer “c”"),
        ({"option": None}, "there is no answer “None”"),
        ({"start": -1}, "within the 23 characters of its answer"),
        ({"start": 6}, "within the 23 characters"),
        ({"end": 24}, "within the 23 characters"),
        ({"end": "6"}, "within the 23 characters"),
        ({"start": True}, "within the 23 characters"),
        ({"class": "Tone"}, "“Tone” is none of its classes"),
        ({"class": ["Tone"]}, "none of its classes"),
        ({"text": 5}, "this must be text"),
        ({"text": "\ud800"}, "cannot be stored"),
        ({"text": "x" * 1001}, "at most 1000 characters"),
        ({"sign": "+"}, "a passage has no “sign”"),
    ],
)
def test_what_is_no_passage_is_refused_with_what_is_wrong(change, words):
    with pytest.raises(DomainError, match=words) as refused:
        read([MARK | change])
    assert refused.value.code == "wrong"


@pytest.mark.parametrize("sent", ["x", 5, {"a": []}, [5], [[MARK]]])
def test_an_answer_is_a_list_of_passages(sent):
    with pytest.raises(DomainError, match="give a list of passages"):
        read(sent)


def test_passages_end_with_their_text_are_no_more_than_fifty_and_have_a_class_of_the_task():
    assert read([MARK | {"start": 0, "end": 23}])[0].passages[0].words == TEXTS[1]
    several = [{"option": "a", "start": n % 23, "end": n % 23 + 1, "class": "AB"[n // 23]}
               for n in range(46)]  # fmt: skip
    more = [{"option": "b", "start": n, "end": n + 1, "class": "A"} for n in range(5)]
    assert sum(len(row.passages) for row in read(several + more[:4], "A", "B")) == 50
    with pytest.raises(DomainError, match="at most 50 passages"):
        read(several + more, "A", "B")
    with pytest.raises(DomainError, match="“” is none of its classes"):
        read([MARK], "A")
    with pytest.raises(DomainError, match="two classes have one name"):
        question("A", "A")
    with pytest.raises(DomainError, match="items with 1 answers or more"):
        questions_of([{"type": "passages", "name": "wrong"}], 0)


def test_passages_of_one_class_do_not_overlap_but_touch_and_others_may():
    def spans(*places):
        return [MARK | {"start": s, "end": e, "class": c} for s, e, c in places]

    read(spans((0, 4, "A"), (4, 8, "A"), (2, 6, "B")), "A", "B")
    for second in ((3, 8, "A"), (0, 4, "A"), (1, 2, "A")):
        with pytest.raises(DomainError, match="two passages of one class overlap"):
            read(spans((0, 4, "A"), second), "A", "B")


places = st.integers(-1, 26)
marks = st.fixed_dictionaries(
    {"option": st.sampled_from("ab"), "start": places, "end": places},
    optional={"class": st.sampled_from(["A", "B"]), "text": st.text(max_size=3)},
)


@given(st.lists(marks, max_size=5))
@example([MARK | {"class": "A"}, MARK | {"class": "B"}])
def test_what_is_taken_is_within_its_text_apart_from_its_class_and_comes_back(sent):
    asked = question("A", "B")
    try:
        rows = read(sent, "A", "B")
    except DomainError as refusal:
        assert refusal.sentence
        return
    taken: dict[tuple, set] = {}
    for row in rows:
        for each in row.passages:
            assert each.words == TEXTS[row.option][each.start : each.end] != ""
            before = taken.setdefault((row.option, each.label), set())
            assert not before & set(range(each.start, each.end))
            before |= set(range(each.start, each.end))
    assert sum(map(len, taken.values())) == sum(each["end"] - each["start"] for each in sent)
    assert asked.read(asked.exported(rows, OPTIONS.ids), OPTIONS, [None]) == rows


def test_without_a_script_a_line_has_the_words_of_a_passage_whatever_blanks_are_between():
    # Answers as shown: the first field is that of option 2.
    rows = by_form(wrong="", wrong_1="the end\r\n\r\nthe   end", wrong_2="along the river")
    assert rows == [
        Row("wrong", option=1, passages=(Passage(7, 22),)),
        Row("wrong", option=2, passages=(Passage(0, 7), Passage(9, 16))),
    ]
    (row,) = by_form("Fact", "Tone", wrong_1="tone: the end", wrong_2="")
    assert row.passages == (Passage(0, 7, "Tone"),)


@pytest.mark.parametrize(
    ("classes", "line", "words"),
    [
        ((), "the mill", "“the mill” is not in this answer, or marked already"),
        ((), "the end\nthe end\nthe end", "marked already"),
        (("Fact",), "the end", "begin each line with its class and a colon"),
        (("Fact",), "Fact: ", "begin each line with its class and a colon"),
    ],
)
def test_a_line_that_is_no_passage_is_refused(classes, line, words):
    with pytest.raises(DomainError, match=words):
        by_form(*classes, wrong_1=line)


def test_what_was_marked_keeps_its_place_and_its_remark_among_lines_and_a_lost_line_takes_it_away():
    asked = question()
    rows = read([{"option": "b", "start": 9, "end": 16, "text": "Again?"}, MARK])
    (typed,) = asked.typed(rows, OPTIONS)["answer-wrong"]
    assert json.loads(typed)[1] == {
        "option": "b", "start": 9, "end": 16, "sign": "", "comment": "Again?", "text": "the end",
    }  # fmt: skip
    shown = asked.context(form(wrong=typed), "answer-wrong", ["b", "a"])
    assert [lines for _place, _name, lines in shown["lines"]] == ["the end", "🚶"]
    assert by_form(wrong=typed, wrong_1="the end", wrong_2="🚶") == rows
    assert by_form(wrong=typed, wrong_1="", wrong_2="🚶") == rows[:1]
    assert by_form(wrong=typed) == rows


@given(st.text() | st.lists(st.dictionaries(st.sampled_from("abs"), st.none())).map(json.dumps))
@example("[" * 9999)
@example("[1]")
def test_any_text_in_the_scripts_field_is_an_answer_or_a_refusal(text):
    with pytest.raises(DomainError):
        by_form(wrong=text)
    assert question().context(form(wrong=text), "answer-wrong", ["b"])["lines"]


def test_a_row_in_words_has_its_classes_and_the_texts_words_and_remarks_stand_apart():
    asked = question({"name": "Fact", "title": "Wrong fact"})
    (row,) = asked.read([MARK | {"class": "Fact", "text": "Odd."}], OPTIONS, [None])
    assert asked.stated(row) == "Wrong fact “🚶”"
    assert asked.written(row) == ["Odd."]
