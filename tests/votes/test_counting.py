"""Items of a task of own questions are counted, and get tiers, like those of a selection."""

import pytest
from django.urls import reverse

from annotation.agreement import recompute
from annotation.agreement.models import ItemTier
from annotation.agreement.tiers import collection
from annotation.imports.bring import import_votes
from annotation.judging.batches.open import add_items
from annotation.judging.curator import adjudication, checks
from annotation.judging.kinds import kind_of
from annotation.judging.work import queue, submit
from annotation.judging.work.queue import void
from annotation.studies.models import TaskDefinition
from annotation.votes import counting

CLASSES = ["No", "Unsure", "Yes"]
CLEAR, LED, SPLIT = "Yes Yes Yes", "Yes No Yes", "Yes Unsure No"


@pytest.fixture
def asked(cast, tea):
    """A function that opens items under a question of three classes and has people answer them."""

    def judged(*items: str, overlap: int = 3) -> TaskDefinition:
        verdict = {"type": "label", "name": "polite", "ordinal": True, "classes": CLASSES}
        again = {"type": "rating", "name": "depth", "required": False, "points": 5}
        config = {"options": 0, "shows": ["request"], "questions": [again, verdict]}
        task = TaskDefinition.objects.create(
            study=tea, name="own", kind="questions", overlap=overlap,
            config=kind_of("questions").check_config(config),
        )  # fmt: skip
        rows = [
            {"external_id": f"i{n}", "query": cast.query(tea, f"q{n}"), "overlap": overlap}
            for n in range(1, len(items) + 1)
        ]
        add_items(tea, task, rows)
        for name, answers in zip(
            ("Ann", "Bo", "Chen"), zip(*map(str.split, items), strict=True), strict=True
        ):
            for answer in answers:
                person = cast.person(name)
                slot = queue.claim(tea, person)
                data = {"answers": {"polite": answer}}
                submit.submit(tea, slot, person, data, key=f"{name}{slot}")
        return task

    return judged


def counts(study):
    return list(study.items.order_by("position").values_list("done", "counts"))


def test_the_first_question_that_everybody_answers_is_counted(asked, tea, cast):
    asked(CLEAR, LED, SPLIT)
    assert counts(tea) == [
        (3, {"Yes": 3}),
        (3, {"Yes": 2, "No": 1}),
        (3, {"Yes": 1, "Unsure": 1, "No": 1}),
    ]
    tea.edit_hours = 1
    tea.save()
    first = tea.slots.get(item__external_id="i1", annotator=cast.person("Ann"))
    submit.revise(tea, first.pk, first.annotator, {"answers": {"polite": "No"}}, key="again")
    void(tea, cast.person("Bo"), cause="left")
    rows = [(done, {name: n for name, n in each.items() if n}) for done, each in counts(tea)]
    assert rows == [(2, {"Yes": 1, "No": 1}), (2, {"Yes": 2}), (2, {"Yes": 1, "No": 1})]


def test_adjudication_lists_ties_first_and_no_item_on_which_all_agree(asked, tea):
    task = asked(CLEAR, LED, SPLIT)
    listed = [
        (item.external_id, item.tied, item.share) for item in adjudication.disputed(tea, task)
    ]
    assert listed == [("i3", True, pytest.approx(1 / 3)), ("i2", False, pytest.approx(2 / 3))]
    truths = [checks.truth(item) for item in tea.items.order_by("position")]
    assert truths == [{"polite": "Yes"}, {"polite": "Yes"}, None]


def test_three_votes_have_no_tier_yet_and_the_page_tells_of_none(asked, tea, carol):
    asked(CLEAR, LED, SPLIT)
    result = recompute.recompute(tea, "own")
    assert set(ItemTier.objects.values_list("tier", "winner", "votes")) == {("pending", None, 3)}
    everyone = result.tiers["all"]
    # P = (3 + 1 + 0) / 9, of three classes: (3P - 1) / 2.
    assert everyone["symmetric_kappa"]["value"] == pytest.approx(1 / 6)
    assert result.agreement["criteria"]["polite"]["level"] == "ordinal"
    page = carol.get(reverse("results", args=["tea", "own"])).content.decode()
    assert "Stop early" not in page
    assert "rule kappa-bands" not in page
    assert "?pilot=own" in page
    listed = carol.get(reverse("results", args=["tea", "own"]) + "?tier=pending").content.decode()
    assert "Yes: 2" in listed
    plan = {"goal": "kappa", "votes": 3, "half_width": 0.1, "raters": 9, "pilot": "own"}
    planned = carol.get(reverse("planner", args=["tea"]), plan | {"seconds": 20})
    assert planned.status_code == 200
    assert planned.context["plan"]["kappa"] == pytest.approx(1 / 6)


def test_an_item_that_can_reach_no_tier_gets_no_more_votes(asked, tea):
    asked(CLEAR, SPLIT, overlap=9)
    collection.choose_stop(tea, "own", "hard")
    recompute.recompute(tea, "own")
    # With six more votes for its leader the split item would have a kappa of 3/8.
    assert collection.stop_state(tea, "own") == {"below": "hard", "items": 1, "saved": 6}
    overlaps = dict(tea.items.values_list("external_id", "overlap"))
    assert overlaps == {"i1": 9, "i2": 3}


def test_nine_votes_name_the_tier_but_no_answer_that_won(asked, tea, tmp_path):
    asked(CLEAR, CLEAR, overlap=9)
    votes = tmp_path / "votes.csv"
    rows = [f"i1,w{n},Yes" for n in range(6)] + [f"i2,w{n},No" for n in range(6)]
    votes.write_text("\n".join(["task,worker,label", *rows]))
    assert import_votes(tea, votes)["rejected"] == []
    assert counts(tea) == [(9, {"Yes": 9}), (9, {"Yes": 3, "No": 6})]
    recompute.recompute(tea, "own")
    tiers = dict(ItemTier.objects.values_list("item__external_id", "tier"))
    # Of three classes 6:3 is (3·36 - 72) / 144 = 1/4.
    assert tiers == {"i1": "medium", "i2": "borderline"}
    assert set(ItemTier.objects.values_list("winner", flat=True)) == {None}
    assert counting.voted_tasks(tea) == {"own": 18}


def test_two_questions_in_the_same_words_are_told_apart_by_their_names():
    asked = [
        {"type": "label", "name": name, "title": title, "classes": ["no", "yes"]}
        for name, title in (("first", "Is it clear?"), ("second", "Is it clear?"), ("why", "Why?"))
    ]
    config = kind_of("questions").check_config({"questions": asked})
    assert counting.titles_of(TaskDefinition(kind="questions", config=config)) == {
        "first": "Is it clear? (first)",
        "second": "Is it clear? (second)",
        "why": "Why?",
    }
