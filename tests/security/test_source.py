"""What a page must never contain is looked for in the source: templates and Python alike."""

import hashlib
import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
PYTHON = sorted((ROOT / "annotation").rglob("*.py"))
SCRIPTS = sorted(path for path in (ROOT / "static/js").rglob("*.js"))

VENDORED = {
    "htmx/htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "lucide/icons.svg": "281f9c1207d65600191bf92e5c3c42becece70c75c794765a2379ed686a85e4c",
    "pico/pico.css": "1fa7dd8a628124188ebf58440cecefff886aebabd8796f554a09f2ec125855ba",
}

IN_TEMPLATES = {
    # Data in a block of JSON is read by a script of ours, not run.
    "an inline script": (
        r"<script(?![^>]*(?:\bsrc=|application/json))|<script(?![^>]*json)[^>]*>\s*[^<\s]"
    ),
    "an inline style": r"<style|\sstyle\s*=",
    "an event handler": r"\son[a-z]+\s*=|hx-on",
    "an address that runs": r"javascript:|data:\w+/",
    "unescaped text": r"\|\s*safe(seq)?\b|autoescape off|\|\s*escapejs",
    "a foreign address": r"(src|href|action)\s*=\s*[\"']?(https?:)?//",
    "code from htmx": r"hx-(vals|vars|headers)\s*=\s*[\"']js:|hx-ext",
}
IN_PYTHON = {
    "markup that nobody escaped": r"\bmark_safe\b|\bSafeString\(|\.safe\b",
    "a query made of text": r"\.extra\(|RawSQL",
    "a way to run data": r"\b(eval|exec|pickle|marshal|yaml\.load)\(|shell=True",
}


def found(paths, pattern) -> list[str]:
    expression = re.compile(pattern, re.IGNORECASE)
    return [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in paths
        for match in expression.finditer(path.read_text())
    ]


@pytest.mark.parametrize("what", IN_TEMPLATES)
def test_no_template_holds(what):
    assert found(TEMPLATES, IN_TEMPLATES[what]) == []


@pytest.mark.parametrize("what", IN_PYTHON)
def test_no_module_but_the_renderer_holds(what):
    others = [path for path in PYTHON if path != ROOT / "annotation/core/text.py"]
    assert found(others, IN_PYTHON[what]) == []


def test_the_probes_alone_need_no_token_of_a_form():
    assert set(found(PYTHON, "csrf_exempt")) == {"annotation/core/views.py: csrf_exempt"}


def test_no_script_of_ours_writes_markup_or_runs_text():
    pattern = r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert found(SCRIPTS, pattern) == []


def test_the_scan_finds_what_it_looks_for(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.html"
    page.write_text(
        "<script>x</script><p style=x onclick=x><a href='javascript:x'>{{ x|safe }}"
        "<img src='https://x.example'><p hx-vals='js:x'>"
    )
    assert all(found([page], pattern) for pattern in IN_TEMPLATES.values())


def test_what_others_made_is_what_was_looked_at_when_it_came():
    """Vendored files and what the pipeline runs are named by digest, packages by theirs."""
    folder = ROOT / "static" / "vendor"
    found = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "LICENSE"
    }
    assert found == VENDORED
    for workflow in (ROOT / ".github/workflows").iterdir():
        used = re.findall(r"uses:\s*(\S+)", workflow.read_text())
        assert [action for action in used if not re.search(r"@[0-9a-f]{40}$", action)] == []
    for lock in (ROOT / "locks").glob("*.lock"):
        named = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text())
        packages = [part for part in named if re.match(r"[A-Za-z0-9._\[\],-]+ *(==|@)", part)]
        assert packages, lock.name
        assert [part for part in packages if "--hash=sha256:" not in part] == [], lock.name


def test_htmx_is_told_to_run_nothing_and_to_remember_nothing():
    import json

    meta = re.search(
        r"name=\"htmx-config\" content='([^']+)'", (ROOT / "templates/base.html").read_text()
    )
    config = json.loads(meta[1])
    wanted = {
        "allowEval": False,
        "allowScriptTags": False,
        "selfRequestsOnly": True,
        "includeIndicatorStyles": False,
        "historyCacheSize": 0,
        # While it settles, htmx gives an element the attributes of the one before with its id: an
        # answer sent in that time would name the answer of the item before.
        "defaultSettleDelay": 0,
    }
    assert {name: config[name] for name in wanted} == wanted


def test_every_answer_text_on_the_judging_page_is_out_of_htmx_reach():
    folder = ROOT / "templates" / "judging"
    fragments = [*folder.glob("_*.html"), *folder.glob("kinds/*.html")]
    page = "".join(path.read_text() for path in fragments)
    texts = re.findall(r"<(?:div|aside|article)[^>]*>(?=\{\{[^}]*\|(?:markdown|profile))", page)
    assert texts
    assert [tag for tag in texts if "hx-disable" not in tag] == []
