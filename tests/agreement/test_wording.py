"""What pure modules say is known to the translators."""

import ast
from pathlib import Path

import pytest

from annotation import agreement
from annotation.agreement.wording import SENTENCES, _patterns, translated

FOLDER = Path(agreement.__path__[0])
# The pure modules whose sentences a page may show.
PURE = (
    *(f"statistics.{path.stem}" for path in sorted((FOLDER / "statistics").glob("[a-z]*.py"))),
    *("tiers.collection", "scoring", "report"),
)


def sentences(module):
    """Texts that a module gives as a reason, a note or an error, its constants included."""
    tree = ast.parse(FOLDER.joinpath(*module.split(".")).with_suffix(".py").read_text())
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        for found in _given(node):
            found = constants.get(getattr(found, "id", ""), found)
            if isinstance(found, ast.JoinedStr):
                yield "".join(
                    part.value if isinstance(part, ast.Constant) else "7" for part in found.values
                )
            elif isinstance(found, ast.Constant) and isinstance(found.value, str) and found.value:
                yield found.value


def _given(node):
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in ("undefined", "ValueError", "append"):
            yield from node.args[:1]
        if name == "with_resamples":
            yield from node.args[2:]
        yield from (word.value for word in node.keywords if word.arg == "reason")
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in ("note", "reason"):
                yield from _either(value)
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("reason", "note"):
        yield from _either(node.value)


def _either(value):
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


@pytest.mark.parametrize("module", PURE)
def test_every_sentence_of_a_pure_module_is_marked(module):
    patterns = [pattern for _, pattern in _patterns()]
    assert [
        text
        for text in sentences(module)
        if text not in SENTENCES and not any(pattern.fullmatch(text) for pattern in patterns)
    ] == []


def test_the_scan_finds_the_sentences_it_looks_for():
    assert "no item has two votes" in set(sentences("statistics.kappas"))
    few = {"1 item is too few to check", "7 items are too few to check"}
    assert few <= set(sentences("statistics.tiers"))
    assert "7 votes an item need 7 raters or more" in set(sentences("statistics.sample_size"))


def test_sentences_are_said_in_the_readers_language_with_their_numbers(monkeypatch):
    words = {
        "%(n)s items are too few to check": "%(n)s 개는 너무 적습니다",
        "no items": "항목 없음",
    }
    monkeypatch.setattr("annotation.agreement.wording.gettext", lambda s: words.get(s, s))
    assert (
        translated("12 items are too few to check; no items") == "12 개는 너무 적습니다; 항목 없음"
    )
    assert translated("kappa 0.391 is outside the band") == "kappa 0.391 is outside the band"
    assert translated("what nobody marked") == "what nobody marked"
    assert (translated(""), translated(None)) == ("", "")
