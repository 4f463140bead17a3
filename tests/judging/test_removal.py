"""Delete what nobody has judged, put aside what somebody has, and say so before."""

import pytest

from annotation.candidates.models import Candidate
from annotation.core.models import AuditEvent
from annotation.judging.curator import adjudication, checks, removal
from annotation.judging.kinds import KINDS
from annotation.judging.models import Batch, Item, Judgment, Slot
from annotation.judging.work import queue, submit
from annotation.personas.models import Attribute
from annotation.queries.models import Query
from annotation.studies.models import Study
from tests.browser.kinds import open_kind

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(cast, tea):
    return cast.open(tea, items=2, overlap=3)


def judge(cast, tea):
    tea.refresh_from_db()
    slot = queue.claim(tea, cast.person("Ann"))
    chosen = Item.objects.get(slots=slot).options.first().candidate_id
    submit.submit(tea, slot, cast.person("Ann"), {"choice": str(chosen)}, key="k")
    return Item.objects.get(slots=slot)


def things(study):
    return {
        "query": study.queries.first(),
        "task": study.tasks.first(),
        "answer": Candidate.objects.filter(study=study).first(),
        "batch": study.batches.first(),
        "study": study,
    }


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ("query", (1, 3, 1, 1)),
        ("task", (0, 6, 2, 0)),
        ("answer", (1, 5, 2, 1)),
        ("batch", (0, 6, 2, 0)),
        ("study", (0, 0, 0, 0)),
    ],
)
def test_what_nobody_judged_is_deleted_with_what_shows_it(cast, tea, batch, what, left):
    removal.remove(tea, what, things(tea)[what], by=cast.person("Carol"))
    counts = (Item, Candidate, Query, Batch)
    assert tuple(model.objects.count() for model in counts) == left
    assert Slot.objects.count() == left[0] * 3
    assert AuditEvent.objects.filter(action=f"{what}.delete").count() == 1
    assert all(b.size == b.items.count() for b in Batch.objects.all())


@pytest.mark.parametrize("what", ["query", "task", "answer", "batch", "study"])
def test_what_somebody_judged_is_put_aside_with_its_judgments(cast, tea, batch, what):
    item = judge(cast, tea)
    thing = things(tea)[what]
    if what == "query":
        thing = item.query
    if what == "answer":
        thing = item.options.first().candidate
    plan = removal.look(tea, what, thing)
    assert (plan.deletes, plan.sentences[0]) == (False, "It has 1 judgment and stays.")
    removal.remove(tea, what, thing, by=cast.person("Carol"))
    assert (Judgment.objects.count(), Item.objects.count()) == (1, 2)
    assert AuditEvent.objects.filter(action=f"{what}.archive").count() == 1
    aside = {
        "query": lambda: not item.slots.filter(status="open").exists(),
        "task": lambda: not Slot.objects.filter(status="open").exists(),
        "answer": lambda: Candidate.objects.get(pk=thing.pk).review == "rejected",
        "batch": lambda: Batch.objects.get().closed_at is not None,
        "study": lambda: Study.objects.get(pk=tea.pk).status == "closed",
    }
    assert aside[what]()


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_with_items_of_any_kind_can_be_deleted_whole(cast, tea, kind):
    open_kind(cast, tea, kind)
    assert removal.remove(tea, "study", tea, by=cast.person("Carol")).deletes
    assert not Study.objects.filter(slug="tea").exists()


def test_an_attribute_goes_with_its_items(cast, tea):
    open_kind(cast, tea, "attribute")
    attribute = Item.objects.first().attribute
    removal.remove(tea, "attribute", attribute, by=cast.person("Carol"))
    assert Item.objects.count() == 1


def test_an_answer_goes_with_its_rewrites_and_what_shows_them(cast, tea, batch):
    first, second, third = Candidate.objects.filter(query__external_id="best-q1").order_by("pk")
    Candidate.objects.filter(pk=second.pk).update(source=first)
    Candidate.objects.filter(pk=third.pk).update(source=second)
    plan = removal.remove(tea, "answer", first, by=cast.person("Carol"))
    assert plan.sentences == ["1 item goes along.", "2 answers go along."]
    assert (Item.objects.count(), Candidate.objects.count()) == (1, 3)


def test_an_answer_stays_where_somebody_judged_a_rewrite_of_it(cast, tea, batch):
    shown = judge(cast, tea).options.first().candidate
    source = cast.candidates(cast.query(tea, "q9"), 1)[0]
    Candidate.objects.filter(pk=shown.pk).update(source=source)
    assert not removal.remove(tea, "answer", source, by=cast.person("Carol")).deletes
    assert Candidate.objects.get(pk=source.pk).review == "rejected"


@pytest.mark.parametrize("judged", [False, True])
def test_an_attribute_goes_with_answers_written_from_it_where_nobody_judged_them(
    cast, tea, batch, judged
):
    item = judge(cast, tea) if judged else Item.objects.first()
    attribute = Attribute.objects.create(
        persona=tea.personas.get(), external_id="a1", text="Reads."
    )
    answers = Candidate.objects.filter(options__item=item, options__number=1)
    answers.update(attribute=attribute)
    plan = removal.remove(tea, "attribute", attribute, by=cast.person("Carol"))
    assert plan.deletes == (not judged)
    assert Attribute.objects.exists() == Item.objects.filter(pk=item.pk).exists() == judged


def test_an_item_stays_whose_check_somebody_has_answered(cast, tea):
    batch = cast.open(tea, items=1, overlap=1)
    carol, source = cast.person("Carol"), batch.items.get()
    adjudication.rule(source, "1", "Plain to see.", by=carol)
    checks.make(tea, source, "training", "1", "It says so.", by=carol)
    assert judge(cast, tea).batch.purpose == "training"
    assert not removal.remove(tea, "batch", batch, by=carol).deletes
    assert (Judgment.objects.count(), Item.objects.count()) == (1, 2)


def test_the_page_says_what_goes_along_and_does_nothing_until_asked(cast, tea, batch, carol):
    queue.claim(Study.objects.get(pk=tea.pk), cast.person("Ann"))
    page = f"/studies/tea/remove/batch/{batch.pk}/"
    text = carol.get(page).text
    assert "2 items go along." in text and "1 person has one open now" in text
    assert Item.objects.count() == 2
    assert carol.post(page).url == "/studies/tea/tasks/"
    assert Item.objects.count() == 0
    assert carol.post(page).status_code == 404


@pytest.mark.parametrize("path", ["batch/x", "batch/" + "9" * 40, "answer/17", "king/1"])
def test_nonsense_is_not_there(tea, path, carol):
    assert carol.get(f"/studies/tea/remove/{path}/").status_code == 404


def test_only_an_administrator_deletes_a_study(tea, carol):
    assert carol.post(f"/studies/tea/remove/study/{tea.pk}/").status_code == 403
