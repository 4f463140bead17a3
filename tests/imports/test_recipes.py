"""Published sets that a recipe knows by their columns: nobody has to map them."""

import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from annotation.agreement import recompute
from annotation.agreement.models import AgreementResult
from annotation.candidates.models import Candidate
from annotation.imports import run
from annotation.imports.bring import COUNTS
from annotation.imports.models import DataImport
from annotation.judging.models import Answer, Item, ItemOption
from annotation.queries.models import Query
from tests.corpora import DATA
from tests.imports.conftest import counts

pytestmark = pytest.mark.django_db
PANDALM = Path(__file__).parents[1] / "data" / "pandalm" / "testset-v1.json.gz"


def battle(*cells) -> dict:
    """A row of Kaggle's train.csv: lists as JSON, a column for each outcome."""
    names = "id model_a model_b prompt response_a response_b winner_model_a winner_model_b"
    texts = [json.dumps(cell) if isinstance(cell, list) else cell for cell in cells]
    return dict(zip([*names.split(), "winner_tie"], texts, strict=True))


def table(*rows: dict) -> str:
    """A CSV of the rows."""
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


TURNS = (["Is it tea?", 'And "milk"?'], ["Yes.", "No."], ["No.", None])
BATTLES = [
    battle(7, "gpt-4", "koala", *TURNS, 1, 0, 0),
    battle(8, "koala", "gpt-4", ["Why?"], ["Heat."], ["Cold."], 0, 1, 0),
    battle(9, "koala", "dolly", ["How?"], ["So."], ["Thus."], 0, 0, 1),
]
ASPECTS = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
STEERED = [
    {"prompt": prompt, "response": response} | dict(zip(ASPECTS, scores, strict=True))
    for prompt, response, scores in (
        ("c#", "A language.", (3, 4, 4, 2, 0)),
        ("c#\n<extra_id_1>Assistant\nWhat?\n<extra_id_1>User\nA loop.", "for", (0, 1, 4, 2, 1)),
    )
]
PLACES = {"A leaf.": 2, "A drink.": 1, "Wood.": 3, "Stone.": 4}
RANKED = [
    {
        "prompt": "\n\nHuman: What is tea?\n\nAssistant: ",
        "answers": [
            {"answer": text, "model": f"of {text}", "rank": float(place)}
            for text, place in PLACES.items()
        ],
        "num_responses": 4,
        "source": ["sharegpt"],
        "good_natured": True,
    }
]


@pytest.fixture(params=["command", "page"])
def take(request, tmp_path, carol, tea, capsys):
    """A function that imports text or rows into the study "tea", and returns the counts.

    Without a ``recipe`` as they are proposed; faulty lines are left out.
    """

    def imported(content, name="mine.csv", recipe=""):
        if isinstance(content, list):
            content = "\n".join(json.dumps(row) for row in content)
        data = content if isinstance(content, bytes) else content.encode()
        if request.param == "command":
            (tmp_path / name).write_bytes(data)
            more = ["--recipe", recipe] if recipe else []
            more += ["--study", "tea", "--skip-faulty", "--json"]
            call_command("import_data", str(tmp_path / name), *more)
            return counts(json.loads(capsys.readouterr().out))
        address = carol.post("/studies/tea/data/", {"file": SimpleUploadedFile(name, data)}).url
        run.run(DataImport.objects.latest("created_at").pk)
        form = carol.get(address, {"recipe": recipe}).context["form"]
        sent = {field.html_name: field.value() for field in form if field.value()}
        body = sent | {"action": "import", "leave": "1", "task": "", "skip_faults": "on"}
        assert carol.post(address, body).status_code == 302
        done = run.run(DataImport.objects.latest("created_at").pk)
        assert done is not None and (done.status, done.error) == ("done", "")
        return counts(dict.fromkeys(COUNTS, 0) | done.counts)

    return imported


def test_battles_with_lists_of_turns_come_in_as_conversations_with_their_votes(take):
    take(table(*BATTLES))
    assert list(Query.objects.order_by("pk").values_list("text", flat=True)) == [
        *("Is it tea?", "Why?", "How?")
    ]
    options = ItemOption.objects.filter(item__external_id="7").order_by("number")
    assert [(o.candidate.model, o.candidate.text) for o in options] == [
        ("gpt-4", '**Assistant:** Yes.\n\n**User:** And "milk"?\n\n**Assistant:** No.'),
        ("koala", '**Assistant:** No.\n\n**User:** And "milk"?\n\n**Assistant:** '),
    ]
    votes = Answer.objects.order_by("judgment__slot__item__position")
    assert list(votes.values_list("judgment__slot__item__external_id", "label")) == [
        *(("7", "1"), ("8", "2"), ("9", "tie"))
    ]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            (["How?"], ["So.", "And."], ["Thus."], 0, 0, 1),
            "the question and the two answers have different numbers of turns",
        ),
        (
            (["How?"], ["So."], ["Thus."], 0, 1, 1),
            "of winner_model_a, winner_model_b, winner_tie exactly one must be 1",
        ),
    ],
)
def test_a_battle_that_says_two_things_is_a_faulty_line(bring, cells, reason):
    content = table(*BATTLES[:2], battle(9, "a", "b", *cells))
    report = bring(content, "--study", "tea", "--skip-faulty")
    assert (report["votes"], report["rejected"]) == (2, [{"line": 4, "reason": reason}])


def test_five_ratings_from_0_to_4_come_in_at_once_with_their_own_criteria(take, tea):
    take(STEERED, "hs.jsonl")
    (task,) = tea.tasks.all()
    asked = [(q["name"], q.get("minimum", 0), q["maximum"]) for q in task.config["questions"]]
    assert asked == [(name, 0, 4) for name in ASPECTS]
    said = Answer.objects.order_by("pk").values_list("question", "label")
    assert list(said) == list(zip(ASPECTS * 2, "3442001421", strict=True))
    assert [len(query.messages) for query in Query.objects.order_by("pk")] == [0, 3]


def test_answers_with_ranks_come_in_with_the_order_that_these_make(take, tea):
    take(RANKED, "nectar.jsonl")
    assert tea.tasks.get().kind == "ranking"
    ranked = Answer.objects.values_list("option", "value")
    texts = {option.number: option.candidate.text for option in ItemOption.objects.all()}
    assert {texts[number]: place for number, place in ranked} == PLACES
    assert Query.objects.get().text == "What is tea?"
    assert Answer.objects.first().judgment.annotator.worker == "tea:GPT-4"


def test_ranks_of_other_lists_are_read_with_ties_and_a_rank_that_is_missing_is_named(bring):
    answers = [{"text": "x", "rank": 2}, {"text": "y", "rank": 1}, {"text": "z", "rank": 2}]
    report = bring([{"prompt": "Why?", "rater": "r1", "responses": answers}], "--study", "tea")
    assert (report["votes"], report["unknown_columns"]) == (1, [])
    assert sorted(Answer.objects.values_list("value", flat=True)) == [1, 2, 2]
    del answers[1]["rank"]
    maps = ["answer=responses[].text", "prompt=prompt"]
    report = bring([{"prompt": "How?", "responses": answers}], "--map", *maps, "--study", "again")
    assert report["unknown_columns"] == ["responses[].rank"]


def test_three_raters_of_pandalm_agree_as_published(take, tea):
    take(gzip.decompress(PANDALM.read_bytes()), "testset-v1.json")
    labels = Counter(Answer.objects.values_list("label", flat=True))
    assert labels == {"1": 1255, "2": 1416, "tie": 326}
    assert Candidate.objects.filter(model="llama-7b").exists()
    assert Item.objects.count() == 999
    recompute.recompute(tea, tea.tasks.get().name)
    result = AgreementResult.objects.get(study=tea)
    assert round(result.agreement["krippendorff_alpha"]["nominal"]["value"], 6) == 0.864221


def test_the_page_names_the_recipe_that_the_columns_tell_and_what_it_knows_of_the_source(
    carol, tea
):
    file = SimpleUploadedFile("train.csv", table(*BATTLES).encode())
    address = carol.post("/studies/tea/data/", {"file": file}).url
    run.run(DataImport.objects.get().pk)
    page = carol.get(address)
    assert '<option value="arena-55k" selected>' in page.content.decode()
    assert page.context["asked"].initial["citation"] == "Chiang et al. 2024, arXiv:2403.04132"


SHARED = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not on this machine")


@SHARED
@pytest.mark.parametrize(
    ("file", "recipe", "expected"),
    [
        ("chat-exports/chatbot-arena-10.jsonl", "arena", [0, 9, 20, 10, 10, 0, 1]),
        ("mt-bench-questions/question.jsonl", "prompts", [0, 80, 0, 0, 0, 0, 0]),
        ("llmbar-natural/items.jsonl", "", [0, 100, 200, 100, 0, 0, 0]),
        ("wmt23-zh-en/items.jsonl", "", [0, 150, 450, 150, 0, 0, 0]),
        ("prefeval/explicit_preference.jsonl", "prompts", [0, 1000, 0, 0, 0, 0, 0]),
        ("prefeval/mcq_options.jsonl", "prefeval", [500, 505, 2020]),
        ("prefeval/persona_conversations.jsonl", "prefeval-conversations", [29, 109]),
        ("persona-hub-personas/personas.jsonl", "", [2500]),
        ("synthetic-persona-chat/Synthetic-Persona-Chat_valid.csv", "personas", [1905]),
        ("synthetic-persona-chat/personas.jsonl", "", [1905]),
    ],
)
def test_unchanged_files_come_in_whole(take, file, recipe, expected):
    path = DATA / file
    assert take(path.read_bytes(), path.name, recipe) == expected + [0] * (7 - len(expected))


@SHARED
def test_conversations_of_two_people_keep_their_turns(take, tea):
    """One of 1,000 conversations has no turns, as the set's README has it."""
    path = DATA / "synthetic-persona-chat" / "conversations.jsonl"
    assert take(path.read_bytes(), path.name)[1] == 999
    turns = [query.messages for query in tea.queries.all()]
    assert sum(map(len, turns)) == 27_734
    assert {turn["role"] for messages in turns for turn in messages} == {"user1", "user2"}
