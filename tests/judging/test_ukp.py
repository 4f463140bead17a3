"""Real votes: an excerpt in the repository, and the whole corpus where it is at hand."""

from collections import Counter
from pathlib import Path

import pytest

from annotation.accounts.models import User
from annotation.agreement.report import agreement_report
from annotation.imports.bring import import_votes
from annotation.judging.imports import bundles
from annotation.judging.models import Item, Judgment
from annotation.studies.models import Study
from annotation.votes.table import votes_from_columns
from demo import convert_ukp
from tests.corpora import DATA

EXCERPT = Path(__file__).parents[1] / "data" / "ukp-convarg"
WHOLE = DATA / "ukp-convarg"


def exported(study):
    """The study's votes with canonical labels: which side won, or equal."""
    rows = Judgment.objects.filter(slot__study=study).values_list(
        "slot__item__external_id", "annotator__worker", "answers__label"
    )
    tasks, workers, numbers = zip(*rows, strict=True)
    labels = [f"a{number}" if number.isdigit() else "equal" for number in numbers]
    return {"task": list(tasks), "worker": list(workers), "label": labels}


def alpha(columns, kind="krippendorff_alpha"):
    report = agreement_report(votes_from_columns(columns), "nominal", None, 0)
    found = report[kind]
    return round((found["nominal"] if kind == "krippendorff_alpha" else found)["value"], 6)


@pytest.mark.django_db
def test_the_excerpt_is_imported_with_all_its_votes(tmp_path):
    counts = convert_ukp.convert(EXCERPT, tmp_path)
    assert counts == {"queries": 2, "candidates": 16, "items": 20, "votes": 99}
    totals = bundles.import_study(tmp_path)
    assert {name: totals[name] for name in ("queries", "candidates", "items", "slots")} == {
        "queries": 2,
        "candidates": 16,
        "items": 20,
        "slots": 99,
    }
    study = Study.objects.get(slug="ukp")
    result = import_votes(study, tmp_path / "votes.csv")
    assert (result["votes"], result["items"], result["rejected"]) == (99, 20, [])
    assert all(item.done == item.overlap for item in Item.objects.all())
    source = convert_ukp._read(EXCERPT / "judgments.jsonl")
    expected = Counter((v["item_id"], f"ukp:{v['annotator']}", v["choice"]) for v in source)
    columns = exported(study)
    assert (
        Counter(zip(columns["task"], columns["worker"], columns["label"], strict=True)) == expected
    )
    first = source[0]
    vote = Judgment.objects.get(
        slot__item__external_id=first["item_id"], annotator__worker=f"ukp:{first['annotator']}"
    )
    assert (vote.reason, vote.seconds) == (first["reason"].strip(), first["seconds"])


@pytest.mark.django_db
@pytest.mark.skipif(
    not WHOLE.is_dir(),
    reason=f"the whole corpus is not in {WHOLE}: name its parent's parent in ATTUNE_SHARED",
)
def test_the_whole_corpus_agrees_with_the_reference(tmp_path):
    convert_ukp.convert(WHOLE, tmp_path)
    totals = bundles.import_study(tmp_path)
    assert (totals["candidates"], totals["items"], totals["slots"]) == (254, 3956, 19735)
    study = Study.objects.get(slug="ukp")
    result = import_votes(study, tmp_path / "votes.csv")
    assert result == {"votes": 19735, "items": 3956, "workers": 2827, "rejected": []}
    assert User.objects.filter(is_active=False, email=None).count() == 2827
    columns = exported(study)
    assert Counter(columns["label"]) == {"a1": 8079, "a2": 7995, "equal": 3661}
    assert alpha(columns) == 0.376657
    five = set(Item.objects.filter(overlap=5).values_list("external_id", flat=True))
    keep = [place for place, task in enumerate(columns["task"]) if task in five]
    only = {name: [column[place] for place in keep] for name, column in columns.items()}
    assert len(five) == 3911
    assert alpha(only, "fleiss_kappa") == 0.376275
