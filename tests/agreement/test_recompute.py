"""When a result is due again, whose votes it counts, and what may not stop it."""

import json
import random
import threading
from dataclasses import replace

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.agreement import recompute, tasks
from annotation.agreement.models import AgreementResult, ItemTier
from annotation.agreement.tasks import recompute_due
from annotation.datasets import freeze
from annotation.datasets.frozen import Reading
from annotation.judging.batches import open as opening
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer, Judgment, Slot
from annotation.judging.work import queue, submit
from annotation.studies.models import TaskDefinition
from annotation.votes.stored import study_votes
from annotation.votes.table import VotesError

pytestmark = pytest.mark.usefixtures("without_rests")
VOTES = [("i", "ann", "A"), ("i", "bo", "A"), ("j", "ann", "B"), ("j", "bo", "A")]


def vote(study, user, items: int = 1) -> None:
    """``user`` takes the first answer of the next ``items`` items."""
    for _ in range(items):
        slot = queue.claim(study, user)
        option = Slot.objects.get(pk=slot).item.options.get(number=1)
        submit.submit(study, slot, user, {"choice": str(option.candidate_id)}, key=f"k{slot}")


@pytest.fixture
def voted(cast, tea):
    """Ann, Bo and Chen have voted on both pairs of "tea", and the result is up to date."""
    cast.open(tea, items=2, options=2)
    for name in ("Ann", "Bo", "Chen"):
        vote(tea, cast.person(name), items=2)
    recompute_due()
    assert recompute.results_due() == []
    return tea


def test_a_turn_without_any_change_costs_one_statement(voted, cast, django_assert_num_queries):
    recompute_due()
    with django_assert_num_queries(1):
        recompute_due()
    vote(voted, cast.person("Dora"))
    recompute_due()
    assert recompute.results_due() == []
    assert AgreementResult.objects.get(study=voted).votes == 7


def test_a_withdrawn_consent_counts_as_a_change(voted, cast):
    recompute_due()
    before = recompute.changes()
    consent.withdraw(cast.person("Ann"), voted.consent_text)
    assert recompute.changes() > before


def test_what_could_not_be_computed_is_tried_again_though_nothing_changed(voted, cast, monkeypatch):
    vote(voted, cast.person("Dora"))
    with monkeypatch.context() as patch:
        patch.setattr(recompute, "_alone", lambda study, task: False)
        recompute_due()
    assert recompute.results_due() == [(voted, "better")]
    recompute_due()
    assert recompute.results_due() == []


def test_an_imported_worker_with_the_name_of_a_live_person_stays_a_second_person(cast, voted):
    ann, bo = cast.person("Ann"), cast.person("Bo")
    User.objects.filter(pk=bo.pk).update(worker=f"tea:user-{ann.pk}")
    chen = cast.person("Chen")
    User.objects.filter(pk=chen.pk).update(worker=f"tea:user-{ann.pk} (user-{bo.pk})")
    names = study_votes("tea").votes.workers
    taken = f"user-{ann.pk}"
    both = f"{taken} (user-{bo.pk})"
    assert names == [taken, both, f"{both} (user-{chen.pk})"]
    assert recompute.recompute(voted, "better").agreement["workers"] == 3


def test_a_study_whose_votes_are_wrong_does_not_stop_the_next(cast, voted, caplog):
    rain = cast.study("rain")
    cast.open(rain, options=2)
    vote(rain, cast.member("Dana", rain, "annotator"))
    # A tie where the task offers none.
    Answer.objects.filter(
        judgment__slot__study=voted, judgment__annotator=cast.person("Ann")
    ).update(label="tie")
    AgreementResult.objects.all().delete()
    assert recompute.results_due() == [(voted, "better"), (rain, "better")]
    recompute_due()
    assert [one.study for one in AgreementResult.objects.all()] == [rain]
    (said,) = caplog.messages
    assert said.startswith("Study tea, task better is not computed: ")
    assert "'tie' is not one of the declared labels" in said


def test_a_label_that_a_new_version_allows_makes_the_result_due(cast, voted):
    old = voted.tasks.get()
    new = voted.tasks.create(
        name=old.name, version=2, kind=old.kind, config={**old.config, "tie": True}
    )
    assert recompute.results_due() == []
    cast.candidates(cast.query(voted, "later"), 2)
    opening.open_batch(voted, new)
    assert recompute.results_due() == [(voted, "better")]
    recompute_due()
    assert AgreementResult.objects.get().agreement["categories"] == ["1", "2", "tie"]
    assert recompute.results_due() == []


def test_a_new_version_of_the_tier_rule_makes_the_result_due(voted, monkeypatch):
    monkeypatch.setattr(recompute, "DEFAULT", replace(recompute.DEFAULT, version="2"))
    assert recompute.results_due() == [(voted, "better")]


def test_the_votes_of_who_withdrew_are_left_out_until_consent_is_given_again(voted, ann):
    consent.withdraw(ann, voted.consent_text)
    assert recompute.results_due() == [(voted, "better")]
    recompute_due()
    result = AgreementResult.objects.get()
    assert (result.votes, result.agreement["workers"]) == (4, 2)
    assert set(ItemTier.objects.values_list("votes", flat=True)) == {2}
    consent.grant(ann, voted.consent_text)
    recompute_due()
    assert AgreementResult.objects.get().votes == 6


def test_without_votes_there_is_no_result(cast, voted):
    for name in ("Ann", "Bo", "Chen"):
        consent.withdraw(cast.person(name), voted.consent_text)
    recompute_due()
    assert (AgreementResult.objects.count(), ItemTier.objects.count()) == (0, 0)
    assert recompute.results_due() == []


def test_no_page_shows_the_votes_of_who_withdrew(cast, voted, login, ann):
    consent.withdraw(ann, voted.consent_text)
    client, item = login(cast.person("Rui")), voted.items.first()
    page = client.get(f"/studies/tea/results/better/items/{item.pk}/")
    assert [one["votes"] for one in page.context["options"]] == [2, 0]
    assert f"user-{ann.pk}" not in page.content.decode()
    for name in ("Bo", "Chen"):
        consent.withdraw(cast.person(name), voted.consent_text)
    board = client.get("/studies/tea/results/better/").context["board"]
    assert board.totals["votes"] == 0


def test_the_page_and_a_release_take_the_same_items_for_closed(cast, tea):
    over = cast.open(tea, options=2, overlap=9, name="over")
    cast.open(tea, options=2, overlap=7, name="full")
    cast.open(tea, options=2, overlap=9, name="open")
    for n in range(7):
        vote(tea, cast.member(f"P{n}", tea, "annotator"), items=tea.items.count())
    opening.close_batch(over)
    recompute_due()
    tiers = dict(ItemTier.objects.values_list("item__batch__task__name", "tier"))
    assert tiers == {"over": "medium", "full": "medium", "open": "pending"}
    closed = dict(AgreementResult.objects.values_list("task", "closed"))
    assert closed == {"over": True, "full": True, "open": False}
    release = freeze.request_release(tea, "long", "", cast.person("Rui"))
    released = {(one.task, one.closed) for one in Reading(release, lambda: None).items()}
    assert released == set(closed.items())


def test_every_item_of_a_closed_study_is_closed(cast, tea):
    cast.open(tea, options=2)
    for n in range(7):
        vote(tea, cast.member(f"P{n}", tea, "annotator"))
    recompute_due()
    assert ItemTier.objects.get().tier == "pending"
    tea.status = "closed"
    tea.save()
    recompute_due()
    assert ItemTier.objects.get().tier == "medium"


def test_a_result_that_another_process_computes_is_left_to_it(cast, tea):
    cast.open(tea, options=2)
    vote(tea, cast.person("Ann"))
    taken, done = threading.Event(), threading.Event()

    def other():
        with transaction.atomic():
            assert recompute._alone(tea, "better")
            taken.set()
            done.wait(30)
        connection.close()

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert taken.wait(30)
        assert recompute.recompute(tea, "better") is None
    finally:
        done.set()
        thread.join()
    assert recompute.recompute(tea, "better").votes == 1


def test_a_recomputation_locks_no_row_of_the_study(voted):
    with CaptureQueriesContext(connection) as asked:
        recompute.recompute(voted, "better")
    locking = [one["sql"] for one in asked if "UPDATE" in one["sql"]]
    assert not [sql for sql in locking if 'FROM "studies_study"' in sql]


def test_a_look_that_nobody_took_in_time_is_dropped():
    entry = settings.CELERY_BEAT_SCHEDULE["recompute-agreement"]
    assert entry["options"]["expires"] == entry["schedule"]


def test_a_turn_that_took_long_is_followed_by_a_rest(voted, cast, monkeypatch):
    monkeypatch.setattr(tasks, "SHARE", 1_000_000)
    vote(voted, cast.person("Dora"))
    recompute_due()
    assert recompute.results_due() == []
    vote(voted, cast.person("Dora"))
    recompute_due()
    assert recompute.results_due() == [(voted, "better")]
    cache.delete(tasks.RESTING)
    recompute_due()
    assert recompute.results_due() == []


@pytest.fixture
def judged(cast):
    """A study of two pairs: nine people prefer the first answer of one, eight of the other."""
    study = cast.study("tea")
    cast.member("Rui", study, "researcher")
    cast.open(study, items=2, options=2, overlap=9)
    for n in range(9):
        user = cast.member(f"P{n}", study, "annotator")
        while slot := queue.claim(study, user):
            item = Slot.objects.get(pk=slot).item
            dissents = n == 8 and item.position == 2
            option = item.options.get(number=2 if dissents else 1)
            answer = {"choice": str(option.candidate_id)}
            submit.submit(study, slot, user, answer, key=f"k{slot}")
    return study


def test_a_recomputation_stores_agreement_and_tiers(judged):
    assert recompute.results_due() == [(judged, "better")]
    result = recompute.recompute(judged, "better")
    assert recompute.results_due() == []
    assert (result.votes, result.agreement["items"], result.agreement["workers"]) == (18, 2, 9)
    assert result.agreement["percent_agreement"]["value"] == pytest.approx((1 + 56 / 72) / 2)
    tiers = dict(ItemTier.objects.values_list("item__position", "tier"))
    assert tiers == {1: "medium", 2: "hard"}


def test_a_recomputation_writes_the_tiers_that_changed_and_no_others(judged):
    recompute.recompute(judged, "better")
    ItemTier.objects.filter(tier="hard").update(tier="pending", share=0.5)
    with CaptureQueriesContext(connection) as asked:
        recompute.recompute(judged, "better")
    written = [one["sql"] for one in asked if 'INSERT INTO "agreement_itemtier"' in one["sql"]]
    assert len(written) == 1
    assert (written[0].count("'hard'"), written[0].count("'medium'")) == (1, 0)
    tiers = dict(ItemTier.objects.values_list("item__position", "tier"))
    assert tiers == {1: "medium", 2: "hard"}
    with CaptureQueriesContext(connection) as asked:
        recompute.recompute(judged, "better")
    assert not any('INSERT INTO "agreement_itemtier"' in one["sql"] for one in asked)


def test_the_agreement_command_reads_a_study(judged, capsys):
    call_command("agreement", "tea", "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["votes"], report["categories"]) == (18, ["1", "2"])
    call_command("tiers", "tea", "--json")
    report = json.loads(capsys.readouterr().out)
    assert [item["tier"] for item in report["items"]] == ["medium", "hard"]


def test_a_study_without_votes_is_refused_with_a_sentence(cast):
    cast.study("rain")
    with pytest.raises(VotesError, match="has no votes yet"):
        study_votes("rain")
    with pytest.raises(VotesError, match="There is no study"):
        study_votes("snow")


def test_the_order_in_which_votes_arrive_changes_nothing(judged):
    """The same votes, each with its own time, stored in five orders."""
    votes = list(Judgment.objects.order_by("pk").values())
    labels = dict(Answer.objects.values_list("judgment", "label"))
    found = []
    for seed in range(5):
        Judgment.objects.all().delete()
        random.Random(seed).shuffle(votes)  # noqa: S311
        for vote in votes:
            again = Judgment.objects.create(**{**vote, "id": None})
            again.answers.create(question="choice", label=labels[vote["id"]])
        recompute.recompute(judged, "better")
        result = AgreementResult.objects.values("agreement", "tiers", "votes").get()
        tiers = list(ItemTier.objects.order_by("item__position").values("tier", "winner", "share"))
        found.append(json.dumps([result, tiers]))
    assert len(set(found)) == 1


def test_the_tiers_command_counts_the_easy_pairs_of_a_study(cast, capsys):
    study = cast.study("tea")
    cast.open(study, items=3, options=3, overlap=9)
    raters = [cast.member(f"P{n}", study, "annotator") for n in range(9)]
    for rater in raters:
        while slot := queue.claim(study, rater):
            item = Slot.objects.get(pk=slot).item
            # The answer to the question alone wins the first item, another one the other two.
            alone = item.options.get(candidate__strategy="A3")
            other = item.options.exclude(pk=alone.pk).first()
            choice = alone if item.position == 1 else other
            submit.submit(study, slot, rater, {"choice": str(choice.candidate_id)}, key=f"k{slot}")
    call_command("tiers", "tea", "--task", "best", "--json")
    tiers = json.loads(capsys.readouterr().out)["tiers"]
    assert (tiers["easy"]["items"], tiers["medium"]["items"]) == (2, 3)
    assert tiers["easy"]["symmetric_kappa"]["value"] is None


@pytest.fixture
def imported(tea, tmp_path, capsys):
    """A task that allows ties and "none", with votes of a file that has neither."""
    config = kind_of("selection").check_config({"options": 2, "tie": True, "none": True})
    TaskDefinition.objects.create(study=tea, name="better", kind="selection", config=config)
    lines = ["id,prompt,answer_a,answer_b,rater,winner"]
    lines += [f"{item},{item}?,x,y,{rater},{label}" for item, rater, label in VOTES]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines) + "\n")
    call_command("import_data", str(path), study="tea", task="better")
    capsys.readouterr()
    return tea


def agreement(capsys) -> dict:
    call_command("agreement", "tea", "--json")
    return json.loads(capsys.readouterr().out)


def test_labels_that_no_imported_vote_has_are_not_counted_as_chance(imported, carol, capsys):
    report = agreement(capsys)
    assert report["categories"] == ["1", "2"]
    # Two raters agree on one of two items: 1/2, and of two labels chance alone gives as much.
    assert report["symmetric_kappa"]["value"] == 0
    recompute.recompute(imported, "better")
    page = carol.get("/studies/tea/results/better/").content.decode()
    assert "Labels: Answer 1, Answer 2;" in page


def test_a_vote_that_was_given_here_could_have_been_a_tie(imported, capsys):
    Judgment.objects.filter(pk=Judgment.objects.latest("pk").pk).update(imported=False)
    report = agreement(capsys)
    assert report["categories"] == ["1", "2", "tie", "none"]
    assert report["symmetric_kappa"]["value"] == pytest.approx(1 / 3)


def test_a_release_counts_the_same_labels(imported, tmp_path, capsys):
    call_command("release", "tea", "--layout", "long", "--out", tmp_path / "out", "--json")
    report = json.loads(capsys.readouterr().out)["agreement"]["better v1"]["all"]
    assert (report["categories"], report["symmetric_kappa"]["value"]) == (
        ["answer 1", "answer 2"],
        0,
    )
