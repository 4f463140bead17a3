"""`import_data`: what people have becomes a study, by recipe, by mapping, or by column names."""

import io
import json
import zipfile
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.agreement.scoring import compared
from annotation.agreement.statistics.coefficient import ONE_ITEM
from annotation.candidates.models import Candidate
from annotation.evaluation.models import Verdict
from annotation.imports.mapping import propose
from annotation.judging.models import Answer, Item, ItemOption, Judgment, Slot
from annotation.judging.work import queue, submit
from annotation.judging.work.hidden_checks import outcomes
from annotation.personas.models import Attribute, Memory, Persona
from annotation.queries.models import Query
from annotation.studies.models import Study, TaskDefinition
from tests.corpora import DATA
from tests.imports.conftest import counts
from tests.judging.conftest import choose

pytestmark = pytest.mark.django_db
ARENA = {
    "question_id": "b1",
    "model_a": "koala",
    "model_b": "alpaca",
    "winner": "model_b",
    "judge": "j1",
    "conversation_a": [
        {"role": "user", "content": "What is tea?"},
        {"role": "assistant", "content": "A leaf."},
    ],
    "conversation_b": [
        {"role": "user", "content": "What is tea?"},
        {"role": "assistant", "content": "A drink."},
    ],
    "tstamp": 1682351591.1,
    "language": "English",
}


def everything() -> list:
    models = (Study, Persona, Memory, Query, Candidate, Item, Slot, Judgment)
    return [list(model.objects.order_by("pk").values()) for model in models]


def labels(study: str) -> list[tuple]:
    rows = Judgment.objects.filter(slot__study__slug=study).order_by("pk")
    texts = {
        (option.item_id, str(option.number)): option.candidate.text
        for option in ItemOption.objects.select_related("candidate")
    }
    stored = rows.values_list("slot__item", "slot__item__external_id", "answers__label")
    return [
        (name, "choice" if label.isdigit() else label, texts.get((item, label)))
        for item, name, label in stored
    ]


def test_battles_become_items_with_votes(bring):
    rows = [
        ARENA,
        ARENA | {"question_id": "b2", "winner": "tie (bothbad)"},
        ARENA | {"question_id": "b3", "winner": "tie", "judge": "j2"},
    ]
    report = bring(rows, "--recipe", "arena", "--study", "arena")
    assert counts(report) == [0, 1, 2, 3, 3, 0, 2]
    assert (report["study"], report["rejected"], report["unknown_columns"]) == ("arena", [], [])
    assert labels("arena") == [
        ("b1", "choice", "A drink."),
        ("b2", "none", None),
        ("b3", "tie", None),
    ]
    item = Item.objects.get(external_id="b1")
    assert (item.done, item.overlap, item.counts) == (1, 1, {"2": 1})
    assert item.query.language == "en"
    assert Study.objects.get(slug="arena").status == "open"


PERSONAMEM = {
    "persona_id": "7",
    "question_id": "q7",
    "topic": "musicRecommendation",
    "user_question_or_message": "What shall I listen to?",
    "correct_answer": "(b)",
    "all_options": "['(a) A march.', \"(b) Some jazz, you're fond of it.\"]",
    "shared_context_id": "c1",
    "end_index_in_shared_context": "3",
}
PREFERENCE = {"preference": "I avoid hotels in a noisy street.", "question": "Which hotel?"}
RECIPES = {
    "pandalm": (
        "idx,instruction,input,response1,response2,annotator1,annotator2,annotator3\n"
        "7,Sort,2 1,1 2,,1,0,2\n",
        [0, 1, 2, 1, 3, 0, 3],
    ),
    "mtbench": ([ARENA | {"turn": 1}], [0, 1, 2, 1, 1, 0, 1]),
    "preferences": ("prompt,chosen,rejected\np,a,b\n", [0, 1, 2, 1, 0, 0, 0]),
    "prompts": ("id,question,topic\nq1,Why?,tea\n", [0, 1, 0, 0, 0, 0, 0]),
    "answers": ("prompt,answer,model\np,a,m1\np,,m2\n", [0, 1, 2, 0, 0, 0, 0]),
    "ratings": (
        "item,prompt,answer,annotator,tone,depth\ni,p,a,x,4,2\ni,p,a,y,3,1\n",
        [0, 1, 1, 1, 2, 4, 2],
    ),
    "personas": ("id,persona\np1,A nurse who runs.\n", [1, 0, 0, 0, 0, 0, 0]),
    "personafeedback": ("user_id,question,chosen,reject\n1,q,a,b\n", [1, 1, 2, 1, 0, 0, 0]),
    "bespoke": (
        "user,query-id,query,gold_information_need\nuser1,3,q,n\n",
        [1, 1, 0, 0, 0, 0, 0],
    ),
    "prism": (
        [
            {"user_id": "u1", "user_prompt": "q", "model_response": "a", "model_name": "m"}
            | {"conversation_id": "c1", "turn": turn, "within_turn_id": 0, "if_chosen": True}
            for turn in (0, 1)
        ],
        [1, 1, 1, 0, 0, 0, 0],
    ),
    "prefeval": (
        [{"id": "1", "topic": "travel", **PREFERENCE, "options": ["a", "b", "c", "d"]}],
        # No task shows four answers unless a curator makes it: batches open their items.
        [1, 1, 4, 0, 0, 0, 0],
    ),
    "prefeval-conversations": (
        [
            {"persona": "a baker who rises early", **PREFERENCE}
            | {"conversation": {"0": {"user": "Noise wakes me.", "assistant": "I see."}}}
        ],
        [1, 1, 0, 0, 0, 0, 0],
    ),
    "personamem": ([PERSONAMEM], [1, 1, 2, 1, 0, 0, 0]),
    "lamp": ([{"id": "9", "input": "q", "profile": [{"text": "t"}]}], [1, 1, 0, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_each_recipe_reads_what_it_is_named_after(bring, recipe):
    rows, expected = RECIPES[recipe]
    report = bring(rows, "--recipe", recipe, "--study", "tea")
    assert (counts(report), report["rejected"]) == (expected, [])
    before = everything()
    assert bring(rows, "--recipe", recipe, "--study", "tea") == report
    assert everything() == before


def test_a_conversation_ends_where_its_question_was_asked_and_the_right_option_is_a_key(
    bring, tmp_path
):
    turns = [("system", "Plays the piano."), ("user", "I came to like jazz."), ("assistant", "Ok.")]
    context = [{"role": role, "content": text} for role, text in [*turns, ("user", "Later.")]]
    (tmp_path / "contexts.jsonl").write_text(json.dumps({"c1": context}) + "\n")
    join = f"--join={tmp_path / 'contexts.jsonl'}:shared_context_id=shared_context_id"
    report = bring([PERSONAMEM], join, "--recipe", "personamem", "--study", "mem", "--task", "best")
    assert (counts(report), report["rejected"]) == ([1, 1, 2, 1, 0, 0, 0], [])
    asked = [*turns, ("user", "What shall I listen to?")]
    query = Query.objects.get()
    assert [(turn["role"], turn["content"]) for turn in query.messages] == asked
    assert Item.objects.get().keys == {"correct_answer": "2"}
    texts = Candidate.objects.order_by("text").values_list("text", flat=True)
    assert list(texts) == ["A march.", "Some jazz, you're fond of it."]
    broken = PERSONAMEM | {"question_id": "q8", "all_options": "__import__('os')"}
    report = bring([PERSONAMEM, broken], "--recipe", "personamem", "--study", "x", "--skip-faulty")
    assert [row["line"] for row in report["rejected"]] == [2]
    # The conversations alone are a pool, as those of WildChat are.
    call_command("import_data", str(tmp_path / "contexts.jsonl"), "--study", "pool",
                 "--recipe", "conversations")  # fmt: skip
    assert Study.objects.get(slug="pool").conversations.get().source == "synthetic"


def test_a_preference_that_a_conversation_shows_is_kept_and_no_item_shows_it(bring):
    rows, _expected = RECIPES["prefeval-conversations"]
    turn = rows[0] | {"turn": 1}
    bring([turn], "--recipe", "prefeval-conversations", "--study", "tea")
    query, attribute = Query.objects.get(), Attribute.objects.get()
    assert [turn["content"] for turn in query.messages] == [
        "Noise wakes me.", "I see.", "Which hotel?",
    ]  # fmt: skip
    assert (attribute.text, attribute.turn, query.need) == (rows[0]["preference"], 1, "")
    assert "noisy" not in str(query.persona.versions.get().profile)
    assert not Item.objects.exists()


def test_an_empty_answer_is_an_answer_and_three_people_disagree_on_it(bring):
    bring(RECIPES["pandalm"][0], "--recipe", "pandalm", "--study", "panda")
    assert labels("panda") == [("7", "choice", "1 2"), ("7", "tie", None), ("7", "choice", "")]
    assert Query.objects.get().text == "Sort\n\n2 1"


def test_transcripts_with_human_and_assistant_are_taken_apart(bring):
    said = {"chosen": "Hi.", "rejected": "Go."}
    row = {name: f"\n\nHuman: Hello?\n\nAssistant: {text}" for name, text in said.items()}
    bring([row], "--recipe", "preferences", "--study", "hh")
    assert Query.objects.get().text == "Hello?"
    texts = Candidate.objects.order_by("strategy").values_list("strategy", "text")
    assert list(texts) == [("chosen", "Hi."), ("rejected", "Go.")]


def test_a_mapping_names_places_inside_a_record(bring):
    places = [f"answer_{side}=conversation_{side}[-1].content" for side in "ab"]
    maps = ("--map", "prompt=conversation_a[0].content", "label=winner", "worker=judge", *places)
    report = bring([ARENA], *maps, "--task", "duel", name="My battles.jsonl")
    assert report["study"] == "my-battles"
    assert counts(report) == [0, 1, 2, 1, 1, 0, 1]
    assert report["unknown_columns"] == ["question_id", "model_a", "model_b", "tstamp", "language"]
    assert Item.objects.get().batch.task.name == "duel"


def test_columns_are_recognised_by_their_names_and_a_near_name_is_asked_about(bring):
    text = "question,answer a,answer b,winner,rater,nedd\nWhy?,x,y,B,ann,calm\n"
    report = bring(text)
    assert counts(report) == [0, 1, 2, 1, 1, 0, 1]
    assert report["unknown_columns"] == ["nedd"]
    assert labels("mine") == [(Item.objects.get().external_id, "choice", "y")]


def test_an_unmapped_persona_takes_its_text_and_keeps_its_id(bring):
    report = bring([{"persona_id": "p-1", "statements": ["I bake.", "I knit."]}])
    assert (counts(report)[0], report["unknown_columns"]) == (1, [])
    persona = Persona.objects.get()
    assert persona.external_id == "p-1"
    assert persona.versions.get().profile == {"Statements": ["I bake.", "I knit."]}


def test_a_persona_without_a_description_is_refused(bring):
    with pytest.raises(CommandError, match="no description"):
        bring("persona_id\np-1\n")


@pytest.mark.parametrize(
    ("value", "kept"), [("General", "general"), ("spedific", "specific"), ("", "specific")]
)
def test_a_type_of_question_is_read(bring, value, kept):
    bring(f"prompt,type\nWhy?,{value}\nHow?,general\n")
    assert Query.objects.get(text="Why?").type == kept


def test_votes_come_after_their_items_in_a_second_file(bring):
    bring("id,prompt,answer\ni1,p,a\ni2,p2,a2\n", "--recipe", "answers", "--study", "tea")
    votes = "id,annotator,label\ni1,x,Yes\ni1,y,No\ni2,x,Unsure\ni9,x,No\n"
    report = bring(votes, "--recipe", "ratings", "--study", "tea", "--skip-faulty")
    assert (report["items"], report["votes"], report["workers"]) == (2, 3, 2)
    assert report["rejected"] == [{"line": 5, "reason": "the study has no item “i9”"}]
    scores = Judgment.objects.order_by("slot__item__external_id", "annotator__worker")
    assert list(scores.values_list("answers__label", flat=True)) == ["Yes", "No", "Unsure"]


def test_one_row_a_criterion_becomes_one_judgment_a_person(bring):
    text = (
        "id,prompt,answer,annotator,criterion,score\n"
        "i,p,a,x,tone,4\ni,p,a,x,depth,2\ni,p,a,y,tone,3\ni,p,a,y,depth,5\ni,p,a,y,tone,1\n"
    )
    report = bring(text, "--recipe", "ratings", "--study", "tea", "--skip-faulty")
    assert (report["votes"], report["scores"], report["workers"]) == (2, 4, 2)
    assert report["rejected"] == [
        {"line": 6, "reason": "y has given another vote on this item before"}
    ]


def test_scores_of_pairs_are_places_on_a_scale_below_and_above_zero(bring):
    text = "prompt,answer_a,answer_b,annotator,score\np,a,b,x,-3\np,a,b,y,2\n"
    report = bring(text, "--study", "tea")
    assert report["votes"] == 2
    values = Judgment.objects.order_by("pk").values_list("answers__value", flat=True)
    assert list(values) == [1, 6]


def test_attributes_are_judged_alone_and_with_a_prompt(bring):
    text = "persona,attribute,annotator,label\np1,likes tea,x,yes\np1,likes tea,y,unsure\n"
    bring(text, "--study", "one")
    verdicts = Answer.objects.filter(question="verdict").order_by("pk")
    verdicts = verdicts.values_list("label", flat=True)
    assert list(verdicts) == ["accepted", "uncertain"]
    text = "persona,attribute,prompt,annotator,label\np1,likes tea,Plan a day,x,no\n"
    bring(text, "--study", "two")
    assert Judgment.objects.get(slot__study__slug="two").answers.get().label == "no"


def test_a_preference_keeps_its_turn_and_the_days_between_which_it_holds(bring):
    text = (
        "persona,attribute,since,until,turn\n"
        "p1,likes tea,2026-05-01,2026-05-02,7\np1,likes rye,,,\n"
        "p1,likes oats,soon,,\np1,likes figs,2026-05-02,2026-05-02,\n"
    )
    report = bring(text, "--study", "tea", "--skip-faulty")
    assert [row["line"] for row in report["rejected"]] == [4, 5]
    stored = Attribute.objects.order_by("text").values_list("text", "since", "until", "turn")
    assert list(stored) == [
        ("likes rye", None, None, None),
        ("likes tea", date(2026, 5, 1), date(2026, 5, 2), 7),
    ]


def test_what_does_not_fit_is_listed_and_the_rest_is_stored(bring):
    text = (
        "id,prompt,answer_a,answer_b,winner,annotator\n"
        "i1,p,a,b,A,x\n"
        "i2,,a,b,A,x\n"
        "i3,p,a,a,A,x\n"
        "i4,p,a,b,sideways,x\n"
        "i5,p,a,b,A,\n"
        "i1,p,c,d,A,y\n"
        "i6,p,a,b\n"
    )
    report = bring(text, "--study", "tea", "--skip-faulty")
    assert (report["items"], report["votes"]) == (1, 1)
    assert [(row["line"], row["reason"]) for row in report["rejected"]] == [
        (3, "the question is empty"),
        (4, "two of its answers are the same"),
        (5, "“sideways” is none of its answers, no tie and not none"),
        (6, "the annotator is missing"),
        (7, "the study has another item “i1”: give this one its own id"),
        (8, "4 fields where the header has 6"),
    ]


def test_pairs_can_wait_for_a_batch_and_votes_cannot(bring):
    text = "prompt,answer_a,answer_b\nWhy?,x,y\n"
    report = bring(text, "--study", "tea", "--no-items")
    assert counts(report) == [0, 1, 2, 0, 0, 0, 0]
    assert not Study.objects.get().tasks.exists()
    voted = "prompt,answer_a,answer_b,winner,rater\nWhy?,x,y,A,ann\n"
    assert counts(bring(voted, "--study", "tea", "--no-items")) == [0, 1, 2, 1, 1, 0, 1]


@pytest.mark.parametrize(("label", "places"), [("B>A=C", [2, 1, 2]), ("one>two>three", [1, 2, 3])])
def test_an_order_names_answers_by_letter_or_model(bring, label, places):
    row = {"prompt": "p", "a": ["x", "y", "z"], "m": ["one", "two", "three"], "w": "ann"}
    more = ("--map=prompt=prompt", "--map=answer=a[]", "--map=model=m[]", "--map=worker=w")
    report = bring([row | {"l": label}], *more, "--map=label=l", "--study", "tea")
    assert (report["votes"], report["rejected"]) == (1, [])
    ranked = Answer.objects.order_by("option")
    assert list(ranked.values_list("value", flat=True)) == places


def test_an_order_of_other_answers_is_a_faulty_line(bring):
    text = "prompt,answer_a,answer_b,label,annotator\np,x,y,A>,ann\np2,x,y,A>B,ann\n"
    report = bring(text, "--study", "tea", "--skip-faulty")
    assert report["rejected"][0] == {
        "line": 2,
        "reason": "“” is none of its answers, no tie and not none",
    }
    assert labels("tea") == [(Item.objects.get().external_id, "choice", "x")]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--recipe", "nonsense"), "There is no recipe “nonsense”"),
        (("--recipe", "arena"), "The recipe “arena” needs a column “conversation_a”"),
        (("--map", "prompt"), "--map takes TARGET=COLUMN"),
        (("--map", "promt=a"), "There is no target “promt”"),
        (("--map", "prompt=b"), "“prompt” is mapped to “b”; the file has a"),
        (("--map", "label=a"), "This would make no question and no item"),
        (("--map", "prompt=a[x"), "“a[x” is no place in a record"),
        ((), "What the columns hold is not clear"),
    ],
)
def test_a_mapping_that_would_bring_in_nothing_is_refused(bring, args, words):
    with pytest.raises(CommandError) as refusal:
        bring("a\n1\n", *args, "--study", "tea")
    assert words in str(refusal.value)
    assert not Study.objects.exists()


OPEN_QUOTE = "broken CSV (a quotation mark is never closed: nothing is read from it to line 5)"


def test_a_quotation_mark_that_is_never_closed_says_how_far_the_file_is_lost(bring):
    header, rest = "prompt,answer_a,answer_b\n", "Rain?,x,y\nSun?,x,y\n"
    report = bring(f'{header}Tea?,x,y\n"Wind?,x,y\n{rest}', "--study", "tea", "--skip-faulty")
    assert (report["items"], report["rejected"]) == (1, [{"line": 3, "reason": OPEN_QUOTE}])
    with pytest.raises(CommandError, match=r"\(faulty: 1\)\. Line 2: broken CSV"):
        bring(f'{header}"Wind?,x,y\n{rest}', "--study", "tea")


@pytest.mark.parametrize(
    ("header", "labels_"),
    [
        ("编号,问题,回答 A,回答 B,选择,标注员", ("回答A", "平局")),
        ("번호,질문,답변1,답변2,선택,평가자", ("답변 1", "동점")),
    ],
)
def test_columns_with_chinese_and_korean_names_are_recognised(bring, header, labels_):
    lines = (f"i{n},茶{n}?,x,y,{label},ann" for n, label in enumerate(labels_))
    report = bring("\n".join([header, *lines]), "--study", "tea")
    assert (counts(report), report["rejected"]) == ([0, 2, 4, 2, 2, 0, 1], [])
    assert report["unknown_columns"] == []
    assert labels("tea") == [("i0", "choice", "x"), ("i1", "tie", None)]


def zipped(**files: str) -> bytes:
    """A zip of a folder with ``files``, their names with _ for a dot."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"packed/{name.replace('_', '.')}", text)
    return data.getvalue()


BUNDLE = {
    "study_json": '{"slug": "packed", "title": "Packed", "languages": ["en"], "tasks": []}',
    "queries_jsonl": '{"id": "q1", "text": "Why?"}\n',
}


def test_a_dry_run_of_a_bundle_stores_nothing_zipped_or_as_a_folder(bring, tmp_path, capsys):
    before = everything()
    report = bring(zipped(**BUNDLE), "--dry-run", name="packed.zip")
    with zipfile.ZipFile(tmp_path / "packed.zip") as archive:
        archive.extractall(tmp_path)
    call_command("import_data", str(tmp_path / "packed"), "--dry-run", "--json")
    assert json.loads(capsys.readouterr().out) == report
    assert (report["study"], report["queries"]) == ("packed", 1)
    assert everything() == before


def test_rows_of_one_id_with_other_answers_are_faults_in_the_file_and_in_a_later_one(bring):
    header = "id,prompt,answer_a,answer_b\n"
    for lines, faulty in (
        ("i1,What is tea?,A leaf.,A drink.\ni1,What is tea?,A leaf.,No.\n", [3]),
        ("i1,What is tea?,A drink.,A leaf.\n", []),
        ("i1,What is tea?,A drink.,Two.\ni2,What is tea?,A,B\n", [2]),
    ):
        report = bring(header + lines, "--skip-faulty")
        assert (report["items"], [fault["line"] for fault in report["rejected"]]) == (1, faulty)


def test_a_language_that_is_called_by_its_name_is_handed_out_to_who_reads_it(bring, cast, tea, ann):
    bring("prompt,answer_a,answer_b,lang\nTea?,A leaf.,A drink.,English\n", "--study", "tea")
    Study.objects.update(match_languages=True)
    tea.refresh_from_db()
    ann.reads = ["ko"]
    ann.save()
    assert queue.claim(tea, ann) is None
    ann.reads = ["en"]
    ann.save()
    assert queue.claim(tea, ann)


def test_a_vote_that_comes_in_leaves_room_for_that_of_who_holds_the_item(bring, cast, tea, ann):
    item = cast.open(tea, items=1, options=2, overlap=1).items.get()
    slot = queue.claim(tea, ann)
    answer = item.options.get(number=2).candidate.external_id
    bring(f"id,worker,label\n{item.external_id},w1,{answer}\n", "--study", "tea")
    item.refresh_from_db()
    assert (item.done, item.overlap) == (1, 2)
    submit.submit(tea, slot, ann, choose(slot), key="k")
    item.refresh_from_db()
    assert (item.done, item.counts) == (2, {"1": 1, "2": 1})


def test_answers_come_in_exactly_as_they_were(bring):
    texts = ['a "b" \\ {c}, \\n\nd\t', "NULL", "{}", "\\", '"']
    rows = [{"id": f"i{n}", "prompt": "What?", "answer": text} for n, text in enumerate(texts)]
    bring(rows)
    stored = Candidate.objects.order_by("query__external_id").values_list("text", flat=True)
    assert list(stored) == texts


def test_of_many_faulty_lines_a_thousand_are_listed(bring, tmp_path, capsys):
    lines = ["id,prompt", *(f"{n}," for n in range(1_500)), "good,Why?"]
    with pytest.raises(CommandError, match="1500 lines are faulty"):
        bring("\n".join(lines), "--recipe", "prompts", "--study", "tea")
    assert len(json.loads(capsys.readouterr().out)["rejected"]) == 1_000
    with pytest.raises(CommandError):
        call_command("import_data", str(tmp_path / "mine.csv"), recipe="prompts", study="tea")
    listed = capsys.readouterr().err.splitlines()
    assert (len(listed), listed[-1]) == (1_001, "… and 500 more")
    assert not Study.objects.exists()


def turns(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def test_a_conversation_before_the_answers_is_stored_as_turns(bring):
    asked, with_answer = turns("Tea?", "Yes.", "Which?"), turns("Tea?", "Yes.", "Which?", "Red.")
    rows = [
        {"id": "one", "messages": turns("Why?"), "response": "So."},
        {"id": "two", "messages": asked, "response": "Green."},
        {"id": "three", "messages": json.dumps(with_answer), "response": "Red."},
    ]
    columns = ("--map=id=id", "--map=prompt=messages", "--map=answer=response")
    assert bring(rows, *columns, "--study", "tea")["queries"] == 3
    stored = {query.external_id: query for query in Query.objects.all()}
    assert (stored["one"].text, stored["one"].messages) == ("Why?", [])
    text = "**User:** Tea?\n\n**Assistant:** Yes.\n\n**User:** Which?"
    for name in ("two", "three"):
        assert (stored[name].text, stored[name].messages) == (text, asked)
    assert bring(rows, *columns, "--study", "tea")["queries"] == 3
    assert Query.objects.count() == 3


def test_what_two_conversations_have_in_common_is_the_question(bring):
    asked = ("Tea?", "Yes.", "Which?")
    row = {"chosen": turns(*asked, "Red."), "rejected": turns(*asked, "None.")}
    for slug, more in (("tea", {}), ("two", {"prompt": turns(*asked)})):
        bring([row | more], "--recipe", "preferences", "--study", slug)
        study = Study.objects.get(slug=slug)
        assert study.queries.get().messages == turns(*asked)
        assert set(study.candidates.values_list("text", flat=True)) == {"Red.", "None."}


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_a_conversation_is_released_and_comes_back_as_its_turns(bring, tmp_path, format):
    asked = [{"role": "system", "content": "Be short."}, *turns("Tea?", "Yes.", "Which?")]
    plain = {"role": "user", "content": "Why?"}
    row = {"answer_a": "x", "answer_b": "y", "rater": "r", "label": "A"}
    rows = [row | {"id": "a", "prompt": asked}, row | {"id": "b", "prompt": [plain]}]
    bring(rows, "--study", "tea")
    folder = tmp_path / "release"
    call_command("release", "tea", "--layout", "long", "--format", format, "--out", folder)
    call_command("import_release", str(folder), "again")
    for study in ("tea", "again"):
        rows = Query.objects.filter(study__slug=study).order_by("pk").values_list("messages")
        assert list(rows) == [(asked,), ([],)]
    if format == "jsonl":
        lines = (folder / "items.jsonl").read_text().splitlines()
        assert [json.loads(line)["messages"] for line in lines] == [asked, [plain]]


TWO = "id,prompt,answer_a,answer_b\ni1,p,a,b\ni2,q,c,d\n"
TIED = "id,annotator,label\ni1,ann,1\ni1,bo,equal\ni2,ann,2\n"


def test_votes_that_the_task_does_not_allow_are_refused_with_what_would_fit(bring, capsys):
    bring(TWO, "--study", "tea")
    before = everything()
    with pytest.raises(CommandError) as refused:
        bring(TIED, "--study", "tea")
    assert str(refused.value) == (
        "1 line is faulty. Nothing was imported: correct it, or leave it out. "
        "The task “selection” would take more of them with: allow ties (ties)."
    )
    reason = "the item's task allows no “tie”"
    assert json.loads(capsys.readouterr().out)["rejected"] == [{"line": 3, "reason": reason}]
    assert everything() == before
    assert bring(TIED, "--study", "tea", "--allow", "ties")["votes"] == 3
    said = Judgment.objects.values_list("answers__label", flat=True)
    assert sorted(said) == ["1", "2", "tie"]
    assert TaskDefinition.objects.get().config["tie"] is True


def test_a_task_that_people_have_judged_is_not_changed(bring):
    bring(TWO, "--study", "tea")
    bring("id,annotator,label\ni1,ann,1\n", "--study", "tea")
    Judgment.objects.update(imported=False)
    with pytest.raises(CommandError, match="People have judged under the task “selection”"):
        bring(TIED, "--study", "tea", "--allow", "ties")
    assert TaskDefinition.objects.get().config["tie"] is False


def test_further_classes_of_a_file_are_offered(bring):
    header = "id,prompt,answer,rater,label\n"
    bring(f"{header}i,p,a,r,good\n", "--study", "tea")
    assert bring(f"{header}i,p,a,s,good\n", "--study", "tea")["votes"] == 1
    with pytest.raises(CommandError, match=r"add the file's classes \(classes\)"):
        bring(f"{header}i,p,a,t,bad\n", "--study", "tea")
    assert bring(f"{header}i,p,a,t,bad\n", "--study", "tea", "--allow", "classes")["votes"] == 1
    (question,) = TaskDefinition.objects.get().config["questions"]
    assert question["classes"] == [{"name": "good"}, {"name": "bad"}]


def test_further_criteria_of_a_file_are_offered(bring):
    first = "id,prompt,answer,rater,criterion,score\ni,p,a,r,clear,2\ni,p,a,r,brief,5\n"
    bring(first, "--study", "tea")
    more = first.replace(",r,", ",s,") + "i,p,a,s,kind,2\n"
    with pytest.raises(CommandError, match=r"add the file's criteria \(criteria\)"):
        bring(more, "--study", "tea")
    assert bring(more, "--study", "tea", "--allow", "criteria")["scores"] == 3


def test_keys_are_stored_with_the_item_and_shown_to_nobody(bring, cast):
    text = (
        "id,prompt,answer_a,answer_b,rater,label,gold,human_score\n"
        "i1,p,a,b,ann,A,A,4.5\ni1,p,a,b,bo,B,A,4.5\ni1,p,a,b,cy,A,A,4.5\ni2,q,c,d,ann,A,B,2\n"
    )
    report = bring(text, "--study", "tea")
    assert report["unknown_columns"] == []
    keys = dict(Item.objects.values_list("external_id", "keys"))
    assert keys["i1"]["gold"] == "1" and keys["i2"]["gold"] == "2"
    study = Study.objects.get(slug="tea")
    rows = {(row.key, row.who): (row.right.value, row.n) for row in compared(study, "selection")}
    assert rows["gold", "votes"] == (0.5, 4)
    assert rows["gold", "majority"] == (0.5, 2)
    Verdict.objects.create(item=Item.objects.get(external_id="i2"), model="judge", label="2")
    rows = {(row.key, row.who): (row.right.value, row.n) for row in compared(study, "selection")}
    assert rows["gold", "judge"] == (1.0, 1)
    # Of an item that nobody judged a model's answer is beside nobody's.
    Slot.objects.filter(item__external_id="i2").update(status="void")
    rows = {row.who: row for row in compared(study, "selection") if row.key == "gold"}
    assert {who: row.n for who, row in rows.items()} == {"votes": 3, "majority": 1}
    assert rows["votes"].right.reason == ONE_ITEM


@pytest.mark.parametrize("columns", [("instruction", "input"), ("input", "instruction")])
@pytest.mark.parametrize("options", [(), ("--recipe", "answers")])
def test_an_instruction_and_its_input_are_one_request(bring, columns, options):
    row = {"instruction": "Rewrite the sentence.", "input": "Tea are good."}
    row = {name: row[name] for name in columns} | {"output": "Tea is good."}
    bring([row, row | {"input": "", "output": "?"}], "--study", "tea", *options)
    asked = set(Query.objects.values_list("text", flat=True))
    assert asked == {"Rewrite the sentence.\n\nTea are good.", "Rewrite the sentence."}


def test_a_task_in_which_no_item_can_be_opened_is_refused_in_words(bring):
    with pytest.raises(CommandError, match="No item can be opened in the task “duel”"):
        bring("id,prompt\na,Why?\n", "--study", "tea", "--task", "duel")
    assert Query.objects.count() == 0


def test_what_is_the_same_for_all_rows_is_a_constant(bring):
    pairs = ("a,b\nShort.,Long.\nDry.,Wet.\n", "--map", "answer_a=a", "answer_b=b", "--constant")
    report = bring(*pairs, "prompt=Which = better?")
    assert (report["queries"], report["items"], report["unknown_columns"]) == (1, 2, [])
    assert Query.objects.get().text == "Which = better?"
    with pytest.raises(CommandError, match="no target"):
        bring(*pairs, "question=Which?")


UKP = Path(__file__).parents[1] / "data" / "ukp-convarg"


@pytest.mark.parametrize("folder", [UKP, DATA / "ukp-convarg"])
def test_arguments_of_a_second_file_are_joined_and_their_votes_counted(folder, capsys):
    """Of the whole corpus the votes are those of its README: a1 8079, a2 7995, equal 3661."""
    if not folder.exists():
        pytest.skip("the whole corpus is not on this machine")

    def take(name, *options):
        call_command("import_data", str(folder / name), *options, "--study", "ukp", "--json")
        return json.loads(capsys.readouterr().out)

    join = f"--join={folder / 'arguments.jsonl'}:candidates[].argument_id=argument_id"
    pairs = ("id=item_id", "query=debate", "candidate=candidates[].id", "key=gold_mace")
    answers = "answer=candidates[].argument_id.text"
    report = take("items.jsonl", join, "--task", "pair", "--map", *pairs, answers)
    votes = [json.loads(line) for line in (folder / "judgments.jsonl").read_text().splitlines()]
    assert (report["items"], report["rejected"]) == (len({v["item_id"] for v in votes}), [])
    columns = ("id=item_id", "label=choice", "worker=annotator", "reason=reason", "seconds=seconds")
    report = take("judgments.jsonl", "--map", *columns, "--allow", "ties")
    assert (report["votes"], report["rejected"]) == (len(votes), [])
    said = Counter(Judgment.objects.values_list("answers__label", flat=True))
    wanted = Counter(vote["choice"] for vote in votes)
    assert said["tie"] == wanted["equal"]
    assert sorted(said.values()) == sorted(wanted.values())


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("key,text\nx,A leaf.\n", "second.csv has no row whose “key” is “y”"),
        ("key,text\nx,A\nx,B\n", "second.csv, line 3: each row needs a “key” of its own"),
        ("name,text\nx,A\n", "second.csv, line 2: each row needs a “key” of its own"),
    ],
)
def test_what_cannot_be_joined_is_refused_and_nothing_is_stored(
    bring, capsys, tmp_path, second, words
):
    (tmp_path / "second.csv").write_text(second)
    text = "id,prompt,arg\n1,p,x\n2,q,y\n"
    join = f"--join={tmp_path / 'second.csv'}:arg=key"
    with pytest.raises(CommandError) as refused:
        bring(text, join, "--map=id=id", "--map=prompt=prompt", "--map=answer=arg.text")
    assert words in f"{refused.value} {capsys.readouterr().out}"
    assert not Query.objects.exists()


@pytest.mark.skipif(not DATA.exists(), reason="the trees are not on this machine")
@pytest.mark.parametrize(
    ("depth", "requests", "answers", "turns"),
    [(0, 133, 351, None), (1, 50, 164, 1), (2, 83, 187, 3)],
)
def test_trees_come_in_as_a_request_for_every_message_that_was_answered(
    depth, requests, answers, turns, capsys
):
    path = str(DATA / "oasst-trees" / "trees.jsonl")
    options = ("--recipe", "oasst", "--study", "trees", "--depth", str(depth), "--json")
    call_command("import_data", path, *options)
    report = json.loads(capsys.readouterr().out)
    assert (report["queries"], report["rejected"]) == (requests, [])
    assert answers == report["candidates"]
    asked = [len(query.messages) or 1 for query in Query.objects.all()]
    assert turns in (None, *asked) and len(set(asked)) == (1 if depth else 2)


def prism(*chosen: int) -> dict:
    """A conversation of PRISM's conversations.jsonl: four models answered its first turn, the one
    that was chosen twice its second, in the same words."""
    history = []
    models = ["a", "b", "c", "d"]
    for turn, best in enumerate(chosen):
        asked = {"turn": turn, "role": "user", "content": f"Question {turn}"}
        none = ("model_name", "model_provider", "score", "if_chosen", "within_turn_id")
        history.append(asked | dict.fromkeys(none))
        for place, model in enumerate(models):
            text = f"{model}{turn}"
            answer = {"turn": turn, "role": "model", "content": text, "model_provider": "x"}
            answer |= {"score": 50, "if_chosen": place == best, "within_turn_id": place}
            history.append(answer | {"model_name": model})
        models = [models[best]] * 2
    return {
        "conversation_id": "c1",
        "user_id": "u1",
        "conversation_type": "values guided",
        "opening_prompt": "Question 0",
        "conversation_turns": 2,
        "conversation_history": history,
        "performance_attributes": {"values": 80, "fluency": 90},
        "choice_attributes": {"values": 70, "fluency": 60},
        "open_feedback": "The second was better.",
        "generated_datetime": "2023-12-03 13:05:01",
        "timing_duration_s": 411.2,
        "timing_duration_mins": 6.9,
        "included_in_balanced_subset": True,
    }


def test_every_turn_of_a_conversation_with_several_models_is_an_item(bring):
    rows, recipe = [prism(2, 1)], ("--recipe", "prism-conversations", "--study", "tea")
    with pytest.raises(CommandError, match="1 line is faulty"):
        bring(rows, *recipe)  # one task cannot show four answers and two
    for depth in ("1", "2"):
        report = bring(rows, *recipe, "--depth", depth, "--task", f"turn-{depth}")
        assert (report["items"], report["votes"], report["rejected"]) == (1, 1, [])
        # What a study has no place for is named.
        assert {"score", "performance_attributes", "open_feedback"} <= {*report["unknown_columns"]}
    first, second = Query.objects.order_by("pk")
    assert (first.text, first.messages, first.scenario) == ("Question 0", [], "values guided")
    assert second.messages == turns("Question 0", "c0", "Question 1")
    assert labels("tea") == [("c1/0", "choice", "c0"), ("c1/1", "choice", "c1")]
    judgment = Judgment.objects.get(slot__item__external_id="c1/1")
    assert judgment.answers.get().label == "2"
    assert f"{judgment.submitted_at:%F %T}" == "2023-12-03 13:05:01"


def test_further_judgments_of_one_person_are_faults_or_repeats(bring, capsys):
    pairs = "id,prompt,answer_a,answer_b,rater,label\n"
    votes = "i1,p,a,b,ann,A\ni1,p,a,b,bo,B\ni1,p,a,b,ann,B\ni1,p,a,b,ann,A\ni2,q,c,d,ann,A\n"
    offer = "1 line is faulty.* Further judgments of one person can be kept as repeats"
    with pytest.raises(CommandError, match=offer):
        bring(pairs + votes, "--study", "tea")
    report = bring(pairs + votes, "--study", "tea", "--keep-repeats")
    assert counts(report) == [0, 2, 4, 2, 5, 0, 2]
    before = everything()
    assert bring(pairs + votes, "--study", "tea", "--keep-repeats") == report
    assert everything() == before
    study = Study.objects.get(slug="tea")
    done = dict(study.items.work().values_list("external_id", "counts"))
    assert done == {"i1": {"1": 1, "2": 1}, "i2": {"1": 1}}
    again = [(outcome.label, outcome.right) for outcome in outcomes(study, "repeat")]
    assert again == [("2", False), ("1", True)]
    call_command("agreement", "tea", "--json", "--bootstrap", "0")
    assert json.loads(capsys.readouterr().out)["votes"] == 3


def test_scores_in_rows_of_their_own_are_one_judgment_and_then_repeats(bring):
    rows = [("tone", 4), ("depth", 2), ("tone", 5), ("depth", 2), ("tone", 5)]
    lines = [f"i,p,a,x,{name},{score}" for name, score in rows]
    text = "\n".join(["id,prompt,answer,rater,criterion,score", *lines])
    report = bring(text, "--study", "tea", "--keep-repeats", "--skip-faulty")
    assert (report["votes"], report["scores"]) == (2, 4)
    assert report["rejected"] == [{"line": 6, "reason": "Score “depth” of answer 1."}]
    items = Answer.objects.filter(question="tone").order_by("pk")
    kept = items.values_list("judgment__slot__item__batch__purpose", "value")
    assert list(kept) == [("work", 4), ("repeat", 5)]


def test_a_third_answer_in_a_column_like_those_of_two_is_among_the_answers(bring):
    row = {"id": "i1", "prompt": "Which tea?", "worker": "w1", "label": "C"}
    row |= {f"answer_{side}": f"Tea {side}." for side in "abc"}
    report = bring([row | {f"model_{side}": f"model-{side}" for side in "abc"}], "--study", "tea")
    assert (counts(report), report["rejected"]) == ([0, 1, 3, 1, 1, 0, 1], [])
    options = Item.objects.get().options.order_by("number")
    models = options.values_list("candidate__text", "candidate__model")
    assert list(models) == [(f"Tea {side}.", f"model-{side}") for side in "abc"]
    assert Answer.objects.get().label == "3"


@pytest.mark.parametrize("id_", ["", "q1"])
@pytest.mark.parametrize(
    ("column", "first", "other"),
    [("scenario", "travel", "food"), ("type", "general", "specific"), ("language", "en", "fr")],
)
def test_a_question_of_another_scenario_type_or_language_is_refused_in_one_file_and_in_a_later_one(
    bring, capsys, id_, column, first, other
):  # fmt: skip
    row = ({"id": id_} if id_ else {}) | {"prompt": "Where to?", column: first}
    more = ["--map=prompt=prompt", f"--map={column}={column}", "--study", "tea"]
    more += ["--map=id=id"] if id_ else []
    lines = [row, row, row | {column: other}, row | {"prompt": "And then?", "id": "q2"}]
    with pytest.raises(CommandError, match="1 line is faulty"):
        bring(lines, *more)
    (fault,) = json.loads(capsys.readouterr().out)["rejected"]
    words = f"the {column} of the question is “{other}” here and “{first}” in "
    assert (fault["line"], fault["reason"]) == (3, f"{words}line 1")
    assert not Study.objects.exists()
    bring(lines, *more, "--skip-faulty")
    stored = {query.text: getattr(query, column) for query in Query.objects.all()}
    assert stored == {"Where to?": first, "And then?": first}
    assert bring(lines[:2], *more)["queries"] == 1
    with pytest.raises(CommandError, match=f"Line 1: {words}the study"):
        bring([row | {column: other}], *more)


def test_a_line_without_a_language_joins_the_question_in_a_language(bring):
    text = "prompt,answer,language\np,a,\np,b,English\np,c,unknown\n"
    assert counts(bring(text, "--study", "tea"))[:3] == [0, 1, 3]
    assert Query.objects.get().language == "en"


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        # UltraFeedback: "source" says where the instruction comes from.
        ({"source": "evol", "instruction": "What?",
          "completions": [{"response": "tea", "model": "m1"}, {"response": "milk", "model": "m2"}]},
         {"prompt": "instruction", "answer": "completions[].response",
          "model": "completions[].model"}),
        # WebGPT's comparisons: an object with the question, and answers counted from 0.
        ({"question": {"dataset": "eli5", "full_text": "What?"}, "answer_0": "tea",
          "tokens_0": {"completion": [1, 2]}, "answer_1": "milk", "tokens_1": {"completion": [3]}},
         {"prompt": "question.full_text", "answer_a": "answer_0", "answer_b": "answer_1"}),
        # Nectar.
        ({"prompt": "What?", "answers": [{"answer": "tea", "model": "m1"},
                                         {"answer": "milk", "model": "m2"}]},
         {"prompt": "prompt", "answer": "answers[].answer", "model": "answers[].model"}),
    ],
)  # fmt: skip
def test_requests_and_answers_of_published_sets_are_proposed_for_what_they_are(row, columns):
    proposed = propose([row])
    assert proposed is not None
    assert proposed.columns == {target: (name,) for target, name in columns.items()}


@pytest.mark.parametrize(("column", "value"), [("language", "en"), ("scenario", "travel")])
def test_what_was_not_known_of_a_question_is_filled_in_by_a_later_file_and_said(
    bring, tmp_path, capsys, column, value
):
    row = {"id": "q1", "prompt": "Where to?"}
    maps = ["--map", "prompt=prompt", "id=id"]
    bring([row], *maps, "--study", "tea")
    path = tmp_path / "later.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in (row | {column: value}, row)))
    command = ["import_data", str(path), *maps, f"{column}={column}", "--study", "tea"]
    call_command(*command)
    told = "1 query of the study had no language or scenario"
    assert told in capsys.readouterr().err
    query = Query.objects.get()
    assert (getattr(query, column), query.version) == (value, 1)
    call_command(*command)
    assert told not in capsys.readouterr().err


def test_two_languages_of_a_question_that_had_none_are_refused(bring, capsys):
    row = {"id": "q1", "prompt": "Where to?"}
    bring([row], "--map", "prompt=prompt", "id=id", "--study", "tea")
    lines = [row | {"language": "en"}, row | {"language": "fr"}]
    with pytest.raises(CommandError, match="1 line is faulty"):
        bring(lines, "--map", "prompt=prompt", "id=id", "language=language", "--study", "tea")
    (fault,) = json.loads(capsys.readouterr().out)["rejected"]
    words = "the language of the question is “fr” here and “en” in line 1"
    assert (fault["line"], fault["reason"]) == (2, words)
    assert Query.objects.get().language == ""


def test_the_answer_with_the_highest_human_score_is_a_key_and_shown_to_nobody(bring):
    rows = [
        {"source": f"s{n}", "candidates": [
            {"system": name, "text": f"{name}{n}", "human_score": score}
            for name, score in zip("abc", scores, strict=True)
        ]}
        for n, scores in enumerate([(84.5, 86, 80), (70, 90, 90)])
    ]  # fmt: skip
    report = bring(rows, "--study", "tea")
    assert (counts(report), report["unknown_columns"]) == ([0, 2, 6, 2, 0, 0, 0], [])
    keys = Item.objects.order_by("position").values_list("keys", flat=True)
    assert list(keys) == [{"human_score": "2"}, {"human_score": "tie"}]
    rows[0]["candidates"][1]["human_score"] = None
    with pytest.raises(CommandError, match="1 line is faulty"):
        bring(rows, "--study", "again")


def test_both_people_of_a_conversation_are_personas(bring):
    pair = {"user 1 personas": "I bake.\nI knit.", "user 2 personas": "I run."}
    report = bring([pair | {"Best Generated Conversation": "User 1: Hi!"}], "--study", "tea")
    profiles = {each.current.profile["Description"] for each in Persona.objects.all()}
    assert profiles == {"I bake.\nI knit.", "I run."}
    assert report["unknown_columns"] == ["Best Generated Conversation"]
