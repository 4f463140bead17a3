"""Training, hidden gold items and repeats: who gets them, when, and that they count nowhere."""

import itertools
import re
from collections import Counter

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.core.models import AuditEvent
from annotation.judging.curator import checks
from annotation.judging.kinds import label_words
from annotation.judging.models import Batch, Checks, Item, Judgment, Participation, Slot
from annotation.judging.work import hidden_checks, queue, submit
from annotation.studies.models import TaskDefinition
from annotation.votes import counting
from tests.judging.conftest import place
from tests.judging.test_checks import add_checks, purposes, rates
from tests.judging.test_judge_views import HTMX, URL, filled, hidden
from tests.judging.test_queue import choose, expire_now, in_parallel, judge


def test_training_comes_first_once_and_in_order(cast, tea):
    cast.open(tea, items=2, overlap=2)
    first, second = add_checks(cast, tea, "training", 2)
    assert (first.slots.count(), Checks.objects.get().study) == (0, tea)
    for name in ("Ann", "Bo"):
        person = cast.person(name)
        assert [Slot.objects.get(pk=judge(tea, person)).item for _ in range(2)] == [first, second]
        assert purposes(tea, person) == ["work", "work"]
    assert list(first.slots.order_by("ordinal").values_list("ordinal", flat=True)) == [0, 1]


def test_who_fails_the_training_is_stopped_with_a_sentence(cast, tea, login, ann, bo):
    cast.open(tea, items=2, overlap=2)
    add_checks(cast, tea, "training", 4, expected="1")
    rates(tea, pass_mark=0.75)
    for number in (1, 1, 2, 2):
        judge(tea, ann, number)
    assert queue.claim(tea, ann) is None
    assert "You answered 2 of 4 training items as expected" in login(ann).get(URL).text
    event = AuditEvent.objects.get(action="participation.unqualified")
    assert (event.details["right"], event.details["total"]) == (2, 4)
    for number in (1, 1, 1, 2):
        judge(tea, bo, number)
    assert purposes(tea, bo) == ["work", "work"]


def test_a_skipped_training_item_counts_as_not_right(cast, tea, ann):
    cast.open(tea, items=1, overlap=2)
    add_checks(cast, tea, "training", 2)
    rates(tea, pass_mark=0.6)
    queue.hand_back(queue.claim(tea, ann), ann, "skipped", "no")
    judge(tea, ann, 1)
    assert queue.claim(tea, ann) is None
    assert Participation.objects.get(annotator=ann).stopped_at is not None


def test_a_training_item_whose_lease_ran_out_comes_back_first(cast, tea, ann, bo):
    cast.open(tea, items=1, overlap=2)
    add_checks(cast, tea, "training", 1)
    slot = queue.claim(tea, ann)
    expire_now(slot)
    assert queue.claim(tea, bo) != slot
    assert queue.claim(tea, ann) == slot


def test_gold_comes_at_irregular_places_at_the_rate_that_was_set(cast, tea):
    cast.open(tea, items=60, overlap=1)
    add_checks(cast, tea, "gold", 15)
    rates(tea, gold_every=5)
    seen = purposes(tea, cast.person("Ann"), most=80)
    assert seen.count("work") == 60
    places = [n for n, purpose in enumerate(seen) if purpose == "gold"]
    gaps = Counter(b - a for a, b in itertools.pairwise(places))
    # The places are drawn with the installation's secret: 3 to 7 items of work between two.
    assert 60 // 7 <= len(places) <= 15
    assert len(gaps) > 1
    assert set(gaps) <= set(range(4, 9))


def test_nobody_gets_a_gold_item_twice_nor_one_made_of_an_item_they_judged(cast, tea, ann, bo):
    cast.open(tea, items=6, overlap=1)
    source = Slot.objects.get(pk=judge(tea, ann)).item
    gold = checks.make(tea, source, "gold", "1", "", by=None)
    rates(tea, gold_every=1)
    assert purposes(tea, ann, most=2) == ["work", "work"]
    assert purposes(tea, bo) == ["work", "gold", "work", "work"]
    assert [slot.annotator for slot in gold.slots.all()] == [bo]


def test_a_repeat_is_an_own_earlier_item_at_least_so_many_judgments_later(cast, tea, ann):
    cast.open(tea, items=30, overlap=1)
    rates(tea, repeat_every=4)
    seen = purposes(tea, ann)
    assert seen.count("work") == 30
    # Drawn, too: 2 to 6 items of work between two, once there are items to repeat.
    assert 4 <= seen.count("repeat") <= 15
    order = list(Judgment.objects.order_by("pk").values_list("slot__item", "slot__item__repeats"))
    place = {item: n for n, (item, _old) in enumerate(order)}
    gaps = [place[item] - place[old] for item, old in order if old]
    assert min(gaps) >= 4
    olds = [old for _item, old in order if old]
    assert len(olds) == len(set(olds))
    again = Item.objects.exclude(repeats=None).first()
    shown = [list(one.options.values_list("number", "candidate")) for one in (again, again.repeats)]
    assert shown[0] == shown[1]


def test_a_repeat_is_a_copy_for_one_person_without_a_place_of_the_study(cast, tea, ann, bo):
    cast.open(tea, items=3, overlap=2)
    rates(tea, repeat_every=1)
    places = list(tea.items.originals().values_list("position", flat=True))
    for person in (ann, bo):
        assert "repeat" in purposes(tea, person)
    copies = tea.items.exclude(made_for=None)
    assert set(copies.values_list("made_for", flat=True)) == {ann.pk, bo.pk}
    assert set(copies.values_list("position", flat=True)) == {None}
    for slot in Slot.objects.filter(item__in=copies).select_related("item__repeats"):
        assert slot.position == slot.item.repeats.position
        assert slot.annotator_id == slot.item.made_for_id == slot.reserved_for_id
    assert list(tea.items.originals().values_list("position", flat=True)) == places
    with pytest.raises(IntegrityError, match="item_has_a_place_or_a_person"), transaction.atomic():
        copies.update(position=99)


def test_repeats_say_who_is_consistent_and_gold_who_is_right(cast, tea, ann, bo):
    cast.open(tea, items=12, overlap=2)
    add_checks(cast, tea, "gold", 3, expected="2")
    rates(tea, repeat_every=3, gold_every=3)
    purposes(tea, ann, number=2)
    numbers = {"work": 1, "repeat": 3, "gold": 1}
    while slot := queue.claim(tea, bo):
        purpose = Slot.objects.get(pk=slot).item.batch.purpose
        submit.submit(tea, slot, bo, choose(slot, numbers[purpose]), key=f"b{slot}")
    for purpose in ("gold", "repeat"):
        found = hidden_checks.outcomes(tea, purpose)
        assert {(one.annotator, one.right) for one in found} == {(ann.pk, True), (bo.pk, False)}


def test_the_first_answer_to_a_gold_item_counts_and_it_may_be_changed_like_work(cast, tea, ann):
    cast.open(tea, items=3, overlap=1)
    add_checks(cast, tea, "gold", 1, expected="2")
    rates(tea, gold_every=1)
    judge(tea, ann)
    slot = judge(tea, ann, 1)
    assert Slot.objects.get(pk=slot).item.batch.purpose == "gold"
    submit.revise(tea, slot, ann, choose(slot, 2), key="changed")
    assert [one.right for one in hidden_checks.outcomes(tea, "gold")] == [False]


def test_checks_count_on_the_desk_and_nowhere_else(cast, tea, ann):
    cast.open(tea, items=4, overlap=1)
    add_checks(cast, tea, "training", 1)
    add_checks(cast, tea, "gold", 2)
    rates(tea, gold_every=1, repeat_every=2)
    seen = purposes(tea, ann)
    assert Counter(seen)["work"] == 4
    assert {"training", "gold", "repeat"} < set(seen)
    assert Participation.objects.get(annotator=ann).done == len(seen) == Judgment.objects.count()
    task = tea.tasks.get()
    assert counting.voted_tasks(tea) == {task.name: 4}
    assert counting.votes_of(task).count() == 4
    assert counting.progress(tea) == {"items": 4, "complete": 4, "votes": 4, "wanted": 4}
    assert set(Item.objects.exclude(batch__purpose="work").values_list("done", flat=True)) == {0}


def test_checks_are_in_no_list_of_the_api_and_in_no_batch_of_the_tasks_page(cast, tea, carol):
    cast.open(tea, items=1, overlap=1)
    add_checks(cast, tea, "gold", 3)
    rates(tea, gold_every=1)
    purposes(tea, cast.person("Ann"))
    assert len(carol.get(reverse("api-judgments", args=["tea"])).json()["results"]) == 1
    page = carol.get(reverse("tasks", args=["tea"])).text
    assert len(re.findall(r"<tbody>\s*<tr>", page)) == 1


def test_the_page_of_a_gold_item_is_that_of_work_to_the_byte(cast, tea, login, ann):
    cast.open(tea, items=3, overlap=1)
    add_checks(cast, tea, "gold", 1)
    rates(tea, gold_every=1)
    tea.queries.update(text="The same question?")
    tea.candidates.update(text="The same answer.")
    client, pages = login(ann), {}
    while slot := queue.claim(tea, ann):
        page = client.get(URL).text
        page = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", page)
        page = re.sub(r'(csrfmiddlewaretoken" value=")\w+', r"\1", page)
        page = re.sub(r"\d+ of (\d+) judged", r"n of \1 judged", page)
        # Not on the first page, whichever it is; nor the lines around it.
        page = re.sub(r"\s+", " ", re.sub(r'(?s)<a class="last".*?</a>', "", page))
        pages.setdefault(Slot.objects.get(pk=slot).item.batch.purpose, set()).add(page)
        submit.submit(tea, slot, ann, choose(slot), key=f"k{slot}")
    assert set(pages) == {"work", "gold"}
    assert len(pages["work"] | pages["gold"]) == 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_training_answer_is_explained_with_and_without_javascript(cast, tea, login, number, ann):
    cast.open(tea, items=1, overlap=3)
    add_checks(cast, tea, "training", 2, expected="1")
    said = "Your answer is the expected one" if number == 1 else "Another answer was expected"
    client = login(ann)

    def answered():
        """The page's form with the answer ``number``, and its place."""
        page = client.get(URL)
        slot = Slot.objects.get(pk=hidden(page, "slot"))
        place = submit.ordering.shown_order(slot.item_id, slot.ordinal, 3).index(number) + 1
        return filled(page, place), place

    form, place = answered()
    for _ in range(2):  # the same submit once more
        answer = client.post(URL, form, **HTMX)
        assert answer.status_code == 200 and "<html" not in answer.text
        for words in (said, "Because of training 1.", f'href="{URL}"', f"<dd>Answer {place}</dd>"):
            assert words in answer.text
    form, _place = answered()
    answer = client.post(URL, form)
    assert answer.status_code == 302
    text = client.get(answer["Location"]).text
    assert said in text and "Because of training 2." in text


def test_nothing_but_ones_own_training_is_explained(cast, tea, login, ann, bo):
    cast.open(tea, items=1, overlap=3)
    add_checks(cast, tea, "training", 1)
    trained, work = judge(tea, ann), judge(tea, ann)
    assert login(ann).get(reverse("explained", args=["tea", trained])).status_code == 200
    assert login(ann).get(reverse("explained", args=["tea", work])).status_code == 404
    assert login(bo).get(reverse("explained", args=["tea", trained])).status_code == 404


def test_preferences_agree_by_side_and_scores_within_one():
    task = TaskDefinition(kind="preference", config={"options": 2, "points": 7})
    item = Item(batch=Batch(task=task))
    pairs = [("1", "3"), ("4", "4"), ("4", "5")]
    assert [hidden_checks.agrees(item, *pair) for pair in pairs] == [True, True, False]
    assert label_words(item, "7", (2, 1)) == ["Answer 1 is much better"]
    task.kind, task.config = "feedback", {"criteria": ["Tone"], "options": 2}
    assert hidden_checks.agrees(item, {"1/Tone": 4, "2/Tone": 1}, {"1/Tone": 5})
    assert not hidden_checks.agrees(item, {"1/Tone": 3}, {"1/Tone": 5})
    assert label_words(item, {"1/Tone": 4}, (2, 1)) == ["Answer 2: Tone 4"]


def test_many_people_at_once_get_one_training_item_each_with_an_ordinal_of_its_own(cast, rush):
    cast.open(rush, items=1, overlap=1)
    (item,) = add_checks(cast, rush, "training", 1)
    people = cast.members(rush, {f"P{n}": "annotator" for n in range(12)})
    slots = in_parallel([lambda p=p: queue.claim(rush, p) for p in people])
    assert len(set(slots)) == 12
    assert set(item.slots.values_list("ordinal", flat=True)) == set(range(12))
    assert Batch.objects.get(purpose="training").items.count() == 1


def test_the_desk_counts_no_hidden_check_off(cast, tea, ann):
    cast.open(tea, items=35, overlap=1)
    add_checks(cast, tea, "gold", 3)
    rates(tea, gold_every=2)
    seen = set()
    for _ in range(6):
        judge(tea, ann)
        told = place(tea, ann)
        seen.add((told.waiting, told.more, told.in_all))
    assert seen <= {(30, True, None), (20, True, None)}
    assert Slot.objects.filter(annotator=ann, item__batch__purpose="gold").exists()
