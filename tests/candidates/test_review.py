import json
from datetime import date

import pytest
from django.core.management import CommandError, call_command

from annotation.accounts.models import User
from annotation.candidates import calls, clean, generate, review, wording, writing
from annotation.candidates.models import Candidate, GenerationRules, Opinion, Proposal
from annotation.candidates.steps import STEPS
from annotation.candidates.steps.base import checked
from annotation.core.errors import Conflict, DomainError
from annotation.personas.models import Attribute, Memory, Persona
from annotation.queries.models import Query
from annotation.queries.scenarios import TAXONOMY
from tests.api.caller import Caller
from tests.at_once import at_once
from tests.candidates.conftest import PROFILE, expand, person, write_all
from tests.scripted_endpoint import GARBAGE, prompt_of


def test_personas_are_expanded_reviewed_and_made(tea, mina, cast, model, script):
    carol = cast.person("Carol")
    script.values = [person("Ole Berg"), person("Ada Lind", "baker"), person("Bo Ek", "nurse")]
    assert generate.plan(tea, "persona", {"count": 3})["calls"] == 3
    run = expand(tea, 3, languages=["English", "Korean"], hints=["lives at a canal"])
    done = generate.progress_of_run(run)
    assert (done["total"], done["done"], done["rate"]) == (3, 3, 3)
    last = Proposal.objects.order_by("answered_at").last().answered_at
    seconds = round((last - run.created_at).total_seconds(), 1)
    actual = {"calls": 3, "tokens": 36, "cost": 0.000036, "seconds": seconds}
    assert done["actual"] == actual
    assert "lives at a canal" in prompt_of(model.requests[0])
    assert "Write every text in Korean" in prompt_of(model.requests[1])
    assert Persona.objects.filter(study=tea).count() == 1  # nothing is made before a review
    first, second, third = Proposal.objects.order_by("number")
    assert (first.template, first.model) == ("persona/1", "scripted-1")
    assert accept(first, carol) == 1
    with pytest.raises(DomainError, match="Choose the reason"):
        reject(second, carol, "")
    reject(second, carol, "stereotyped")
    made = Persona.objects.get(study=tea, external_id=f"g-{first.pk.hex[:12]}")
    assert made.current.profile == first.output
    second.refresh_from_db()
    assert (second.review, second.review_reason, second.made) == ("rejected", "stereotyped", "")
    assert list(review.waiting(tea, "persona", carol)) == [third]
    assert review.undo(tea, "persona", [first.pk, second.pk], by=carol) == 2
    assert not Persona.objects.filter(pk=made.pk).exists()
    assert len(review.waiting(tea, "persona", carol)) == 3


def accept(row, by) -> int:
    return review.decide(row.study, row.step, [row.pk], accepts=True, by=by)


def reject(row, by, reason) -> int:
    return review.decide(row.study, row.step, [row.pk], accepts=False, reason=reason, by=by)


def asked_for(study, step, **options) -> list[Proposal]:
    """The step's proposals after a run with these options."""
    generate.request_proposals(study, step, options)
    write_all()
    return list(Proposal.objects.filter(step=step).order_by("created_at", "number"))


def test_a_persona_in_use_cannot_be_taken_back(tea, mina, cast, model, script):
    carol = cast.person("Carol")
    script.values = [person()]
    (row,) = asked_for(tea, "persona", count=1)
    accept(row, carol)
    cast.query(tea, "q9", Persona.objects.get(external_id__startswith="g-"))
    with pytest.raises(Conflict, match="in use"):
        review.undo(tea, "persona", [row.pk], by=carol)


def test_memories_that_were_there_before_stay_when_a_decision_is_taken_back(
    tea, mina, cast, model, script
):
    carol, texts = cast.person("Carol"), ["Night trains are back.", "A new text.", "Another."]
    before = list(mina.memories.order_by("pk"))
    script.values = [lambda request: {"numbers": [1, 2, 3]}]
    (first,) = asked_for(tea, "memory", texts=texts)
    _first, second = asked_for(tea, "memory", texts=texts)
    for row in (first, second):
        accept(row, carol)
    assert mina.memories.count() == len(before) + 2
    review.undo(tea, "memory", [second.pk], by=carol)
    assert mina.memories.count() == len(before) + 2
    review.undo(tea, "memory", [first.pk], by=carol)
    assert list(mina.memories.order_by("pk")) == before


def test_a_feature_stays_while_people_judge_an_answer_written_from_it(
    tea, mina, cast, model, script
):
    carol = cast.person("Carol")
    script.values = [{"features": [{"text": "Likes night trains.", "evidence": [1]}]}]
    (row,) = asked_for(tea, "feature", size=3)
    accept(row, carol)
    cast.open(tea)
    Candidate.objects.filter(external_id="best-q1-0").update(attribute=Attribute.objects.get())
    with pytest.raises(Conflict, match="judge"):
        review.undo(tea, "feature", [row.pk], by=carol)


def test_the_same_person_twice_is_flagged_with_the_other_beside_it(tea, mina, model, script):
    script.values = [person()]
    expand(tea, 2)
    first, second = Proposal.objects.order_by("answered_at")
    assert (first.flags, first.nearest) == ([], None)
    assert (second.flags, second.nearest) == (["near-duplicate"], first)
    assert second.similarity == pytest.approx(1, abs=0.01)
    carol = User.objects.get(email="carol@example.org")
    assert list(review.near_duplicates(tea, "persona", carol, 0.9)) == [second]
    assert review.preview_threshold(tea, "persona", carol)[-1] == (0.95, 1)
    GenerationRules.objects.create(study=tea, reviewers=2)
    accept(second, carol)
    assert list(review.near_duplicates(tea, "persona", carol, 0.9)) == []
    assert review.preview_threshold(tea, "persona", carol)[-1] == (0.95, 0)


def test_memories_features_and_a_question_with_its_evidence(tea, mina, cast, model, script):
    carol = cast.person("Carol")
    script.values = [{"features": [
        {"text": "Likes to travel by night train.", "evidence": [1, 9]},
        {"text": "Nothing shows this.", "evidence": [99]},
    ]}]  # fmt: skip
    (row,) = asked_for(tea, "feature", size=3)
    assert row.output["features"] == [
        {"text": "Likes to travel by night train.", "evidence": row.input["memories"][:1]}
    ]
    accept(row, carol)
    feature = Attribute.objects.get(persona=mina)
    shown = Memory.objects.get(pk=row.input["memories"][0])
    assert feature.evidence.get().messages == [{"role": "user", "text": shown.text}]

    feature.since = date(2026, 5, 1)
    feature.save()
    with pytest.raises(DomainError, match="Infer features"):
        generate.request_proposals(tea, "question", {"asked_on": "2026-04-30"})
    example = {"external_id": "e1", "person": "r1", "text": "Which lamp?", "memories": ["Reads."]}
    tea.examples.create(**example)
    leaky = "As a baker of 31, which night train shall I take in winter?"
    plain = "Which night train is worth it in winter?"
    script.values = [
        lambda request: {"scenario": scenario_of(request), "question": leaky},
        {"leaked": ["31"], "rewrite": False, "question": plain},
    ]
    (row,) = asked_for(tea, "question", per_persona=1, asked_on="2026-05-01")
    assert row.run.options == {"per_persona": 1, "language": "English", "asked_on": "2026-05-01"}
    assert row.output["question"] == plain  # rewritten: "baker" was found without the model's help
    assert (row.output["original"], row.output["leaked"]) == (leaky, ["31", "baker"])
    assert row.flags == ["rewritten"]
    assert row.input["example"] == example
    shown = "Known of that person:\n- Reads.\nTheir question:\nWhich lamp?\n"
    assert shown in prompt_of(model.requests[-2])
    accept(row, carol)
    query = Query.objects.get(study=tea, persona=mina)
    assert (query.text, query.type, str(query.asked_on)) == (plain, "specific", "2026-05-01")
    assert any(query.scenario in names for _share, names in TAXONOMY.values())


def scenario_of(request) -> str:
    lines = prompt_of(request).splitlines()
    return lines[lines.index("Situations to choose one from:") + 1].removeprefix("- ")


def test_a_general_pool_is_filtered_matched_and_validated(tea, mina, cast, model, script):
    carol = cast.person("Carol")
    good = "How do I make a rainy Sunday pleasant?"
    fact = "What is the capital of France today?"
    script.values = [
        {"subjective": True, "open_ended": True, "understandable": True},
        {"subjective": False, "open_ended": False, "understandable": True},
    ]
    good_row, dropped = asked_for(tea, "general", texts=[good, fact, "Hi?", good])
    assert (good_row.flags, dropped.flags) == ([], ["subjective", "open_ended"])
    accept(good_row, carol)
    reject(dropped, carol, "factual")
    script.values = [{"fits": False, "why": "She dislikes Sundays."}]
    (match,) = asked_for(tea, "match", per_persona=3)
    assert (match.persona, match.flags) == (mina, ["misfit"])
    accept(match, carol)
    assert Query.objects.get(persona=mina).type == "general"
    with pytest.raises(DomainError, match="nothing new"):
        generate.request_proposals(tea, "match", {"per_persona": 3})


def test_a_run_is_cancelled_and_resumed(tea, mina, model, script):
    script.values = [person()]
    run = generate.request_proposals(tea, "persona", {"count": 3})
    writing.write_one(calls.calls_due()[0])
    for change, done, cancelled in [(generate.cancel_run, 1, 2), (generate.resume_run, 3, 0)]:
        assert change(run) == 2
        write_all()
        counts = generate.progress_of_run(run)
        assert (counts["done"], counts["cancelled"]) == (done, cancelled)


def test_failures_are_named_by_cause_and_tried_again(tea, mina, model, script):
    script.values = [GARBAGE, "no JSON at all", person()]
    run = generate.request_proposals(tea, "persona", {"count": 1})
    for code in ("unparsable", "schema"):
        (pk,) = calls.calls_due() or Proposal.objects.values_list("pk", flat=True)
        Proposal.objects.update(next_try_at=None)
        writing.write_one(pk)
        (failure,) = generate.progress_of_run(run)["failures"]
        assert (failure["error_code"], failure["count"]) == (code, 1)
    Proposal.objects.update(next_try_at=None)
    write_all()
    assert generate.progress_of_run(run)["done"] == 1
    assert Proposal.objects.get().tokens_out == 10  # what made no sense was paid for, too


def test_a_plan_learns_from_what_was_measured(tea, mina, model, script):
    script.values = [person()]
    before = generate.plan(tea, "persona", {"count": 10})
    assert (before["calls"], before["measured"]) == (10, 0)
    expand(tea, 2)
    after = generate.plan(tea, "persona", {"count": 10})
    assert (after["tokens"], after["measured"]) == (120, 2)
    assert after["cost"] == pytest.approx(120 / 1_000_000)


def test_nothing_is_asked_for_without_what_it_needs(tea, model, cast):
    for step, options, words in [
        ("persona", {"count": 1}, "as a seed first"),
        ("question", {}, "Infer features"),
        ("general", {}, "Give a pool"),
        ("memory", {}, "Give a collection"),
        ("match", {}, "general pool first"),
        ("nonsense", {}, "Choose among"),
    ]:
        with pytest.raises(DomainError, match=words):
            generate.request_proposals(tea, step, options)


@pytest.mark.parametrize(
    "options", [{"count": 0}, {"count": 5_001}, {"count": "x"}, {"size": 3}, {"hints": "x"}]
)
def test_options_out_of_their_bounds_are_refused(options):
    with pytest.raises(DomainError):
        checked(STEPS["persona"].options, options)


@pytest.mark.parametrize(
    ("text", "traits"),
    [
        ("What would a baker read?", ["baker"]),
        ("I am 31 years old.", ["31"]),
        ("There are 31 trains.", []),
        ("As an INFJ I wonder.", ["INFJ"]),
        ("What is there to read in English?", []),
        ("", []),
    ],
)
def test_traits_that_a_question_names(text, traits):
    assert clean.named(text, PROFILE) == traits


def test_a_study_has_its_own_wording_in_versions(tea, mina, model, script):
    for bad, words in [("", "from 1"), ("None", "must name"), ("{question} {x}", "cannot name")]:
        with pytest.raises(DomainError, match=words):
            wording.save_prompt(tea, "general", "Judge.", bad)
    for system, version in [("Judge.", 1), ("Judge.", 1), ("Judge it.", 2)]:
        saved = wording.save_prompt(tea, "general", system, "Q: {question}")
        assert saved.id == f"general/tea-{version}"
    script.values = [{"subjective": True, "open_ended": True, "understandable": True}]
    (row,) = asked_for(tea, "general", texts=["Where is {seed} pleasant in the rain?"])
    assert row.template == "general/tea-2"
    assert prompt_of(model.requests[0]) == "Judge it.\nQ: Where is {seed} pleasant in the rain?"


GENERATION = "studies/tea/generation/"


@pytest.fixture
def carol(cast, mina, client):
    return Caller(client, cast.member("Carol", mina.study, "curator"))


def document(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_a_command_proposes_writes_and_accepts(tea, mina, model, script, cast, capsys):
    cast.person("Carol")
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse"), person("Bo Ek", "nurse")]
    options = {"set": ["count=3", "languages=Korean"], "json": True}
    call_command("propose", "tea", "persona", dry_run=True, **options)
    assert document(capsys)["calls"] == 3
    call_command("propose", "tea", "persona", accept="carol@example.org", **options)
    done = document(capsys)
    assert (done["done"], done["failed"], done["accepted"]) == (3, 0, 1)  # the rest is too similar
    assert (done["planned"]["calls"], done["actual"]["calls"]) == (3, 3)
    assert Persona.objects.filter(external_id__startswith="g-").count() == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"set": ["count=0"]}, "How many"),
        ({"set": ["size=3"]}, "--set takes count"),
        ({"accept": "nobody@example.org"}, "no account"),
        ({"endpoint": "none"}, "no endpoint"),
    ],
)
def test_a_wrong_command_asks_for_nothing(tea, mina, model, arguments, words):
    with pytest.raises(CommandError, match=words):
        call_command("propose", "tea", "persona", **arguments)
    assert not Proposal.objects.exists()


def test_a_program_plans_starts_reviews_and_sees_what_happened(carol, model, script):
    script.values = [person("Ada Lind"), person("Bo Ek", "nurse")]
    body = {"step": "persona", "options": {"count": 2, "languages": ["English"]}}
    planned = carol("POST", GENERATION, {**body, "dry_run": True})
    assert (planned.status_code, planned.json()["calls"]) == (200, 2)
    assert not Proposal.objects.exists()
    started = carol("POST", GENERATION, body)
    assert (started.status_code, started.json()["requested"]) == (202, 2)
    write_all()
    run = carol("GET", f"{GENERATION}{started.json()['id']}/").json()
    assert (run["done"], run["tokens"], run["planned"]["calls"]) == (2, 24, 2)
    actual = run["actual"]
    assert (actual["calls"], actual["tokens"], actual["cost"]) == (2, 24, run["cost"])
    assert actual.keys() == run["planned"].keys() - {"measured"}
    (queue,) = carol("GET", "studies/tea/review/").json()["kinds"]
    assert (queue["kind"], queue["pending"], queue["accepted"]) == ("persona", 2, 0)


@pytest.mark.parametrize(
    "body",
    [
        {"step": "persona", "options": {"count": "many"}},
        {"step": "persona", "options": {"size": 3}},
        {"step": "general", "options": {"texts": "one text"}},
        {"step": "general", "options": {"texts": [5]}},
        {"step": "answer", "options": {"strategy": "A1"}},
        {"step": "answer", "options": {"rewrite": "A1"}},
        {"step": "nonsense"},
        {"step": "persona", "options": []},
    ],
)
def test_what_a_program_sends_wrongly_is_refused_with_a_sentence(carol, model, body):
    answer = carol("POST", GENERATION, body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert not Proposal.objects.exists()


def test_two_reviewers_decide_together_and_a_third_breaks_the_tie(tea, mina, cast, model, script):
    GenerationRules.objects.create(study=tea, reviewers=2)
    carol, rui, adam = (cast.person(name) for name in ("Carol", "Rui", "Adam"))
    script.values = [person()]
    (row,) = asked_for(tea, "persona", count=1)
    accept(row, carol)
    assert (accept(row, carol), list(review.waiting(tea, "persona", carol))) == (0, [])
    for reviewer, reason, decided in [
        (rui, "dramatised", ("pending", "")),
        (adam, "stereotyped", ("rejected", "dramatised")),
    ]:
        row.refresh_from_db()
        assert row.review == "pending"
        reject(row, reviewer, reason)
        row.refresh_from_db()
        assert (row.review, row.review_reason) == decided
    assert Opinion.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_decision_that_comes_twice_at_once_counts_once(tea, cast, answer):
    def accept():
        return review.decide(tea, "answer", [answer.pk], accepts=True, by=cast.person("Carol"))

    assert at_once(accept, accept) == (1, 0)
    assert Opinion.objects.count() == 1
    assert Candidate.objects.get().review == "pending"


@pytest.mark.django_db(transaction=True)
def test_a_decision_under_way_holds_when_one_reviewer_becomes_enough(tea, cast, answer):
    carol, rui = cast.person("Carol"), cast.person("Rui")
    at_once(
        lambda: review.decide(tea, "answer", [answer.pk], accepts=True, by=carol),
        lambda: review.set_rules(tea, {}, {"reviewers": 1}, by=rui),
    )
    assert Candidate.objects.get().review == "accepted"
