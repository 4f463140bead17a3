"""Answers as objects of a schema: asked for, checked, and taken only where they fit."""

import pytest

from annotation.candidates import calls, endpoints
from annotation.candidates.endpoints import CallFailed
from tests.scripted_endpoint import prompt_of

SCHEMA = {
    "type": "object",
    "properties": {"fits": {"type": "boolean"}},
    "required": ["fits"],
    "additionalProperties": False,
}


MESSAGES = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "This."}]


def test_a_schema_is_asked_for_and_checked(tea, model, script):
    server = endpoints.get()
    script.values = [{"fits": True}]
    value, answer, _seconds = calls.call_structured(tea.pk, server, MESSAGES, SCHEMA)
    assert (value, answer.model) == ({"fits": True}, "scripted-1")
    assert model.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    script.values = [{"fits": "perhaps"}]
    with pytest.raises(CallFailed, match="schema"):
        calls.call_structured(tea.pk, server, MESSAGES, SCHEMA)


def test_a_server_that_refuses_schemas_is_asked_in_words_and_remembered(tea, model, script):
    server = endpoints.get()
    model.schemas = False
    script.values = ['Sure!\n```json\n{"fits": false}\n```\nAnything else?']
    for _time in range(2):
        assert calls.call_structured(tea.pk, server, MESSAGES, SCHEMA)[0] == {"fits": False}
    assert [bool(one.get("response_format")) for one in model.requests] == [True, False, False]
    assert '"additionalProperties": false' in prompt_of(model.requests[-1])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<think>{"fits": false}</think>{"fits": true}', {"fits": True}),
        ('Well: {"fits": true} and {"fits": false}', {"fits": True}),
        ("", None),
        ("<b>no</b>", None),
        ('{"fits": true, "more": 1}', None),
        ('{"fits": tr', None),
        ("{" * 5000, None),
        ("[" * 100_000, None),
        ('{"fits": ' + "[" * 50_000 + "]" * 50_000 + "}", None),
    ],
)
def test_only_an_object_that_fits_is_taken(text, value):
    if value is None:
        with pytest.raises(ValueError):
            calls.parsed(text, SCHEMA)
    else:
        assert calls.parsed(text, SCHEMA) == value


def test_what_a_database_cannot_hold_leaves_the_value():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert calls.parsed('{"a": "x\\u0000y\\ud800"}', schema) == {"a": "xy\ufffd"}
