"""From votes in the database to agreement and tiers, of labels that could be given."""

import json
import random

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.agreement import recompute
from annotation.agreement.models import AgreementResult, ItemTier
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer, Judgment, Slot
from annotation.judging.work import queue, submit
from annotation.studies.models import TaskDefinition
from annotation.votes.stored import study_votes
from annotation.votes.table import VotesError


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
    assert recompute.due() == [(judged, "better")]
    result = recompute.recompute(judged, "better")
    assert recompute.due() == []
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


def test_an_open_item_has_no_tier_until_its_ninth_vote(cast, tea):
    cast.open(tea, options=2)
    ann = cast.person("Ann")
    slot = queue.claim(tea, ann)
    option = Slot.objects.get(pk=slot).item.options.first()
    submit.submit(tea, slot, ann, {"choice": str(option.candidate_id)}, key="k")
    recompute.recompute(tea, "better")
    assert ItemTier.objects.get().tier == "pending"


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


VOTES = [("i", "ann", "A"), ("i", "bo", "A"), ("j", "ann", "B"), ("j", "bo", "A")]


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
    assert "Labels: 1, 2;" in carol.get("/studies/tea/results/better/").content.decode()


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
