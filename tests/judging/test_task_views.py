"""The curators' page of tasks: one form a kind."""

import pytest

from annotation.judging.kinds import KINDS
from annotation.judging.models import Batch
from annotation.personas.models import Attribute
from annotation.studies.models import TaskDefinition

URL = "/studies/tea/tasks/"
COMMON = {"name": "new", "overlap": 3, "reason": "optional", "chips": "Too long\r\n\r\nToo short "}
OWN = {
    "selection": {"options": 3, "pairs_per_query": 1, "tie": "on", "strength": "on"},
    "preference": {"points": 7, "pairs_per_query": 2, "attribute": "on"},
    "feedback": {
        "criteria": "Tone\nDepth",
        "options": 2,
        "feedback": "optional",
        "least": 10,
        "feedback_chips": "",
    },
    "attribute": {},
    "relevance": {},
    "claims": {},
    "ranking": {"options": 5, "ties": "on"},
    "questions": {
        "shows": ["request", "persona"],
        "options": 2,
        "count": 2,
        "q0-title": "Is it safe?",
        "q0-name": "safe",
        "q0-type": "label",
        "q0-about": "option",
        "q0-classes": "no = No, it is not\nyes",
        "q0-required": "on",
        "q1-title": "What is wrong?",
        "q1-type": "passages",
        "q1-about": "option",
        "q1-classes": "Fact",
    },
}
STORED = {
    "selection": {"options": 3, "tie": True, "none": False, "strength": True},
    "preference": {"points": 7, "pairs_per_query": 2, "attribute": True},
    "feedback": {"criteria": ["Tone", "Depth"], "options": 2, "feedback": "optional", "least": 10},
    "ranking": {"options": 5, "ties": True},
    "questions": {
        "shows": ["request", "persona"],
        "options": 2,
        "questions": [
            {
                "type": "label",
                "name": "safe",
                "title": {"": "Is it safe?"},
                "about": "option",
                "classes": [
                    {"name": "no", "title": {"": "No, it is not"}},
                    {"name": "yes", "title": {"": ""}},
                ],
            },
            {
                "type": "passages",
                "name": "What is wrong?",
                "title": {"": "What is wrong?"},
                "required": False,
                "classes": [{"name": "Fact", "title": {"": ""}}],
            },
        ],
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_of_every_kind_is_defined_with_its_settings(carol, kind):
    page = carol.get(f"{URL}?kind={kind}").text
    assert f'name="kind" value="{kind}"' in page
    data = {**COMMON, **OWN[kind], "kind": kind, "marks": "on", "guideline": "Read."}
    for name in OWN[kind]:
        assert f'name="{name}"' in page or name.startswith("q1-")
    assert carol.post(URL, data).status_code == 302
    task = TaskDefinition.objects.get()
    assert (task.kind, task.overlap, task.guideline, task.version) == (kind, 3, "Read.", 1)
    common = {"chips": ["Too long", "Too short"], "marks": True, "tags": False, "owner_only": False}
    expected = STORED.get(kind, {}) | common
    assert {name: task.config[name] for name in expected} == expected


def test_a_question_that_is_added_is_empty_and_those_before_it_stay_as_typed(carol):
    data = {**COMMON, **OWN["questions"], "kind": "questions"}
    answer = carol.post(URL, data | {"press": "add"})
    form = answer.context["form"]
    typed = [(each["title"].value(), each["classes"].value()) for each in form.questions]
    assert typed == [
        ("Is it safe?", "no = No, it is not\nyes"), ("What is wrong?", "Fact"), (None, None)
    ]  # fmt: skip
    assert form["name"].value() == COMMON["name"] and not TaskDefinition.objects.exists()
    moved = carol.post(URL, data | {"press": "up-1"}).context["form"].questions
    assert [each["title"].value() for each in moved] == ["What is wrong?", "Is it safe?"]


def test_an_edit_begins_with_what_is_there_and_keeps_what_has_no_field(carol, tea):
    data = {**COMMON, **OWN["feedback"], "kind": "feedback"}
    carol.post(URL, data)
    TaskDefinition.objects.update(translations={"ko": {"guideline": "읽으세요."}})
    page = carol.get(f"{URL}?task=new").text
    assert "Tone\nDepth</textarea>" in page
    assert "Next version of New" in page
    carol.post(URL, data | {"least": 20})
    newest = tea.tasks.latest("version")
    assert (newest.version, newest.config["least"]) == (2, 20)
    assert newest.translations == {"ko": {"guideline": "읽으세요."}}


def test_a_name_never_changes_its_kind(carol):
    carol.post(URL, {**COMMON, "kind": "relevance"})
    answer = carol.post(URL, {**COMMON, "kind": "attribute"})
    assert answer.status_code == 400 and "a task of another kind" in answer.text
    assert TaskDefinition.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("feedback", {"criteria": "\n "}, "criteria must be a list of 1 to 12"),
        ("feedback", {"criteria": "Tone\nTone"}, "criteria must be a list of 1 to 12 different"),
        ("feedback", {"options": 9}, "less than or equal to 5"),
        ("selection", {"options": 5}, "Select a valid choice"),
        ("relevance", {"chips": "x" * 61}, "chips must be a list"),
        ("relevance", {"name": "a b"}, "valid “slug”"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_sentence(carol, kind, change, words):
    answer = carol.post(URL, {**COMMON, **OWN[kind], "kind": kind, **change})
    assert answer.status_code == 400 and words in answer.text
    assert not TaskDefinition.objects.exists()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("feedback", "Generate answers first."),
        ("attribute", "Import attributes first."),
        ("relevance", "Import attributes first."),
        ("claims", "No gold response has new claims"),
    ],
)
def test_a_batch_with_nothing_new_says_what_is_missing(carol, kind, words):
    carol.post(URL, {**COMMON, **OWN[kind], "kind": kind})
    assert words in carol.post(f"{URL}new/open/", follow=True).text
    assert not Batch.objects.exists()


def test_attributes_become_a_batch(carol, cast, tea):
    persona = cast.persona(tea)
    for n in (1, 2):
        Attribute.objects.create(persona=persona, external_id=f"a{n}", text=f"Likes {n} books.")
    carol.post(URL, {**COMMON, "kind": "attribute"})
    page = carol.post(f"{URL}new/open/", follow=True).text
    assert "2 items are open." in page
    assert tea.slots.count() == 6


def test_a_batch_is_closed_and_opened_again_on_the_page(cast, tea, carol):
    batch = cast.open(tea, overlap=2)
    carol.post(f"/studies/tea/batches/{batch.pk}/close/")
    assert "Open again" in carol.get(URL).text
    page = carol.post(f"/studies/tea/batches/{batch.pk}/reopen/", follow=True)
    assert "The batch is open again." in page.text
    assert batch.items.get().slots.filter(status="open").count() == 2
