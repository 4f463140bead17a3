import json
import re
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

DEPTH = 50
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class StrictJSONParser(JSONParser):
    """JSON objects that PostgreSQL can store: no NaN, NUL, lone surrogate or bottomless nesting."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None
    ) -> dict:
        try:
            text = stream.read().decode("utf-8")
            data = json.loads(text or "{}", parse_constant=_refuse)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError:
            raise ParseError("The body is not JSON in UTF-8.") from None
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object.")
        _check(data)
        return data


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _check(value: object, depth: int = 0) -> None:
    if depth > DEPTH:
        raise ParseError("The JSON is nested too deeply.")
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise ParseError("The body holds a character that cannot be stored.")
    inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if isinstance(inner, list):
        for entry in inner:
            _check(entry, depth + 1)
