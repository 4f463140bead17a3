"""The release step of the tier rule: borderline items that join the hard tier."""

import json
from fractions import Fraction

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.core.errors import DomainError
from annotation.datasets import folders, freeze
from annotation.datasets.models import Release

HALF, FIFTH, NINTH = Fraction(1, 2), Fraction(1, 5), Fraction(1, 9)


@pytest.fixture
def judged(items, vote):
    """Eight hard items and three borderline ones.

    Of these the last has the surest winner: one of the two against it is against everybody always.
    """
    made = items(11)
    for item in made[:8]:
        vote(item, "111111112")
    for item, pattern in zip(made[8:], ("221111111", "221111111", "111111122"), strict=True):
        vote(item, pattern)
    return made


def hard_rows(release) -> list[dict]:
    text = (folders.folder_of(release) / "data/specific/hard.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_borderline_items_stay_out_unless_they_are_asked_for(judged, built):
    release = built("personafeedback")
    assert len(hard_rows(release)) == 8
    assert release.manifest["rules"]["tiers"]["parameters"]["hard_fill"] == "0"
    assert release.manifest["rules"]["tiers"]["filled"] == 0
    assert release.manifest["counts"]["left_out"]["two_answers"] == {"borderline": 3}


def test_the_surest_join_up_to_the_share_and_the_release_says_so(judged, built):
    release = built("personafeedback", hard_fill=NINTH)
    rows = {row["item_id"]: row for row in hard_rows(release)}
    joined = [row for row in rows.values() if row["share"] == 7 / 9]
    assert [row["item_id"] for row in joined] == [judged[10].external_id]
    assert joined[0]["tier"] == "hard"
    rules = release.manifest["rules"]["tiers"]
    assert (rules["parameters"]["hard_fill"], rules["filled"]) == ("1/9", 1)
    counts = release.manifest["counts"]
    assert counts["pairs"]["hard"] == 9
    assert counts["left_out"]["two_answers"] == {"borderline": 2}
    hard = release.manifest["agreement"]["better v1"]["tiers"]["hard"]
    assert hard["items"] == 9
    assert hard["symmetric_kappa"]["value"] == pytest.approx((8 * 5 + 2) / 9 / 9)
    card = (folders.folder_of(release) / "README.md").read_text(encoding="utf-8")
    assert "1 borderline items were taken into the hard tier" in card


def test_the_filled_release_comes_out_the_same_again(judged, built, tmp_path):
    release = built("dpo", hard_fill=FIFTH)
    assert freeze.write(release, tmp_path) == release.manifest


def test_a_share_that_cannot_be_is_refused_before_anything_is_frozen(judged, tea):
    with pytest.raises(DomainError, match=r"hard_fill must lie between 0 and 0\.4"):
        freeze.request_release(tea, "dpo", "", None, hard_fill=HALF)
    with pytest.raises(DomainError, match="“long” has no tiers"):
        freeze.request_release(tea, "long", "", None, hard_fill=FIFTH)
    assert not Release.objects.exists()


def test_the_share_is_asked_for_by_command_and_on_the_page(judged, _data, tmp_path, cast, login):
    out = tmp_path / "out"
    call_command("release", "tea", "--layout", "dpo", "--hard-fill", "0.2", "--out", str(out))
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["rules"]["tiers"]["parameters"]["hard_fill"] == "1/5"
    with pytest.raises(CommandError, match=r"Write a number such as 3/5 or 0\.6"):
        call_command("release", "tea", "--hard-fill", "a fifth", "--out", str(tmp_path / "no"))
    browser = login(cast.person("Rui"))
    page = reverse("releases", args=["tea"])
    answer = browser.post(page, {"layout": "dpo", "format": "", "hard_fill": "3/5"})
    assert "between 0 and 0.4" in answer.content.decode()
    browser.post(page, {"layout": "dpo", "format": "", "hard_fill": "1/5"})
    assert Release.objects.latest("version").frozen["choices"]["hard_fill"] == "1/5"
