"""Raters: what is known of each, what curators do about them, and rulings on disputed items."""

import pytest
from django.urls import reverse

from annotation.agreement.raters import records as reliability
from annotation.core.errors import Conflict, DomainError
from annotation.core.models import AuditEvent
from annotation.judging.curator import adjudication, checks, sanctions
from annotation.judging.models import Adjudication, BonusNote, Desk, Item, Judgment, Slot
from annotation.judging.work import queue, submit
from tests.judging.test_checks import add_checks, purposes, rates
from tests.judging.test_judge_views import URL
from tests.judging.test_queue import choose, expire_now, judge


def panel(cast, study, n):
    return [cast.member(f"P{number}", study, "annotator") for number in range(n)]


def of(study, user, also=None):
    return next(one for one in reliability.raters(study, also) if one.user == user)


@pytest.fixture
def carol(cast, tea):
    return cast.person("Carol")


def test_who_disagrees_with_everybody_gets_a_sign_with_its_evidence_and_rule(cast, tea):
    cast.open(tea, items=60, overlap=4, options=2)
    ann, *others = cast.person("Ann"), *panel(cast, tea, 3)
    for person in others:
        purposes(tea, person, number=1)
    purposes(tea, ann, number=2)
    one = of(tea, ann)
    assert (one.compared, one.agreed) == (60, 0)
    sign = next(sign for sign in one.signs if sign.name == "disagrees")
    assert sign.evidence.startswith("0 of 60 votes with the majority of the others")
    assert "under 0.001" in sign.rule
    assert [sign.name for sign in of(tea, others[0]).signs] == []
    assert reliability.raters(tea)[0].user == ann


def test_fifty_votes_are_needed_for_a_sign_of_disagreement(cast, tea):
    cast.open(tea, items=49, overlap=3, options=2)
    ann, *others = cast.person("Ann"), *panel(cast, tea, 2)
    for person in others:
        purposes(tea, person, number=1)
    purposes(tea, ann, number=2)
    assert of(tea, ann).compared == 49
    assert of(tea, ann).signs == []


def test_votes_of_a_large_study_are_read_again_once_one_changed(cast, tea, monkeypatch):
    cast.open(tea, items=4, overlap=2, options=2)
    ann, bo = cast.person("Ann"), cast.member("Bo", tea, "annotator")
    reads = {"_votes": 0, "_judged": 0}
    monkeypatch.setattr(reliability, "KEPT_FROM", 4)

    def count(name, read):
        def counted(*arguments):
            reads[name] += 1
            return read(*arguments)

        monkeypatch.setattr(reliability, name, counted)

    for name in reads:
        count(name, getattr(reliability, name))
    purposes(tea, ann)
    assert [(of(tea, ann).compared, of(tea, ann).judgments) for _page in range(2)] == [(0, 4)] * 2
    assert reads == {"_votes": 1, "_judged": 1}
    purposes(tea, bo)
    assert [(of(tea, ann).compared, of(tea, bo).judgments) for _page in range(2)] == [(4, 4)] * 2
    assert reads == {"_votes": 2, "_judged": 2}


def place_of(slot_id, place) -> int:
    """The number of the answer shown at ``place`` of a slot."""
    slot = Slot.objects.get(pk=slot_id)
    return submit.ordering.shown_order(slot.item_id, slot.ordinal, slot.item.options.count())[
        place - 1
    ]


@pytest.mark.parametrize("options", [2, 3])
def test_who_always_takes_the_first_place_gets_a_sign(cast, tea, options):
    cast.open(tea, items=30, overlap=1, options=options)
    ann = cast.person("Ann")
    while slot := queue.claim(tea, ann):
        submit.submit(tea, slot, ann, choose(slot, place_of(slot, 1)), key=f"k{slot}")
    one = of(tea, ann)
    assert one.side_p < 1e-6
    assert [sign.name for sign in one.signs] == ["one place"]


def test_time_is_held_against_the_length_of_what_was_shown(cast, tea):
    cast.open(tea, items=12, overlap=3, options=2)
    people = [cast.person("Ann"), *panel(cast, tea, 2)]
    for person in people:
        purposes(tea, person)
    for n, one in enumerate(Judgment.objects.order_by("pk")):
        fast = one.annotator == people[0]
        one.seconds = 0.1 + n / 1e4 if fast else 20 + n % 7
        one.save()
    rater = of(tea, people[0])
    item = Item.objects.order_by("position").first()
    texts = [option.candidate.text for option in item.options.select_related("candidate")]
    shown = len(item.query.text) + sum(map(len, texts))
    assert rater.pace == pytest.approx(1000 * 0.1 / shown, rel=0.1)
    assert [sign.name for sign in rater.signs] == ["fast", "often fast"]
    assert of(tea, people[1]).signs == []


def test_gold_and_repeats_and_skips_are_on_the_raters_page(cast, tea, login):
    cast.open(tea, items=9, overlap=2)
    add_checks(cast, tea, "training", 1)
    add_checks(cast, tea, "gold", 3, expected="2")
    rates(tea, gold_every=2, repeat_every=2)
    ann = cast.person("Ann")
    slot = queue.claim(tea, ann)
    submit.submit(tea, slot, ann, choose(slot), key="trained")
    queue.hand_back(queue.claim(tea, ann), ann, "skipped", "too long for me")
    purposes(tea, ann)
    one = of(tea, ann)
    assert (one.gold.value, one.gold_n, one.training) == (0, 3, (1, 1))
    assert one.repeats.value == 1
    assert one.repeats_n >= 2
    assert (one.judgments, one.skips) == (8, 1)
    client = login(cast.person("Rui"))
    assert one.name in client.get(reverse("raters", args=["tea"])).content.decode()
    page = client.get(reverse("rater", args=["tea", ann.pk])).content.decode()
    for words in ("too long for me", "Gold items right", "of 3; 0.00", "The first time"):
        assert words in page
    assert "Exclude and reopen" not in page
    page = login(cast.person("Carol")).get(reverse("rater", args=["tea", ann.pk]))
    assert "Exclude and reopen" in page.content.decode()


def test_who_is_paused_reads_the_sentence_keeps_what_they_hold_and_may_be_resumed(
    cast, tea, login, carol
):
    cast.open(tea, items=3, overlap=1)
    ann = cast.person("Ann")
    slot = queue.claim(tea, ann)
    client = login(carol)
    pause = reverse("rater-pause", args=["tea", ann.pk])
    assert "Write the sentence" in client.post(pause, follow=True).content.decode()
    client.post(pause, {"sentence": "Please write to us first."})
    assert queue.claim(tea, ann) == slot
    submit.submit(tea, slot, ann, choose(slot), key="k")
    assert queue.claim(tea, ann) is None
    assert "Please write to us first." in login(ann).get(URL).content.decode()
    login(carol).post(reverse("rater-resume", args=["tea", ann.pk]))
    assert queue.claim(tea, ann) is not None
    actions = AuditEvent.objects.filter(target="desk").order_by("pk").values_list("action", "actor")
    assert list(actions) == [("desk.pause", carol.pk), ("desk.resume", carol.pk)]


def test_exclusion_takes_the_votes_out_opens_the_items_and_is_for_good(cast, tea, login, carol):
    cast.open(tea, items=3, overlap=1)
    ann, bo = cast.person("Ann"), cast.person("Bo")
    purposes(tea, ann)
    client = login(carol)
    address = reverse("rater-exclude", args=["tea", ann.pk])
    assert "Give the reason" in client.post(address, follow=True).content.decode()
    assert Desk.objects.get(annotator=ann).excluded_at is None
    page = client.post(address, {"reason": "a bot"}, follow=True).content.decode()
    assert "3 judgments are taken out" in page
    assert "a bot" in page
    assert list(Item.objects.values_list("done", flat=True)) == [0, 0, 0]
    assert tea.memberships.filter(user=ann, left_at=None).exists()
    assert queue.claim(tea, ann) is None
    assert "ended your part" in login(ann).get(URL).content.decode()
    assert purposes(tea, bo) == ["work"] * 3
    for again in (sanctions.resume, sanctions.retrain):
        with pytest.raises(Conflict):
            again(tea, ann, by=carol)
    with pytest.raises(Conflict):
        sanctions.exclude(tea, ann, "once more", by=carol)
    assert of(tea, ann, also=ann).judgments == 3


def test_a_late_answer_of_an_excluded_person_is_refused(cast, tea, carol):
    cast.open(tea, items=1, overlap=1)
    ann = cast.person("Ann")
    slot = queue.claim(tea, ann)
    expire_now(slot)
    sanctions.exclude(tea, ann, "a bot", by=carol)
    with pytest.raises(Conflict) as refusal:
        submit.submit(tea, slot, ann, choose(slot), key="late")
    assert refusal.value.code == "excluded"
    assert Judgment.objects.count() == 0


def test_a_failed_training_is_done_once_more_after_a_reset(cast, tea, carol):
    cast.open(tea, items=2, overlap=2)
    items = add_checks(cast, tea, "training", 2, expected="1")
    rates(tea, pass_mark=1)
    ann, bo = cast.person("Ann"), cast.person("Bo")
    assert purposes(tea, ann, number=2) == ["training", "training"]
    assert Desk.objects.get(annotator=ann).stopped_at
    assert sanctions.retrain(tea, ann, by=carol) == 2
    order = [Slot.objects.get(pk=judge(tea, ann, 1)).item.repeats for _ in range(2)]
    assert order == items
    assert purposes(tea, ann) == ["work", "work"]
    # The copies are Ann's alone.
    assert purposes(tea, bo, number=1) == ["training", "training", "work", "work"]


def test_a_curator_may_let_somebody_work_who_failed_the_training(cast, tea, carol):
    cast.open(tea, items=1, overlap=2)
    add_checks(cast, tea, "training", 1, expected="1")
    rates(tea, pass_mark=1)
    ann = cast.person("Ann")
    assert purposes(tea, ann, number=2) == ["training"]
    sanctions.resume(tea, ann, by=carol)
    assert purposes(tea, ann) == ["work"]


def test_a_bonus_is_noted_and_shown(cast, tea, login, carol):
    ann = cast.person("Ann")
    client = login(carol)
    address = reverse("rater-bonus", args=["tea", ann.pk])
    page = client.post(address, {"text": "5 euros for the careful reasons"}, follow=True)
    assert "5 euros for the careful reasons" in page.content.decode()
    assert BonusNote.objects.get().by == carol
    assert AuditEvent.objects.filter(action="bonus.note").count() == 1


def test_nobody_else_is_a_rater(cast, tea, login, carol):
    client = login(carol)
    assert client.get(reverse("rater", args=["tea", carol.pk])).status_code == 404
    assert client.post(reverse("rater-pause", args=["tea", carol.pk])).status_code == 404


def voted(cast, tea, *numbers):
    """An item with these votes, in the study's one task."""
    for name, number in zip(("Ann", "Bo", "Chen"), numbers, strict=True):
        person = cast.person(name)
        slot = queue.claim(tea, person)
        answer = choose(slot, number) if isinstance(number, int) else {"choice": number}
        data = answer | {"reason": f"said by {name}"}
        submit.submit(tea, slot, person, data, key=f"{name}{slot}")
    return Slot.objects.get(pk=slot).item


def test_ties_come_first_then_the_smallest_lead_and_clear_items_not_at_all(cast, tea, monkeypatch):
    cast.open(tea, items=4, overlap=3, tie=True, none=True, reason="optional")
    clear, two, tied = (
        voted(cast, tea, *numbers) for numbers in ((1, 1, 1), (1, 1, 2), (1, "tie", "none"))
    )
    task = tea.tasks.get()
    found = adjudication.disputed(tea, task)
    assert [(one.pk, one.tied) for one in found] == [(tied.pk, True)]
    monkeypatch.setattr(adjudication, "CLEAR", 0.7)
    assert [one.pk for one in adjudication.disputed(tea, task)] == [tied.pk, two.pk]
    assert clear.pk not in {one.pk for one in found}


def test_a_ruling_is_kept_in_versions_and_changes_no_vote(cast, tea, login, carol):
    cast.open(tea, items=1, overlap=3, reason="optional")
    item = voted(cast, tea, 1, 2, 3)
    client = login(carol)
    assert item.external_id in client.get(reverse("adjudicate", args=["tea"])).content.decode()
    address = reverse("adjudicate-item", args=["tea", item.pk])
    page = client.get(address).content.decode()
    for words in ("said by Ann", "said by Bo", "said by Chen"):
        assert words in page
    for name in ("ann@", "user-", ">Ann<", ">Bo<"):
        assert name not in page
    refused = client.post(address, {"label": "2", "reason": " "})
    assert refused.status_code == 400
    assert "Give the reason" in refused.content.decode()
    assert client.post(address, {"label": "tie", "reason": "x"}).status_code == 400
    client.post(address, {"label": "2", "reason": "It names the fact."})
    client.post(address, {"label": "3", "reason": "On second thoughts."})
    rulings = Adjudication.objects.order_by("pk").values_list("label", "reason", "by")
    assert list(rulings) == [
        ("2", "It names the fact.", carol.pk),
        ("3", "On second thoughts.", carol.pk),
    ]
    item.refresh_from_db()
    assert (item.votes_1, item.votes_2, item.votes_3) == (1, 1, 1)
    assert checks.truth(item) == "3"
    shown = reverse("result-item", args=["tea", item.batch.task.name, item.pk])
    assert "On second thoughts." in client.get(shown).content.decode()
    listed = client.get(reverse("adjudicate", args=["tea"]) + "?ruled=on").content.decode()
    assert item.external_id in listed
    assert (
        "No finished item waits" in client.get(reverse("adjudicate", args=["tea"])).content.decode()
    )


def test_a_ruling_on_a_check_or_another_studys_item_is_refused(cast, tea, login, carol):
    cast.open(tea, items=1, overlap=1)
    (check,) = add_checks(cast, tea, "gold", 1)
    address = reverse("adjudicate-item", args=["tea", check.pk])
    assert login(carol).post(address, {"label": "1", "reason": "x"}).status_code == 404
    with pytest.raises(DomainError):
        adjudication.rule(check, "1", "", by=carol)
