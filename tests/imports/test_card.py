"""The card of a release of imported judgments claims what is known of them, and nothing else."""

import pytest
from django.core.management import call_command

from annotation.judging.models import Judgment
from annotation.studies.models import Study
from tests.imports.test_import_data import bring  # noqa: F401

pytestmark = pytest.mark.django_db
PAIRS = "id,prompt,answer_a,answer_b,rater,winner\ni,p,a,b,ann,A\ni,p,a,b,bo,A\nj,q,c,d,ann,B\n"
PAPER = "Collected after the method of the paper"


def card(tmp_path, number, layout="long"):
    folder = tmp_path / f"release-{number}"
    rule = [] if layout == "long" else ["--rule", "majority"]
    call_command("release", "tea", "--layout", layout, "--out", folder, *rule)
    return (folder / "README.md").read_text()


def test_a_card_of_imported_judgments_claims_no_method_consent_or_language(
    bring,  # noqa: F811
    tea,
    tmp_path,
):
    assert (tea.languages, str(tea.consent_text)) == (["en"], "tea v1")
    bring(PAIRS, "--study", "tea")
    text = card(tmp_path, 1)
    assert PAPER not in text
    assert "All judgments were imported: how they were collected is not known here." in text
    assert "- Consent text: not known, as all judgments were imported\n" in text
    assert "- Languages: not stated\n" in text
    assert "\nlanguage: []\n" in text
    assert (
        "- 3 judgments were imported. Where their file gave no time, `submitted_at` is the day of "
        "the import.\n"
    ) in text


def test_a_card_of_imported_and_other_judgments_tells_them_apart(bring, tmp_path):  # noqa: F811
    bring(PAIRS, "--study", "tea")
    Study.objects.update(languages=["en"])
    Judgment.objects.filter(pk=Judgment.objects.latest("pk").pk).update(imported=False)
    text = card(tmp_path, 1)
    assert "- Languages: en (of the 2 imported judgments: not known)\n" in text
    assert "- Consent text: none (of the 2 imported judgments: not known)\n" in text
    assert "2 of the 3 judgments were imported: how they were collected is not known here." in text
    assert PAPER not in text
    assert PAPER in card(tmp_path, 2, "personafeedback")
    Judgment.objects.update(imported=False)
    text = card(tmp_path, 3)
    assert (PAPER in text, "imported" in text.partition("## Limits")[2]) == (False, False)
    text = card(tmp_path, 4, "personafeedback")
    assert (PAPER in text, "imported" in text.partition("## Limits")[2]) == (True, False)
