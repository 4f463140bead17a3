"""The download of one's own data: all of mine and nothing of anybody else."""

import json

import pytest

from annotation.accounts import consent
from annotation.candidates.models import Candidate
from annotation.judging.models import Draft, Item, Judgment, Slot
from annotation.judging.work import comments, queue, submit
from annotation.studies import messages
from tests.judging.conftest import DOWNLOAD, LEAVE, as_role, choose, downloaded, judge


@pytest.fixture
def canaries(cast, tea, ann, bo):
    """Ann's own words and, on the same items, those of others and of the models."""
    cast.open(tea, items=3, overlap=2, reason="optional", marks=True)
    for candidate in Candidate.objects.all():
        candidate.model, candidate.strategy = "canary-model", "canary-strategy"
        candidate.external_id = f"canary-{candidate.external_id}"
        candidate.save()
    tea.queries.update(need="canary-need")
    for person, sign in ((ann, "mine"), (bo, "canary-bo")):
        slot = judge(tea, person, data={"reason": f"{sign}-reason"}, seconds=7)
        again = choose(slot, 2) | {"reason": f"{sign}-change"}
        submit.revise(tea, slot, person, again, key="k2", seconds=1)
        comments.write_comment(tea, slot, person, f"{sign}-comment")
        queue.hand_back(queue.claim(tea, person), person, "skipped", f"{sign}-skip")
        held = queue.claim(tea, person)
        Draft.objects.create(slot_id=held, annotator=person, data={"reason": [f"{sign}-draft"]})
        messages.send_message(as_role(tea, "annotator"), person, f"{sign}-message")
    messages.send_message(as_role(tea, "curator"), cast.person("Carol"), "canary-carol")
    return tea


def test_the_download_holds_all_of_mine_and_nothing_of_anybody_else(canaries, page):
    answer = page.get(DOWNLOAD)
    assert answer["Content-Disposition"] == 'attachment; filename="tea-mine.json"'
    text = answer.getvalue().decode()
    for what in ("reason", "change", "comment", "skip", "draft", "message"):
        assert f"mine-{what}" in text, what
    candidates = map(str, Candidate.objects.values_list("pk", flat=True))
    foreign = ("canary", "bo@", "secret-model", *candidates)
    assert [words for words in foreign if words in text.lower()] == []
    data = json.loads(text)
    assert data["person"]["email"] == "ann@example.org"
    assert data["time"] == {"active_seconds": 8.0, "idle_seconds": 0.0}
    assert [(each["name"], each["withdrawn_at"]) for each in data["consents"]] == [("tea", None)]
    (item,) = data["judgments"]
    assert [each["reason"] for each in item["revisions"]] == ["mine-reason", "mine-change"]


def test_the_marked_passages_of_a_download_name_the_place_on_the_page(cast, tea, ann, page):
    cast.open(tea, marks=True)
    slot = queue.claim(tea, ann)
    chosen = choose(slot, 3)
    mark = {"option": chosen["choice"], "start": 0, "end": 6, "text": "Answer", "sign": "+"}
    submit.submit(tea, slot, ann, chosen | {"marks": [mark]}, key="k")
    (revision,) = downloaded(page)["judgments"][0]["revisions"]
    assert revision["marks"][0]["option"] == Judgment.objects.get().shown.index(3) + 1


def test_who_has_left_may_still_download_and_take_their_judgments_out(cast, tea, ann, page):
    cast.open(tea, overlap=1)
    judge(tea, ann)
    page.post(LEAVE, {"choice": "stay"})
    assert "Studies you have left" in page.get("/").text
    assert len(downloaded(page)["judgments"]) == 1
    assert "Stop taking part" not in page.get(LEAVE).text
    for _ in range(2):
        page.post(LEAVE, {"choice": "withdraw"})
        assert (Item.objects.get().done, consent.stands(ann, tea.consent_text)) == (0, False)
    assert Slot.objects.filter(status="void").count() == 1
