"""The card of a release of imported judgments claims what is known of them, and nothing else."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.candidates.models import Candidate
from annotation.datasets.layouts.long import ITEMS
from annotation.judging.models import Batch, Judgment
from annotation.queries.models import Query
from annotation.studies.models import Provenance, Study

pytestmark = pytest.mark.django_db
PAIRS = "id,prompt,answer_a,answer_b,rater,winner\ni,p,a,b,ann,A\ni,p,a,b,bo,A\nj,q,c,d,ann,B\n"
PAPER = "Collected after the method of the paper"


def card(tmp_path, number, layout="long"):
    folder = tmp_path / f"release-{number}"
    rule = [] if layout == "long" else ["--rule", "majority"]
    call_command("release", "tea", "--layout", layout, "--out", folder, *rule)
    return (folder / "README.md").read_text()


def test_a_card_of_imported_judgments_claims_no_method_consent_or_language(bring, tea, tmp_path):
    assert (tea.languages, str(tea.consent_text)) == (["en"], "tea v1")
    bring(PAIRS, "--study", "tea")
    text = card(tmp_path, 1)
    assert PAPER not in text
    assert "All judgments were imported: how they were collected is not known here." in text
    assert "- Consent text: not known, as all judgments were imported\n" in text
    assert "- Languages: not stated\n" in text
    assert "\nlanguage: []\n" in text
    assert "- 3 judgments were imported. Where their file gave no time, `submitted_at` is" in text


def test_a_card_of_imported_and_other_judgments_tells_them_apart(bring, tmp_path):
    bring(PAIRS, "--study", "tea")
    Study.objects.update(languages=["en"])
    Judgment.objects.filter(pk=Judgment.objects.latest("pk").pk).update(imported=False)
    text = card(tmp_path, 1)
    assert "- Languages: en (of the 2 imported judgments: not known)\n" in text
    assert "- Consent text: none (of the 2 imported judgments: not known)\n" in text
    assert "2 of the 3 judgments were imported: how they were collected is not known here." in text
    assert PAPER not in text
    text = card(tmp_path, 2, "personafeedback")
    assert (PAPER in text, ", the 1 given here alone;" in text) == (True, True)
    Judgment.objects.update(imported=False)
    text = card(tmp_path, 3)
    assert (PAPER in text, "imported" in text.partition("## Limits")[2]) == (False, False)
    text = card(tmp_path, 4, "personafeedback")
    assert (PAPER in text, "imported" in text.partition("## Limits")[2]) == (True, False)


KNOWN = (
    *("--source", "Tea votes", "--citation", "Tea et al. 2020", "--licence", "CC0-1.0"),
    *("--collected-from", "2019-05-01", "--collected-to", "2019-06-30", "--languages", "ko,en"),
    *("--consent", "They agreed to research."),
)


def test_what_is_known_of_an_import_is_what_the_release_says(bring, tmp_path):
    bring(PAIRS, "--study", "tea", *KNOWN)
    known = Provenance.objects.get()
    for model in (Judgment, Query, Candidate, Batch):
        assert set(model.objects.values_list("provenance", flat=True)) == {known.pk}
    text = card(tmp_path, 1)
    assert (
        "- Tea votes, imported (3 judgments): cited as: Tea et al. 2020; licence: CC0-1.0; "
        "collected: 2019-05-01 to 2019-06-30; consent: They agreed to research.; languages: ko, en."
    ) in text
    assert "\n- Consent text: see Provenance\n" in text
    assert "how they were collected was said there: Tea et al. 2020." in text
    folder = tmp_path / "release-1"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["provenance"][0]["licence"] == "CC0-1.0"
    days = [json.loads(line) for line in (folder / "judgments.jsonl").read_text().splitlines()]
    assert {row["submitted_at"] for row in days} == {""}
    described = json.loads((folder / "croissant.json").read_text())
    assert described["citeAs"] == "Tea et al. 2020"
    assert described["inLanguage"] == ["ko", "en"]
    assert described["rai:dataCollectionTimeframe"] == ["2019-05-01", "2019-06-30"]
    (items,) = [records for records in described["recordSet"] if records["name"] == "items"]
    assert [field["name"] for field in items["field"]] == list(ITEMS)
    call_command("check_release", folder)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--collected-from", "yesterday", "Enter a valid date"),
        ("--collected-from", "2999-01-01", "in the future"),
        ("--languages", "English", "no code of a language"),
    ],
)
def test_what_cannot_be_true_of_an_import_is_refused(bring, option, value, words):
    with pytest.raises(CommandError, match=words):
        bring(PAIRS, "--study", "tea", option, value)
    assert Judgment.objects.count() == 0


DOCUMENT = {
    "name": "Tea votes",
    "url": "https://example.org/tea",
    "citation": "Tea et al. 2020",
    "licence": None,
    "collected_from": "2019-05-01",
    "collected_to": "2019-06-30",
    "consent": "They agreed to research.",
    "languages": ["ko", "en"],
}


def test_a_source_is_a_whole_document_and_single_arguments_come_before_it(bring, tmp_path):
    path = tmp_path / "source.json"
    path.write_text(json.dumps(DOCUMENT))
    bring(PAIRS, "--study", "tea", "--source", str(path), "--citation", "Tea 2021")
    known = {name: value for name, value in DOCUMENT.items() if name not in ("name", "url")}
    assert Provenance.objects.get().as_json() == known | {
        "file": "mine.csv",
        "source": "Tea votes, https://example.org/tea",
        "citation": "Tea 2021",
        "licence": "",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON in UTF-8"),
        ("[]", "is an object of name, url, citation"),
        ('{"license": "CC0-1.0"}', "nothing else"),
        ('{"name": 5}', "name and url are texts"),
        ('{"url": 0}', "name and url are texts"),
        ('{"collected_from": "yesterday"}', "Collected from"),
        ('{"collected_to": "2999-01-01"}', "in the future"),
        ('{"languages": "en"}', "Languages"),
    ],
)
def test_a_document_of_a_source_that_does_not_fit_is_refused(bring, tmp_path, text, words):
    path = tmp_path / "source.json"
    path.write_text(text)
    with pytest.raises(CommandError, match=words):
        bring(PAIRS, "--study", "tea", "--source", str(path))
    assert not Study.objects.exists()
