"""Answers as JSON of a schema: asked for by ``response_format`` and checked in any case.

A server that refuses the field is asked again in words, and remembered for an hour.
"""

import json
import re
from dataclasses import replace
from typing import Any

from django.core.cache import cache

from annotation.candidates import clean, spending
from annotation.candidates.endpoints import Answer, CallFailed, Endpoint
from annotation.core import records

REMEMBERED_SECONDS = 3600
DEPTH = 12
EMBEDDED_TOKENS = 1_200


def call(
    study_id: int, server: Endpoint, messages: list[dict], schema: dict
) -> tuple[Any, Answer, float]:
    """Ask for JSON of ``schema``: (value, Answer, seconds).

    Raises CallFailed as ``spending.call``, and with "schema" where what came is no such JSON; the
    failure then has the Answer, which was paid for, as ``answer``.
    """
    if server.embedded:  # its limit is for answers; half a JSON object is none
        server = replace(server, max_tokens=max(server.max_tokens or 0, EMBEDDED_TOKENS))
    if not cache.get(_key(server)):
        try:
            answer, seconds = spending.call(study_id, server, messages, schema)
        except CallFailed as failure:
            if failure.code != "refused":
                raise
        else:
            return _checked(answer, schema), answer, seconds
    answer, seconds = spending.call(study_id, server, in_words(messages, schema))
    value = _checked(answer, schema)
    # Only now: another fault of the request is refused in words, too.
    cache.set(_key(server), True, REMEMBERED_SECONDS)
    return value, answer, seconds


def in_words(messages: list[dict], schema: dict) -> list[dict]:
    """``messages`` with the schema as an instruction, for servers that know no response_format."""
    wish = (
        "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    first, *others = messages
    return [{**first, "content": f"{first['content']}\n\n{wish}"}, *others]


def parsed(text: str, schema: dict) -> Any:
    """The JSON value in ``text`` that fits ``schema``; ValueError where there is none.

    Thinking, code fences and words around the object are passed over.
    """
    # Only here: where the checks of its formats are installed, importing it takes seconds.
    import jsonschema

    text = clean.without_thoughts(text)
    if fenced := re.search(r"```(?:json)?\s*(\{.*\})\s*```", text, re.S):
        text = fenced.group(1)
    begin = text.find("{")
    if begin < 0:
        raise ValueError("no JSON object")
    try:
        value, _end = json.JSONDecoder().raw_decode(text[begin:])
        value = _cleaned(value, DEPTH)
        jsonschema.validate(value, schema)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except jsonschema.ValidationError as error:
        raise ValueError(error.message) from error
    return value


def _checked(answer: Answer, schema: dict) -> Any:
    try:
        return parsed(answer.text, schema)
    except ValueError:
        failure = CallFailed("empty" if not answer.text.strip() else "schema")
        failure.answer = answer
        raise failure from None


def _cleaned(value: Any, depth: int) -> Any:
    """The value with texts that a database takes: no NUL, no lone surrogates."""
    if depth < 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return records.clean(value).strip()
    if isinstance(value, list):
        return [_cleaned(inner, depth - 1) for inner in value]
    if isinstance(value, dict):
        return {records.clean(key): _cleaned(inner, depth - 1) for key, inner in value.items()}
    return value


def _key(server: Endpoint) -> str:
    return f"no-schema:{server.name}:{server.model}"
