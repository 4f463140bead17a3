"""Every string of the interface is there in each language: none missing, none fuzzy."""

import ast
import re
import shutil
from functools import cache
from pathlib import Path

import polib
import pytest
from django.utils.translation.template import templatize

from annotation.core.made import compile_catalogues

ROOT = Path(__file__).parents[2]
LOCALES = ("zh_Hans", "ko", "es")
CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
# As xgettext sees it: a call in the Python that a template is turned into.
CALL = re.compile(
    r"\b(?P<name>n?gettext|_)\(\s*(?P<one>u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))"
)
PLACEHOLDER = re.compile(r"%\([a-z_]+\)[sd]|\{[a-z_]+\}")
# A sign of half width beside a Chinese one, and the forms that Korean pages do without.
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:!?]|[,;:!?][\u4e00-\u9fff]")
STIFF = re.compile(r"십시오|니까\?")
# Spanish speaks to usted.
CASUAL = re.compile(r"\b(tú|tu|tus|tuyo|te|contigo|puedes|quieres|tienes)\b", re.IGNORECASE)
# Not sentences: the values of the filter yesno, which commas divide.
VALUES = re.compile("yes,.*")
# What a person gave is erased, things of a study are deleted: one word for each.
ERASE = {
    "zh_Hans": re.compile("抹除"),
    "ko": re.compile("지[우워웠운울움웁]"),
    "es": re.compile("(?i)borr"),
}
DELETE = {
    "zh_Hans": re.compile("删除"),
    "ko": re.compile("삭제"),
    "es": re.compile("(?i)elim[ií]n"),
}
# Second words for a persona, an endpoint and a background worker.
SECOND_WORDS = {
    "zh_Hans": re.compile("人设|端点|后台任务"),
    "ko": re.compile("엔드포인트"),
    "es": re.compile(r"(?<!{)endpoint|trabajador"),
}


def of_python(path: Path) -> set[str]:
    """First arguments of calls to gettext's functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            first = node.args[0] if node.args else None
            if name in CALLS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


def of_template(path: Path) -> set[str]:
    source = templatize(path.read_text(), origin=str(path))
    return {ast.literal_eval(match["one"]) for match in CALL.finditer(source)}


@pytest.fixture(scope="module")
def used():
    python = [
        path for path in (ROOT / "annotation").rglob("*.py") if "migrations" not in path.parts
    ]
    templates = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "templates").rglob("*.txt")]
    return {text for path in python for text in of_python(path)} | {
        text for path in templates for text in of_template(path)
    } - {""}


@cache
def catalogue(locale: str) -> polib.POFile:
    return polib.pofile(str(ROOT / "locale" / locale / "LC_MESSAGES" / "django.po"))


def said(entry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


@pytest.mark.parametrize("locale", LOCALES)
def test_no_string_is_missing_empty_or_fuzzy(locale, used):
    entries = {entry.msgid: entry for entry in catalogue(locale) if not entry.obsolete}
    assert len(used) > 1_000
    assert sorted(used - entries.keys()) == []
    assert [msgid for msgid, entry in entries.items() if not all(said(entry))] == []
    assert [msgid for msgid, entry in entries.items() if entry.fuzzy] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_a_translation_keeps_its_placeholders(locale):
    wrong = []
    for entry in catalogue(locale):
        allowed = [
            sorted(PLACEHOLDER.findall(text)) for text in (entry.msgid, entry.msgid_plural) if text
        ]
        wrong += [
            entry.msgid for text in said(entry) if sorted(PLACEHOLDER.findall(text)) not in allowed
        ]
    assert wrong == []


@pytest.mark.parametrize("locale", LOCALES)
def test_a_catalogue_is_compiled_as_it_is_written_and_only_when_it_changed(locale, tmp_path):
    folder = tmp_path / locale / "LC_MESSAGES"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "locale" / locale / "LC_MESSAGES" / "django.po", folder)
    assert compile_catalogues(tmp_path) == [folder / "django.mo"]
    assert compile_catalogues(tmp_path) == []
    compiled = polib.mofile(str(folder / "django.mo"))
    assert {(entry.msgctxt or "", entry.msgid): said(entry) for entry in compiled} == {
        (entry.msgctxt or "", entry.msgid): said(entry)
        for entry in catalogue(locale)
        if not entry.obsolete
    }


@pytest.mark.parametrize(
    ("locale", "unwanted"), [("zh_Hans", HALF_WIDTH), ("ko", STIFF), ("es", CASUAL)]
)
def test_each_language_keeps_to_its_manners(locale, unwanted):
    wrong = [
        text
        for entry in catalogue(locale)
        if not VALUES.fullmatch(entry.msgid)
        for text in said(entry)
        if unwanted.search(text)
    ]
    assert wrong == []


def test_chinese_texts_of_recipes_have_signs_of_full_width_and_address_politely():
    texts = {path: path.read_text() for path in ROOT.glob("annotation/**/recipes/texts/*.zh.md")}
    for path in ROOT.glob("annotation/**/recipes/*.json"):
        texts[path] = "\n".join(re.findall(r'"zh": "(.*)"', path.read_text()))
    assert len(texts) > 10
    assert [path.name for path, text in texts.items() if HALF_WIDTH.search(text)] == []
    assert [path.name for path, text in texts.items() if "你" in text] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_erasing_and_deleting_are_two_words_each_the_same_everywhere(locale):
    erased = re.compile(r"\beras(e|es|ed|ing)\b", re.IGNORECASE)
    deleted = re.compile(r"\bdelet(e|es|ed|ing)\b", re.IGNORECASE)
    wrong = []
    for entry in catalogue(locale):
        erases, deletes = erased.search(entry.msgid), deleted.search(entry.msgid)
        if bool(erases) != bool(deletes):
            word = (ERASE if erases else DELETE)[locale]
            wrong += [text for text in said(entry) if not word.search(text)]
    assert wrong == []


@pytest.mark.parametrize("locale", LOCALES)
def test_a_persona_an_endpoint_and_a_worker_have_one_word_each(locale):
    texts = [text for entry in catalogue(locale) for text in said(entry)]
    assert [text for text in texts if SECOND_WORDS[locale].search(text)] == []


# Figures of crowds: there are never few of what they count.
ALWAYS_MANY = {
    "%(agreed)d of %(n)d votes with the majority of the others, p = %(p).2g",
    "%(n)d of %(all)d annotators preferred it in more than half of their votes.",
    "%(what)s of %(n)d personas. ▲: over-represented.",
    "%(n)s of the %(wanted)s pairs to audit",
    "The first %(shown)s of %(n)s rows; the download has all.",
}


@pytest.mark.parametrize("locale", LOCALES)
def test_a_part_of_a_whole_agrees_with_a_whole_of_one(locale):
    """`1 of 1 queries`: such a sentence is plural, or names what it counts first."""
    part = re.compile(r"%\(\w+\)[sd] of (the )?%\(\w+\)[sd] [a-z]+s\b")
    entries = [entry for entry in catalogue(locale) if not entry.msgid_plural]
    assert {entry.msgid for entry in entries if part.search(entry.msgid)} - ALWAYS_MANY == set()
