"""The first page of a study: its steps, what blocks them, and what to do next."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.agreement.models import AgreementResult
from annotation.candidates.models import Candidate
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Item, Slot
from annotation.overview.steps import figures_of, steps_of
from annotation.studies.models import TaskDefinition

pytestmark = pytest.mark.django_db


def states(study, user, agreement=()):
    study.role = study.memberships.get(user=user).role
    steps = steps_of(study, figures_of(study), list(agreement), user)
    return {step.name: step.state for step in steps}


def step(study, user, name):
    study.role = study.memberships.get(user=user).role
    return next(s for s in steps_of(study, figures_of(study), [], user) if s.name == name)


def test_who_talks_with_models_brings_questions_and_answers(cast):
    study = cast.study("talk", live={"tasks": ["served"]}, status="draft")
    carol = cast.member("Carol", study, "administrator")
    shown = states(study, carol)
    assert shown["live"] == "open" and not {"questions", "answers"} & shown.keys()


def test_a_new_study_says_what_comes_first_and_what_waits_for_what(cast):
    study = cast.study("empty")
    carol = cast.member("Carol", study, "administrator")
    assert states(study, carol) == {
        "people": "next", "questions": "open", "answers": "blocked", "tasks": "open",
        "invited": "open", "judging": "blocked", "agreement": "blocked", "release": "blocked",
    }  # fmt: skip
    assert step(study, carol, "answers").blocked == "Answers need queries first."


def test_where_annotators_ask_a_batch_waits_for_answers_to_them(cast, tea):
    carol = cast.person("Carol")
    cast.task(tea, owner_only=True)
    assert states(tea, carol)["judging"] == "blocked"
    cast.member("Ann", tea, "annotator")
    assert step(tea, carol, "questions").blocked == "Annotators write their own."
    cast.candidates(cast.query(tea))
    assert states(tea, carol)["judging"] == "next"


def test_each_step_that_is_done_hands_next_on(cast, tea):
    carol = cast.person("Carol")
    persona = cast.persona(tea)
    assert states(tea, carol)["questions"] == "next"
    query = cast.query(tea, persona=persona)
    assert states(tea, carol)["answers"] == "next"
    cast.candidates(query)
    assert states(tea, carol)["tasks"] == "next"
    cast.task(tea)
    reached = states(tea, carol)
    assert (reached["tasks"], reached["invited"], reached["judging"]) == ("done", "done", "next")


def test_figures_count_items_of_work_and_what_is_in_hand(cast, tea):
    carol = cast.person("Carol")
    cast.open(tea, items=2, overlap=3)
    slot = Slot.objects.first()
    Slot.objects.filter(pk=slot.pk).update(status="held", annotator=cast.person("Ann"))
    Item.objects.filter(pk=slot.item_id).update(done=2)
    judging = step(tea, carol, "judging")
    assert judging.figures == ["2 items", "2 of 6 judgments", "1 in hand now"]
    assert (judging.state, judging.part) == ("running", (2, 6))
    # Nobody is sent to freeze what is being judged.
    reached = states(tea, carol, ["κ 0.3"])
    assert (reached["agreement"], reached["release"]) == ("running", "open")
    Item.objects.update(done=3)
    reached = states(tea, carol, ["κ 0.3"])
    assert (reached["agreement"], reached["release"]) == ("done", "next")


def test_a_result_from_before_the_last_judgments_is_still_being_computed(cast, tea):
    carol = cast.person("Carol")
    cast.open(tea, items=2, overlap=3)
    Item.objects.update(done=3)
    result = AgreementResult.objects.create(
        study=tea, task="best", votes=2, closed=False, digest="", agreement={}, tiers={}
    )
    assert states(tea, carol, ["no item has two votes"])["agreement"] == "running"
    AgreementResult.objects.filter(pk=result.pk).update(closed=True)
    assert states(tea, carol, ["κ 0.3"])["agreement"] == "done"


def test_answers_being_written_run_and_failed_ones_are_named(cast, tea):
    query = cast.query(tea)
    cast.query(tea, "q2")
    _done, running, failed = cast.candidates(query)
    Candidate.objects.filter(pk=running.pk).update(status="running")
    Candidate.objects.filter(pk=failed.pk).update(status="failed")
    answers = step(tea, cast.person("Carol"), "answers")
    assert answers.state == "running"
    assert answers.figures == [
        "1 answer", "1 being written", "1 failed", "1 query without an answer",
    ]  # fmt: skip


def test_owners_of_histories_need_no_personas(cast, tea):
    config = {"owner_only": True}
    TaskDefinition.objects.create(study=tea, name="own", kind="feedback", config=config)
    people = step(tea, cast.person("Carol"), "people")
    words = "Annotators bring their own history; personas are not needed."
    assert (people.state, people.figures) == ("done", [words])


def test_a_closed_study_and_one_without_annotators_say_so(cast, tea):
    cast.open(tea)
    carol = cast.person("Carol")
    tea.memberships.filter(role="annotator").delete()
    assert step(tea, carol, "judging").blocked == "Nobody is there to judge yet."
    tea.status = "closed"
    assert step(tea, carol, "judging").blocked.startswith("The study is closed")


def test_a_researcher_sees_all_steps_and_is_led_only_where_the_role_reaches(cast, tea, login):
    text = login(cast.person("Rui")).get("/studies/tea/overview/").text
    steps = text[text.index('class="steps"') :]
    assert len(re.findall(r"<li data-state=", steps)) == 8
    links = re.findall(r'href="(/studies/[^"]+)"', steps)
    assert links == ["/studies/tea/", "/studies/tea/releases/"]


def test_the_navigation_shows_the_groups_open_to_the_reader(cast, tea, login):
    def groups(name, path):
        text = login(cast.person(name)).get(path).text
        bars = re.findall(r'<nav class="tabs (?:groups|pages)"[^>]*>(.*?)</nav>', text, re.S)
        return [re.findall(r">([^<>\n]+)</a>", bar) for bar in bars]

    assert groups("Rui", "/studies/tea/") == [
        ["Overview", "Judging", "Results"],
        ["Results", "Releases"],
    ]
    top, pages = groups("Carol", "/studies/tea/queries/")
    assert top[:5] == ["Overview", "Material", "Judging", "Messages", "Results"]
    assert "Queries" in pages


def test_it_asks_for_itself_again_only_while_something_runs(cast, tea, login):
    client = login(cast.person("Carol"))
    assert "hx-trigger" not in client.get("/studies/tea/overview/").text
    cast.open(tea)
    page = client.get("/studies/tea/overview/").text
    assert 'hx-trigger="every 5s"' in page
    part = client.get("/studies/tea/overview/", headers={"HX-Request": "true"}).text
    assert part.strip().startswith('<section id="steps"')


def test_it_takes_as_many_queries_at_three_items_as_at_one(cast, tea, carol):
    counts = []
    for name, items in (("best", 1), ("more", 3)):
        cast.open(tea, items=items, name=name)
        with CaptureQueriesContext(connection) as queries:
            carol.get("/studies/tea/overview/")
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6


def test_owners_of_histories_are_invited_before_they_ask(cast, tea):
    tea.memberships.filter(role="annotator").delete()
    TaskDefinition.objects.create(
        study=tea, name="own", kind="feedback", config={"owner_only": True}
    )
    reached = states(tea, cast.person("Carol"))
    found = [reached[name] for name in ("questions", "answers", "invited")]
    assert found == ["blocked", "blocked", "next"]


def test_a_study_of_imported_votes_is_ready_for_its_release(cast, tea):
    cast.candidates(cast.query(tea))
    task = cast.task(tea, "best", overlap=1)
    open_batch(tea, task)
    Item.objects.update(done=1)
    tea.memberships.filter(role="annotator").delete()
    reached = states(tea, cast.person("Carol"), ["best: kappa 0.35"])
    assert reached == dict.fromkeys(reached, "done") | {"release": "next"}


def test_describing_people_is_called_optional_in_an_empty_study(cast, tea):
    people = step(tea, cast.person("Carol"), "people")
    assert people.figures == ["0 personas", "Optional: for answers to people who are described."]


def test_who_may_not_invite_reads_who_does(cast, tea):
    cast.task(tea)
    rui = cast.member("Rui", tea, "researcher")
    adam = cast.member("Adam", tea, "administrator")
    tea.memberships.filter(role="annotator").delete()
    words = "An administrator of the study invites people."
    assert (step(tea, rui, "invited").url, step(tea, rui, "invited").figures[-1]) == ("", words)
    assert words not in step(tea, adam, "invited").figures
