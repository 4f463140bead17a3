"""Types of questions: what they take, what they refuse, and that nothing is lost on the way."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.errors import DomainError
from annotation.questions import QUESTIONS_LIMIT, TYPES, questions_of, stored
from annotation.questions.base import EMPTY_ROW, Measure, Options, Row

TEXTS = {1: "Walk 🚶 along\nthe river.", 2: "the end, the end", 3: "**No**."}
ANSWERS = Options({1: "own", 2: "other", 3: "third"}, order=(3, 1, 2), texts=TEXTS)
PAIR = Options({1: "own", 2: "other"}, order=(2, 1))
VERDICT = {"type": "label", "name": "verdict", "classes": ["No", "Unsure", "Yes"]}
EVERY = [
    VERDICT | {"ordinal": True},
    VERDICT | {"about": "option"},
    VERDICT | {"several": True},
    {"type": "rating", "name": "depth", "points": 7},
    {"type": "rating", "name": "depth", "about": "option", "comment": "required", "least": 3},
    {"type": "rating", "name": "depth", "comment": "optional", "chips": ["Long", "Rude"]},
    {"type": "number", "name": "quality", "step": 0.5},
    {"type": "number", "name": "quality", "about": "option", "unit": "points"},
    {"type": "choice", "name": "best"},
    {"type": "choice", "name": "best", "tie": True, "none": True, "strength": True},
    {"type": "scale", "name": "better", "points": 5},
    {"type": "ranking", "name": "order"},
    {"type": "ranking", "name": "order", "ties": True},
    {"type": "text", "name": "why", "shortest": 2, "longest": 9},
    {"type": "text", "name": "why", "about": "option", "required": False},
    {"type": "passages", "name": "wrong"},
    {"type": "passages", "name": "wrong", "classes": ["Fact", "Tone"], "required": False},
]
NAMES = [f"{each['type']}-{n}" for n, each in enumerate(EVERY)]


def one(**configured):
    return questions_of([configured], 3 if configured["type"] != "scale" else 2)[0]


def options_of(question) -> Options:
    return PAIR if question.type == "scale" else ANSWERS


def read(question, sent) -> list[Row]:
    options = options_of(question)
    asked = [None] if question.about == "item" else list(options.order)
    return question.read(sent, options, asked)


def answer_to(question):
    """A complete answer as a body of the API has it."""
    each = {
        "label": ["Yes", "No"] if getattr(question, "several", False) else "Unsure",
        "number": 73,
        "rating": {"score": 5, "text": "Deep.", "chips": []},
        "choice": {"choice": "own", "strength": "clearly"},
        "scale": 2,
        "ranking": {"own": 2, "other": 1, "third": 3},
        "text": "Because",
        "passages": [
            {"option": "own", "start": 5, "end": 12, "text": "Why?"},
            {"option": "other", "start": 9, "end": 12},
        ],
    }[question.type]
    if getattr(question, "classes", None) and question.type == "passages":
        each = [passage | {"class": "Tone"} for passage in each]
    if question.type == "rating" and question.comment == "off":
        each = 5
    if question.type == "choice" and not question.strength:
        each = "own"
    if question.about == "item":
        return each
    return dict.fromkeys(ANSWERS.ids.values(), each)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["own", "other", "third", "choice", "strength", "score", "text", "chips",
                         "option", "start", "end", "class"])
        | st.text(max_size=3), inner, max_size=4,
    ),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.parametrize("configured", EVERY, ids=NAMES)
@given(sent=json_values)
def test_any_json_is_an_answer_or_a_refusal_with_a_sentence(configured, sent):
    question = one(**configured)
    try:
        rows = read(question, sent)
    except DomainError as refusal:
        assert refusal.sentence.strip() and refusal.code == question.name
    else:
        assert {row.question for row in rows} <= {question.name}


@pytest.mark.parametrize("configured", EVERY, ids=NAMES)
def test_an_answer_comes_back_from_its_rows_from_an_export_and_from_a_form(configured):
    question = one(**configured)
    options = options_of(question)
    rows = read(question, answer_to(question))
    if question.type != "scale":  # an export counts from option 1, a body from the answer on top
        assert read(question, question.exported(rows, options.ids)) == rows
    form = QueryDict(mutable=True)
    for field, values in question.typed(rows, options).items():
        form.setlist(field, values)
    assert read(question, question.sent_by_form(form, options)) == rows


@pytest.mark.parametrize("configured", EVERY, ids=NAMES)
def test_an_answer_comes_back_from_the_rows_of_a_release(configured):
    question = one(**configured)
    options = options_of(question)
    rows = read(question, answer_to(question))
    released = [
        {"option": options.ids.get(row.option), "part": None, **said}
        for row in rows
        for said in question.released(row, options.ids)
    ]
    sent = question.sent_by_release(released, {id: id for id in options.ids.values()})
    # A release counts from option 1.
    canonical = replace(options, order=sorted(options.ids))
    asked = [None] if question.about == "item" else list(options.ids)
    assert question.read(sent, canonical, asked) == rows


def test_one_answer_a_release_has_twice_is_refused():
    row = {"option": "own", "part": None, **EMPTY_ROW, "value": 1}
    for question in (one(type="rating", name="depth"), one(type="ranking", name="order")):
        with pytest.raises(DomainError, match="has two answers"):
            question.sent_by_release([row, row], {})


@pytest.mark.parametrize("configured", EVERY, ids=NAMES)
def test_what_must_be_answered_is_asked_for_by_its_words(configured):
    question = one(**configured | {"required": True, "title": "Well"})
    sentence = {
        "choice": "Choose one of the answers",
        "scale": "Choose a place",
        "ranking": "Give every answer a place",
    }.get(question.type, "Well")
    with pytest.raises(DomainError, match=sentence):
        read(question, None)
    relaxed = one(**configured | {"required": False})
    assert read(relaxed, None) == []


@pytest.mark.parametrize("configured", EVERY, ids=NAMES)
def test_settings_are_stored_as_they_are_read(configured):
    question = one(**configured)
    (kept,) = stored([question])
    assert questions_of([kept], 2 if question.type == "scale" else 3) == [question]


def test_a_label_is_ordinal_where_its_classes_are_in_order_and_one_is_chosen():
    assert one(**VERDICT).level == "nominal"
    assert one(**VERDICT, ordinal=True).level == "ordinal"
    assert one(**VERDICT, ordinal=True, several=True).level == "nominal"


def test_several_classes_are_compared_class_by_class():
    assert one(**VERDICT, several=True).measures(0) == [
        Measure(f"verdict: {name}", "nominal", ("no", "yes"), "verdict", name)
        for name in ("No", "Unsure", "Yes")
    ]
    (row,) = read(one(**VERDICT, several=True), ["Yes", "No"])
    assert (row.chips, row.stated) == (("No", "Yes"), "No, Yes")


def test_a_choice_is_the_option_and_its_labels_are_those_that_can_be_given():
    assert one(type="choice", name="best").labels(3) == ["1", "2", "3"]
    assert one(type="choice", name="best", tie=True, none=True).labels(2) == [
        *("1", "2", "tie", "none")
    ]
    (row,) = read(one(type="choice", name="best"), "third")
    assert row.label == "3"
    with pytest.raises(DomainError, match="choose one of the answers"):
        read(one(type="choice", name="best"), "tie")


def test_a_scale_is_stored_from_option_one_whichever_was_shown_first():
    question = one(type="scale", name="better", points=5)
    for order, value in (((1, 2), 2), ((2, 1), 4)):
        options = Options(PAIR.ids, order)
        assert question.read(2, options, [None]) == [Row("better", value=value)]


def test_places_are_counted_without_gaps_and_ties_only_where_they_are_allowed():
    tied = {"own": 1, "other": 1, "third": 3}
    with pytest.raises(DomainError, match="a place of its own"):
        read(one(type="ranking", name="order"), tied)
    rows = read(one(type="ranking", name="order", ties=True), tied)
    assert {row.option: row.value for row in rows} == {1: 1, 2: 1, 3: 2}


@pytest.mark.parametrize(("text", "fits"), [("a", False), ("ab", True), ("a" * 9, True)])
def test_a_text_has_no_fewer_characters_than_asked_for(text, fits):
    question = one(type="text", name="why", shortest=2, longest=9)
    if fits:
        assert read(question, f" {text} ") == [Row("why", text=text)]
    else:
        with pytest.raises(DomainError):
            read(question, text)
    with pytest.raises(DomainError):
        read(question, "a" * 10)


def text_when(question, label):
    """A question for words where an earlier one got a label."""
    return {"type": "text", "name": "w", "asked_when": {"question": question, "labels": [label]}}


@pytest.mark.parametrize(
    ("configured", "options", "words"),
    [
        ([], 1, f"1 to {QUESTIONS_LIMIT} questions"),
        ([VERDICT, VERDICT], 1, "two questions have this name"),
        ([VERDICT | {"classes": ["a", "a"]}], 1, "two classes have one name"),
        ([VERDICT | {"name": "a/b"}], 1, "without a slash"),
        ([VERDICT | {"about": "option"}], 0, "items with 1 answers or more"),
        ([{"type": "choice", "name": "b"}], 1, "items with 2 answers or more"),
        ([{"type": "ranking", "name": "b"}], 2, "items with 3 answers or more"),
        ([{"type": "scale", "name": "b"}], 3, "it compares two answers"),
        ([{"type": "scale", "name": "b", "points": 4}], 2, "points must be odd"),
        ([{"type": "rating", "name": "b", "names": ["low"]}], 1, "name every point"),
        ([{"type": "text", "name": "b", "shortest": 9, "longest": 2}], 1, "longer than"),
        ([{"type": "guess", "name": "b"}], 1, "guess"),
        ([VERDICT | {"colour": "red"}], 1, "colour"),
        ([text_when("later", "No")], 1, "no earlier question"),
        ([VERDICT, text_when("verdict", "Maybe")], 1, "“Maybe” is no class of “verdict”"),
        (
            [VERDICT | {"about": "option"}, text_when("verdict", "No")],
            1,
            "about the item, and “verdict” about each answer",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(configured, options, words):
    with pytest.raises(DomainError, match=words):
        questions_of(configured, options)


def test_every_type_has_a_title_a_template_and_a_folder_of_its_name():
    for name, type_ in TYPES.items():
        assert str(type_.TITLE)
        assert type_.__module__ == f"annotation.questions.{name}"


@pytest.mark.parametrize("name", TYPES)
def test_the_form_of_a_task_shows_the_settings_of_each_type(name):
    css = (Path(settings.BASE_DIR) / "static/css/pages.css").read_text("utf-8")
    assert f'option[value="{name}"]:checked) .setting[data-types~="{name}"]' in css
