import hashlib
import io
import json
import tracemalloc
import zipfile
from datetime import timedelta
from threading import Event, Thread

import pytest
import redis
from django.db import connection, connections, transaction
from django.utils import timezone
from pyarrow import parquet

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.agreement.tiers import collection
from annotation.core.errors import Conflict, DomainError
from annotation.core.jobs import worker_alive
from annotation.datasets import folders, freeze, layouts, tasks
from annotation.datasets.check import check_release
from annotation.datasets.models import Release
from annotation.datasets.records import workers
from annotation.judging.batches.open import open_batch
from annotation.judging.imports import judgments
from annotation.judging.models import Answer, Item, Judgment
from annotation.queries.models import Query
from annotation.studies.models import Study
from tests.datasets.conftest import card, files_of, left_out, lines, votes_of, written_again

SIX = [f"data/{kind}/{tier}.jsonl" for kind in ("specific", "general") for tier in
       ("easy", "medium", "hard")]  # fmt: skip


def test_medium_and_hard_pairs_come_from_the_tier_rule_and_the_rest_is_counted(panel, built):
    panel("111111111", "111111112", "222222221", "111111122", "111122221", "11111111")
    release = built("personafeedback")

    (medium,) = lines(release, "data/specific/medium.jsonl")
    hard = lines(release, "data/specific/hard.jsonl")
    assert medium["item_id"] == "better-better-q1-v1-1"
    assert [(row["item_id"], row["share"]) for row in hard] == [
        ("better-better-q2-v1-1", 8 / 9), ("better-better-q3-v1-1", 8 / 9)
    ]  # fmt: skip
    counts = release.manifest["counts"]
    assert counts["pairs"] == {"easy": 0, "medium": 1, "hard": 2}
    assert left_out(release) == {"ambiguous": 1, "borderline": 1, "pending": 1}
    assert (counts["items"], counts["judgments"], counts["workers"]) == (6, 53, 9)


def test_a_pair_begins_with_the_published_keys_and_names_the_winner_as_chosen(panel, built):
    (item,) = panel("222222222")
    release = built("personafeedback")
    (row,) = lines(release, "data/specific/medium.jsonl")
    options = {option.number: option.candidate for option in item.options.all()}

    assert list(row)[:4] == ["user_id", "question", "chosen", "reject"]
    assert (row["chosen"], row["reject"]) == (options[2].text, options[1].text)
    one, two = (options[n].external_id for n in (1, 2))
    assert (row["chosen_id"], row["chosen_strategy"]) == (two, options[2].strategy)
    assert [(vote["label"], vote["n"]) for vote in row["votes"]] == [(one, 0), (two, 9)]
    personas = lines(release, "persona/all_personas.jsonl")
    assert personas[int(row["user_id"]) - 1] == {"Name": "Mina Park"}


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        ("personafeedback", "no pairs. The study has 3 items with 12 judgments; items left out, by "
         "reason: borderline: 1, pending: 2."),
        ("dpo", "no pairs. The study has 3 items with 12 judgments; items left out, by reason: "
         "borderline: 1, pending: 2."),
        ("long", "no items. The study has 0 items with 0 judgments."),
    ],
)  # fmt: skip
def test_a_release_without_rows_is_refused_with_the_reasons_by_count(
    items, vote, built, layout, sentence
):
    if layout != "long":
        first, second, _ = items(3)
        vote(first, "111111122")
        vote(second, "111")
    with pytest.raises(DomainError) as refusal:
        built(layout)
    assert refusal.value.sentence == f"The release would hold {sentence}"
    release = Release.objects.get()
    assert (release.status, release.error) == ("failed", refusal.value.sentence)
    assert not folders.folder_of(release).exists()


def test_few_votes_give_pairs_by_majority_with_a_minimum_and_a_margin(items, vote, built):
    patterns = ["111", "112", "11", "122", "12", "1t2t"]
    made = items(6, tie=True)
    for item, pattern in zip(made, patterns, strict=True):
        vote(item, pattern)
    release = built("dpo", rule="majority", min_votes=3, min_margin=1)
    rows = {row["item_id"].split("-")[2]: row for row in lines(release, "pairs.jsonl")}
    assert {name: (row["tier"], row["n"]) for name, row in rows.items()} == {
        "q1": ("majority", 3), "q2": ("majority", 3), "q4": ("majority", 3)
    }  # fmt: skip
    second = made[3].options.get(number=2).candidate
    assert (rows["q4"]["chosen"][0]["content"], rows["q4"]["votes"][1]["label"]) == (
        second.text, second.external_id
    )  # fmt: skip
    assert [round(one["share"], 3) for one in rows["q2"]["votes"]] == [0.667, 0.333, 0.0]
    assert sum(one["posterior"] for one in rows["q2"]["votes"]) == pytest.approx(1, abs=1e-5)
    assert release.manifest["counts"]["pairs"]["majority"] == 3
    assert left_out(release) == {"too_few_votes": 2, "no_answer_won": 1}
    rule = release.manifest["rules"]["pairs"]
    assert (rule["name"], rule["min_votes"], rule["min_margin"]) == ("majority", 3, 1)
    text = card(release)
    assert "a majority of at least 3 votes, whose winner has at least 1 more" in text
    wide = built("personafeedback", rule="majority", min_votes=3, min_margin=2)
    (row,) = lines(wide, "data/specific/majority.jsonl")
    assert row["share"] == 1.0
    assert left_out(wide)["margin_too_small"] == 3


def test_more_than_half_of_the_votes_is_a_rule_beside_the_plurality(items, vote, built):
    plural, half, most = items(3, options=3)
    vote(plural, "111122233")
    vote(half, "111223")
    vote(most, "1112")
    by_plurality = lines(built("dpo", rule="majority"), "pairs.jsonl")
    assert len(by_plurality) == 3
    release = built("dpo", rule="more-than-half")
    (row,) = lines(release, "pairs.jsonl")
    assert (row["item_id"], row["tier"], row["share"]) == (most.external_id, "majority", 0.75)
    assert release.manifest["rules"]["pairs"]["name"] == "more-than-half"
    assert left_out(release, "three_answers") == {"half_or_less": 2}
    text = card(release)
    assert "more than the next label and more than half of all votes" in text


def test_of_three_answers_the_majority_stands_against_the_one_with_fewest_votes(panel, built):
    (item,) = panel("22213", options=3)
    options = {option.number: option.candidate for option in item.options.all()}
    vote_free = built("dpo", rule="majority", min_votes=5, min_margin=2)
    (row,) = lines(vote_free, "pairs.jsonl")
    assert [row[side][0]["content"] for side in ("chosen", "rejected")] == [
        options[2].text, options[1].text
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "wanted", "sentence"),
    [
        ("long", {"rule": "majority"}, "has no pairs that a rule could make"),
        ("dpo", {"rule": "best"}, "majority, more-than-half, imported"),
        ("dpo", {"min_votes": 3}, "belong to the rules “majority”"),
        ("dpo", {"rule": "majority", "min_votes": 0}, "from 1 to 1,000"),
        ("dpo", {"rule": "majority", "min_margin": 1001}, "from 1 to 1,000"),
        ("dpo", {"rule": "majority", "hard_fill": "1/5"}, "by the rule “tiers” alone"),
        ("dpo", {"hard_fill": "1/2"}, r"hard_fill must lie between 0 and 0\.4"),
        ("long", {"hard_fill": "1/5"}, "“long” has no tiers"),
        ("long", {"shard_rows": -1}, "is a number from 0 to 10,000,000"),
    ],
)
def test_choices_that_cannot_be_are_refused(items, built, layout, wanted, sentence):
    items(1)
    with pytest.raises(DomainError, match=sentence):
        built(layout, **wanted)
    assert not Release.objects.exists()


def test_every_item_has_a_soft_label_and_every_annotator_a_row(panel, built):
    panel("11111112", "22222222", "")
    release = built("long")
    one, two = lines(release, "soft_labels.jsonl")
    assert [(label["n"], label["share"]) for label in one["labels"]] == [(7, 0.875), (1, 0.125)]
    assert one["labels"][0]["posterior"] > 0.875
    assert [label["share"] for label in two["labels"]] == [0.0, 1.0]
    with pytest.raises(DomainError):
        built("dpo")
    pairs = built("dpo", rule="majority")
    rows = lines(pairs, "annotations.jsonl")
    assert len(rows) == 16
    assert {row["worker"] for row in rows} == {f"worker-{n:03d}" for n in range(1, 9)}
    assert len(lines(pairs, "soft_labels.jsonl")) == 2


def test_memories_come_beside_the_personas(cast, tea, panel, built):
    panel("1" * 9)
    mina = tea.personas.get()
    for text in ("Ferns at home.", "植物 “护理”"):
        mina.memories.create(text=text)
    release = built("personafeedback")
    assert lines(release, "persona/memories.jsonl") == [
        {"user_id": "1", "text": "Ferns at home.", "since": None, "until": None},
        {"user_id": "1", "text": "植物 “护理”", "since": None, "until": None},
    ]  # fmt: skip


def test_questions_go_to_the_folder_of_their_type(cast, tea, vote, built):
    cast.persona(tea)
    query = cast.query(tea, "g1", tea.personas.get(), type="general")
    cast.candidates(query, 2)
    vote(open_batch(tea, cast.task(tea, options=2)).items.get(), "1" * 9)
    assert len(lines(built("personafeedback"), "data/general/medium.jsonl")) == 1


def strategy_of(item):
    return {o.candidate.strategy: o for o in item.options.select_related("candidate")}


def test_easy_pairs_set_the_ground_truth_against_the_answer_to_the_question_alone(
    items, vote, built
):
    won, lost, shared, few = items(4, options=3)
    vote(won, str(strategy_of(won)["A1"].number) * 9)
    vote(lost, str(strategy_of(lost)["A3"].number) * 9)
    vote(shared, "111122223")
    vote(few, "111")
    release = built("personafeedback")

    (easy,) = lines(release, "data/specific/easy.jsonl")
    assert easy["chosen"] == strategy_of(won)["A1"].candidate.text
    assert easy["reject"] == strategy_of(won)["A3"].candidate.text
    assert left_out(release, "three_answers") == {
        "ambiguous_tie": 1,
        "pending": 1,
        "question_alone_won": 1,
    }


def test_without_strategies_there_are_no_easy_pairs_and_the_manifest_says_why(
    cast, tea, items, vote, panel, built
):
    panel("1" * 9, options=3)
    vote(items(1)[-1], "1" * 9)
    tea.candidates.update(strategy="")
    release = built("personafeedback")
    assert lines(release, "data/specific/easy.jsonl") == []
    note = release.manifest["rules"]["easy"]["note"]
    assert "no easy pairs" in note and note in card(release)


def test_a_tier_outside_its_band_blocks_the_release_with_the_reason(items, vote, tea, _data):
    # Thirty items at 8/9, but the pool says that a new panel would not find them hard.
    made = items(60)
    for item in made[:30]:
        vote(item, "111111112")
    for item in made[30:]:
        vote(item, "111112222")
    blocked = freeze.request_release(tea, "personafeedback", "", None)
    with pytest.raises(DomainError, match=r"hard of better v1: a new panel's kappa of 0\.364"):
        freeze.build(blocked.pk)
    blocked.refresh_from_db()
    assert blocked.status == Release.Status.FAILED
    assert blocked.error.startswith("The tiers are not in their bands")
    assert list(folders.folder_of(blocked).parent.iterdir()) == []
    # Raw votes claim no tier: their release is what shows the reason.
    raw = freeze.request_release(tea, "long", "", None)
    hard = freeze.build(raw.pk)["agreement"]["better v1"]["tiers"]["hard"]
    assert (hard["in_band"], hard["new_panel_in_band"]) == (True, False)


def exported_label(judgment):
    """The id of the chosen answer, or "tie" or "none"."""
    label = judgment.answers.get().label
    if not label.isdigit():
        return label
    return judgment.slot.item.options.get(number=label).candidate.external_id


def test_the_exported_votes_are_the_stored_votes(items, vote, built):
    made = items(3, tie=True)
    for item, pattern in zip(made, ["112", "21t", "222222221"], strict=True):
        vote(item, pattern, reason="Because, “so”\nand = more", imported=True)
    release = built("long")
    names = freeze.Reading(release, lambda: None).workers
    rows = Judgment.objects.order_by("slot__item__position", "submitted_at", "pk")
    stored = [
        (row.slot.item.external_id, names[row.annotator_id], exported_label(row)) for row in rows
    ]
    assert [(r["task"], r["worker"], r["label"]) for r in votes_of(release)] == stored
    judgments = lines(release, "judgments.jsonl")
    said = {row["judgment"]: row["label"] for row in lines(release, "answers.jsonl")}
    assert [(r["item_id"], r["worker"], said[r["judgment"]]) for r in judgments] == stored
    one = judgments[0]
    expected = {"reason": "Because, “so”\nand = more", "flags": ["unsafe"], "seconds": 12.5}
    expected |= {"submitted_at": "2026-03-01", "imported": True}
    assert {name: one[name] for name in expected} == expected
    shown = made[0].options.order_by("-number").values_list("candidate__external_id", flat=True)
    assert one["shown"] == list(shown)


@pytest.mark.parametrize(
    ("layout", "format"),
    [
        (name, fmt)
        # Those of other kinds of judgment: test_long.
        for name in ("personafeedback", "long", "dpo")
        for fmt in layouts.layout_of(name).FORMATS
    ],
)
def test_no_file_holds_a_real_name_address_id_or_exact_time(
    cast, tea, items, vote, built, layout, format
):
    secrets = ["canary-worker-77", "canary@example.org", "Canary Person"]
    by_import = User.objects.create(worker="tea:canary-worker-77", name=secrets[2])
    by_mail = cast.person("Canary")
    raters = [by_import, by_mail, *(cast.person(f"Rater{n}") for n in range(7))]
    for item in [*items(1), *items(1, options=3)]:
        vote(item, "1" * 9, people=raters)
        secrets += [str(item.pk), *(str(slot.pk) for slot in item.slots.all()), "key-"]
        secrets += [str(option.candidate_id) for option in item.options.all()]
    release = built(layout, format)
    # "12:0" is in every stored time of day; the release's own time may be told.
    frozen_at = release.manifest["created_at"]
    for path, data in files_of(release).items():
        if path.endswith(".parquet"):
            data = json.dumps(parquet.read_table(io.BytesIO(data)).to_pylist()).encode()
        assert [s for s in (*secrets, release.salt) if s.encode() in data] == [], path
        data = data.replace(frozen_at.encode(), b"")
        assert b"T12:0" not in data and b" 12:0" not in data


def test_pseudonyms_are_fresh_for_each_release(panel, built):
    panel(*["121212121"] * 3)
    first, second = built("long"), built("long")
    names = [freeze.Reading(release, lambda: None).workers for release in (first, second)]
    assert names[0] != names[1]
    expected = {f"worker-{n:03d}" for n in range(1, 10)}
    assert set(names[0].values()) == set(names[1].values()) == expected
    # The salt alone decides: neither the order nor the ids.
    one, other = "00" * 32, "01" * 32
    assert workers(one, range(40)) == workers(one, reversed(range(40))) != workers(other, range(40))
    assert sorted(workers(one, range(1001)).values())[0] == "worker-0001"


@pytest.mark.parametrize(
    ("layout", "format"),
    [("personafeedback", "jsonl"), ("dpo", "jsonl"), ("long", "csv"), ("long", "parquet")],
)
def test_the_same_release_gives_the_same_bytes(panel, built, tmp_path, layout, format):
    panel(*["111111112"] * 4)
    release = built(layout, format)
    assert written_again(release, tmp_path / "again") == (first := files_of(release))
    assert json.loads(first["manifest.json"]) == release.manifest
    folders.zip_folder(tmp_path / "again", tmp_path / "again.zip", "tea-v1")
    assert (tmp_path / "again.zip").read_bytes() == folders.zip_of(release).read_bytes()
    with zipfile.ZipFile(tmp_path / "again.zip") as packed:
        assert {name: packed.read(f"tea-v1/{name}") for name in first} == first


def test_what_comes_after_the_freeze_changes_nothing(cast, tea, items, vote, built, tmp_path):
    made = items(2)
    vote(made[0], "111111112")
    release = built("personafeedback")
    # An import brings votes with older dates; people, personas, words and batches change.
    vote(made[1], "1" * 9, people=[cast.person(f"Late{n}") for n in range(9)])
    Judgment.objects.filter(slot__item=made[1]).update(submitted_at="2020-01-01T00:00:00Z")
    cast.persona(tea, "p2", Name="Later")
    persona = tea.personas.get(external_id="p1")
    persona.versions.create(version=2, profile={"Name": "Changed"})
    consent.withdraw(cast.person("Rater0"), tea.consent_text)
    tea.title, tea.languages = "Another title", ["ko"]
    tea.save()
    cast.open(tea, items=1, options=3)
    assert written_again(release, tmp_path / "again") == files_of(release)


def test_votes_that_are_asked_for_after_the_freeze_change_nothing(items, vote, built, tmp_path):
    made = items(3)
    Item.objects.filter(pk=made[1].pk).update(overlap=13)
    release = built("long")
    assert [row["overlap"] for row in lines(release, "items.jsonl")] == [9, 13, 9]
    Item.objects.update(overlap=20)
    assert written_again(release, tmp_path / "again") == files_of(release)


def test_the_order_in_which_votes_were_stored_does_not_matter(items, vote, built, tmp_path):
    made = items(3)
    patterns = ["111111112", "222222222", "111111122"]
    for item, pattern in zip(made, patterns, strict=True):
        vote(item, pattern)
    release = built("personafeedback")
    stored = list(Judgment.objects.order_by("pk").values())
    labels = dict(Answer.objects.values_list("judgment", "label"))
    Judgment.objects.all().delete()
    for row in reversed(stored):
        again = Judgment.objects.create(**{k: v for k, v in row.items() if k != "id"})
        again.answers.create(question="choice", label=labels[row["id"]])
    release.frozen["judgment"] = Judgment.objects.latest("pk").pk
    assert written_again(release, tmp_path / "again") == files_of(release)


def test_who_withdrew_is_not_in_the_next_release(cast, tea, items, vote, built):
    (item,) = items(1)
    raters = [cast.member(f"Rater{n}", tea, "annotator") for n in range(9)]
    vote(item, "111111112", people=raters)
    assert len(votes_of(built("long"))) == 9
    consent.withdraw(raters[8], tea.consent_text)
    release = built("personafeedback")
    assert len(votes_of(release)) == 8
    assert release.manifest["counts"]["withdrawn"] == 1
    # All slots are done, so eight votes are all there will be.
    (row,) = lines(release, "data/specific/medium.jsonl")
    assert (row["n"], row["share"]) == (8, 1.0)
    consent.grant(raters[8], tea.consent_text)
    assert len(votes_of(built("long"))) == 9


def test_the_manifest_has_the_contracts_keys_and_lists_every_file(panel, built):
    panel(*["1" * 9] * 2)
    release = built("personafeedback")
    manifest, data = release.manifest, files_of(release)
    assert list(json.loads(data["manifest.json"])) == [
        "release", "feed", "study", "version", "created_at", "layout",
        "layout_version", "format", "rules", "counts", "agreement", "annotators",
        "material", "provenance", "files",
    ]  # fmt: skip
    expected = {
        "README.md", "persona/all_personas.jsonl", "persona/memories.jsonl", "votes.csv",
        "soft_labels.jsonl", "annotations.jsonl", "croissant.json", *SIX,
    }  # fmt: skip
    paths = {entry["path"] for entry in manifest["files"]}
    assert {path for path in paths if not path.startswith("harness/")} == expected
    assert "harness/lm_eval/attune.yaml" in paths
    for entry in manifest["files"]:
        written = data[entry["path"]]
        assert entry["bytes"] == len(written)
        assert entry["sha256"] == hashlib.sha256(written).hexdigest()
    rows = {entry["path"]: entry["rows"] for entry in manifest["files"]}
    assert (rows["votes.csv"], rows["data/specific/medium.jsonl"], rows["README.md"]) == (18, 2, 0)
    assert check_release(folders.folder_of(release)) == []


def test_the_card_says_what_it_is_and_takes_no_markup_from_people(tea, panel, built):
    tea.title = "Tea <script>alert(1)</script>\n# Fake heading"
    tea.save()
    panel("1" * 9)
    body = card(built("personafeedback")).split("---\n", 2)[2]
    assert "<script" not in body and "\n# Fake" not in body
    assert "Licence: not stated" in body
    assert "Consent text: tea v1" in body
    assert "A Large-scale Human-annotated Benchmark for Personalization" in body


def test_the_card_tells_of_annotators_and_material_what_the_study_knows(
    cast, tea, items, vote, built, login
):
    tea.pay_per_hour, tea.currency = "12.50", "EUR"
    tea.save()
    made = items(3)
    vote(made[0], "1" * 9, seconds=1_000)
    Query.objects.filter(pk=made[0].query_id).update(language="de", scenario="Music")
    Query.objects.filter(pk=made[1].query_id).update(text="어느 차를 마실까요?")
    release = built("long")
    assert release.manifest["annotators"] == {
        "here": 9, "training": {"items": 0, "people": 0}, "pay": "12.50 EUR an hour",
        "hours": 2.5, "pilots": None,
    }  # fmt: skip
    assert release.manifest["material"] == {
        "queries": 3, "scenarios": 1, "languages": {"de": 1, "hangul script": 1, "latin script": 1},
    }  # fmt: skip
    facts = "- Training: none\n- Pay: 12.50 EUR an hour\n- Hours at the judging page: 2.5"
    assert facts in card(release)
    # Of imported judgments nothing is claimed.
    Judgment.objects.update(imported=True)
    release = built("long")
    assert release.manifest["annotators"] == {
        "here": 0, **dict.fromkeys(("training", "pay", "hours", "pilots"))
    }  # fmt: skip
    assert "- Training: not known\n- Pay: not known" in card(release)


def test_the_card_has_the_table_of_scenarios_of_the_pairs(tea, items, vote, built):
    made = items(4)
    names = ["Music", "Diet Planning", "Music", "Trip | Planning"]
    for item, name in zip(made, names, strict=True):
        Query.objects.filter(pk=item.query_id).update(scenario=name)
        vote(item, "1" * 9)
    release = built("personafeedback", rule="majority")
    assert release.manifest["counts"]["scenarios"] == {
        "health": {"Diet Planning": 1}, "leisure": {"Music": 2}, "other": {"Trip | Planning": 1},
    }  # fmt: skip
    table = card(release).partition("| scenario | pairs | per cent | named |\n|---|---|---|---|\n")[
        2
    ]
    assert table.splitlines()[:3] == [
        "| leisure | 2 | 50.00 | Music |",
        "| health | 1 | 25.00 | Diet Planning |",
        "| other | 1 | 25.00 | Trip \\| Planning |",
    ]


@pytest.mark.parametrize(
    ("layout", "format", "sentence"),
    [
        ("bespoke", "", "needs scored feedback"),
        ("personalbench", "", "needs judgments of attributes"),
        ("excel", "", "There is no layout"),
        ("dpo", "csv", "is written as jsonl"),
        ("long", "xml", "is written as jsonl or csv or parquet"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_before_anything_is_frozen(
    tea, layout, format, sentence
):
    with pytest.raises(DomainError, match=sentence):
        freeze.request_release(tea, layout, format, None)
    assert Release.objects.count() == 0


def test_a_killed_build_is_taken_up_after_its_lease_and_leaves_nothing_half_done(tea, panel, _data):
    panel(*["1" * 9] * 2)
    release = freeze.request_release(tea, "long", "", None, start=True)
    # What a kill -9 leaves: a leased row and half a folder.
    half = folders.folder_of(release).parent / ".v1-1"
    half.mkdir(parents=True)
    (half / "judgments.jsonl").write_text('{"item')
    assert freeze.due() == []
    assert freeze.build(release.pk) is None
    Release.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert freeze.due() == [release.pk]
    freeze.build(release.pk)
    release.refresh_from_db()
    assert (release.status, release.attempts) == ("done", 2)
    assert sorted(p.name for p in half.parent.iterdir()) == ["v1", "v1.zip"]
    assert freeze.build(release.pk) is None


def test_an_attempt_that_lost_its_lease_publishes_nothing(tea, panel, _data, monkeypatch):
    panel("1")
    release = freeze.request_release(tea, "long", "", None)
    write = freeze.write

    def taken_over_meanwhile(release, folder, alive):
        Release.objects.update(attempts=2)
        return write(release, folder, alive)

    monkeypatch.setattr(freeze, "write", taken_over_meanwhile)
    assert freeze.build(release.pk) is None
    release.refresh_from_db()
    assert release.status == "running"
    assert list(folders.folder_of(release).parent.iterdir()) == []


def test_a_disk_that_refuses_is_said_in_words(tea, items, _data):
    items(1)
    release = freeze.request_release(tea, "long", "", None)
    (_data / "releases").write_text("a file where the folder should be")
    with pytest.raises(DomainError, match="could not be written"):
        freeze.build(release.pk)
    release.refresh_from_db()
    assert release.status == "failed"


def test_the_ring_calls_a_worker_to_a_release_that_waits(tea, panel, _data, settings):
    panel("1")
    release = freeze.request_release(tea, "long", "", None)
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        broker.delete("releases")
        tasks.notify_due()
        (message,) = broker.lrange("releases", 0, -1)
        broker.delete("releases")
    assert json.loads(message)["headers"]["task"] == "annotation.datasets.tasks.build"
    tasks.build(release.pk)
    release.refresh_from_db()
    assert release.status == "done"


def test_the_task_leaves_a_refusal_in_the_row(tea, items, vote, _data):
    (item,) = items(1)
    vote(item, "ttttttttt")  # a vote that the task does not offer
    release = freeze.request_release(tea, "dpo", "", None)
    tasks.build(release.pk)
    release.refresh_from_db()
    assert release.error == (
        "Item better-better-q1-v1-1 holds a vote for “tie”, which its task does not offer."
    )


@pytest.mark.django_db(transaction=True)
def test_a_vote_being_stored_while_the_study_is_frozen_is_waited_for(
    cast, tea, panel, _data, monkeypatch
):
    panel("11111111")
    pauses = []
    monkeypatch.setattr(freeze.time, "sleep", pauses.append)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE judging_judgment IN ROW EXCLUSIVE MODE")
            with pytest.raises(Conflict, match="being imported"):
                freeze.request_release(tea, "long", "", None)
            assert pauses == [freeze.FREEZE_PAUSE_SECONDS] * freeze.WAITS
            # The votes are stored during the pause.
            monkeypatch.setattr(freeze.time, "sleep", lambda seconds: cursor.execute("COMMIT"))
            assert freeze.request_release(tea, "long", "", None).frozen["judgment"] > 0
    finally:
        other.close()


@pytest.mark.django_db(transaction=True)
def test_only_an_import_into_the_study_itself_keeps_a_release_waiting(
    tea, panel, _data, monkeypatch
):
    panel("11111111")
    monkeypatch.setattr(freeze.time, "sleep", lambda seconds: None)
    elsewhere = Study.objects.create(slug="elsewhere", title="Elsewhere")

    def import_into(study, taken, released):
        with transaction.atomic(), connection.cursor() as cursor:
            judgments.take_turn(study)
            cursor.execute("LOCK TABLE judging_judgment IN ROW EXCLUSIVE MODE")
            taken.set()
            released.wait(20)
        connection.close()

    for study, refused in ((elsewhere, False), (tea, True)):
        taken, released = Event(), Event()
        thread = Thread(target=import_into, args=(study, taken, released))
        thread.start()
        try:
            assert taken.wait(20)
            if refused:
                with pytest.raises(Conflict, match="being imported"):
                    freeze.request_release(tea, "long", "", None)
            else:
                assert freeze.request_release(tea, "long", "", None).frozen["judgment"] > 0
        finally:
            released.set()
            thread.join()


@pytest.mark.django_db(transaction=True)
def test_a_study_that_is_being_imported_is_not_waited_for_without_end(tea, monkeypatch):
    monkeypatch.setattr(freeze, "FREEZE_PATIENCE_MS", 20)
    monkeypatch.setattr(freeze.time, "sleep", lambda seconds: None)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM studies_study FOR NO KEY UPDATE")
            with pytest.raises(Conflict, match="being imported"):
                freeze.request_release(tea, "long", "", None)
    finally:
        other.close()
    assert not Release.objects.exists()


def test_a_worker_that_writes_a_release_shows_that_it_is_alive(tea, panel):
    panel("1")
    freeze.build(freeze.request_release(tea, "long", "", None).pk)
    assert not worker_alive()  # here a command wrote it
    tasks.build.apply([freeze.request_release(tea, "long", "", None).pk], throw=True)
    assert worker_alive()


def test_memory_does_not_grow_with_the_votes(items, vote, built, tea, tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.datasets.frozen.CHUNK", 5)
    made = items(40)
    for item in made:
        vote(item, "1" * 9)
    release = built("long")

    def peak(position):
        release.frozen["position"] = position
        tracemalloc.start()
        folders.place(tmp_path / "out", lambda folder: freeze.write(release, folder))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(made[9].position)  # imports and caches
    few, many = (peak(made[n].position) for n in (9, 39))
    assert many < 1.3 * few


def test_an_item_that_was_stopped_early_counts_as_ambiguous(items, vote, built, tea):
    stopped, waiting, complete = items(3)
    vote(complete, "1" * 9)
    vote(stopped, "1122")
    vote(waiting, "1111")
    assert left_out(built("personafeedback")) == {"pending": 2}
    collection.choose_stop(tea, stopped.batch.task.name, "hard")
    assert left_out(built("personafeedback")) == {"ambiguous": 1, "pending": 1}
