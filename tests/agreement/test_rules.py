"""The tier rule, number by number."""

from fractions import Fraction

import pytest

from annotation.agreement.statistics.tiers import (
    TierRule,
    audit_easy,
    audit_size,
    fill_hard,
    group_kappa,
    is_topped_up,
    item_kappa,
    may_stop,
    new_panel_kappa,
    tier_of,
    tier_report,
    unbiased_votes,
)
from annotation.agreement.tiers.rules import (
    judge,
    pool_kappa,
    tiers_report,
    used_rows,
)
from annotation.votes.table import VotesError, votes_from_columns
from tests.agreement.conftest import make_votes

from .conftest import panel

HARD = {"stop_below": "hard"}
ONE_PATTERN = "all items have one pattern of votes: the interval has no width"


@pytest.mark.parametrize(
    ("counts", "kappa", "tier"),
    [
        ((9, 0), 1.0, "medium"),
        ((8, 1), 0.556, "hard"),
        ((7, 2), 0.222, "borderline"),
        ((6, 3), 0.0, "ambiguous"),
        ((5, 4), -0.111, "ambiguous"),
        ((9, 0, 0), 1.0, "medium"),
        ((8, 1, 0), 0.667, "medium"),
        ((7, 2, 0), 0.417, "hard"),
        ((7, 1, 1), 0.375, "borderline"),
        ((6, 3, 0), 0.25, "borderline"),
        ((6, 2, 1), 0.167, "ambiguous"),
        ((3, 3, 3), -0.125, "ambiguous_tie"),
        ((4, 4, 1), 0.0, "ambiguous_tie"),
    ],
)
def test_nine_votes(counts, kappa, tier):
    options = len(counts)
    assert round(float(item_kappa(counts, options)), 3) == kappa
    assert tier_of(counts, options) == tier_of(counts[::-1], options) == tier


def test_only_some_panel_sizes_have_a_hard_pattern():
    def has_hard(n):
        rule = TierRule(panel=n, minimum=n)
        return any(tier_of((top, n - top), 2, rule) == "hard" for top in range(n // 2 + 1, n + 1))

    assert [n for n in range(3, 16) if has_hard(n)] == [7, 8, 9, 10, 13, 14, 15]


def test_an_open_item_waits_for_nine_votes_and_a_closed_one_for_seven():
    assert tier_of((8, 0), 2, closed=False) == "pending"
    assert tier_of((8, 0), 2) == "medium"
    assert tier_of((6, 1), 2) == "hard"
    assert tier_of((6, 0), 2) == "pending"
    assert tier_of((4, 4), 2) == "ambiguous_tie"


def test_an_edge_is_exact():
    # 9 of 10 votes is exactly 3/5: not above it.
    assert item_kappa((9, 1), 2) == Fraction(3, 5)
    assert tier_of((9, 1), 2, TierRule(panel=10)) == "hard"
    tier = judge(panel({f"t{i}": (9, 0) if i < 1 else (8, 1) for i in range(10)}))
    assert group_kappa(tier, 2) == Fraction(3, 5)


@pytest.mark.parametrize(
    ("pool", "nine", "eight", "seven"),
    [
        (Fraction(2, 3), 0.91, 0.59, 0.35),
        (Fraction(1, 2), 0.83, 0.54, 0.32),
        (Fraction(1, 3), 0.70, 0.45, 0.27),
        (Fraction(1, 5), 0.52, 0.34, 0.21),
    ],
)
def test_kappa_of_a_new_panel(pool, nine, eight, seven):
    items = judge(panel({"nine": (9, 0), "eight": (8, 1), "seven": (7, 2)}))
    found = {item.task: round(new_panel_kappa([item], 2, pool), 2) for item in items}
    assert found == {"nine": nine, "eight": eight, "seven": seven}
    m, n, a = 8, 9, (1 / float(pool) - 1) / 2
    closed = 1 - 4 * (a + m) * (a + n - m) / ((2 * a + n) * (2 * a + n + 1))
    assert new_panel_kappa(items[:1], 2, pool) == pytest.approx(closed)


def test_kappa_of_a_new_panel_with_three_options():
    items = judge(panel({"1": (9, 0, 0), "2": (8, 1, 0), "3": (7, 2, 0)}))
    found = [round(new_panel_kappa([item], 3, Fraction(1, 2)), 2) for item in items]
    assert found == [0.83, 0.61, 0.45]
    assert new_panel_kappa(items, 3, Fraction(0)) is None


def test_the_first_nine_votes_by_time_count():
    labels = ["a"] * 9 + ["b"] * 3
    columns = {
        "task": ["t"] * 12,
        "worker": [f"w{i:02}" for i in range(12)],
        "label": labels,
        # The three votes for b come first; all times are given in different zones and orders.
        "submitted_at": [f"2026-01-02T00:00:{i:02}+00:00" for i in range(9)]
        + ["2026-01-02T01:00:00+05:00", "2026-01-01T00:00:00Z", "2026-01-01T12:00:00"],
    }
    item = judge(votes_from_columns(columns), 2)[0]
    assert dict(item.votes) == {"a": 6, "b": 3}
    assert item.n == 9
    del columns["submitted_at"]
    assert dict(judge(votes_from_columns(columns), 2)[0].votes) == {"a": 9}


def test_a_shared_top_has_no_winner():
    tie, won, pending = judge(panel({"1": (4, 4, 1), "2": (5, 4, 0), "3": (3, 0, 0)}), 3)
    assert (tie.tier, tie.winner, tie.share) == ("ambiguous_tie", None, Fraction(4, 9))
    assert (won.tier, won.winner) == ("ambiguous", "a")
    assert (pending.tier, pending.winner) == ("pending", None)


def test_collection_stops_on_failure_and_never_on_success():
    strict, fill = TierRule(**HARD), TierRule(stop_below="borderline")
    assert may_stop((2, 2), 2, strict)
    assert not may_stop((5, 0), 2, strict)
    assert not may_stop((4, 2), 2, fill)
    assert may_stop((3, 3), 2, fill)
    assert tier_of((2, 2), 2, strict, closed=False) == "ambiguous"
    assert tier_of((2, 1), 2, strict, closed=False) == "pending"
    assert [unbiased_votes(2, rule) for rule in (strict, fill, TierRule())] == [4, 6, 9]


def test_collection_stops_where_the_best_outcome_only_equals_the_threshold():
    """Two lost of nine leave at best 7 to 2, a kappa of 2/9; a tier lies above its threshold."""
    rule = TierRule(hard_above=Fraction(2, 9), borderline_above=Fraction(1, 9), stop_below="hard")
    assert may_stop((5, 2), 2, rule)
    assert not may_stop((6, 1), 2, rule)


@pytest.mark.parametrize(
    ("votes", "top_up", "expected"),
    [(12, 13, False), (13, 13, True), (14, 13, True), (9, 9, False), (10, 10, True)],
)
def test_an_item_is_topped_up_from_the_rules_number_on_if_that_is_more_than_a_panel(
    votes, top_up, expected
):
    assert is_topped_up("borderline", votes, TierRule(top_up=top_up)) is expected
    assert not is_topped_up("hard", votes, TierRule(top_up=top_up))


def test_of_votes_at_the_same_time_those_of_the_first_workers_count():
    columns = {
        "task": ["t"] * 3,
        "worker": ["w3", "w1", "w2"],
        "label": ["a", "b", "a"],
        "submitted_at": ["2026-01-02T00:00:00Z"] * 3,
    }
    votes = votes_from_columns(columns)
    rows = used_rows(votes, 2)
    assert sorted(votes.workers[worker] for worker in votes.worker[rows]) == ["w1", "w2"]


def test_the_pools_kappa_uses_the_votes_before_the_first_possible_stop():
    votes = panel({"t": (8, 1)})
    assert pool_kappa(votes, 2, TierRule()) == Fraction(5, 9)
    assert pool_kappa(votes, 2, TierRule(**HARD)) == 1


def test_a_borderline_item_that_was_topped_up_is_judged_by_thirteen_votes():
    # The first nine votes of each: 7 for a and 2 for b, but of the last one.
    order = dict.fromkeys(("up", "down", "few", "not"), "aaaaaaabb") | {"sure": "a" * 9}
    rest = {"up": "aaaa", "down": "aabb", "few": "aab", "not": "aaaa", "sure": "bbbb"}
    votes = make_votes(
        {
            task: {f"w{n:02}": label for n, label in enumerate(order[task] + rest[task])}
            for task in order
        }
    )

    def tiers(topped):
        return {item.task: (item.tier, item.n) for item in judge(votes, 2, topped=topped)}

    assert set(tiers(frozenset()).values()) == {("borderline", 9), ("medium", 9)}
    assert tiers(frozenset({"up", "down", "few", "sure"})) == {
        "up": ("hard", 13), "down": ("ambiguous", 13), "few": ("borderline", 9),
        "not": ("borderline", 9), "sure": ("medium", 9),
    }  # fmt: skip
    assert item_kappa((11, 2), 2) == Fraction(17, 39)
    report = tiers_report(votes, 2, topped=frozenset({"up"}))
    assert report["tiers"]["hard"]["votes_per_item"]["max"] == 13
    assert report["all"]["votes_per_item"] == {"min": 9, "median": 9, "max": 13}


def hard_and_borderline(hard, borderline):
    votes = panel(
        {f"h{i:02}": (8, 1) for i in range(hard)} | {f"s{i:02}": (7, 2) for i in range(borderline)}
    )
    return judge(votes)


@pytest.mark.parametrize(
    ("hard", "borderline", "fill", "joined"),
    [(30, 10, 0, 0), (20, 30, Fraction(1, 5), 5), (30, 30, Fraction(2, 5), 20),
     (4, 2, Fraction(1, 5), 1)],
)  # fmt: skip
def test_the_fill_stops_at_its_share_and_at_its_kappa(hard, borderline, fill, joined):
    found, reserve = fill_hard(
        hard_and_borderline(hard, borderline), 2, TierRule(hard_fill=Fraction(fill))
    )
    assert (len(found), len(reserve)) == (joined, borderline - joined)
    assert group_kappa(hard_and_borderline(30, 20), 2) > Fraction(21, 50)


def test_the_fill_ends_where_the_tiers_kappa_would_be_exactly_the_floor():
    """21 x 3/7 + 1/2 + 5/9 + 2 x 2/9 over 25 items is 21/50: above the floor with one, not two."""
    hard = {f"h{i:02}": (6, 1) for i in range(21)} | {"h21": (7, 1), "h22": (8, 1)}
    items = judge(panel(hard | {"s1": (7, 2), "s2": (7, 2)}))
    assert group_kappa(items, 2) == Fraction(21, 50)
    joined, reserve = fill_hard(items, 2, TierRule(hard_fill=Fraction(2, 5)))
    assert (len(joined), len(reserve)) == (1, 1)


def test_the_fill_prefers_sure_winners_and_is_the_same_every_time():
    items = hard_and_borderline(4, 3)
    rule = TierRule(hard_fill=Fraction(1, 5))
    joined, _ = fill_hard(items, 2, rule, posterior={"s02": 0.99, "s00": 0.9})
    assert [item.task for item in joined] == ["s02"]
    assert fill_hard(items, 2, rule) == fill_hard(items[::-1], 2, rule)


def test_three_options_are_never_filled():
    votes = panel({f"h{i}": (7, 2, 0) for i in range(40)} | {f"s{i}": (7, 1, 1) for i in range(9)})
    joined, _ = fill_hard(judge(votes), 3, TierRule(hard_fill=Fraction(2, 5)))
    assert joined == []


def test_the_report_of_a_pool():
    votes = panel(
        {f"m{i:02}": (9, 0) for i in range(40)}
        | {f"h{i:02}": (1, 8) for i in range(30)}
        | {f"b{i:02}": (7, 2) for i in range(20)}
        | {"t": (5, 4), "p": (2, 1)}
    )
    report = tiers_report(votes)
    assert report["rule"]["parameters"]["hard_above"] == "2/5"
    assert {name: tier["items"] for name, tier in report["tiers"].items()} == {
        "medium": 40, "hard": 30, "borderline": 20, "ambiguous": 1, "ambiguous_tie": 0,
        "pending": 1,
    }  # fmt: skip
    hard, medium = report["tiers"]["hard"], report["tiers"]["medium"]
    assert hard["symmetric_kappa"]["value"] == pytest.approx(5 / 9)
    assert hard["fleiss_kappa"]["value"] == pytest.approx(-1 / 8)
    assert (hard["band"], hard["in_band"]) == ([0.4, 0.6], True)
    assert "one pattern" in hard["note"]
    assert medium["in_band"] is True
    assert medium["fleiss_kappa"] == {"value": None, "reason": "only one category was voted for"}
    assert report["tiers"]["borderline"]["band"] is None
    item = next(item for item in report["items"] if item["task"] == "h00")
    assert item == {
        "task": "h00", "votes": {"a": 1, "b": 8}, "n": 9, "winner": "b", "share": 8 / 9,
        "tier": "hard",
    }  # fmt: skip


def test_names_of_answers_as_labels_need_the_number_of_options():
    table = {
        f"t{i}": {f"w{j}": f"answer-{i}-{'x' if j else 'y'}" for j in range(9)} for i in range(5)
    }
    report = tiers_report(make_votes(table), 2)
    assert report["tiers"]["hard"]["items"] == 5
    assert report["tiers"]["hard"]["symmetric_kappa"]["value"] == pytest.approx(5 / 9)


def test_more_labels_than_options_on_one_task_are_refused_with_the_vote():
    with pytest.raises(VotesError, match="vote 2: the label 'c' is one more than the 2 options"):
        judge(make_votes({"t": {"u": "a", "v": "b", "w": "c"}}), 2)


def test_one_label_alone_is_full_agreement_between_two_options():
    votes = make_votes({f"t{i}": {f"w{j}": "a" for j in range(9)} for i in range(3)})
    report = tiers_report(votes)
    assert report == tiers_report(votes, 2)
    assert [item["tier"] for item in report["items"]] == ["medium"] * 3
    assert report["tiers"]["medium"]["symmetric_kappa"]["value"] == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"minimum": 10},
        {"medium_above": Fraction(1)},
        {"hard_above": Fraction(7, 10)},
        {"hard_fill": Fraction(1, 2)},
        {"stop_below": "medium"},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(parameters):
    with pytest.raises(ValueError, match=r"rule|thresholds|hard_fill|stop_below"):
        TierRule(**parameters)


def test_a_rules_thresholds_may_meet():
    rule = TierRule(hard_above=Fraction(3, 5), minimum=9, hard_fill=Fraction(2, 5))
    assert (rule.hard_above, rule.medium_above) == (Fraction(3, 5), Fraction(3, 5))
    assert TierRule(borderline_above=Fraction(2, 5)).hard_above == Fraction(2, 5)


def audited_pairs(nearly: int, pairs: int = 100) -> dict:
    """``nearly`` pairs with 8 of 9 votes for the ground truth, the others with all."""
    return {f"t{i:03}": (8, 1) if i < nearly else (9, 0) for i in range(pairs)}


def test_the_easy_tier_is_accepted_above_a_kappa_of_exactly_four_fifths():
    """45 of 100 pairs at 5/9 and the others at 1 have a kappa of 4/5."""
    assert audit_easy(audited_pairs(0, 99), 500)["accepted"] is None
    at = audit_easy(audited_pairs(45), 500)
    assert (at["kappa"], at["accepted"], at["drop"]) == (0.8, False, [])
    assert at["note"] == "the ground truth is not chosen clearly enough"
    above = audit_easy(audited_pairs(44), 500)
    assert above["accepted"] is True
    assert above["note"] == ""
    assert above["kappa"] == pytest.approx(1 - 0.44 * 4 / 9)
    assert above["chose_truth"]["value"] == pytest.approx(1 - 0.44 / 9)


@pytest.mark.parametrize(("against", "accepted"), [(5, True), (6, False)])
def test_the_easy_tier_is_accepted_from_a_lower_bound_of_nine_tenths(against, accepted):
    """All agree on each pair, so that kappa is 1: the bound alone decides (0.907 and 0.896)."""
    votes = {f"t{n}": (0, 9) if n < against else (9, 0) for n in range(103)}
    found = audit_easy(votes, 500)
    assert (found["kappa"], found["accepted"]) == (1.0, accepted)
    assert (found["chose_truth"]["low"] >= 0.9) is accepted
    assert len(found["drop"]) == against


def test_an_audit_is_of_a_tenth_rounded_up_of_a_hundred_at_least_or_of_all():
    sizes = {50: 50, 100: 100, 500: 100, 1000: 100, 1001: 101, 2010: 201}
    assert {size: audit_size(size) for size in sizes} == sizes


def test_the_audit_of_too_few_pairs_decides_nothing_but_what_to_drop():
    assert audit_easy({"good": (8, 1), "bad": (8, 2)}, 500) == {
        "accepted": None,
        "drop": ["bad"],
        "chose_truth": None,
        "kappa": None,
        "note": "2 of the 100 pairs to audit",
    }


def checked(items, pool=None):
    report = tier_report("hard", items, 2, pool)
    return tuple(report[name] for name in ("in_band", "new_panel_in_band", "note"))


@pytest.mark.parametrize(
    ("counts", "kappa", "in_band"),
    [
        ({(9, 0): 3, (8, 1): 27}, Fraction(3, 5), True),
        ({(9, 0): 4, (8, 1): 26}, Fraction(83, 135), False),
        ({(7, 2): 14, (8, 1): 16}, Fraction(2, 5), False),
        ({(7, 2): 13, (8, 1): 17}, Fraction(37, 90), True),
    ],
)
def test_the_hard_band_begins_above_two_fifths_and_ends_with_three(counts, kappa, in_band):
    votes = [row for row, times in counts.items() for _ in range(times)]
    items = judge(panel({f"i{n:02}": row for n, row in enumerate(votes)}))
    assert group_kappa(items, 2) == kappa
    note = "" if in_band else f"kappa {float(kappa):.3f} is outside the band"
    assert checked(items) == (in_band, None, note)


@pytest.mark.parametrize(("hard", "note"), [(1, "1 item is"), (29, "29 items are")])
def test_a_tier_of_few_items_is_not_checked(hard, note):
    note = f"{note} too few to check; {ONE_PATTERN}"
    assert checked(hard_and_borderline(hard, 0)) == (None, None, note)


def test_a_band_names_both_kappas_that_lie_outside():
    items = judge(panel({f"i{n:02}": (7, 2) for n in range(30)}))
    fresh = new_panel_kappa(items, 2, Fraction(1, 2))
    words = "kappa 0.222 is outside the band; a new panel's kappa of"
    note = f"{words} {fresh:.3f} would be outside the band; {ONE_PATTERN}"
    assert checked(items, Fraction(1, 2)) == (False, False, note)


def test_two_items_of_two_votes_have_a_kappa():
    votes = make_votes({"t": {"u": "a", "v": "a"}, "s": {"u": "a", "v": "b"}})
    items = judge(votes, 2, TierRule(panel=2, minimum=2))
    assert group_kappa(items, 2) == 0


def test_the_fill_takes_the_most_agreed_items_first():
    """Of 13 votes, 10 to 3 has a higher kappa than 7 to 2 of 9."""
    rows = {f"h{i}": (8, 1) for i in range(5)} | {"less": (7, 2), "more": (10, 3)}
    items = [
        judge(panel({task: row}), 2, TierRule(panel=13 if sum(row) == 13 else 9))[0]
        for task, row in rows.items()
    ]
    joined, reserve = fill_hard(items, 2, TierRule(hard_fill=Fraction(1, 5)))
    assert [item.task for item in joined + reserve] == ["more", "less"]


def test_a_rule_names_all_its_parameters():
    rule = TierRule(**HARD).as_json()
    assert (rule["name"], rule["version"]) == ("kappa-bands", "1")
    assert rule["parameters"] == {
        "panel": 9, "minimum": 7, "medium_above": "3/5", "hard_above": "2/5",
        "borderline_above": "1/5", "top_up": 13, "hard_fill": "0", "stop_below": "hard",
    }  # fmt: skip
