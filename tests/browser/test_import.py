"""A table comes in pieces through the page, is mapped, imported and seen, on a phone as well."""

import pytest
from playwright.sync_api import expect

from annotation.imports import run
from annotation.imports.models import DataImport
from tests.browser import axe

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = [
    ["id", "question", "answer a", "answer b", "winner", "rater", "nedd"],
    [
        "i1",
        "Which tea is good in the evening?",
        "Rooibos: it has no caffeine.",
        "",
        "A",
        "ann",
        "x",
    ],
    ["i2", "How long does green tea steep?", "Two minutes at 80 °C.", "An hour.", "B", "bo", "x"],
    ["i3", "How much leaf for a cup?", "Two grams.", "Two spoons.", "sideways", "bo", "x"],
]


def clean(page) -> None:
    assert axe.violations(page) + axe.too_wide(page) == []


def test_a_file_becomes_items(page, cast, tea, let_in, tmp_path):
    let_in(page, cast.person("Carol"))
    page.goto("/studies/tea/data/")
    clean(page)
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(",".join(row) for row in ROWS), encoding="cp1252")
    page.set_input_files("#id_file", path)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("A worker reads what the file begins with.")).to_be_visible()
    assert run.run(DataImport.objects.get().pk).status == "waiting"
    expect(page.get_by_role("heading", name="What the columns hold")).to_be_visible()
    expect(page.get_by_text("holds bytes that are no text in UTF-8")).to_be_visible()
    clean(page)
    page.get_by_label("Encoding").select_option("Windows-1252")
    page.get_by_role("button", name="Read it so").click()
    expect(page.get_by_text("A worker reads what the file begins with.")).to_be_visible()
    assert run.run(DataImport.objects.get().pk).status == "waiting"
    expect(page.get_by_text("Two minutes at 80 °C.").first).to_be_visible()
    expect(page.get_by_text("did you mean “need”?")).to_be_visible()
    expect(page.get_by_text("“sideways” is none of its answers")).to_be_visible()
    clean(page)
    page.get_by_label("Leave faulty lines out").check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Requested")).to_be_visible()
    assert run.run(DataImport.objects.get().pk).status == "done"
    expect(page.get_by_role("heading", name="1 faulty line")).to_be_visible()
    clean(page)
    assert (tea.queries.count(), tea.items.count()) == (2, 2)
