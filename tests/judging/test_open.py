"""Open a batch with open eyes: what it would hold and cost, then once."""

import json

import pytest
from django.core.management import CommandError

from annotation.candidates.models import Candidate
from annotation.judging.batches.open import open_batch, open_batches
from annotation.judging.batches.preparation import summary_of
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import Scope
from annotation.judging.models import Item, Judgment, Slot
from annotation.studies.models import TaskDefinition
from tests.commands import run

pytestmark = pytest.mark.django_db
PAGE = "/studies/tea/tasks/best/open/"


@pytest.fixture
def three(cast, tea):
    """Three queries of three personas with three answers each, in two languages; nothing open."""
    task = cast.task(tea, "best", overlap=4)
    for n, language in enumerate(("en", "en", "ko"), start=1):
        persona = cast.persona(tea, f"p{n}")
        cast.candidates(cast.query(tea, f"q{n}", persona, language=language))
    return task


def test_a_summary_counts_items_judgments_hours_and_cost_and_stores_nothing(tea, three):
    tea.pay_per_hour, tea.currency = 12, "EUR"
    summary = summary_of(tea, [three])
    assert (summary.items, summary.by_query, summary.judgments) == (3, 3, 12)
    # 12 judgments of 90 s are assumed.
    assert (summary.hours, summary.cost, summary.measured) == (0.3, pytest.approx(3.6), False)
    assert summary.opens and summary.waiting == 0 and len(summary.sample[0]["answers"]) == 3
    assert Item.objects.count() == 0


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        (Scope(queries=("q2",)), {"q2"}),
        (Scope(personas=("p1", "p3")), {"q1", "q3"}),
        (Scope(languages=("ko",)), {"q3"}),
        (Scope(number=2), {"q1", "q2"}),
        (Scope(strategies=("A1", "A2")), set()),
    ],
)
def test_a_scope_keeps_a_batch_to_a_part(tea, three, scope, names):
    batch = open_batch(tea, three, scope=scope)
    items = batch.items.values_list("query__external_id", flat=True) if batch else ()
    assert set(items) == names


def test_pairs_are_drawn_from_the_answers_of_the_strategies_named(cast, tea, three):
    pairs = cast.task(tea, "better", options=2)
    batch = open_batch(tea, pairs, scope=Scope(strategies=("A1", "A3")))
    used = batch.items.values_list("options__candidate__strategy", flat=True)
    assert (batch.size, set(used)) == (3, {"A1", "A3"})


def late(study, name: str) -> Candidate:
    """An answer of another model to a query that has items."""
    query = study.queries.get(external_id=name)
    words = "Read nothing today; sleep instead."
    return Candidate.objects.create(
        study=study, query=query, external_id=f"{name}-late", text=words, strategy="A1", model="o"
    )


def test_queries_with_items_are_planned_again_for_pairs_that_no_item_shows(cast, tea, three):
    pairs, again = cast.task(tea, "better", options=2), Scope(again=True)
    assert open_batch(tea, pairs).size == 3
    assert open_batch(tea, pairs) is None
    assert [open_batch(tea, pairs, scope=again).size for _round in range(2)] == [3, 3]
    # All three pairs of the three answers of each query are there, each once.
    assert open_batch(tea, pairs, scope=again) is None
    shown = [
        frozenset(item.options.values_list("candidate", flat=True))
        for item in Item.objects.filter(study=tea)
    ]
    assert len(set(shown)) == len(shown) == 9
    # Another model joins the pool: its answer meets those that were there.
    added = late(tea, "q1")
    batch = open_batch(tea, pairs, scope=again)
    assert set(batch.items.values_list("external_id", flat=True)) == {"better-q1-v1-4"}
    assert added.pk in batch.items.get().options.values_list("candidate", flat=True)


def test_a_set_of_three_is_planned_once_and_answers_that_came_since_are_scored(cast, tea, three):
    again = Scope(again=True)
    open_batch(tea, three)
    assert open_batch(tea, three, scope=again) is None
    scores = TaskDefinition.objects.create(
        study=tea, name="score", kind="feedback", overlap=1,
        config=kind_of("feedback").check_config({"options": 1}),
    )  # fmt: skip
    assert open_batch(tea, scores).size == 9
    added = late(tea, "q2")
    batch = open_batch(tea, scores, scope=again)
    assert list(batch.items.values_list("options__candidate", flat=True)) == [added.pk]


def test_the_page_shows_the_batch_and_opens_exactly_that_once(tea, three, carol):
    shown = carol.get(PAGE, {"number": "2", "overlap": "3"})
    assert shown.context["summary"].judgments == 6
    # One task has no order between tasks.
    assert not {"also", "order"} & shown.context["form"].fields.keys()
    assert "opening this batch opens it to its annotators" in shown.text
    data = {"number": "2", "overlap": "3", "seen": shown.context["summary"].digest}
    assert carol.post(PAGE, data).status_code == 302
    assert (Item.objects.count(), Slot.objects.count()) == (2, 6)
    # The same button again: it would open the next items, which nobody has seen.
    again = carol.post(PAGE, data)
    assert again.status_code == 409
    assert "look at the batch once more" in again.text
    assert Item.objects.count() == 2


def test_a_wrong_filter_gets_a_sentence_and_no_batch(tea, three, carol):
    for name, value in (("queries", "q1, q9"), ("number", "0"), ("strategies", "A9")):
        assert carol.post(PAGE, {name: value}).status_code == 400
    assert "The study has no q9." in carol.get(PAGE, {"queries": "q9"}).text
    assert Item.objects.count() == 0


def test_the_command_prints_the_same_without_opening_it(tea, three):
    options = ["--task", "best", "--query", "q1", "--overlap", "2", "--dry-run", "--json"]
    printed = json.loads(run("open_batch", "tea", *options))
    assert (printed["items"], printed["judgments"], printed["opens"]) == (1, 2, True)
    assert Item.objects.count() == 0


@pytest.fixture
def scored(cast, tea, three):
    """A second task: every answer gets a score, three of a query on one page."""
    config = kind_of("feedback").check_config({"options": 3, "criteria": ["Tone"]})
    return TaskDefinition.objects.create(
        study=tea, name="score", kind="feedback", overlap=1, config=config
    )


def handed_out(study):
    """Task and query of each item, in the order of hand-out."""
    rows = study.items.order_by("position")
    names = rows.values_list("batch__task__name", "query__external_id")
    return [f"{task} {query}" for task, query in names]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("task", ["best q1", "best q2", "best q3", "score q1", "score q2", "score q3"]),
        ("query", ["best q1", "score q1", "best q2", "score q2", "best q3", "score q3"]),
    ],
)
def test_tasks_that_are_opened_together_come_in_the_order_asked_for(
    tea, three, scored, order, expected
):
    batches = open_batches(tea, [three, scored], order=order)
    assert [(batch.task.name, batch.size) for batch in batches] == [("best", 3), ("score", 3)]
    assert handed_out(tea) == expected
    positions = tea.items.order_by("position").values_list("position", flat=True)
    assert list(positions) == [1, 2, 3, 4, 5, 6]
    slots = Slot.objects.order_by("position", "ordinal").values_list("item__position", "position")
    assert [item for item, _place in slots] == [place for _item, place in slots]


def test_tasks_at_random_come_always_in_the_same_order_and_after_what_waits(tea, three, scored):
    open_batch(tea, three, scope=Scope(queries=("q2",)))
    shown = summary_of(tea, [three, scored], order="mixed")
    open_batches(tea, [three, scored], order="mixed", seen=shown.digest)
    order = handed_out(tea)
    assert order[0] == "best q2" and len(set(order)) == 6
    assert order[1:] != sorted(order[1:])
    assert [row["query"] for row in shown.sample] == [
        tea.queries.get(external_id=name.split()[1]).text for name in order[1:]
    ]


def test_a_summary_of_several_tasks_adds_up_and_a_task_without_news_is_left_out(tea, three, scored):
    open_batch(tea, scored)
    summary = summary_of(tea, [three, scored])
    assert (summary.items, summary.by_query, summary.judgments, summary.overlap) == (3, 3, 12, None)
    assert [batch.task.name for batch in open_batches(tea, [three, scored])] == ["best"]


def test_page_and_command_open_several_tasks_in_an_order(tea, three, scored, carol):
    wanted = {"also": ["score"], "order": "query", "queries": "q1 q2"}
    page = carol.get(PAGE, wanted)
    assert "Order between the tasks" in page.text
    assert page.context["summary"].items == 4
    sample = page.context["summary"].sample
    assert [row["task"] for row in sample] == ["best", "score", "best", "score"]
    seen = page.context["summary"].digest
    assert carol.post(PAGE, wanted | {"seen": seen}).status_code == 302
    assert handed_out(tea) == ["best q1", "score q1", "best q2", "score q2"]
    assert carol.get(PAGE, {"also": ["nothing"]}).status_code == 400
    refused = carol.get(PAGE, {"also": ["score"], "control": "on"})
    assert "it can hide no control" in refused.text
    opened = ["open_batch", "tea", "--task", "best", "--also"]
    assert json.loads(run(*opened, "score", "--json")) == {"items": 2, "slots": 5}
    with pytest.raises(CommandError, match=r"has no task “beast”\. Its tasks: best, score"):
        run(*opened, "beast")


def test_what_is_measured_takes_the_place_of_what_is_assumed(tea, three, ann):
    open_batch(tea, three, scope=Scope(number=1))
    slot = Slot.objects.first()
    Slot.objects.filter(pk=slot.pk).update(status="done", annotator=ann)
    Judgment.objects.create(
        slot=slot, annotator=ann, key="k", digest="d", seconds=30.0,
        submitted_at=slot.item.batch.created_at,
    )  # fmt: skip
    Item.objects.update(done=1)
    summary = summary_of(tea, [three])
    assert (summary.seconds, summary.measured, summary.waiting) == (30.0, True, 3)
