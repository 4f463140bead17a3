"""`evaluate`: a model of known confusion has the accuracies that are computed by hand."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError
from hypothesis import given, strategies

from annotation.evaluation import asking, choices, pairs
from annotation.evaluation.models import Reply, Run
from tests.evaluation.conftest import make_release, printed, scripted, write_lines
from tests.scripted_endpoint import GARBAGE, NO_CREDIT, prompt_of

pytestmark = pytest.mark.django_db


def evaluate(folder, *more, **options):
    return printed("evaluate", "--release", folder, *more, **options)


def test_accuracies_are_those_computed_by_hand_in_both_orders(folder, server):
    result = evaluate(folder, "--endpoint", "scripted", "--setting", "persona")
    values = {
        half: {tier: (cell["n"], cell["value"]) for tier, cell in tiers.items()}
        for half, tiers in result["accuracy"].items()
    }
    # Who always names the first or the second place is right in one order of two.
    assert values == {
        "specific": {
            "easy": (4, 100), "medium": (4, 75), "hard": (4, 37.5),
            "average": (12, pytest.approx(850 / 12)),
        },
        "general": {
            "easy": (3, pytest.approx(200 / 3)), "medium": (2, 75), "hard": (1, 0),
            "average": (6, pytest.approx(350 / 6)),
        },
    }  # fmt: skip
    assert (result["n"], result["unparsed"]) == (18, 2)
    assert result["average"]["value"] == pytest.approx(1200 / 18)
    # Of 17 pairs with two verdicts four name one place whatever stands there.
    assert result["position_consistency"] == pytest.approx(1300 / 17)
    assert (result["setting"], result["model"]) == ("persona", "scripted-1")
    assert (server.calls, result["calls"], result["tokens"]) == (36, 36, 36 * 12)
    assert result["cost"] == pytest.approx(36 * (7 * 2 + 5 * 8) / 1e6)
    for tiers in result["accuracy"].values():
        assert all(cell["low"] <= cell["value"] <= cell["high"] for cell in tiers.values())


def alone(folder, persona):
    """A `dpo` release: a pair of which the scripted model is right, and one of which it is not."""
    rows = [
        {"prompt": f"[{mark}] Which tea?", "chosen": "GOOD", "rejected": "POOR", "tier": tier}
        | {"user_id": "u1" if persona else "", "persona": persona}
        for mark, tier in (("r", "majority"), ("w", "medium"), ("r", "no tier of ours"))
    ]
    write_lines(folder / "pairs.jsonl", rows)
    return folder


def test_pairs_of_one_file_are_asked_with_the_personas_in_their_rows(tmp_path, server):
    folder = alone(tmp_path / "dpo", {"Name": "Ann", "Preference": "tea 1"})
    result = evaluate(folder, "--endpoint", "scripted", "--setting", "persona")
    values = {tier: cell["value"] for tier, cell in result["accuracy"]["specific"].items()}
    assert values["majority"] == values["imported"] == 100
    assert (values["medium"], result["n"]) == (0, 3)
    assert all("tea 1" in text for text in map(prompt_of, server.requests))


def test_pairs_in_parquet_are_those_of_the_same_release_in_json_lines(tmp_path):
    folder = alone(tmp_path / "dpo", {"Name": "Ann", "Preference": {"tea": ["green", "black"]}})
    lines = pairs.read_pairs(folder)
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    (folder / "pairs.jsonl").unlink()
    # As our releases hold a profile in Parquet.
    cells = [row | {"persona": json.dumps(row["persona"])} for row in rows]
    pq.write_table(pa.Table.from_pylist(cells), folder / "pairs.parquet")
    parquet = pairs.read_pairs(folder)
    assert (parquet.pairs, parquet.personas) == (lines.pairs, lines.personas)
    (folder / "pairs.parquet").write_bytes(b"")
    with pytest.raises(pairs.BenchmarkError, match=r"pairs\.parquet cannot be read as Parquet"):
        pairs.read_pairs(folder)


def test_pairs_of_nobody_are_asked_without_a_persona_only(tmp_path, server):
    folder = alone(tmp_path / "dpo", None)
    result = evaluate(folder, "--endpoint", "scripted", "--setting", "none")
    assert (result["n"], result["average"]["value"]) == (3, pytest.approx(200 / 3))
    with pytest.raises(CommandError, match="use the setting none"):
        evaluate(folder, "--endpoint", "scripted", "--setting", "persona")


@pytest.mark.parametrize(
    ("setting", "profile", "memories", "calls"),
    [("persona", True, 0, 36), ("rag", False, 5, 36), ("rag-filter", False, 2, 54),
     ("none", False, 0, 36)],
)  # fmt: skip
def test_each_setting_shows_what_it_may_and_counts_alike(
    folder, server, setting, profile, memories, calls
):
    result = evaluate(folder, "--endpoint", "scripted", "--setting", setting)
    assert result["average"]["value"] == pytest.approx(1200 / 18)
    assert server.calls == calls
    shown = [text for text in map(prompt_of, server.requests) if "Answer 1:" in text]
    assert all(("tea 1" in text or "tea 2" in text) == profile for text in shown)
    assert {text.count("Note ") for text in shown} == {memories}


def test_the_limit_draws_the_same_pairs_each_time(folder, server):
    asked = []
    for _ in range(2):
        begin = server.calls
        assert evaluate(folder, "--endpoint", "scripted", limit=5)["n"] == 5
        asked.append(sorted(map(prompt_of, server.requests[begin:])))
    assert asked[0] == asked[1]
    with pytest.raises(CommandError, match="from 1 on"):
        evaluate(folder, "--endpoint", "scripted", limit=0)


def test_the_cost_is_named_before_anything_is_asked(folder, server):
    cost = evaluate(folder, "--endpoint", "scripted", "--estimate")
    assert server.calls == 0
    assert cost["calls"] == 36
    assert cost["cost"] == pytest.approx((cost["tokens_in"] * 2 + cost["tokens_out"] * 8) / 1e6)
    assert Run.objects.count() == 0


def test_answers_that_are_none_are_counted_by_their_cause(tmp_path, server, monkeypatch):
    monkeypatch.setattr(asking, "PAUSE_SECONDS", 0)
    folder = make_release(tmp_path / "r", {("specific", "easy"): "rrrb"})
    result = evaluate(folder, "--endpoint", "scripted")
    assert result["accuracy"]["specific"]["easy"]["value"] == 75
    assert (result["unparsed"], result["failures"]) == (2, {"unparsable": 2})
    assert Reply.objects.filter(value__isnull=True).count() == 2


def test_a_run_without_credit_stops_with_words_and_goes_on_where_it_was(folder, server):
    server.answer = lambda request, n: NO_CREDIT if n > 9 else scripted(request, n)
    with pytest.raises(CommandError, match="no credit") as caught:
        evaluate(folder, "--endpoint", "scripted")
    run = Run.objects.get()
    assert (run.status, run.result) == ("failed", None)
    assert str(run.public_id) in str(caught.value)
    stored = run.replies.count()
    assert 0 < stored <= 10
    server.answer, before = scripted, server.calls
    resume = str(run.public_id)
    result = evaluate(folder, "--endpoint", "scripted", resume=resume)
    assert server.calls - before == 36 - stored
    assert result["average"]["value"] == pytest.approx(1200 / 18)
    # Resumed once more it asks nothing and says the same.
    assert evaluate(folder, "--endpoint", "scripted", resume=resume) == result
    assert server.calls - before == 36 - stored


def test_a_server_that_sends_garbage_alone_stops_the_run(tmp_path, server, monkeypatch):
    monkeypatch.setattr(asking, "PAUSE_SECONDS", 0)
    server.answer = lambda request, n: GARBAGE
    folder = make_release(tmp_path / "r", {("specific", "easy"): "r" * 40})
    with pytest.raises(CommandError, match="no chat completion"):
        evaluate(folder, "--endpoint", "scripted")
    server.answer = scripted
    run = Run.objects.get()
    result = evaluate(folder, "--endpoint", "scripted", resume=str(run.public_id))
    assert (result["average"]["value"], result["failures"]) == (100, {})


def test_a_run_resumes_only_on_its_own_release_and_setting(folder, tmp_path, server):
    server.answer = lambda request, n: NO_CREDIT
    with pytest.raises(CommandError):
        evaluate(folder, "--endpoint", "scripted")
    resume = str(Run.objects.get().public_id)
    other = make_release(tmp_path / "other", {("specific", "easy"): "r"})
    with pytest.raises(CommandError, match="another release"):
        evaluate(other, "--endpoint", "scripted", resume=resume)
    with pytest.raises(CommandError, match="setting persona, not none"):
        evaluate(folder, "--endpoint", "scripted", "--setting", "none", resume=resume)
    for wrong in ("x", "00000000-0000-0000-0000-000000000000"):
        with pytest.raises(CommandError, match="no run"):
            evaluate(folder, "--endpoint", "scripted", resume=wrong)


def test_a_killed_run_resumes_and_asks_nothing_twice(folder, server):
    """As a kill leaves it: some replies, and a lease that has run out."""
    evaluate(folder, "--endpoint", "scripted")
    run = Run.objects.get()
    Reply.objects.filter(pk__in=run.replies.values("pk")[:20]).delete()
    Run.objects.update(status="running", result=None, lease_expires_at=run.created_at)
    resume = str(run.public_id)
    result = evaluate(folder, "--endpoint", "scripted", resume=resume)
    assert (server.calls, Reply.objects.count()) == (36 + 20, 36)
    assert result["average"]["value"] == pytest.approx(1200 / 18)


def test_scores_of_a_reward_model_are_compared(tmp_path, server):
    folder = make_release(tmp_path / "r", {("specific", "easy"): "rrrr"})
    scores = tmp_path / "rm.csv"
    rows = [f"specific-easy-{n}-{side},{value}" for n, pair in
            enumerate(((2, 1), (1, 2), (3, 3), (5, -1e9))) for side, value in
            zip("cr", pair, strict=True)]  # fmt: skip
    scores.write_text("candidate,score\n" + "\n".join(rows[:-1]) + "\n")
    result = evaluate(folder, "--scores", str(scores))
    # Right, wrong, equal, and one without a score.
    assert (result["average"]["value"], result["unparsed"]) == (37.5, 1)
    assert (result["model"], result["position_consistency"]) == ("rm", None)
    assert Run.objects.get().group == "reward"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "line 1: the file is empty"),
        ("candidate,points\na,1\n", "column score"),
        ("candidate,score\na,high\n", "line 2: “score” is no number"),
        ("candidate,score\na,nan\n", "line 2: “score” is no number"),
        ("candidate,score\na,1\na,2\n", "line 3: “a” has another score above"),
        ("candidate,score\nnobody,1\n", "No pair has a score"),
    ],
)
def test_a_scores_file_that_is_none_is_refused_with_its_line(tmp_path, folder, content, words):
    scores = tmp_path / "s.csv"
    scores.write_text(content)
    with pytest.raises(CommandError, match=words):
        evaluate(folder, "--scores", str(scores))


def test_a_published_copy_is_read_with_numbers_for_ids(tmp_path, server):
    folder = make_release(tmp_path / "r", ids=False, memories=False)
    (folder / "data/specific").rename(folder / "data/spedific")
    result = evaluate(folder, "--endpoint", "scripted")
    assert result["average"]["value"] == pytest.approx(1200 / 18)
    with pytest.raises(CommandError, match=r"needs persona/memories\.jsonl"):
        evaluate(folder, "--endpoint", "scripted", "--setting", "rag")


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("data/specific/easy.jsonl", "{", r"easy\.jsonl, line 1"),
        ("data/specific/easy.jsonl", '{"user_id": "1"}', "“question” is missing"),
        ("data/general/hard.jsonl", '{"user_id": 3.5}', "“user_id” is missing or no text"),
        ("persona/all_personas.jsonl", "[]", r"all_personas\.jsonl, line 1"),
        ("persona/memories.jsonl", '{"user_id": "1", "text": 4}', r"memories\.jsonl, line 1"),
        ("persona/all_personas.jsonl", '{"Name": "One"}', "no persona 2"),
    ],
)
def test_a_broken_release_is_named_with_file_and_line(folder, server, path, content, words):
    (folder / path).write_text(content + "\n")
    with pytest.raises(CommandError, match=words):
        evaluate(folder, "--endpoint", "scripted")
    assert server.calls == 0


def test_a_changed_file_of_a_release_is_named(folder, server):
    listed = [{"path": "data/specific/easy.jsonl", "rows": 4, "bytes": 1, "sha256": "0"}]
    (folder / "manifest.json").write_text(json.dumps({"files": listed}))
    with pytest.raises(CommandError, match=r"easy\.jsonl has changed"):
        evaluate(folder, "--endpoint", "scripted")


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Verdict: 1", 1),
        ("2", 2),
        ("Answer 2.", 2),
        ("I weigh them.\n\n**Verdict:** 2", 2),
        ("Verdict: 1\nOn reflection:\nVerdict: 2", 2),
        ("<think>Verdict: 1</think>\nVerdict: 2", 2),
        ("Verdict: 1</think>Verdict: 2", 2),
        ("<think>Verdict: 1", None),
        ("Verdict: 1 or 2", None),
        ("Verdict: 12", None),
        ("Verdict: 3", None),
        ("They are equal.", None),
        ("", None),
        ('{"verdict": 1}', 1),
        ("My choice is 2", 2),
        ("选择：1", 1),
        ("판정: 2", 2),
    ],
)
def test_a_verdict_is_read_or_is_none(text, choice):
    assert choices.read_choice(text) == choice


@given(strategies.text())
def test_any_text_is_a_verdict_or_none(text):
    assert choices.read_choice(text) in (1, 2, None)
    named = choices.read_filter(text, 3)
    assert named is None or set(named) <= {0, 1, 2}


def test_notes_that_are_named_are_shown_and_others_not():
    assert choices.read_filter("Notes: 1, 3, 9", 3) == [0, 2]
    assert choices.read_filter("so\n**Notes:** none", 3) == []
    assert choices.read_filter("none of them", 3) is None
