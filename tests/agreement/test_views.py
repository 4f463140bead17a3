"""The results of tasks of other kinds than selections: what is stored, and what pages say."""

import json
import re

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from annotation.agreement import recompute
from annotation.agreement.board import Board
from annotation.agreement.figures import figure_of
from annotation.agreement.models import AgreementResult, ItemTier
from annotation.agreement.statistics.correlation import concordance
from annotation.agreement.tasks import recompute_due
from annotation.core.errors import DomainError
from annotation.datasets import freeze
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import kind_of
from annotation.judging.models import Batch, Judgment, Slot
from annotation.judging.work import comments, queue, submit
from annotation.studies.models import TaskDefinition
from annotation.votes import stored
from annotation.votes.counting import newest
from annotation.votes.table import VotesError
from tests import everykind
from tests.browser.kinds import open_kind

pytestmark = pytest.mark.usefixtures("without_rests")

OTHERS = ("feel", "matter", "order", "own", "rate", "traits")


@pytest.fixture
def computed(mix):
    recompute_due()
    return mix


@pytest.fixture
def page(login, cast):
    client = login(cast.person("Rui"))

    def open_(path, study="mix", **headers):
        return client.get(f"/studies/{study}/{path}", headers=headers)

    return open_


def board(study, task):
    return Board(study, newest(study, task)[0])


def disputed(study, task):
    one = board(study, task)
    return [(row["item"].external_id, row["votes"]) for row in one.lines(one.disputed())]


def test_every_kind_has_a_result_and_selections_and_own_questions_have_tiers(mix):
    assert [task for _study, task in recompute.results_due()] == sorted([*OTHERS, "better"])
    recompute_due()
    assert recompute.results_due() == []
    tiers = dict(AgreementResult.objects.values_list("task", "tiers"))
    assert sorted(task for task, found in tiers.items() if found) == ["better", "own"]
    assert ItemTier.objects.count() == 2


def test_verdicts_have_nominal_coefficients_and_scales_ordinal_ones(computed):
    found = {one.task: one for one in computed.agreement_results.all()}
    keys = {task: [key for key, *_ in one.parts[0][2]] for task, one in found.items()}
    nominal = ["symmetric_kappa", "krippendorff_alpha", "percent_agreement", "fleiss_kappa"]
    assert keys["traits"] == keys["matter"] == [*nominal, "gwet_ac1"]
    ordinal = ["krippendorff_alpha", "percent_agreement", "gwet_ac2", "icc1"]
    assert keys["rate"] == keys["feel"] == ordinal
    assert found["traits"].votes == 6
    # All three agree on one attribute, nobody on the other: (3·½ − 1) / 2.
    kappas = {key: one["value"] for key, _name, one in found["traits"].parts[0][2]}
    assert kappas["symmetric_kappa"] == pytest.approx(0.25)
    assert found["traits"].agreement["rule"] == {"name": "agreement-by-kind", "version": "1"}


def test_feedback_has_one_report_a_criterion(computed):
    result = computed.agreement_results.get(task="feel")
    assert (result.votes, result.agreement["workers"]) == (2, 2)
    shares = {name: one["percent_agreement"]["value"] for name, one, _ in result.parts}
    assert shares == {"Tone": 0.0, "Depth": 1.0}


def test_a_vote_less_and_one_more_make_their_own_task_due_although_the_count_is_the_same(computed):
    before = recompute.digests(computed)
    item = computed.items.filter(external_id="i-m1")
    item.update(done=F("done") - 1)
    item.update(done=F("done") + 1, last_judgment=F("last_judgment") + 1)
    after = recompute.digests(computed)
    assert {task for task in before if before[task] != after[task]} == {"matter"}


def test_checks_make_no_result_due(computed):
    batches = computed.batches.exclude(purpose=Batch.Purpose.WORK)
    assert batches.count() == 2
    before = recompute.digests(computed)
    Slot.objects.filter(item__batch__in=batches).delete()
    assert recompute.digests(computed) == before


def test_the_study_page_lists_every_kind_with_its_coefficients(computed, page):
    text = page("").content.decode()
    for task in OTHERS:
        assert f'href="/studies/mix/results/{task}/"' in text
    assert text.count("How items get their tiers") == 2
    assert "Krippendorff&#x27;s alpha, ordinal" in text
    named = set(re.findall(r'href="/studies/mix/results/feel/#(how-\w+)"', text))
    anchors = set(re.findall(r'id="(how-\w+)"', page("results/feel/").content.decode()))
    assert len(named) == 4
    assert named <= anchors


def test_the_page_of_a_task_says_how_far_it_is_what_was_said_and_by_which_rule(computed, page):
    answer = page("results/traits/")
    text = " ".join(answer.content.decode().split())
    head = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert "Symmetric kappa 0.250 -0.50 … 1.00" in head
    assert "Judgments 6 of 6 wanted Items complete 2 of 2" in head
    assert "votes: 6 · annotators: 3 · items: 2. Rule agreement-by-kind, version 1." in text
    figures = {one.key: one for one in answer.context["figures"]}
    assert list(figures) == ["agreement", "answers", "days"]
    assert [row[:2] for row in figures["answers"].rows] == [
        ("accepted", 4), ("uncertain", 1), ("rejected", 1),
    ]  # fmt: skip
    assert figures["days"].rows[-1][2] == 6


def test_the_open_page_of_a_task_follows_its_votes(computed, page):
    digest = computed.agreement_results.get(task="rate").digest
    same = page(f"results/rate/?votes=3&of={digest}", **{"HX-Request": "true"})
    assert (same.status_code, same.content) == (204, b"")
    fresh = page(f"results/rate/?votes=2&of={digest}", **{"HX-Request": "true"}).content.decode()
    # The headline, six figures with their tables, and the disputed items.
    assert fresh.count('hx-swap-oob="true"') == 14
    assert "<html" not in fresh
    assert f"votes=3&amp;of={digest}" in fresh


def test_the_least_agreed_on_items_come_first_and_lead_to_their_votes(computed, page):
    assert disputed(computed, "traits") == [
        ("i-a2", "accepted: 1, uncertain: 1, rejected: 1"),
        ("i-a1", "accepted: 3"),
    ]
    assert disputed(computed, "matter") == [("i-m1", "yes: 2, no: 1")]
    assert disputed(computed, "feel") == [("i-feel", "4 5"), ("i-feel", "2 2")]
    item = computed.items.get(external_id="i-a2")
    assert (
        f"/studies/mix/results/traits/items/{item.pk}/" in page("results/traits/").content.decode()
    )


def test_a_preference_for_a_side_is_told_from_one_for_an_answer(computed, cast):
    """Two people prefer "own" by two points, one "generic" by one: what was first differs."""
    own = computed.items.get(external_id="i-rate").options.get(candidate__external_id="c-own")
    first = 0
    for slot in Slot.objects.filter(item__external_id="i-rate", status="done"):
        prefers_own = slot.annotator != cast.person("Chen")
        first += (slot.judgments.get().shown[0] == own.number) == prefers_own
    row = figure_of(board(computed, "rate"), "sides").rows[0]
    assert row[1:3] == (3, first)


def test_the_answers_of_a_scale_have_a_row_each(computed):
    rows = figure_of(board(computed, "rate"), "answers").rows
    assert [row[0][:2] for row in rows] == ["1:", "2:", "3:", "4:", "5:"]
    # Canonically, "own" is the first answer: much better, much better, a little worse.
    assert [row[1] for row in rows] == [2, 0, 0, 1, 0]


@pytest.mark.parametrize("task", OTHERS)
def test_a_task_nobody_judged_says_so_on_its_page(cast, tmp_path, page, task):
    cast.member("Rui", everykind.study(tmp_path, "fresh"), "researcher")
    text = page(f"results/{task}/", "fresh").content.decode()
    assert "There are no votes yet." in text
    assert "No item has two votes yet." in text


def test_pages_take_as_many_statements_however_many_votes_there_are(computed, cast, page):
    addresses = ["", *(f"results/{task}/" for task in OTHERS)]
    items = dict(computed.items.values_list("external_id", "pk"))
    shown = {"traits": "i-a2", "feel": "i-feel", "rate": "i-rate", "matter": "i-m1"}
    shown["order"] = "i-order"
    addresses += [f"results/{task}/items/{items[name]}/" for task, name in shown.items()]

    def asked(address):
        with CaptureQueriesContext(connection) as found:
            assert page(address).status_code == 200
        return len(found)

    counts = [asked(address) for address in addresses]
    queue.void(computed, cast.person("Bo"), cause="Reads nothing.")
    fewer = [asked(address) for address in addresses]
    assert fewer == counts


def test_an_items_page_has_the_votes_of_any_kind_with_their_reasons(computed, page):
    items = dict(computed.items.values_list("external_id", "pk"))

    def text(task, name):
        return page(f"results/{task}/items/{items[name]}/").content.decode()

    traits = text("traits", "i-a2")
    assert "uncertain: the conversation does not show it" in traits
    assert "Only once." in traits
    assert "Lives near the sea." in traits
    feel = text("feel", "i-feel")
    assert "Tone 4, Depth 2" in feel
    assert "Tone 4: 4 it is" not in feel
    assert "Tone: 4 it is<br>Depth: 2 it is" in feel
    assert "Answer 1 is much better" in text("rate", "i-rate")
    assert "No, it should not" in text("matter", "i-m1")


def test_an_items_page_shows_what_annotators_told_the_curators(computed, page, ann):
    slot = Slot.objects.get(item__external_id="i-m1", annotator=ann)
    comments.write_comment(
        computed, slot.pk, ann, "The question is **cut off**. <script>x</script>"
    )
    text = page(f"results/matter/items/{slot.item_id}/").content.decode()
    assert f"user-{ann.pk}" in text
    assert "The question is <strong>cut off</strong>." in text
    assert "<script>x" not in text


def test_what_only_its_owner_judges_is_on_no_page_of_others(computed, page):
    item = computed.items.get(external_id="i-feel")
    task = item.batch.task
    task.config |= {"owner_only": True}
    task.save()
    assert page(f"results/feel/items/{item.pk}/").status_code == 404
    assert page("results/feel/").status_code == 200


def test_claims_have_their_progress_alone(cast, login):
    study = cast.study("gold")
    cast.member("Rui", study, "researcher")
    ann = cast.member("Ann", study, "annotator")
    open_kind(cast, study, "claims", items=1, overlap=1)
    slot = study.slots.get()
    slot.status, slot.annotator = "done", ann
    slot.save()
    study.items.update(done=1)
    at = "2026-05-01T09:00:00Z"
    review = Judgment.objects.create(slot=slot, annotator=ann, key="k", digest="", submitted_at=at)
    claims = slot.item.gold.claims.order_by("number")
    for claim, verdict in zip(claims, ("keep", "edit", "drop"), strict=True):
        text = "It is near." if verdict == "edit" else ""
        review.answers.create(question="claims", part=claim.pk, label=verdict, text=text)
    recompute_due()
    assert study.agreement_results.get().agreement == {"items": 1, "votes": 1, "workers": 1}
    client = login(cast.person("Rui"))
    answer = client.get("/studies/gold/results/claims/")
    assert [one.key for one in answer.context["figures"]] == ["days"]
    assert answer.context["figures"][0].rows == [("2026-05-01", 1, 1)]
    assert "Progress of Claims" in client.get("/studies/gold/").content.decode()
    item = client.get(f"/studies/gold/results/claims/items/{slot.item_id}/").content.decode()
    assert "Claim 2: edit" in item
    assert "Claim 2: It is near." in item


def test_a_scale_that_nobody_used_yet_leaves_the_results_of_the_old_one(computed, page):
    old = computed.tasks.get(name="rate")
    config = {**old.config, "points": 7}
    computed.tasks.create(name="rate", version=2, kind="preference", config=config)
    assert recompute.results_due() == []
    assert len(page("results/rate/").context["figures"][1].rows) == 5


def test_scores_and_preferences_have_means_by_strategy_over_people(computed):
    """Of 1 to 5: twice "own" much better, once a little worse than "generic"."""
    rows = figure_of(board(computed, "rate"), "strategy_means").rows
    # 1, 1 and a quarter: one of 27 resamples is the third person alone, more than 2.5 per cent.
    assert rows == [("A1", 3, 3, 0.75, 0.25, 1.0), ("generic", 3, 3, 0.25, 0.0, 0.75)]
    # Two people gave one answer 4 and 5, and both 2; nobody said which model wrote it.
    rows = figure_of(board(computed, "feel"), "strategy_means").rows
    assert rows == [("A1", "Depth", 2, 2, 2.0, 2.0, 2.0), ("A1", "Tone", 2, 2, 4.5, 4.0, 5.0)]
    rows = figure_of(board(computed, "feel"), "model_means").rows
    assert [row[0] for row in rows] == ["not named", "not named"]


def test_one_person_has_a_mean_without_interval(computed, cast):
    queue.void(computed, cast.person("Chen"), cause="Reads nothing.")
    rows = figure_of(board(computed, "feel"), "strategy_means").rows
    assert {row[2] for row in rows} <= {1, 2}
    assert all((row[5] is None) == (row[2] == 1) for row in rows)


@pytest.fixture
def report(mix, capsys):
    def report_(*arguments):
        call_command("agreement", "mix", *arguments, "--json", "--bootstrap", "0")
        return json.loads(capsys.readouterr().out)

    return report_


@pytest.mark.parametrize(
    ("task", "categories", "levels", "agreement"),
    [
        # All three agree on one attribute, nobody on the other.
        ("traits", ["accepted", "rejected", "uncertain"], ["nominal"], 0.5),
        ("matter", ["no", "yes"], ["nominal"], 1 / 3),
        ("rate", [1, 2, 3, 4, 5], ["nominal", "ordinal"], 1 / 3),
    ],
)
def test_words_are_nominal_and_points_ordinal(report, task, categories, levels, agreement):
    found = report("--task", task)
    assert (sorted(found["categories"]), list(found["krippendorff_alpha"])) == (categories, levels)
    assert found["percent_agreement"]["value"] == pytest.approx(agreement)
    assert list(report("--task", task, "--level", "nominal")["krippendorff_alpha"]) == ["nominal"]


def test_scores_are_compared_one_criterion_at_a_time(report):
    assert report("--task", "feel:Depth")["percent_agreement"]["value"] == 1.0
    assert report("--task", "feel:Tone")["percent_agreement"]["value"] == 0.0
    with pytest.raises(CommandError, match="name one of feel:Tone, feel:Depth"):
        report("--task", "feel")


def test_tiers_are_of_selections_alone(mix):
    with pytest.raises(CommandError, match="no votes in a task “matter”"):
        call_command("tiers", "mix", "--task", "matter")


def test_a_task_nobody_judged_says_so(cast, tmp_path):
    everykind.study(tmp_path, "fresh")
    with pytest.raises(CommandError, match="has no votes in a task “matter”"):
        call_command("agreement", "fresh", "--task", "matter")


@pytest.fixture
def ordered(cast, tmp_path):
    """A study in which three people put three answers in order."""
    study = everykind.study(tmp_path, "ordered")
    people = [cast.member(name, study, "annotator") for name in ("Ann", "Bo", "Chen")]
    everykind.judge(study, people, only=["i-order"])
    return study


def test_the_report_has_w_and_the_page_shows_it(ordered, cast, login):
    result = recompute.recompute(ordered, "order")
    # Places of c-own, c-generic, c-sea: 1 3 2, 1 2 3 and 1 2 2.
    w = concordance(np.array([[1, 3, 2], [1, 2, 3], [1, 2, 2]]))
    assert result.agreement["kendall_w"]["value"] == pytest.approx(w)
    assert (result.agreement["items"], result.agreement["workers"], result.votes) == (1, 3, 3)
    assert result.tiers == {}
    cast.member("Rui", ordered, "researcher")
    page = login(cast.person("Rui")).get("/studies/ordered/results/order/").content.decode()
    assert "Kendall&#x27;s W" in page and f"{w:.3f}" in page
    assert "1-3-2, 1-2-3, 1-2-2" in page


def test_strategies_have_mean_places_and_strengths(ordered):
    definition = ordered.tasks.get(name="order")
    board = Board(ordered, definition)
    places = {row[0]: row[2:4] for row in figure_of(board, "answers").rows}
    assert places["A1"] == (3, 1)
    assert places["A2"] == (0, pytest.approx(2.5)) and places["generic"] == (0, pytest.approx(2.5))
    strengths = {row[0]: row[2] for row in figure_of(board, "strategies").rows}
    assert strengths["A1"] > strengths["A2"] == pytest.approx(strengths["generic"])


def answered(cast, study, questions, answers, items):
    """The task "own" of these questions, to which each person answers the same of every item."""
    config = kind_of("questions").check_config({"options": 2, "questions": questions})
    task = TaskDefinition.objects.create(
        study=study, name="own", kind="questions", overlap=3, config=config
    )
    persona = cast.persona(study)
    for n in range(items):
        cast.candidates(cast.query(study, f"q{n}", persona), 2)
    open_batch(study, task)
    for name, answer in answers.items():
        while slot := queue.claim(study, cast.person(name)):
            submit.submit(study, slot, cast.person(name), {"answers": answer}, key=str(slot))
    recompute_due()
    return task


def test_of_several_classes_each_has_its_share_and_the_same_agreement_in_a_release(
    cast, tea, settings, tmp_path
):
    settings.DATA = tmp_path
    topics = {"type": "label", "name": "topics", "classes": ["Yes, but", "Other"], "several": True}
    chosen = {"Ann": ["Yes, but", "Other"], "Bo": ["Yes, but"], "Chen": ["Other"]}
    answers = {name: {"topics": classes} for name, classes in chosen.items()}
    task = answered(cast, tea, [topics], answers, items=3)
    two_of_three = pytest.approx(2 / 3)
    assert figure_of(Board(tea, task), "answers").rows == [
        ("topics", "Yes, but", 6, two_of_three), ("topics", "Other", 6, two_of_three),
    ]  # fmt: skip
    parts = tea.agreement_results.get().agreement["criteria"]
    release = freeze.request_release(tea, "long", "", None, start=True)
    released = freeze.build(release.pk, started=True)["agreement"]
    for name in ("topics: Yes, but", "topics: Other"):
        alpha = parts[name]["krippendorff_alpha"]["nominal"]["value"]
        every = released[f"own v1: {name}"]["all"]
        assert every["krippendorff_alpha"]["nominal"]["value"] == pytest.approx(alpha)


def test_results_name_questions_and_classes_by_their_titles(cast, tea, client):
    topics = {
        "type": "label", "name": "q-1", "title": {"": "Which topics?", "ko": "어떤 주제인가요?"},
        "classes": [{"name": "a", "title": "Trains"}, "b"], "several": True,
    }  # fmt: skip
    fit = {"type": "rating", "name": "q-2", "title": "Does it fit?", "points": 3, "about": "item"}
    answers = {name: {"q-1": ["a"], "q-2": 2} for name in ("Ann", "Bo")}
    answered(cast, tea, [topics, fit], answers, items=1)
    client.force_login(cast.member("Rui", tea, "researcher"))
    for language, words in (("en", "Which topics?"), ("ko", "어떤 주제인가요?")):
        page = client.get("/studies/tea/results/own/", headers={"Accept-Language": language})
        text = re.sub(r"<[^>]*>", "", page.content.decode())
        assert f"{words}: Trains" in text and "Does it fit?" in text
        assert "q-1" not in text and "q-2" not in text


def test_rankings_have_no_single_labels_for_the_command(ordered):
    with pytest.raises(VotesError, match="Rankings have no single labels"):
        stored.study_votes("ordered", "order")


@pytest.mark.parametrize(
    ("value", "ties", "label"),
    [
        (["a", "b", "c"], False, {"1": 1, "2": 2, "3": 3}),
        (["c", ["a", "b"]], True, {"1": 2, "2": 2, "3": 1}),
        (["c", ["a", "b"]], False, None),
        (["a", "b"], True, None),
        (["a", "a", "b", "c"], True, None),
        (["a", "b", 7], True, None),
        ([["a", ["b"]], "c"], True, None),
        ("abc", True, None),
        (None, True, None),
    ],
)
def test_a_listed_ranking_names_every_answer_once(value, ties, label):
    kind, row = kind_of("ranking"), {"candidates": ["a", "b", "c"]}
    config = {"options": 3, "ties": ties}
    if label is None:
        with pytest.raises(DomainError, match="the best first"):
            kind.expected(value, row, config)
    else:
        keys = {f"{number}/ranking": place for number, place in label.items()}
        assert kind.expected(value, row, config) == keys
        assert kind.of_label(keys, config).label == keys
