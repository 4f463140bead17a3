"""Pseudonyms in an order of the release's own, and verdicts that are made once for like items."""

import json

from annotation.datasets import folders, freeze
from annotation.datasets.records import Decided, patterns, shuffled, voters, workers
from annotation.datasets.tally import Tally
from annotation.datasets.truth import RULE, pair, verdict
from tests.datasets.conftest import VOTES


def test_pseudonyms_are_decided_by_the_salt_alone():
    ids = list(range(40))
    one, other = "00" * 32, "01" * 32
    assert workers(one, ids) == workers(one, reversed(ids))
    assert workers(one, ids) != workers(other, ids)
    assert shuffled(one, ids) != ids
    assert sorted(workers(one, range(1001)).values())[0] == "worker-0001"


PANELS = (RULE.panel, RULE.top_up)


def test_items_that_are_decided_together_get_the_verdicts_of_each(reading):
    (chunk,) = reading.chunks()
    first, pattern = patterns(chunk, PANELS, ())
    together = chunk.make(chunk, first)
    # The fourth item has another strategy than the fifth; the first two have equal votes.
    assert (len(first), pattern[0] == pattern[1], pattern[3] == pattern[4]) == (7, True, False)
    decided = Decided.of(pattern, together, [verdict(item) for item in together])
    columns = decided.columns(chunk)
    made = list(zip(*map(columns.get, ("votes", "winner", "share", "tier")), strict=True))
    for item, cells in zip(chunk.items, made, strict=True):
        alone = verdict(item)
        values = [None if cell.as_py() is None else json.loads(cell.as_py()) for cell in cells]
        assert values == [list(alone.counts), alone.winner, alone.share, alone.tier]


def test_items_that_are_counted_together_count_as_each_by_itself(reading):
    (chunk,) = reading.chunks()
    each, together = Tally(), Tally()
    for item in chunk.items:
        each.add(item, verdict(item), *pair(item, verdict(item)))
    first, pattern = patterns(chunk, PANELS, ())
    people, made = voters(chunk, pattern), chunk.make(chunk, first)
    for number, item in enumerate(made):
        times = int((pattern == number).sum())
        decided = verdict(item)
        judged = {"times": times, "voters": people[number]}
        together.add(item, decided, *pair(item, decided), **judged)
    assert together.counts() == each.counts()
    assert together.agreement() == each.agreement()
    assert each.counts()["judgments"] == sum(map(len, VOTES))


def test_an_item_that_the_audit_dropped_is_decided_by_itself(reading):
    (chunk,) = reading.chunks()
    second = json.loads(chunk.columns.texts["item_id"][1].as_py())
    _, pattern = patterns(chunk, PANELS, {second})
    assert pattern[0] != pattern[1]
    _, by_two = patterns(chunk, (2,), ())
    # Their first two votes differ.
    assert by_two[0] != by_two[1]


def test_the_table_of_items_has_each_verdict(reading):
    release = reading.release
    folders.place(folders.folder_of(release), lambda place: freeze.write(release, place))
    lines = (folders.folder_of(release) / "items.jsonl").read_text().splitlines()
    (chunk,) = reading.chunks()
    for row, item in zip(map(json.loads, lines), chunk.items, strict=True):
        alone = verdict(item)
        assert (row["item_id"], row["votes"]) == (item.id, list(alone.counts))
        assert (row["winner"], row["tier"]) == (alone.winner, alone.tier)
        assert (row["judgments"], row["labels"]) == (len(item.votes), list(item.labels))
        assert row["candidates"] == [answer.id for answer in item.answers]
