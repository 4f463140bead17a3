import json
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.imports.bring import import_votes
from annotation.judging.batches.open import add_items
from annotation.judging.imports import bundles
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer, Item, Judgment, Slot
from annotation.judging.work import queue, submit
from annotation.queries import author
from annotation.studies.models import Study, TaskDefinition
from tests import everykind

pytestmark = pytest.mark.django_db

HEADER = "task,worker,label,submitted_at,seconds,reason\n"


@pytest.fixture
def walk(folder):
    bundles.import_study(folder.write())
    return Study.objects.get(slug="walk")


@pytest.fixture
def votes(walk, tmp_path):
    """A function that imports these lines into the study."""

    def load(text, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return import_votes(walk, path)

    return load


def counts(item):
    return Item.objects.values_list("done", "counts").get(external_id=item)


def test_votes_take_slots_and_are_counted(votes, walk):
    result = votes(
        f"{HEADER}i1,ada,q1-c2,2020-02-03T04:05:06+02:00,12.5,it is near\n"
        'i1,bo,tie,2020-02-03T04:05:06,,"two\nlines"\n'
        "i2,ada,none,,,\n"
    )
    assert result == {"votes": 3, "items": 2, "workers": 2, "rejected": []}
    assert counts("i1") == (2, {"1": 1, "tie": 1})
    assert counts("i2") == (1, {"none": 1})
    ada = User.objects.get(worker="walk:ada")
    assert (ada.is_active, ada.email, ada.has_usable_password()) == (False, None, False)
    vote = Judgment.objects.get(slot__item__external_id="i1", annotator=ada)
    label = vote.answers.get().label
    assert vote.slot.item.options.get(number=label).candidate.external_id == "q1-c2"
    assert (label, vote.imported, vote.shown) == ("1", True, [])
    assert (vote.key, vote.seconds, vote.reason) == ("import:i1:ada", 12.5, "it is near")
    assert vote.submitted_at == datetime(2020, 2, 3, 2, 5, 6, tzinfo=UTC)
    tie = Judgment.objects.get(answers__label="tie")
    assert tie.submitted_at == datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert tie.reason == "two\nlines"
    taken = Slot.objects.filter(item__external_id="i1").order_by("ordinal")
    assert list(taken.values_list("status", flat=True)) == ["done", "done", "open", "open"]


def test_a_vote_never_takes_a_slot_that_somebody_holds(votes, walk, cast):
    ann = cast.member("Ann", walk, "annotator")
    slots = []
    for name in ("Ann", "Bo"):
        person = cast.member(name, walk, "annotator")
        walk.slots.exclude(item__external_id="i2").filter(status="open").update(status="closed")
        slots.append(queue.claim(walk, person))
    result = votes("task,worker,label\ni2,ada,q2-c1\n")
    reason = "none of the item's 2 judgments is open: they are done, held or closed"
    assert result["rejected"] == [{"line": 2, "reason": reason}]
    choice = str(Item.objects.get(external_id="i2").options.get(number=2).candidate_id)
    submit.submit(walk, slots[0], ann, {"choice": choice}, key="k")
    assert counts("i2") == (1, {"2": 1})


def test_what_does_not_fit_is_listed_and_the_rest_stored(votes):
    result = votes(
        f"{HEADER}"
        "i9,ada,q1-c1,,,\n"  # 2
        "i1,x3,q2-c1,,,\n"
        "i1,x4,none,,,\n"
        "i2,x5,tie,,,\n"
        "i1,ada,q1-c1,yesterday,,\n"  # 6
        "i1,ada,q1-c1,,fast,\n"
        "i1,,q1-c1,,,\n"
        "i1,ada,q1-c1,,\n"
        "i1,ada,q1-c1,,,\n"  # 10, stored
        "i1,ada,q1-c3,,,\n"
        f"i1,{'x' * 200},q1-c3,,,\n"
        "i2,ada,q2-c1,,,\n"  # 13, stored
        "i2,bo,q2-c1,,,\n"  # 14, stored
        "i2,aaron,q2-c1,,,\n"
    )
    assert [result[key] for key in ("votes", "items", "workers")] == [3, 2, 2]
    assert [(one["line"], one["reason"][:60]) for one in result["rejected"]] == [
        (2, "the study has no item “i9”"),
        (3, "the item has no answer “q2-c1”"),
        (4, "the item's task allows no “none”"),
        (5, "the item's task allows no “tie”"),
        (6, "the time is not in ISO 8601"),
        (7, "seconds must be a number from 0 to 604,800."),
        (8, "the annotator is missing"),
        (9, "5 fields where the header has 6"),
        (11, "ada has given another vote on this item before"),
        (12, "the annotator's name is longer than 90 characters"),
        (15, "none of the item's 2 judgments is open: they are done, held "),
    ]
    assert counts("i1")[0] == 1
    assert counts("i2") == (2, {"1": 2})


def test_a_file_that_holds_no_votes_is_refused(votes):
    with pytest.raises(DomainError, match="line 1: there is no column worker"):
        votes("task,label\ni1,x\n")
    result = votes("task,worker,label\ni9,w,c1\n")
    assert (result["votes"], [row["line"] for row in result["rejected"]]) == (0, [2])


@pytest.mark.django_db(transaction=True)
def test_imports_into_one_study_take_turns(votes, walk):
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor, connection.cursor() as mine:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM studies_study FOR NO KEY UPDATE")
            mine.execute("SET lock_timeout = 50")
            with pytest.raises(OperationalError, match="lock timeout"):
                votes("task,worker,label\ni2,ada,q2-c1\n")
            mine.execute("RESET lock_timeout")
    finally:
        other.close()
    assert votes("task,worker,label\ni2,ada,q2-c1\n")["votes"] == 1


def test_long_names_make_a_key_that_fits(folder, tmp_path):
    name = "i" * 200
    folder.files["items"][0]["id"] = name
    bundles.import_study(folder.write())
    path = tmp_path / "votes.csv"
    path.write_text(f"task,worker,label\n{name},ada,tie\n{name},bo,tie\n")
    result = import_votes(Study.objects.get(), path)
    assert result["votes"] == 2
    assert {len(key) for key in Judgment.objects.values_list("key", flat=True)} == {71}


def test_the_command_prints_the_counts_and_the_rejected(walk, tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\ni1,ada,q1-c1\ni9,ada,q1-c1\n")
    with pytest.raises(CommandError, match=r"1 lines of .* do not fit\. Nothing was stored"):
        call_command("import_votes", "walk", str(path))
    assert (Judgment.objects.count(), capsys.readouterr().out) == (0, "")
    call_command("import_votes", "walk", str(path), "--json", "--skip-faulty")
    assert json.loads(capsys.readouterr().out) == {
        "votes": 1,
        "items": 1,
        "workers": 1,
        "rejected": [{"line": 3, "reason": "the study has no item “i9”"}],
    }
    call_command("import_votes", "walk", str(path), "--skip-faulty")
    printed = capsys.readouterr()
    assert printed.out == "1 votes by 1 workers on 1 items; 1 rejected\n"
    assert "line 3: the study has no item “i9”" in printed.err
    with pytest.raises(CommandError, match="There is no study “tea”"):
        call_command("import_votes", "tea", str(path))
    with pytest.raises(CommandError, match="there is no such file"):
        call_command("import_votes", "walk", str(tmp_path / "gone.csv"))


def test_votes_of_every_kind_come_in_by_their_labels(tmp_path):
    mix = everykind.study(tmp_path)
    mix.tasks.filter(name="feel").update(config={"criteria": ["Tone"]})
    labels = {
        "i-better": "c-own", "i-rate": "2", "i-feel": "4", "i-a1": "uncertain", "i-m1": "no",
        "i-order": "c-sea>c-own=c-generic",
    }  # fmt: skip
    path = tmp_path / "votes.jsonl"
    rows = [{"task": item, "worker": "ada", "label": label} for item, label in labels.items()]
    wrong = [
        {"task": item, "worker": "bo", "label": "9>8"} for item in labels if item != "i-order"
    ] + [{"task": "i-order", "worker": "bo", "label": "c-sea>c-own"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows + wrong))
    result = import_votes(mix, path)
    assert (result["votes"], len(result["rejected"])) == (len(labels), len(labels))
    stored = {
        row.slot.item.external_id: kind_of(row.slot.item.batch.task.kind).answer_of(row).label
        for row in Judgment.objects.filter(slot__study=mix)
    }
    assert stored == {
        "i-better": "1", "i-rate": "2", "i-feel": {"1/Tone": 4}, "i-a1": "uncertain", "i-m1": "no",
        "i-order": {"1/ranking": 2, "2/ranking": 2, "3/ranking": 1},
    }  # fmt: skip
    assert import_votes(mix, path) == result


@pytest.mark.parametrize(
    ("label", "verdicts"),
    [
        ("keep, drop", {1: "keep", 2: "drop"}),
        ('{"1": "drop", "2": {"verdict": "edit", "text": "It is close."}}', {1: "drop", 2: "edit"}),
        ("keep", "Decide on claim 2."),
        ("keep, edit", "Write the new text of claim 2."),
        ("keep, drop, keep", "there is no claim 3"),
        ('{"1": ', '“{"1":” is no JSON'),
    ],
)
def test_votes_on_claims_name_the_verdicts_in_order_or_by_number(votes, walk, label, verdicts):
    query = walk.queries.get(external_id="q1")
    response = author.save_response(query, None, "Near and free.")
    author.set_claims(response, ["It is near.", "It is free."])
    task = TaskDefinition.objects.create(study=walk, name="check", kind="claims")
    add_items(walk, task, [{"external_id": "g1", "query": query, "gold": response, "overlap": 1}])
    result = votes(json.dumps({"task": "g1", "worker": "ada", "label": label}) + "\n")
    if isinstance(verdicts, str):
        assert [row["reason"] for row in result["rejected"]] == [verdicts]
    else:
        numbers = dict(response.claims.values_list("pk", "number"))
        answers = Answer.objects.exclude(label="").values_list("part", "label")
        assert {numbers[part]: label for part, label in answers} == verdicts
