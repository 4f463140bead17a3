import hashlib
import json
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates import calls, generate, tasks, wording, writing
from annotation.candidates.models import Candidate, GenerationRules
from annotation.core.errors import Conflict, DomainError
from annotation.core.models import AuditEvent
from annotation.judging.annotator import leaving
from annotation.personas import curate
from annotation.personas import schema as profiles
from annotation.personas.models import Attribute, Memory
from tests.at_once import race
from tests.candidates.conftest import KEY, PROFILE, Reply


def one(study, strategy="A3"):
    (candidate,) = generate.request_answers(study, endpoint="fake", strategies=[strategy])
    return candidate


def written(candidate):
    writing.write_one(candidate.pk)
    candidate.refresh_from_db()
    return candidate


def overdue(candidate):
    """Let the pause before the next try be over."""
    Candidate.objects.filter(pk=candidate.pk).update(next_try_at=Now() - timedelta(seconds=1))
    return candidate


def lose(candidate):
    """Let the worker that writes it be gone, and its lease run out."""
    Candidate.objects.filter(pk=candidate.pk).update(lease_expires_at=Now() - timedelta(seconds=1))


# --- Asking -----------------------------------------------------------------------------------


def test_three_answers_a_query_are_asked_for_once(asked, tea, cast):
    cast.query(tea, "general", None)
    carol = cast.person("Carol")
    rows = generate.request_answers(tea, endpoint="fake", by=carol)
    assert [(row.external_id, row.strategy, row.status) for row in rows] == [
        ("q1-A1-fake", "A1", "requested"),
        ("q1-A2-fake", "A2", "requested"),
        ("q1-A3-fake", "A3", "requested"),
        ("general-A3-fake", "A3", "requested"),
    ]
    version = asked.persona.current
    assert [row.persona_version for row in rows] == [version, version, None, None]
    assert generate.request_answers(tea, endpoint="fake", by=carol) == []
    event = AuditEvent.objects.get(action="candidates.request")
    assert (event.actor, event.details) == (carol.pk, {"candidates": 4, "endpoint": "fake"})


def test_replaced_queries_and_dropped_personas_are_not_asked_about(asked, tea, cast):
    cast.query(tea, "old", asked.persona, replaced_at=timezone.now())
    gone = cast.persona(tea, "p2")
    gone.dropped_at = timezone.now()
    gone.save()
    cast.query(tea, "of-dropped", gone)
    rows = generate.request_answers(tea, endpoint="fake")
    assert {row.query_id for row in rows} == {asked.pk}


def test_a_new_version_of_a_query_gets_answers_of_its_own(asked, tea, cast):
    one(tea)
    asked.replaced_at = timezone.now()
    asked.save()
    cast.query(tea, "q1", asked.persona, version=2)
    assert one(tea).external_id == "q1-v2-A3-fake"


def test_long_ids_stay_within_the_column_and_apart(tea, cast, fake):
    cast.query(tea, "x" * 99 + "1", None)
    cast.query(tea, "x" * 99 + "2", None)
    names = [row.external_id for row in generate.request_answers(tea, endpoint="fake")]
    assert [len(name) for name in names] == [100, 100]
    assert len(set(names)) == 2


def test_an_id_already_taken_is_refused(tea, cast, fake):
    query = cast.query(tea, "q1", None)
    Candidate.objects.create(study=tea, query=query, external_id="q1-A3-fake", text="imported")
    with pytest.raises(Conflict, match="another answer with the id q1-A3-fake"):
        generate.request_answers(tea)


# --- Writing ----------------------------------------------------------------------------------


def test_an_answer_is_stored_with_all_that_tells_where_it_came_from(asked, tea, fake, settings):
    settings.ENDPOINTS = [fake.config(price_in=2, price_out=10, parameters={"temperature": 0.3})]
    said = "<think>hm</think>Walk [1] the river. https://a.example/map"
    fake.replies = [Reply(said, headers={"x-request-id": "r-1"})]
    candidate = written(one(tea))
    prompt = fake.bodies()[0]["messages"]
    canonical = json.dumps(prompt, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    stored = {
        "status": "done", "text": "Walk the river.", "urls": ["https://a.example/map"],
        "model": "fake-7b-2026", "request_id": "r-1", "template": "plain/1", "attempts": 1,
        "tokens_in": 7, "tokens_out": 5, "cost": Decimal("0.000064"), "calls": 1,
        "prompt": prompt, "prompt_digest": hashlib.sha256(canonical.encode()).hexdigest(),
        "lease_expires_at": None, "error": "",
    }  # fmt: skip
    assert {name: getattr(candidate, name) for name in stored} == stored
    assert candidate.parameters == {
        "seed": candidate.parameters["seed"], "finish_reason": "stop", "words": 3, "identity": [],
        "request": {"model": "fake-7b", "max_tokens": 1024, "temperature": 0.3},
    }  # fmt: skip
    assert candidate.answered_at is not None


def test_a1_asks_the_profiler_first_and_writes_from_core_and_findings(asked, tea, fake):
    Memory.objects.create(persona=asked.persona, text="An essay on night trains")
    fake.replies = [Reply("- quiet paths", tokens=(100, 10)), Reply("Walk.", tokens=(50, 5))]
    candidate = written(one(tea, "A1"))
    profiler, answer = map(str, fake.bodies())
    assert "An essay on night trains" in profiler
    assert "quiet paths" in answer and "baker" in answer
    assert "rye toast" not in answer  # a preference that the profiler did not name
    inferred = candidate.parameters["inferred"]
    assert (inferred["text"], inferred["template"]) == ("- quiet paths", "profiler/1")
    assert candidate.template == "personal/1"
    assert (candidate.tokens_in, candidate.tokens_out) == (150, 15)


def test_a_later_attempt_does_not_pay_for_the_profiler_again(asked, tea, fake):
    fake.replies = [Reply("- quiet"), Reply(status=500, body=b"{}"), Reply("Walk.")]
    candidate = one(tea, "A1")
    assert written(candidate).status == "requested"
    assert written(overdue(candidate)).status == "done"
    assert len(fake.requests) == 3
    assert (candidate.tokens_in, candidate.attempts) == (14, 2)


def test_a2_shows_the_model_a_fifth_of_the_profile(asked, tea, fake):
    candidate = written(one(tea, "A2"))
    profile = asked.persona.current.profile
    masked = candidate.parameters["masked"]
    leaves = dict(profiles.leaves(profile))
    assert len(masked) == round(0.8 * len(leaves)) == 9
    prompt = str(fake.bodies()[0])
    shown = {path for path, value in leaves.items() if f" {value}" in prompt}
    assert shown.isdisjoint({path for path in masked if len(str(leaves[path])) > 3})
    assert leaves.keys() - set(masked) <= shown
    again = profiles.mask(profile, seed=candidate.parameters["seed"])
    assert again[1] == masked


def test_a3_sends_the_question_alone(asked, tea, fake):
    written(one(tea))
    sent = str(fake.bodies())
    assert "Where shall I walk?" in sent
    assert not any(
        str(value) in sent for _, value in profiles.leaves(PROFILE) if len(str(value)) > 3
    )


def test_the_gold_need_is_in_no_request(asked, tea, cast, fake):
    fake.replies = [Reply("one two three <improved>x y z</improved><degraded>a b c</degraded>")]
    for candidate in generate.request_answers(tea, endpoint="fake"):
        assert written(candidate).status == "done"
    Candidate.objects.filter(strategy="A3").update(text="one two three")
    for candidate in generate.request_answers(tea, strategies=["improve", "degrade"], of="A3"):
        assert written(candidate).status == "done"
    assert len(fake.requests) == 6
    used = {row.strategy.split("-")[0] for row in Candidate.objects.filter(status="done")}
    assert used == {"A1", "A2", "A3", "improve", "degrade"}
    assert asked.need == "NEED-CANARY-4711"
    assert not any(b"NEED-CANARY" in raw for _, _, raw in fake.requests)
    assert "NEED-CANARY" not in str(list(Candidate.objects.values()))


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("散步去哪里好?", "中文"),
        ("어디를 걸을까요?", "한국어"),
        ("どこを散歩しましょうか。", "日本語"),
        ("Where to walk?", "language of the question"),
        ("What does the sign 你好 mean on a shop?", "language of the question"),
    ],
)
def test_the_answer_is_asked_for_in_the_querys_language(asked, tea, fake, question, asks):
    type(asked).objects.filter(pk=asked.pk).update(text=question)
    for candidate in generate.request_answers(tea, endpoint="fake"):
        written(candidate)
    assert all(asks in body["messages"][0]["content"] for body in fake.bodies())


def test_writers_of_one_model_at_two_temperatures_have_two_names(asked, tea, fake, settings):
    settings.ENDPOINTS = [fake.config(), fake.config(name="warm", parameters={"temperature": 1})]
    rows = [generate.request_answers(tea, endpoint=name)[-1] for name in ("fake", "warm")]
    names = ["fake-7b-2026 (fake)", "fake-7b-2026 (warm)"]
    assert [written(row).model for row in rows] == names
    assert [row.run.endpoint for row in rows] == ["fake", "warm"]


def test_a_small_model_gets_short_prompts(asked, tea, fake, settings):
    candidates = generate.request_answers(tea, endpoint="fake")
    settings.ENDPOINTS = [fake.config(embedded=True)]
    assert [written(one).template for one in candidates] == [
        "personal-small/1", "personal-small/1", "plain-small/1"
    ]  # fmt: skip
    assert max(len(body["messages"][0]["content"]) for body in fake.bodies()) < 500


def test_a_rewrite_keeps_the_length_or_is_refused(asked, tea, fake):
    fake.replies = [Reply("one two three four five")]
    source = written(one(tea))
    assert source.strategy == "A3"
    (better,) = generate.request_answers(tea, strategies=["improve"], of="A3")
    assert generate.request_answers(tea, strategies=["improve"], of="A3") == []
    for said, status, code in [
        ("<improved>far too short</improved>", "requested", "length"),
        ("no tags at all, which is no answer", "requested", "empty"),
        ("Why: x <improved>one two 3 four five</improved>", "done", ""),
    ]:
        fake.replies = [Reply(said)]
        assert (written(overdue(better)).status, better.error_code) == (status, code)
    assert (better.text, better.template) == ("one two 3 four five", "improve/1")
    one(tea, "A2")
    with pytest.raises(DomainError, match="Only answers that are written"):
        generate.request_answers(tea, strategies=["degrade"], of="A2")


# --- Failing ----------------------------------------------------------------------------------


def test_a_server_error_is_tried_again_later_and_parked_after_three(asked, tea, fake, monkeypatch):
    monkeypatch.setattr(calls.random, "uniform", lambda low, high: low + high)
    fake.replies = [Reply(status=500, body=b'{"error": {"message": "BODY-CANARY"}}')]
    candidate = one(tea)
    for attempt in (1, 2):
        before = timezone.now()
        written(overdue(candidate))
        assert (candidate.status, candidate.attempts) == ("requested", attempt)
        longest = timedelta(seconds=calls.BACKOFF_SECONDS * 2**attempt)
        assert before <= candidate.next_try_at - longest <= timezone.now()
        assert writing.write_one(candidate.pk) is None  # not before its time
    written(overdue(candidate))
    assert (candidate.status, candidate.error_code) == ("failed", "server_error")
    assert candidate.error == "“fake” reported an error of its own."
    assert len(fake.requests) == 3
    stored = str(list(Candidate.objects.values()))
    assert "BODY-CANARY" not in stored
    assert KEY not in stored


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_final_cause_is_not_tried_again_until_somebody_asks(asked, tea, cast, fake, status):
    fake.replies = [Reply(status=status, body=b"{}"), Reply("Walk.")]
    candidate = written(one(tea))
    assert (candidate.status, candidate.attempts, len(fake.requests)) == ("failed", 1, 1)
    assert writing.write_one(candidate.pk) is None
    assert generate.retry(tea, by=cast.person("Carol")) == 1
    assert written(candidate).status == "done"
    assert (candidate.error, candidate.attempts) == ("", 2)
    assert generate.retry(tea) == 0


def test_retry_after_is_the_least_pause_and_holds_the_endpoint(asked, tea, fake):
    fake.replies = [Reply(status=429, body=b"{}", headers={"Retry-After": "300"}), Reply("Walk.")]
    first, second, _ = generate.request_answers(tea, endpoint="fake")
    written(first)
    assert first.error_code == "rate_limit"
    assert first.next_try_at - timezone.now() > timedelta(seconds=2 * calls.LONGEST_BACKOFF)
    assert writing.write_one(second.pk) is None
    assert calls.calls_due() == []
    assert len(fake.requests) == 1
    overdue(first)
    assert len(calls.calls_due()) == 2  # as many as the endpoint has places


def test_an_endpoint_that_asks_for_a_day_is_left_to_a_person(asked, tea, fake):
    fake.replies = [Reply(status=429, body=b"{}", headers={"Retry-After": "86400"})]
    assert written(one(tea)).status == "failed"


def test_three_answers_in_trouble_rest_the_endpoint(asked, tea, cast, fake, monkeypatch):
    monkeypatch.setattr(calls.random, "uniform", lambda low, high: high)
    cast.query(tea, "q2", None)
    fake.replies = [Reply(status=503, body=b"{}")]
    *failing, last = generate.request_answers(tea, endpoint="fake")
    for candidate in failing:
        written(candidate)
    assert writing.write_one(last.pk) is None
    assert len(fake.requests) == 3
    overdue(failing[0])
    assert calls.calls_due() == [failing[0].pk, last.pk]


def test_an_answer_without_text_is_tried_again(asked, tea, fake):
    fake.replies = [Reply("<think>only this</think>")]
    candidate = written(one(tea))
    assert (candidate.status, candidate.error_code) == ("requested", "empty")
    assert candidate.tokens_out == 5  # paid for all the same


def test_a_row_of_an_endpoint_that_is_gone_says_so(asked, tea, fake, settings):
    candidate = one(tea)
    settings.ENDPOINTS = []
    assert calls.calls_due() == [candidate.pk]
    assert written(candidate).error == "“fake” is no longer configured."


# --- Racing and dying -------------------------------------------------------------------------


def test_a_late_twin_writes_nothing(asked, tea, fake):
    candidate = one(tea)
    twin = calls.claim(candidate.pk)
    lose(candidate)
    calls.reap()
    fake.replies = [Reply("The second attempt's."), Reply("The twin's.")]
    assert written(candidate).text == "The second attempt's."
    writing.write_answer(twin, calls.endpoints.get("fake"))
    calls.put_off(twin, calls.CallFailed("timeout"))
    candidate.refresh_from_db()
    assert (candidate.status, candidate.text) == ("done", "The second attempt's.")
    assert candidate.tokens_in == 14  # both calls were paid for


def test_a_retry_gives_three_tries_more(asked, tea, fake):
    fake.replies = [Reply(status=500, body=b"{}")]
    candidate = one(tea)
    for _round in range(2):
        states = [written(overdue(candidate)).status for _try in range(3)]
        assert states == ["requested", "requested", "failed"]
        generate.retry(tea)
    for _lost in range(3):
        assert calls.claim(candidate.pk)
        lose(candidate)
        calls.reap()
    candidate.refresh_from_db()
    assert (candidate.status, candidate.attempts) == ("failed", 9)


@pytest.mark.django_db(transaction=True)
def test_claims_at_once_never_exceed_the_endpoints_places(asked, tea, fake, settings):
    settings.ENDPOINTS = [fake.config(concurrency=2)]
    candidates = generate.request_answers(tea, endpoint="fake")
    got = race(calls.claim, [one.pk for one in candidates * 2])
    assert len([one for one in got if one]) == 2
    assert Candidate.objects.filter(status="running").count() == 2


def test_a_poison_row_is_parked_after_three_lost_workers(asked, tea, fake):
    poison, other, _ = generate.request_answers(tea, endpoint="fake")
    for attempt in (1, 2, 3):
        assert calls.claim(poison.pk).attempts == attempt
        lose(poison)
        calls.reap()
    poison.refresh_from_db()
    assert (poison.status, poison.error_code) == ("failed", "worker_lost")
    assert "three times" in poison.error
    assert written(other).status == "done"


class Bells(list):
    """Stands where the broker would: keeps what was rung for, or is away."""

    error = None

    def __call__(self, name):
        return self

    def delay(self, pk):
        if self.error:
            raise self.error
        self.append(pk)


@pytest.fixture
def bells(monkeypatch):
    found = Bells()
    monkeypatch.setattr(calls.app, "signature", found)
    return found


def test_a_request_rings_after_its_commit(asked, tea, bells, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        rows = generate.request_answers(tea, endpoint="fake")
        assert bells == []
    assert bells == [str(row.pk) for row in rows[:2]]  # two places, and each rings for the next


def test_the_beat_rings_for_rows_that_nobody_rang_for(asked, tea, bells):
    rows = generate.request_answers(tea, endpoint="fake")
    tasks.notify_due()
    assert bells == [str(row.pk) for row in rows[:2]]
    calls.claim(rows[0].pk)
    bells.clear()
    tasks.notify_due()
    assert bells == [str(rows[1].pk)]
    lose(rows[0])
    bells.clear()
    tasks.notify_due()
    assert bells == [str(row.pk) for row in rows[:2]]


@pytest.mark.django_db(transaction=True)
def test_a_notified_worker_writes_what_else_is_due_and_rings_for_what_is_left(
    asked, tea, bells, monkeypatch
):
    rows = generate.request_answers(tea, endpoint="fake")
    bells.clear()
    monkeypatch.setattr(writing, "work", lambda: None)
    tasks.write(str(rows[0].pk))
    assert bells == [str(row.pk) for row in rows[1:]]
    bells.clear()
    tasks.write(str(rows[0].pk))
    assert bells == []
    monkeypatch.undo()
    tasks.write(str(rows[1].pk))
    assert set(Candidate.objects.values_list("status", flat=True)) == {"done"}


# --- Looking ----------------------------------------------------------------------------------


def test_progress_counts_what_was_asked_of_models(asked, tea, cast, fake):
    cast.candidates(asked, 3)  # imported answers take no part
    a1, a2, a3 = generate.request_answers(tea, endpoint="fake")
    fake.replies = [Reply("Walk."), Reply(status=404, body=b"{}")]
    written(a3)
    written(a2)
    calls.claim(a1.pk)
    counts = generate.progress(tea)
    expected = {"total": 3, "done": 1, "failed": 1, "running": 1, "requested": 0, "cancelled": 0}
    assert counts == counts | expected | {"tokens": 12, "cost": 0}
    assert [row["strategy"] for row in counts["strategies"]] == ["A1", "A2", "A3"]
    words = "“fake” does not know this address or model."
    assert generate.failures(tea) == [{"error_code": "not_found", "error": words, "count": 1}]


def test_what_waits_is_cancelled_and_asked_for_again(asked, tea, cast, fake):
    a1, a2, _a3 = generate.request_answers(tea, endpoint="fake")
    calls.claim(a1.pk)
    carol = cast.person("Carol")
    assert generate.cancel(tea, by=carol) == 2
    fake.replies = [Reply("Walk.")]
    assert calls.claim(a2.pk) is None
    counts = generate.progress(tea)
    assert [counts[key] for key in ("running", "requested", "cancelled")] == [1, 0, 2]
    assert generate.cancel(tea, by=carol) == 0
    assert generate.retry(tea, by=carol) == 2
    actions = AuditEvent.objects.order_by("-pk").values_list("action", "details")[:2]
    assert dict(actions) == {f"candidates.{act}": {"candidates": 2} for act in ("cancel", "retry")}


def test_no_answer_is_asked_for_again_to_a_question_that_its_owner_erased(
    asked, tea, cast, fake, login
):
    rows = generate.request_answers(tea, endpoint="fake")
    asked.owner = cast.person("Ann")
    asked.save()
    leaving.withdraw(tea, asked.owner)
    assert generate.retry(tea) == generate.resume_run(rows[0].run) == 0
    assert set(Candidate.objects.values_list("status", flat=True)) == {"failed"}
    page = login(cast.person("Carol")).get("/studies/tea/candidates/")
    assert 'id="failed"' not in page.content.decode()


# --- Strategies of the persona study ------------------------------------------------------------


def test_an_answer_from_attributes_sees_these_and_nothing_else(asked, tea, fake):
    assert generate.request_answers(tea, strategies=["attributes"]) == []
    Attribute.objects.create(persona=asked.persona, external_id="a1", text="Walks before dawn.")
    candidate = written(one(tea, "attributes"))
    (body,) = fake.bodies()
    assert "Walks before dawn." in str(body["messages"])
    assert "baker" not in str(body["messages"])
    assert candidate.parameters["attributes"] == ["Walks before dawn."]


@pytest.mark.parametrize("strategy", ["A1", "attributes"])
def test_what_does_not_hold_when_it_is_asked_is_not_shown(asked, tea, fake, strategy):
    first, second = date(2026, 5, 1), date(2026, 5, 2)
    for n, (since, until) in enumerate(
        [(first, None), (second, None), (None, first), (None, second)]
    ):
        fact = {"text": f"Fact-{n}.", "since": since, "until": until}
        asked.persona.memories.create(**fact)
        asked.persona.attributes.create(external_id=str(n), **fact)
    type(asked).objects.update(asked_on=first)
    written(one(tea, strategy))
    sent = str(fake.bodies()[0])
    assert [f"Fact-{n}." in sent for n in range(4)] == [True, False, False, True]


def test_a_mismatch_is_written_for_another_persona_and_shown_with_its_own(asked, cast, tea, fake):
    assert generate.request_answers(tea, strategies=["mismatch"]) == []
    other = cast.persona(tea, "p2", Demographics={"Career_Information": "diver"})
    dropped = cast.persona(tea, "p3", Demographics={"Career_Information": "miner"})
    curate.drop(dropped, "stereotyped")
    candidate = written(one(tea, "mismatch"))
    assert "diver" in str(fake.bodies()) and "baker" not in str(fake.bodies())
    assert candidate.parameters["written_for"] == other.current.pk
    assert candidate.persona_version == asked.persona.current


def test_rewrites_are_one_strategy_with_their_source_beside_it(asked, tea, fake):
    fake.replies = [Reply("one two three four five six seven eight nine ten")]
    sources = [written(one(tea, name)) for name in ("A1", "A2")]
    rows = [generate.request_answers(tea, strategies=["degrade"], of=of)[0] for of in ("A1", "A2")]
    assert [(row.strategy, row.source) for row in rows] == [("degrade", one) for one in sources]
    fake.replies = [Reply("<degraded>one two three four five six seven eight</degraded>")]
    assert written(rows[0]).error_code == "length"  # 20 % off, 10 % are allowed
    GenerationRules.objects.create(study=tea, length_tolerance=0.2)
    assert written(overdue(rows[0])).status == "done"


def test_at_most_so_many_are_asked_for_and_the_run_has_the_plan(asked, cast, tea, fake):
    cast.query(tea, "q2", None)
    rows = generate.request_answers(tea, strategies=["A3"], limit=1)
    assert len(rows) == 1
    assert (rows[0].run.planned["calls"], rows[0].run.options) == (1, {"strategies": ["A3"]})


def test_answers_are_asked_for_in_the_studys_own_words_of_the_runs_start(asked, tea, fake):
    wording.save_prompt(tea, "plain", "Answer in one line.", "Q: {question}")
    first = one(tea)
    wording.save_prompt(tea, "plain", "Answer in two lines.", "Q: {question}")
    wording.save_prompt(tea, "profiler", "Guess. {language}", "{person}{memories} asks {question}")
    templates = [written(row).template for row in (first, one(tea, "A1"))]
    assert templates == ["plain/tea-1", "personal/1"]
    sent = [body["messages"] for body in fake.bodies()]
    assert sent[0] == [
        {"role": "system", "content": "Answer in one line."},
        {"role": "user", "content": "Q: Where shall I walk?"},
    ]
    assert sent[1][0]["content"] == "Guess. Write in the language of the question."
    inferred = Candidate.objects.get(strategy="A1").parameters["inferred"]
    assert inferred["template"] == "profiler/tea-1"


@pytest.mark.parametrize(
    ("name", "system", "user", "missing"),
    [
        ("personal", "Be kind.", "{question}", "{person}"),
        ("improve", "Improve it.", "{question}{answer}", "{form}"),
        ("searched", "{sources}{need}", "{question}", "{about}"),
    ],
)
def test_a_prompt_of_answers_cannot_do_without_what_it_is_for(tea, name, system, user, missing):
    with pytest.raises(DomainError, match=f"must name {missing}"):
        wording.save_prompt(tea, name, system, user)


def test_answers_that_are_held_wait_for_a_curator(asked, tea, fake):
    fake.replies = [Reply("As ChatGPT I say: walk along the river.")]
    candidate = written(one(tea))
    assert (candidate.flags, candidate.review) == (["identity"], "pending")
    fake.replies = [Reply("Walk along the river.")]
    assert (written(one(tea, "A2")).flags, Candidate.objects.get(strategy="A2").review) == ([], "")
    GenerationRules.objects.create(study=tea, review_answers=True)
    assert written(one(tea, "A1")).review == "pending"


@pytest.mark.parametrize(("answers", "few"), [(0, 0), (1, 1), (5, 1), (6, 0)])
def test_owners_queries_with_too_few_answers_for_shots_and_a_test_are_counted(
    cast, tea, answers, few
):
    query = cast.query(tea, "own", None, owner=cast.person("Ann"))
    cast.candidates(query, answers)
    cast.candidates(cast.query(tea, "other", None), 2)
    Candidate.objects.create(study=tea, query=query, external_id="lost", status="failed")
    assert generate.with_few_answers(tea) == few
