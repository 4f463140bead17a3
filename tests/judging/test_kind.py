"""Every kind of judgment keeps what its interface promises (``kinds.Kind``)."""

from types import SimpleNamespace

import pytest
from django.template.loader import get_template

from annotation.core.errors import DomainError
from annotation.judging.kinds import (
    KINDS,
    Kind,
    answers_of,
    config_of_task,
    form_fields,
    label_words,
    read_label,
    score_rows,
)
from annotation.judging.kinds.files import ImportedFile, ImportedJudgment
from annotation.judging.models import Item, Judgment
from annotation.judging.work import present
from tests import everykind

# A gold response has no row in a bundle: its claims are judged in tests/judging/test_overview.py.
IN_BUNDLES = [code for code, kind in KINDS.items() if "gold" not in kind.shows]


@pytest.fixture
def judged(cast, tmp_path):
    """A study in which people have judged items of every kind that a bundle can hold."""
    return everykind.judged(cast, tmp_path)


def given(study, code):
    """(judgment, its answer, kind, config) of every judgment of a kind."""
    rows = Judgment.objects.filter(slot__item__batch__task__kind=code).order_by("pk")
    rows = rows.select_related("annotator", "slot__item__batch__task").filter(slot__study=study)
    answers = answers_of({row.pk: code for row in rows})
    return [(row, answers[row.pk], KINDS[code], config_of_task(row.slot.item.batch.task))
            for row in rows]  # fmt: skip


@pytest.mark.parametrize("code", KINDS)
def test_a_kind_is_of_the_one_class_and_has_its_templates(code):
    kind = KINDS[code]
    assert type(kind) is Kind and code == kind.code
    assert get_template(kind.template) and get_template(kind.tour)
    assert set(kind.shows) <= {"query", "options", "attribute", "gold"}


@pytest.mark.parametrize("code", KINDS)
def test_default_settings_are_right_and_others_are_refused(code):
    kind = KINDS[code]
    full = kind.check_config({})
    assert kind.check_config(full) == full and kind.defaults.items() <= full.items()
    assert kind.labels(full)
    least, most = kind.options_range(full)
    assert (most > 0) == ("options" in kind.shows) and least <= most
    with pytest.raises(DomainError, match="has no setting “colour”"):
        kind.check_config({"colour": "red"})


def shown_by(*columns, size=2, labels=(), criteria=(), rated=1, low=0, high=5):
    return ImportedFile(
        frozenset(columns), size, tuple(labels), criteria, rated, low, high, "grade"
    )


FILES = [
    (shown_by("prompt", "label", labels=["a", "tie"]), "selection", {"options": 2, "tie": True}),
    (shown_by("prompt", "label", labels=["c"], size=3), "selection", {"options": 3, "tie": False}),
    (shown_by("prompt", "score", criteria=("help",)), "preference", {"points": 5}),
    (shown_by("score", criteria=("help",), low=-3, high=3), "preference", {"points": 7}),
    (shown_by("score", criteria=("help",), rated=2), "feedback", {"options": 2}),
    (shown_by("prompt", "label", size=1), "feedback", {"criteria": ["grade"]}),
    (shown_by("prompt", size=1), "feedback", {}),
    (shown_by("attribute", "label"), "attribute", {}),
    (shown_by("attribute", "prompt", "label"), "relevance", {}),
    (shown_by("label", labels=["A>B=C", "B>A>C"], size=3), "ranking", {"ties": True}),
    (shown_by("prompt", "label", size=4), None, {}),
]


@pytest.mark.parametrize(("file", "code", "wanted"), FILES)
def test_a_task_for_imported_judgments_is_of_the_first_kind_that_fits(file, code, wanted):
    configs = {name: kind.files.config(file) for name, kind in KINDS.items()}
    fitting = [name for name, config in configs.items() if config is not None]
    assert fitting[:1] == ([code] if code else [])
    for name in fitting:
        KINDS[name].check_config(configs[name])
    assert not code or wanted.items() <= configs[code].items()


@pytest.mark.parametrize("code", KINDS)
def test_what_no_file_can_hold_of_a_kind_is_refused(code, db):
    judgment = ImportedJudgment("no such word", KINDS[code].check_config({}), ["x"], lambda _: "x")
    try:
        body = KINDS[code].imported_body(judgment)
    except DomainError as refusal:
        assert refusal.sentence
    else:
        names = {question.name for question in KINDS[code].questions(judgment.config)}
        assert body["answers"].keys() <= names


@pytest.mark.parametrize("code", IN_BUNDLES)
def test_an_answer_is_the_same_by_every_way_to_it(judged, code):
    rows = given(judged, code)
    assert rows
    for judgment, answer, kind, config in rows:
        assert kind.answer_of(judgment) == answer
        assert kind.of_label(answer.label, config).label == answer.label
        assert kind.agrees(answer.label, answer.label, config)
        shown = present.show(judgment.slot_id, judgment.annotator)
        typed = present.answered(shown, judgment)
        assert present.form(shown, typed)
        assert kind.read(typed, held(judgment, config)) == answer


@pytest.mark.parametrize("code", IN_BUNDLES)
def test_a_label_has_words_a_form_and_an_export(judged, code):
    for judgment, answer, kind, config in given(judged, code):
        item = Item.objects.select_related("batch__task").get(slots=judgment.slot_id)
        assert label_words(item, answer.label) and all(kind.words(answer, config))
        assert all(kind.words(kind.as_shown(answer, judgment.shown, config), config))
        # Nobody knows the order in which an imported judgment was made.
        unknown = kind.as_shown(answer, [], config)
        assert all(kind.words(unknown, config)) and kind.answer_json(unknown, {0: "?"}, config)
        parts = answer.label if isinstance(answer.label, dict) else {"": answer.label}
        fields = form_fields(item, None, None)
        assert {field.part for field, _name, _value in fields} == set(parts)
        data = {f"label-{name}" if name else "label": str(n) for name, n in parts.items()}
        assert read_label(item, data) == answer.label
        ids = {option.number: f"id-{option.number}" for option in item.options.all()}
        assert kind.answer_json(answer, ids, config)
        assert kind.label_json(answer.label, ids, config)


def test_scores_are_rows_of_their_judgments(judged):
    rows = Judgment.objects.filter(slot__study=judged)
    parts = score_rows(rows).order_by("part")
    scored = parts.values_list("pk", "number", "criterion", "score")
    codes = dict(rows.values_list("pk", "slot__item__batch__task__kind"))
    answers = answers_of({pk: code for pk, code in codes.items() if code == "feedback"})
    assert sorted(scored) == sorted(
        (pk, row.option, row.question, row.value)
        for pk, answer in answers.items()
        for row in answer.rows
    )
    assert scored


def held(judgment, config):
    """A slot as a kind reads an answer to it (work.submit.Held)."""
    rows = judgment.slot.item.options.all()
    options = [SimpleNamespace(number=row.number, candidate=str(row.candidate_id)) for row in rows]
    return SimpleNamespace(options=options, config=config, shown=judgment.shown, gold=None)
