"""Forms and bodies of the API are read by the same rules; no database is asked."""

import json
from types import SimpleNamespace

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.errors import DomainError
from annotation.judging.kinds import KINDS, config_of
from annotation.judging.kinds.body import JudgmentBody, common_columns

IN_BODIES = [code for code, kind in KINDS.items() if "gold" not in kind.shows]
OPTIONS = [SimpleNamespace(pk=n, number=n, candidate=id) for n, id in enumerate("abc", start=1)]
SETTINGS = {
    "selection": {"options": 3, "tie": True, "strength": True},
    "feedback": {"options": 3, "criteria": ["Tone"], "least": 3},
    "ranking": {"options": 3},
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
    | st.sampled_from(["a", "b", "yes", "accepted", "edit", "much", "Tone", "\x00", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "b", "c", "Tone", "score", "chips"]), inner),
    max_leaves=8,
)  # fmt: skip


def held(code, **settings):
    config = config_of(code, SETTINGS.get(code, {}) | settings)
    options = OPTIONS[: config.get("options", 2)]
    return SimpleNamespace(config=config, options=options, shown=[2, 1, 3][: len(options)])


def form(fields=(), /, **more) -> QueryDict:
    data = QueryDict(mutable=True)
    for name, value in (dict(fields) | more).items():
        data.setlist(name, value if isinstance(value, list) else [value])
    return data


SAME = [
    (
        "selection",
        form({"answer-choice": "b", "answer-choice/strength": "much"}),
        {"choice": "b", "strength": "much"},
    ),
    ("selection", form(choice="tie", strength="much"), {"answers": {"choice": "tie"}}),
    ("preference", form({"answer-preference": "5"}), {"value": 5}),
    ("preference", form(value="5"), {"answers": {"preference": 5}}),
    (
        "attribute",
        form({"answer-verdict": "accepted", "answer-cause": "other"}),
        {"verdict": "accepted"},
    ),
    ("relevance", form({"answer-relevant": "no"}), {"relevant": False}),
    (
        "ranking",
        form({"answer-ranking/1": "3", "answer-ranking/2": "1", "answer-ranking/3": "2"}),
        {"ranking": ["a", "c", "b"]},
    ),
    (
        "feedback",
        form(
            {f"answer-Tone/{n}": str(n) for n in (1, 2, 3)}
            | {f"answer-Tone/{n}/text": f"words {n}" for n in (1, 2, 3)}
        ),
        {"answers": {"Tone": {id: {"value": n, "text": f"words {n}"}
                              for id, n in (("b", 1), ("a", 2), ("c", 3))}}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "data", "body"), SAME)
def test_a_form_and_a_body_of_the_api_give_the_same_answer(code, data, body):
    assert KINDS[code].read(data, held(code)) == KINDS[code].read(body, held(code))


REFUSED = [
    ("selection", {"choice": "none", "strength": "much"}, "Choose one of the answers first."),
    ("selection", {"choice": 3}, "Choose one of the answers first."),
    ("selection", {"choice": "a"}, "Say how much better it is."),
    ("selection", {"choice": "a", "strength": "very"}, "Say how much better it is."),
    ("preference", {"value": 6}, "Choose a place on the scale first."),
    ("preference", {"value": True}, "Choose a place on the scale first."),
    ("preference", {"value": 0}, "Choose a place on the scale first."),
    ("attribute", {"verdict": "rejected", "cause": ""}, "Say what is wrong with the attribute."),
    ("relevance", {"relevant": "perhaps"}, "Choose yes or no first."),
    ("ranking", {"ranking": ["a", ["b", "c"]]}, "“Ranking”: give every answer a place of its own."),
    ("ranking", {"ranking": ["a", "b"]}, "“Ranking”: give every answer a place."),
    (
        "ranking",
        {"ranking": {"a": 4, "b": 1, "c": 2}},
        "“Ranking”: places are numbers from 1 to 3.",
    ),
    ("ranking", {}, "Give every answer a place."),
    ("feedback", {"answers": {"Tone": {"b": 6}}}, "Answer 1: “Tone”: choose a point from 1 to 5."),
    ("feedback", {"answers": {"Tone": {}}}, "Score “Tone” of answer 1."),
    (
        "feedback",
        {"answers": {"Tone": {"b": {"score": 2, "text": "well"}, "a": {"score": 2, "text": "so"}}}},
        "Answer 2: “Tone”: write at least 3 characters.",
    ),
    ("feedback", {"answers": {"Tone": {"z": 2}}}, "“Tone”: there is no answer “z”."),
    ("feedback", {"answers": []}, "answers must be {question: its answer}."),
    ("feedback", {"answers": {"Depth": {}}}, "There is no question “Depth”. Known: Tone."),
]


@pytest.mark.parametrize(("code", "data", "sentence"), REFUSED)
def test_what_is_wrong_is_told_in_one_sentence(code, data, sentence):
    with pytest.raises(DomainError) as refusal:
        KINDS[code].read(data, held(code))
    assert refusal.value.sentence == sentence


MARK = {"option": "b", "start": 0, "end": 4, "text": "Walk", "sign": "+", "comment": " good "}


def test_reason_flags_chips_and_marks_are_read_alike_and_marks_name_options_by_number():
    slot = held("selection", reason="required", chips=["short", "kind"], marks=True)
    body = {"reason": " Yes. ", "flags": ["unsafe"], "chips": ["kind", "short"], "marks": [MARK]}
    columns = common_columns(body, slot)
    assert columns == {
        "reason": "Yes.",
        "flags": ["unsafe"],
        "chips": ["kind", "short"],
        "marks": [MARK | {"option": 2, "comment": "good"}],
        "circumstances": {},
    }
    assert common_columns(form(**body | {"marks": json.dumps([MARK])}), slot) == columns


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "Say in a few words why you chose this answer."),
        ({"reason": "x" * 5_001}, "The reason may have 5000 characters."),
        ({"reason": "a\x00"}, "The reason holds a character that cannot be stored."),
        ({"reason": 3}, "The reason must be text."),
        ({"reason": "x", "chips": "kind"}, "Chips must be a list of names."),
        ({"reason": "x", "flags": ["odd"]}, "There is no “odd” among the flags."),
        ({"reason": "x", "marks": [MARK | {"end": 0}]}, "The marked passages cannot be read."),
        ({"reason": "x", "marks": [MARK] * 51}, "The marked passages cannot be read."),
        ({"reason": "x", "marks": "[" * 300}, "The marked passages cannot be read."),
        ({"reason": "x", "marks": [MARK | {"text": "\ud800"}]}, "The marked passages cannot"),
    ],
)
def test_what_is_wrong_beside_the_answer_is_told_too(body, sentence):
    with pytest.raises(DomainError, match=f"^{sentence}"):
        common_columns(body, held("selection", reason="required", chips=["kind"], marks=True))


TOLD = {"idle": 1.5, "panes": [2.0, 0.0], "diff": True, "device": "phone"}
HOW = "What is reported of how it was judged cannot be read."
PLACES = "Name the answers that the flags are about by their places."


def test_how_it_was_judged_is_read_alike_and_flagged_answers_are_named_by_number():
    slot = held("selection")
    body = {"circumstances": TOLD, "flagged": ["1", "3", "1"]}
    columns = common_columns(body, slot)
    assert columns["circumstances"] == TOLD | {"flagged": [2, 3]}
    assert common_columns(form(**body | {"circumstances": json.dumps(TOLD)}), slot) == columns
    assert common_columns(form(circumstances=""), slot)["circumstances"] == {}
    open_for_long = {"circumstances": {"idle": 604_800.1}}
    assert common_columns(open_for_long, slot)["circumstances"] == {"idle": 604_800}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"circumstances": "x"}, HOW),
        ({"circumstances": []}, HOW),
        ({"circumstances": 0}, HOW),
        ({"circumstances": {"idle": -1}}, HOW),
        ({"circumstances": {"idle": "1"}}, HOW),
        ({"circumstances": {"panes": 3}}, HOW),
        ({"circumstances": {"device": "watch"}}, HOW),
        ({"circumstances": {"mood": "good"}}, HOW),
        ({"circumstances": "[" * 300}, HOW),
        ({"flagged": 5}, PLACES),
        ({"flagged": "1"}, PLACES),
        ({"flagged": ["4"]}, PLACES),
        ({"flagged": ["0"]}, PLACES),
        ({"flagged": [1]}, PLACES),
        ({"marks": 0}, "The marked passages cannot be read."),
    ],
)
def test_what_is_said_of_the_judging_wrongly_is_refused_and_never_dropped(body, sentence):
    with pytest.raises(DomainError) as refusal:
        common_columns(body, held("selection"))
    assert refusal.value.sentence == sentence


@pytest.mark.parametrize("code", IN_BODIES)
@given(data=st.data())
def test_any_json_is_an_answer_or_a_refusal_with_a_sentence(code, data):
    body = {name: data.draw(json_values) for name in JudgmentBody.model_fields}
    body["answers"] = data.draw(
        json_values
        | st.dictionaries(
            st.sampled_from(
                [question.name for question in KINDS[code].questions(held(code).config)]
            ),
            json_values,
        )
    )
    slot = held(code, marks=True, chips=["a"])
    try:
        answer = KINDS[code].read(body, slot)
        assert answer.label == KINDS[code].of_label(answer.label, slot.config).label
        common_columns(body, slot)
    except DomainError as refusal:
        assert refusal.sentence.strip() and refusal.code
