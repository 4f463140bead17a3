"""The table of items: what filters leave, pages by key, acts and export."""

import csv
import io

import pytest
from django.core.management import call_command

from annotation.accounts.models import User
from annotation.agreement.recompute import recompute
from annotation.agreement.tiers import collection
from annotation.core.errors import DomainError
from annotation.judging.batches.open import close_batch
from annotation.judging.models import Item, ItemComment, Judgment, Slot
from annotation.overview import items
from annotation.overview.items import Filter
from tests.judging.conftest import judge

pytestmark = pytest.mark.django_db
PAGE = "/studies/tea/items/"


@pytest.fixture
def voted(cast, tea, tmp_path):
    """Four items: nine votes of one label, five to four, three of nine, and none."""
    cast.open(tea, items=4, overlap=9)
    ids = list(Item.objects.order_by("position").values_list("external_id", flat=True))
    rows = []
    for item, counts in zip(ids, ((9, 0), (5, 4), (2, 1)), strict=False):
        options = Item.objects.get(external_id=item).options
        shown = list(options.values_list("candidate__external_id", flat=True))
        labels = [shown[0]] * counts[0] + [shown[1]] * counts[1]
        rows += [f"{item},w{n},{label}" for n, label in enumerate(labels)]
    file = tmp_path / "votes.csv"
    file.write_text("\n".join(["task,worker,label", *rows]))
    call_command("import_votes", "tea", str(file))
    recompute(tea, "best")
    return ids


def left(study, **wanted):
    rows = items.LIST.page(study, items.of_work(study), Filter(**wanted)).rows
    return [item.external_id for item in rows]


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ({}, [0, 1, 2, 3]),
        ({"q": "BEST-Q2"}, [1]),
        ({"answers": "answer 1 to best-q3"}, [2]),
        ({"task": "best", "votes": "none"}, [3]),
        ({"task": "other"}, []),
        ({"votes": "some"}, [2]),
        ({"votes": "all"}, [0, 1]),
        ({"agreement": "unanimous"}, [0]),
        ({"agreement": "majority"}, [0, 1, 2]),
        ({"agreement": "split"}, []),
        ({"tier": "medium"}, [0]),
        ({"tier": "ambiguous"}, [1]),
        ({"tier": "borderline"}, []),
        ({"label": "2"}, [1, 2]),
        ({"rater": "w8"}, [0, 1]),
        ({"rater": "nobody"}, []),
        ({"origin": "imported"}, [0, 1, 2]),
        ({"origin": "collected"}, []),
        ({"state": "open"}, [2, 3]),
        ({"state": "closed"}, []),
        ({"sort": "least"}, [3, 2, 0, 1]),
        ({"sort": "split"}, [1, 2, 0]),
        ({"sort": "newest"}, [0, 1, 2, 3]),
    ],
)
def test_a_filter_leaves_its_items_in_their_order(voted, tea, wanted, places):
    assert left(tea, **wanted) == [voted[n] for n in places]


def test_flags_and_comments_are_found(voted, tea, cast):
    judgment = Judgment.objects.filter(slot__item__external_id=voted[1]).first()
    Judgment.objects.filter(pk=judgment.pk).update(flags=["unsafe"])
    ItemComment.objects.create(slot=judgment.slot, author=cast.person("Ann"), text="Odd.")
    assert left(tea, flag="unsafe") == left(tea, comment=True) == [voted[1]]
    assert left(tea, flag="other") == []


@pytest.mark.parametrize("sort", items.SORTS)
def test_pages_by_key_together_are_the_list(voted, tea, sort):
    whole = left(tea, sort=sort)
    seen, after = [], ""
    while True:
        page = items.LIST.page(tea, items.of_work(tea), Filter(sort=sort), after, size=1)
        seen += [item.external_id for item in page.rows]
        after = page.after
        if not after:
            break
    assert seen == whole


@pytest.mark.parametrize("after", ["x", "WzFd", "WyJ4IiwyXQ", "W251bGxd"])
def test_a_place_that_the_list_did_not_give_is_refused(voted, tea, after):
    with pytest.raises(DomainError):
        items.LIST.page(tea, items.of_work(tea), Filter(sort="least"), after)


def test_chosen_items_are_held_back_opened_again_and_asked_about_more(voted, tea, cast):
    by = cast.person("Carol")
    assert items.act(tea, [voted[3]], "close", by=by) == 9
    assert left(tea, state="closed") == [voted[3]]
    assert items.act(tea, [voted[3]], "open", by=by) == 9
    assert left(tea, state="closed") == []
    assert items.act(tea, voted[:2], "more", by=by, number=2) == 4
    more = Item.objects.filter(external_id__in=voted[:2])
    assert set(more.values_list("overlap", flat=True)) == {11}
    with pytest.raises(DomainError, match="how many"):
        items.act(tea, voted, "more", by=by, number=None)
    with pytest.raises(DomainError, match="Choose items"):
        items.act(tea, ["none"], "close", by=by)


@pytest.mark.parametrize(("name", "wanted"), [("open", {}), ("more", {"number": 1})])
def test_items_of_a_closed_batch_are_not_opened_again(voted, tea, cast, name, wanted):
    by = cast.person("Carol")
    close_batch(tea.batches.get(), by=by)
    with pytest.raises(DomainError, match="closed batch"):
        items.act(tea, voted, name, by=by, **wanted)
    assert not Slot.objects.filter(status="open").exists()


def test_an_item_that_was_stopped_early_is_asked_about_more_and_not_opened_again(voted, tea, cast):
    by = cast.person("Carol")
    collection._stop_some(tea, "best", [voted[2]])
    item = Item.objects.get(external_id=voted[2])
    # Its last judgment was not given in the order of its slots.
    Slot.objects.filter(item=item, ordinal=0).update(ordinal=9)
    assert (item.done, item.overlap) == (3, 3)
    assert items.act(tea, [voted[2]], "open", by=by) == 0
    assert items.act(tea, [voted[2]], "more", by=by, number=2) == 2
    new = Slot.objects.filter(item=item, status="open").order_by("ordinal")
    assert list(new.values_list("ordinal", flat=True)) == [10, 11]
    for name in ("Ann", "Bo"):
        judge(tea, cast.person(name))
    item.refresh_from_db()
    assert (item.done, item.overlap) == (5, 5)


def test_assigned_items_are_kept_for_their_annotators(voted, tea, cast):
    by = cast.person("Carol")
    assert items.act(tea, [voted[3]], "assign", by=by, people="Ann, bo@example.org") == 2
    assert items.act(tea, [voted[3]], "assign", by=by, people="Ann") == 0
    slots = Slot.objects.filter(item__external_id=voted[3], reserved_for__isnull=False)
    assert sorted(slots.values_list("reserved_for__name", flat=True)) == ["Ann", "Bo"]
    with pytest.raises(DomainError, match="no annotator"):
        items.act(tea, [voted[3]], "assign", by=by, people="Carol")


def test_items_are_assigned_to_all_of_a_crowd_link_or_a_language_by_turns(voted, tea, cast):
    by = cast.person("Carol")
    people = [cast.member(name, tea, "annotator") for name in ("Dee", "Eli", "Fay")]
    source = tea.sources.create(name="Prolific", completion_code="C")
    for person in people[:2]:
        source.entries.create(study=tea, user=person, participant=person.name, session="s")
    User.objects.filter(pk=people[2].pk).update(reads=["ko"])
    for item in voted[2:]:  # one slot of each is open
        rest = Slot.objects.filter(item__external_id=item, status="open").order_by("ordinal")[1:]
        Slot.objects.filter(pk__in=[slot.pk for slot in rest]).update(status="closed")
    assert items.act(tea, voted[2:], "assign", by=by, people="prolific") == 2
    reserved = Slot.objects.filter(reserved_for__isnull=False)
    assert sorted(reserved.values_list("reserved_for__name", flat=True)) == ["Dee", "Eli"]
    items.act(tea, voted[2:], "open", by=by)
    assert items.act(tea, voted[2:], "assign", by=by, people="KO") == 2
    items.act(tea, voted[2:], "open", by=by)
    cast.member("Ko", tea, "annotator")  # called like the language: meant alone
    assert items.act(tea, voted[2:], "assign", by=by, people="ko") == 2
    assert reserved.filter(reserved_for__name="Ko").count() == 2


def test_the_page_shows_shares_and_exports_what_is_listed(voted, tea, carol):
    page = carol.get(PAGE, {"votes": "all", "sort": "split"}).text
    assert voted[0] in page
    assert voted[2] not in page
    lines = b"".join(carol.get(PAGE, {"votes": "all", "format": "csv"}).streaming_content)
    rows = list(csv.DictReader(io.StringIO(lines.decode())))
    assert [(row["item"], row["judgments"], row["agreement"]) for row in rows] == [
        (voted[0], "9", "1.0"),
        (voted[1], "9", "0.5556"),
    ]
    answer = carol.post(PAGE, {"act": "close", "item": voted[3], "query": "votes=none"})
    assert (answer.status_code, answer.url) == (302, f"{PAGE}?votes=none")
    assert "held back" in carol.get(answer.url).text
    assert carol.get(PAGE, {"batch": "x"}).status_code == 400
    assert carol.get(PAGE, {"after": "x"}, follow=True).status_code == 200


def test_an_item_of_one_vote_has_no_agreement(voted, tea, carol):
    Item.objects.filter(external_id=voted[2]).update(done=1)
    rows = {item.external_id: item.agreement
            for item in items.LIST.page(tea, items.of_work(tea), Filter()).rows}  # fmt: skip
    assert [rows[name] for name in voted] == [1, pytest.approx(5 / 9), None, None]
    lines = b"".join(carol.get(PAGE, {"format": "csv"}).streaming_content)
    exported = {row["item"]: row["agreement"]
                for row in csv.DictReader(io.StringIO(lines.decode()))}  # fmt: skip
    assert exported[voted[2]] == ""


def test_an_id_or_address_that_no_database_or_header_takes_is_refused(voted, carol):
    answer = carol.post(PAGE, {"act": "close", "item": "\0"})
    assert answer.status_code == 400
    assert "Null characters are not allowed." in answer.text
    answer = carol.post(PAGE, {"act": "close", "item": voted[3], "query": "q=a\r\nSet-Cookie: b=c"})
    assert (answer.status_code, answer.url) == (302, f"{PAGE}?q=a%0D%0ASet-Cookie%3A+b%3Dc")
