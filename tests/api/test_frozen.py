"""`/api/v1` as version 1.0 answers it: more may come, nothing goes, and nothing more is required.

`v1.txt` has a line a call: method and path, what it takes (with ! where that is required), and
what it answers. Until 1.0.0 is out, `python -m tests.api.test_frozen` writes it anew.
"""

import re
from pathlib import Path

import django

FILE = Path(__file__).with_name("v1.txt")


def fields(schema: dict, models: dict) -> tuple[set[str], set[str]]:
    """Names of an object's fields, and of those that are required; of a list those of its rows."""
    while "$ref" in schema or "items" in schema:
        schema = schema.get("items") or models[schema["$ref"].rsplit("/", 1)[1]]
    return set(schema.get("properties", ())), set(schema.get("required", ()))


def calls() -> dict[str, tuple[set[str], set[str], set[str]]]:
    """{"GET /api/v1/": (what it takes, what of that it requires, what it answers)}."""
    from drf_spectacular.generators import SchemaGenerator  # after django.setup(), alone too

    document = SchemaGenerator().get_schema(request=None, public=True)
    models, found = document["components"]["schemas"], {}

    def of(contents: dict) -> tuple[set[str], set[str]]:
        both = [fields(one["schema"], models) for one in contents.get("content", {}).values()]
        return set().union(*(a for a, _ in both)), set().union(*(b for _, b in both))

    for path, methods in document["paths"].items():
        for method, call in methods.items():
            takes, needs = of(call.get("requestBody", {}))
            asked = [one for one in call.get("parameters", ()) if one["in"] != "path"]
            takes |= {one["name"] for one in asked}
            needs |= {one["name"] for one in asked if one.get("required")}
            good = [answer for status, answer in call["responses"].items() if status < "3"]
            answers = set().union(*(of(answer)[0] for answer in good))
            name = f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}"
            found[name] = takes, needs, answers
    return found


def text() -> str:
    lines = []
    for name, (takes, needs, answers) in sorted(calls().items()):
        taken = "".join(f" {one}{'!' * (one in needs)}" for one in sorted(takes))
        lines.append(f"{name} <{taken} >{''.join(f' {one}' for one in sorted(answers))}\n")
    return "".join(lines)


def test_what_version_1_answers_stays():
    now, gone = calls(), []
    for line in FILE.read_text("utf-8").splitlines():
        name, taken, answered = re.fullmatch(r"(.*?) <(.*) >(.*)", line).groups()
        takes, needs, answers = now.get(name, (set(), set(), set()))
        before = {word.rstrip("!"): word.endswith("!") for word in taken.split()}
        gone += [f"{name} is gone"] * (name not in now)
        gone += [f"{name} does not take {one}" for one in sorted(before.keys() - takes)]
        gone += [f"{name} requires {one}" for one in sorted(needs) if not before.get(one)]
        gone += [f"{name} does not answer {one}" for one in sorted({*answered.split()} - answers)]
    assert gone == []


if __name__ == "__main__":
    django.setup()
    FILE.write_text(text(), "utf-8")
