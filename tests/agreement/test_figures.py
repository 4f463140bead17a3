"""The figures of a task, by hand: three people on four pairs, eleven votes.

Votes for answer 1 and 2: three and none, two and one, none and three, one and one (unfinished).
"""

import csv
import io
import math
import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.agreement import board as boards
from annotation.agreement import recompute, summary
from annotation.agreement.board import Board
from annotation.agreement.figures import OF_CHOICES, figure_names, figure_of
from annotation.candidates.models import Candidate
from annotation.judging.models import Item, Judgment, recounted

# What these votes say nothing of: no two models are compared, and no answer is generic.
ALONE = ("models", "model_wins", "control")
VOTES = {"Ann": "1121", "Bo": "1122", "Chen": "122"}
SECONDS = {"Ann": 10, "Bo": 20, "Chen": 30}
SHOWN = {"Ann": [1, 2], "Bo": [2, 1], "Chen": [2, 1]}


def give(item, user, label, **fields):
    """Store one vote as the judging page does, with any time."""
    slot = item.slots.filter(status="open").order_by("ordinal").first()
    slot.status, slot.annotator = "done", user
    slot.save()
    common = {"key": str(slot.pk), "digest": "", "submitted_at": datetime(2026, 5, 1, tzinfo=UTC)}
    judgment = Judgment.objects.create(slot=slot, annotator=user, **(common | fields))
    judgment.answers.create(question="choice", label=label)
    counts = recounted({label: 1})
    Item.objects.filter(pk=item.pk).update(done=F("done") + 1, counts=counts)


@pytest.fixture
def judged(cast, tea):
    """The study of the first lines, "better"; answer 1 is always of A1, answer 2 of A2."""
    cast.open(tea, items=4, options=2, overlap=3)
    tea.tasks.update(overlap=9)  # further votes are planned: items may get a tier
    for item in tea.items.all():
        for option in item.options.select_related("candidate"):
            option.candidate.strategy = f"A{option.number}"
            option.candidate.save()
    for place, item in enumerate(tea.items.order_by("position")):
        for name, labels in VOTES.items():
            if place < len(labels):
                day = 1 if place < 2 else 3
                give(
                    item,
                    cast.person(name),
                    labels[place],
                    seconds=SECONDS[name],
                    shown=SHOWN[name],
                    reason=f"{name} likes it.",
                    submitted_at=datetime(2026, 5, day, 9, place, SECONDS[name], tzinfo=UTC),
                )
    return tea


@pytest.fixture
def board(judged):
    return Board(judged, judged.tasks.get(name="better"))


@pytest.fixture
def page(login, cast):
    """A function that opens an address as the researcher."""
    client = login(cast.person("Rui"))

    def open_(path, **headers):
        return client.get(f"/studies/tea/{path}", headers=headers)

    return open_


def workers(board, cast):
    return {name: f"user-{cast.person(name).pk}" for name in VOTES}


def test_days_without_work_are_days_too(board):
    rows = figure_of(board, "days").rows
    assert rows == [("2026-05-01", 6, 6), ("2026-05-02", 0, 6), ("2026-05-03", 5, 11)]


def test_complete_items_are_counted_by_the_split_of_their_votes(board):
    figure = figure_of(board, "patterns")
    assert figure.rows == [("3–0", 2, 2 / 3), ("2–1", 1, 1 / 3)]
    assert (figure.votes, figure.items) == (9, 3)


def test_the_matrix_holds_cohens_kappa_of_every_two(board, cast):
    name = workers(board, cast)
    rows = {(a, b): (n, value) for a, b, n, value, *_ in figure_of(board, "matrix").rows}
    # Ann and Bo: 3 of 4 agree, chance 1/2. Ann and Chen: 2 of 3, chance 4/9.
    assert rows[name["Ann"], name["Bo"]] == (4, pytest.approx(0.5))
    assert rows[name["Ann"], name["Chen"]] == (3, pytest.approx(0.4))


def test_side_bias_is_told_for_all_and_for_each(board, cast):
    rows = {row[0]: row[1:] for row in figure_of(board, "sides").rows}
    assert rows["all"][:3] == (11, 7, pytest.approx(7 / 11))
    name = workers(board, cast)
    choices, first, share, _low, _high, p, holm, _reason = rows[name["Ann"]]
    assert (choices, first, share) == (4, 3, 0.75)
    assert (p, holm) == (pytest.approx(0.625), 1.0)


def test_times_have_quartiles_and_a_histogram(board):
    figure = figure_of(board, "seconds")
    rows = dict(figure.rows)
    assert (rows["10–20 s"], rows["20–30 s"], rows["30–60 s"]) == (4, 4, 3)
    assert (rows["lower quartile, s"], rows["median, s"], rows["upper quartile, s"]) == (10, 20, 25)
    assert "Median 20 s" in figure.lead


def test_a_strategys_share_is_the_mean_over_its_items(board):
    first, second = figure_of(board, "wins").rows
    assert first[:4] == ("A1", 4, 11, pytest.approx((1 + 2 / 3 + 0 + 1 / 2) / 4))
    assert second[3] == pytest.approx(1 - first[3])


def test_a_control_is_the_generic_answer_and_its_share_is_told_for_all_and_for_each(judged, cast):
    Candidate.objects.filter(strategy="A2").update(strategy="A3")
    board = Board(judged, judged.tasks.get(name="better"))
    figure = figure_of(board, "control")
    (_all, items, votes, share, *_limits), *each = figure.rows
    assert (items, votes, share) == (4, 11, pytest.approx((0 + 1 / 3 + 1 + 1 / 2) / 4))
    name = workers(board, cast)
    rows = {row[0]: row[1:4] for row in each}
    assert rows[name["Ann"]] == (4, 4, 0.25)
    assert rows[name["Bo"]] == (4, 4, 0.5)
    assert rows[name["Chen"]] == (3, 3, pytest.approx(2 / 3))
    assert figure.lead.startswith("1 of 3 annotators preferred it in more than half")
    assert (figure.votes, figure.items) == (11, 4)


def test_strengths_are_those_of_the_votes_with_the_side_taken_off(board):
    # A1 wins 3 of 4 when shown first and 3 of 7 when not: two equations for two unknowns.
    rows = {row[0]: row[2] for row in figure_of(board, "strategies").rows}
    assert rows["A1"] == pytest.approx(math.log(2.25) / 4)
    assert rows["A2"] == pytest.approx(-math.log(2.25) / 4)
    assert rows["shown first"] == pytest.approx(math.log(2))


def test_without_a_known_order_strengths_are_the_plain_log_odds(board):
    Judgment.objects.update(shown=[])
    rows = {row[0]: row[2] for row in figure_of(board, "strategies").rows}
    assert rows == {
        "A1": pytest.approx(math.log(6 / 5) / 2),
        "A2": pytest.approx(-math.log(6 / 5) / 2),
    }
    assert "in which order" in figure_of(board, "sides").reason


def test_three_answers_have_places_and_no_strengths(cast, tea):
    cast.open(tea, items=1, options=3, overlap=2, tie=True)
    item = tea.items.get()
    give(item, cast.person("Ann"), "2", shown=[3, 1, 2])
    give(item, cast.person("Bo"), "tie", shown=[1, 2, 3])
    board = Board(tea, tea.tasks.get())
    assert figure_of(board, "sides").rows == [(1, 0, 0.0), (2, 0, 0.0), (3, 1, 1.0)]
    assert "three answers" in figure_of(board, "strategies").reason
    assert board.votes_of(board.items.get()) == "Answer 2: 1, Equally good: 1"


def test_every_figure_of_an_empty_task_is_a_reason(cast, tea):
    cast.open(tea, items=1, options=2)
    board = Board(tea, tea.tasks.get())
    assert {figure_of(board, key).reason for key in OF_CHOICES} == {"There are no votes yet."}


def test_one_vote_gives_values_or_reasons_and_never_an_error(cast, tea):
    cast.open(tea, items=1, options=2)
    give(tea.items.get(), cast.person("Ann"), "1")
    board = Board(tea, tea.tasks.get())
    figures = {key: figure_of(board, key) for key in OF_CHOICES}
    reasons = {key for key, one in figures.items() if one.reason}
    # Of the two answers' strategies A1 and A2 one has won: that can be ranked, with care.
    waiting = {"agreement", "patterns", "tiers", "matrix", "sides", "seconds"}
    assert reasons == waiting | set(ALONE)
    assert "Regularised" in figures["strategies"].lead
    assert not any("nan" in str(one.rows) for one in figures.values())


# --- The pages ---------------------------------------------------------------------------------


def test_the_page_draws_every_figure_with_its_table_and_download(judged, page):
    recompute.recompute(judged, "better")
    html = page("results/better/").content.decode()
    drawn = re.findall(r'<svg class="chart" role="img" [^>]*aria-labelledby="(\w+)-name', html)
    # Signs are a table.
    assert drawn == [key for key in OF_CHOICES if key not in (*ALONE, "flags")]
    links = re.findall(r"/figures/(\w+)\.csv", html)
    assert links == ["agreement", *(key for key in OF_CHOICES if key not in ALONE)]
    assert re.findall(r"/figures/(\w+)\.png", html) == drawn
    assert html.count('<text x="0%" y="12" text-anchor="start" class="axis">') == len(drawn)
    assert "style=" not in html


@pytest.mark.parametrize("name", ["tiers", "wins", "strategies", "strategy_wins", "days"])
def test_a_figure_leaves_as_svg_png_and_csv_with_method_and_n(judged, page, name):
    recompute.recompute(judged, "better")
    figure = figure_of(Board(judged, judged.tasks.get(name="better")), name)
    files = {end: page(f"results/better/figures/{name}.{end}") for end in ("svg", "png", "csv")}
    kinds = [answer["Content-Type"] for answer in files.values()]
    assert kinds == ["image/svg+xml", "image/png", "text/csv; charset=utf-8"]
    drawing = ElementTree.fromstring(files["svg"].content)  # noqa: S314 - our own
    words = " ".join(node.text for node in drawing.iter() if node.get("class") == "caption")
    assert words == f"{figure.caption} Tea, Better."
    assert (figure.how in words, f"n = {figure.size}." in words) == (True, True)
    png = files["png"].content
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    size = [round(2 * float(drawing.get(side))) for side in ("width", "height")]
    assert [int.from_bytes(png[at : at + 4]) for at in (16, 20)] == size
    caption, header, *rows = csv.reader(io.StringIO(files["csv"].content.decode()))
    assert caption == [f"# {words}"]
    assert header == list(figure.header)
    cells = [["" if cell is None else str(cell) for cell in row] for row in figure.rows]
    assert rows == cells


def test_a_tier_without_items_is_a_row_and_no_mark(judged):
    recompute.recompute(judged, "better")
    figure = figure_of(Board(judged, judged.tasks.get(name="better")), "tiers")
    filled = [f"{name} ({items})" for name, items, *_ in figure.rows[1:] if items]
    assert 0 < len(filled) < len(figure.rows) - 1
    assert list(dict.fromkeys(re.findall(r">([^<>]+ \(\d+\))<", figure.svg))) == filled


def test_the_win_matrix_counts_what_each_strategy_won(board):
    figure = figure_of(board, "strategy_wins")
    assert figure.rows == [("A1", "A2", 11, 6 / 11), ("A2", "A1", 11, 5 / 11)]
    assert (figure.votes, figure.items) == (11, 4)
    cells = re.findall(r"<title>(\d  A\d × \d: [\d.]+)</title>", figure.svg)
    assert cells == ["1  A1 × 2: 0.55", "2  A2 × 1: 0.45"]


@pytest.mark.parametrize("name", ["none.svg", "days.exe", "flags.svg", "models.png"])
def test_a_figure_that_is_not_there_is_not_found(judged, page, name):
    assert page(f"results/better/figures/{name}").status_code == 404


def test_a_page_asks_the_same_number_of_questions_however_many_votes_there_are(judged, page, cast):
    recompute.recompute(judged, "better")
    with CaptureQueriesContext(connection) as few:
        page("results/better/")
    for name in ("Dora", "Emil"):
        cast.member(name, judged, "annotator")
    last = judged.items.get(position=4)
    give(last, cast.person("Dora"), "2")
    cast.open(judged, name="best", options=3, items=5)
    with CaptureQueriesContext(connection) as more:
        page("results/better/")
    assert len(more) == len(few)


def test_a_figure_comes_as_csv_and_a_formula_in_a_name_is_disarmed(judged, page, ann):
    ann.worker = "tea:=1+1"
    ann.save()
    answer = page("results/better/figures/sides.csv")
    assert 'filename="tea-better-sides.csv"' in answer["Content-Disposition"]
    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert "'=1+1" in {row[0] for row in rows}


def test_the_open_page_is_brought_up_to_date_only_when_there_are_new_votes(judged, page):
    def ask(votes, of=""):
        return page(f"results/better/?votes={votes}&of={of}", **{"HX-Request": "true"})

    same = ask(11)
    assert (same.status_code, same.content) == (204, b"")
    fresh = ask(10).content.decode()
    assert fresh.count('hx-swap-oob="true"') == 2 * len(OF_CHOICES) + 2
    assert "<html" not in fresh
    # The recomputation comes after the votes: it is news of its own.
    result = recompute.recompute(judged, "better")
    assert f"of={result.digest}" in ask(11).content.decode()
    assert ask(11, result.digest).status_code == 204


def test_from_a_disputed_item_one_comes_to_its_votes_reasons_and_times(judged, page):
    html = page("results/better/").content.decode()
    first = re.search(r'href="/studies/tea/(results/better/items/[^"]+)"', html)[1]
    answer = page(first)
    text = answer.content.decode()
    assert "better-better-q4" in text
    assert ("Ann likes it." in text, "Bo likes it." in text) == (True, True)
    assert "secret-model-7b" in text


def plan_of(answer):
    found = re.findall(r"<dt>([\w ]+)</dt>\s*<dd>([\d.]+)</dd>", answer.content.decode())
    return dict(found)


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        # 1.96² · 1/4 / 0.05² is 384.1; one vote an item, a minute each.
        ("goal=rate&half_width=0.05&kappa=0.5&options=2&rate=0.5&votes=1&seconds=60&pilot=",
         {"Items": "385", "Judgments": "385", "Hours in all": "6.4"}),
        # The pilot's own kappas spread by 1: 1.96² / 0.5² is 15.4. Its median time is 20 s.
        ("goal=kappa&half_width=0.5&pilot=better&votes=3&raters=4",
         {"Items": "16", "Judgments": "48", "Hours in all": "0.3", "Hours each": "0.1"}),
    ],
)  # fmt: skip
def test_the_planner_counts_items_from_assumptions_or_from_a_pilot(judged, page, query, plan):
    assert plan_of(page(f"planner/?{query}")) == plan


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("goal=kappa&half_width=0&votes=9", "greater than or equal to"),
        ("goal=kappa&half_width=0.05&votes=1&kappa=0.5&options=2&seconds=9", "two judgments"),
        ("goal=kappa&half_width=0.05&votes=9", "Needed where no votes are used."),
        ("goal=kappa&half_width=nan&votes=9&kappa=nan&options=2&seconds=9", "Enter a number."),
        ("goal=kappa&half_width=0.05&votes=9&pilot=better&raters=3", "9 votes an item need 9"),
        ("goal=kappa&half_width=0.05&votes=9&pilot=none", "Select a valid choice"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_a_sentence(judged, page, query, sentence):
    answer = page(f"planner/?{query}")
    assert answer.status_code == 400
    assert sentence in answer.content.decode()


def test_many_votes_are_kept_ready_and_give_the_same_figures(judged, monkeypatch):
    """What a page computes from the stored votes is what it would compute from the votes."""
    monkeypatch.setattr(boards, "READ_AT_ONCE", 5)
    recompute.recompute(judged, "better")
    definition = judged.tasks.get(name="better")
    kept = Board(judged, definition)
    afresh = Board(judged, definition, afresh=True)
    for key in OF_CHOICES:
        assert figure_of(kept, key) == figure_of(afresh, key), key
    with CaptureQueriesContext(connection) as asked:
        again = Board(judged, definition)
        [figure_of(again, key) for key in OF_CHOICES]
    assert not any("judging_answer" in one["sql"] for one in asked)


def test_every_figure_leaves_out_who_withdrew(judged, cast, page):
    consent.withdraw(cast.person("Chen"), judged.consent_text)
    board = Board(judged, judged.tasks.get(name="better"))
    assert board.totals == {"votes": 8, "wanted": 12, "items": 4, "complete": 0}
    disputed = [(item.position, item.judged, board.votes_of(item)) for item in board.disputed()]
    assert disputed[0][1:] == (2, "Answer 1: 1, Answer 2: 1")
    assert sum(n * sum(votes) for votes, _done, n in board.patterns) == 8
    assert figure_of(board, "days").votes == 8
    assert ">8 <" in page("").content.decode()
    first = judged.items.order_by("position").first()
    assert ">2 <" in page(f"results/better/items/{first.pk}/").content.decode()


def test_a_revised_vote_counts_once_and_makes_the_result_due(judged):
    recompute.recompute(judged, "better")
    old = Judgment.objects.get(annotator__name="Ann", slot__item__position=1)
    same = {"slot": old.slot, "annotator": old.annotator, "submitted_at": old.submitted_at}
    new = Judgment.objects.create(**same, key="again", digest="", revision=2, replaces=old)
    new.answers.create(question="choice", label="2")
    Item.objects.filter(pk=old.slot.item_id).update(
        counts=recounted({"1": -1, "2": 1}), last_judgment=new.pk
    )
    assert recompute.results_due() == [(judged, "better")]
    result = recompute.recompute(judged, "better")
    assert result.votes == 11
    board = Board(judged, judged.tasks.get(name="better"))
    assert sum(row[1] for row in figure_of(board, "days").rows) == 11
    assert [row[0] for row in figure_of(board, "patterns").rows] == ["3–0", "2–1"]


def test_more_votes_than_are_read_leave_out_the_last_items_whole(judged, monkeypatch, page):
    monkeypatch.setattr(boards, "CAP", 8)
    monkeypatch.setattr("annotation.agreement.views.CAP", 8)
    board = Board(judged, judged.tasks.get(name="better"))
    assert (board.last, len(board.rows)) == (2, 6)
    assert "first 2 items" in page("results/better/").content.decode()


def test_tasks_of_fewer_votes_than_a_tier_needs_are_told_of_none(judged, page):
    judged.tasks.update(overlap=6)
    recompute.recompute(judged, "better")
    text = page("results/better/").content.decode()
    for word in ("Pending", "fewer than", "rule kappa-bands", "Tiers", "Stop early", "/tiers.csv"):
        assert word not in text
    assert "Vote patterns" in text
    judged.tasks.update(overlap=7)
    text = page("results/better/").content.decode()
    assert "Pending" in text and "rule kappa-bands" in text and "/tiers.csv" in text


def test_the_page_begins_with_what_is_asked_first_and_leads_to_it(judged, page):
    recompute.recompute(judged, "better")
    answer = page("results/better/")
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())
    assert f"Judgments 11 of {judged.items.count() * 3} wanted Items complete 3 of 4" in text
    assert "Symmetric kappa 0.167" in text
    assert "Krippendorff&#x27;s alpha 0.333" in text
    assert "Pending 4 kappa 0.17 · fewer than 9 votes" in text
    assert 'href="?tier=pending#disputed"' in answer.content.decode()
    listed = page("results/better/?tier=pending").context
    assert (listed["tier"], len(listed["disputed"])) == ("pending", 4)
    assert page("results/better/?tier=hard").context["disputed"] == []
    assert page("results/better/?tier=nonsense").context["tier"] == ""


def test_a_tasks_results_begin_with_a_sentence_that_says_them(judged, page):
    result = recompute.recompute(judged, "better")
    ((_criterion, report, _coefficients),) = result.parts
    told = summary.verdict(report, "nominal")
    assert (round(told.value, 3), told.at) == (0.333, 157)
    # 3 votes: 3α / (1 + 2α) = 0.6; 0.8 takes 4 (1 − α) / α = 8.
    assert told.sentence.startswith("Fair agreement (alpha 0.33, ")
    assert told.sentence.endswith(
        "3 votes an item together are reliable to 0.60 (Spearman–Brown); "
        "5 more each would reach 0.80."
    )
    for address in ("results/better/", ""):
        assert told.sentence in page(address).content.decode()


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        (-0.1, "Poor agreement (alpha -0.10; Landis and Koch 1977). More votes would not help."),
        (-1e-17, "Slight agreement (alpha 0.00; Landis and Koch 1977). More votes would not help."),
        (0.9, "reliable to 0.98 (Spearman–Brown)."),
        (0.05, "no panel of usual size reaches 0.80."),
        (None, "Agreement cannot be told yet: no item has two votes."),
    ],
)
def test_the_sentence_of_a_task_says_what_its_alpha_means(alpha, words):
    value = {"value": alpha, "reason": "no item has two votes"}
    report = {"krippendorff_alpha": {"nominal": value}, "votes_per_item": {"median": 5.0}}
    assert summary.verdict(report, "nominal").sentence.endswith(words)


def test_people_whose_votes_were_imported_are_raters_whom_nobody_can_give_work(cast, tea, login):
    cast.open(tea, items=1, options=2)
    theirs = User.objects.create(email="w7@imported.invalid", worker="tea:w7")
    give(tea.items.get(), theirs, "1", imported=True)
    client = login(cast.person("Carol"))
    overview = client.get("/studies/tea/raters/")
    assert next((one.name, one.judgments) for one in overview.context["page"]) == ("w7", 1)
    page = client.get(f"/studies/tea/raters/{theirs.pk}/").content.decode()
    assert ("w7" in page, "What to do" in page) == (True, False)
    ann = cast.person("Ann")
    assert "What to do" in client.get(f"/studies/tea/raters/{ann.pk}/").content.decode()


def test_a_tie_that_the_task_allowed_before_is_counted_still(cast, tea):
    cast.open(tea, items=1, options=2, overlap=2, tie=True)
    give(tea.items.get(), cast.person("Ann"), "1")
    give(tea.items.get(), cast.person("Bo"), "tie")
    old = tea.tasks.get()
    new = old.__class__.objects.create(
        study=tea, name=old.name, version=2, kind=old.kind, config={**old.config, "tie": False}
    )
    board = Board(tea, new)
    assert board.labels == ["1", "2", "tie"]
    assert sorted(board.rows.category.tolist()) == [0, 2]
    assert recompute.recompute(tea, "better").agreement["categories"] == ["1", "2", "tie"]


def test_where_no_answer_names_its_strategy_no_share_of_strategies_is_drawn(board):
    assert "wins" in figure_names(board)
    Candidate.objects.update(strategy="")
    assert "wins" not in figure_names(Board(board.study, board.definition))
