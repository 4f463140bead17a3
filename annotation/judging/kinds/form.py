"""The form that defines a task: its fields are made from the settings of its kind.

A task with questions of its own has a group of fields for each question, made from the settings of
the question's type; so a bound stands in one place.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from annotated_types import Ge, Le, MaxLen
from django import forms
from django.db import transaction
from django.db.models import Max
from django.forms import BoundField
from django.forms.utils import ErrorDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.fields import FieldInfo

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.pages import in_groups
from annotation.core.schema import LinesField, fields_of, form_of
from annotation.core.words import StrOrPromise
from annotation.judging.kinds.kind import Kind
from annotation.judging.kinds.presets import FIRST, SHOWS
from annotation.judging.kinds.settings import Proposal
from annotation.questions import COMPARING, QUESTIONS_LIMIT, TYPES, questions_of, stored
from annotation.questions.base import (
    NAME_LIMIT,
    TITLE_LIMIT,
    Asking,
    Question,
    text_in,
    whole_number,
)
from annotation.studies.models import Study, TaskDefinition
from annotation.studies.schemas import NewTask

ASKED = {
    "off": gettext_lazy("not asked"),
    "optional": gettext_lazy("optional"),
    "required": gettext_lazy("required"),
}
PROPOSALS = {
    "off": gettext_lazy("none"),
    "model": gettext_lazy("a model's verdict"),
    "earlier": gettext_lazy("the newest answer of somebody else"),
}
ABOUT = [("item", gettext_lazy("the item")), ("option", gettext_lazy("each of its answers"))]
# What every question has, in the order of the form, and what of all settings is not folded.
SHARED = ("title", "type", "about", "name", "required", "asked_when")
ALWAYS = ("title", "type", "about", "classes", "points", "minimum", "maximum", "step")
# Fields of a question, each with the types that have it.
Fields = list[tuple[BoundField, str]]


def field_of(setting: FieldInfo) -> forms.Field:
    """A form's field for one setting, with the setting's own bounds; empty is the default."""
    words: dict[str, Any] = {"label": setting.title, "required": False}
    initial = None if setting.is_required() else setting.default
    words |= {"help_text": setting.description or "", "initial": initial}
    choices = get_args(setting.annotation)
    bounds = {type(rule): rule for rule in setting.metadata}
    if setting.annotation is bool:
        return forms.BooleanField(**words)
    if setting.annotation in (int, float):
        low, high = bounds[Ge].ge, bounds[Le].le
        made = forms.IntegerField if setting.annotation is int else forms.FloatField
        return made(min_value=low, max_value=high, **words)
    if setting.annotation is str:
        return forms.CharField(max_length=bounds[MaxLen].max_length, **words)
    if choices == get_args(Asking):
        return forms.ChoiceField(choices=list(ASKED.items()), **words)
    if setting.annotation == Proposal:
        words |= {"choices": list(PROPOSALS.items()), "empty_value": None}
        return forms.TypedChoiceField(**words)
    if choices and all(isinstance(choice, int) for choice in choices):
        offered = [(n, str(n)) for n in choices]
        return forms.TypedChoiceField(choices=offered, coerce=int, empty_value=None, **words)
    return LinesField(**words)


class TaskForm(form_of(NewTask)):  # type: ignore[misc] # made of the schema
    """What every kind of task has. Saving under a name that exists makes its next version."""

    # Columns of the definition; the other fields are settings.
    COLUMNS = tuple(fields_of(NewTask))
    GROUPS = (
        (gettext_lazy("Task"), ("name", "overlap", "owner_only")),
        (gettext_lazy("What people see"), ("question", "hidden", "guideline")),
        (gettext_lazy("What they add"), ("reason", "chips", "tags", "marks", "proposal")),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        kind: Kind,
        study: Study,
        task: TaskDefinition | None = None,
    ) -> None:
        self.kind, self.study = kind, study
        initial = None
        if task:
            columns = {name: getattr(task, name) for name in self.COLUMNS}
            initial = kind.defaults | task.config | columns
        super().__init__(data, initial=initial)
        for name, setting in kind.settings.model_fields.items():
            if setting.title:
                self.fields[name] = field_of(setting)

    @property
    def groups(self) -> Iterator[tuple[StrOrPromise, list[BoundField]]]:
        return in_groups(self, self.GROUPS)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if self.errors:
            return data
        self.newest = self.study.tasks.filter(name=data["name"]).order_by("-version").first()
        if self.newest and self.newest.kind != self.kind.code:
            # Versions of a task are read together.
            self.add_error("name", _("This name is a task of another kind: choose another."))
            return data
        # What has no field stays as it was.
        old = self.newest.config if self.newest else {}
        try:
            self.config = self.kind.check_config(old | self.settings(data))
        except DomainError as refusal:
            self.add_error(None, refusal.sentence)
        return data

    def settings(self, data: dict[str, Any]) -> dict[str, Any]:
        """The task's settings that the cleaned ``data`` give."""
        names = self.kind.settings.model_fields
        return {name: data[name] for name in names if data.get(name) is not None}

    def next_version(self) -> TaskDefinition:
        """The task as the form gives it, or the next version of it; not stored."""
        versions = self.study.tasks.filter(name=self.cleaned_data["name"])
        return TaskDefinition(
            study=self.study,
            version=(versions.aggregate(v=Max("version"))["v"] or 0) + 1,
            kind=self.kind.code,
            config=self.config,
            translations=self.newest.translations if self.newest else {},
            **{name: self.cleaned_data[name] for name in self.COLUMNS},
        )

    def save(self, by: User) -> TaskDefinition:
        with transaction.atomic():
            # Two saves under one name would take the same version.
            Study.objects.select_for_update(no_key=True).get(pk=self.study.pk)
            task = self.next_version()
            task.save()
            audit.record(by, "task.define", task, version=task.version)
        return task


# {setting: the names of the types that have it}, and the setting of the first of them.
OF_TYPES: dict[str, list[str]] = {}
SETTINGS: dict[str, FieldInfo] = {}
for _type, _class in TYPES.items():
    for _name, _field in _class.model_fields.items():
        if _field.title and _name not in Question.model_fields:
            OF_TYPES.setdefault(_name, []).append(_type)
            SETTINGS.setdefault(_name, _field)


class QuestionForm(forms.Form):
    """A question of a task, with the settings of every type."""

    name = forms.CharField(
        label=gettext_lazy("Name in the data"), max_length=NAME_LIMIT, required=False
    )
    title = forms.CharField(
        label=gettext_lazy("What people are asked"), max_length=TITLE_LIMIT, required=False
    )
    type = forms.ChoiceField(
        label=gettext_lazy("They answer with"),
        choices=[(name, each.TITLE) for name, each in TYPES.items()],
    )
    about = forms.ChoiceField(label=gettext_lazy("About"), choices=ABOUT, required=False)
    required = forms.BooleanField(
        label=gettext_lazy("It must be answered"), required=False, initial=True
    )
    asked_when = forms.CharField(
        label=gettext_lazy("Asked only when"),
        required=False,
        help_text=gettext_lazy("An earlier question and its classes, as verdict: no, unsure."),
    )

    def __init__(self, data: Mapping[str, Any] | None, n: int, initial: dict[str, Any]) -> None:
        super().__init__(data, prefix=f"q{n}", initial=initial)
        self.fields |= {name: field_of(setting) for name, setting in SETTINGS.items()}

    @property
    def shown(self) -> tuple[Fields, Fields]:
        """What is always asked, and what is folded: (field, the types that have it)."""
        every = {name: list(TYPES) for name in SHARED} | OF_TYPES
        every["about"] = [name for name in TYPES if name not in COMPARING]
        fields = {name: (self[name], " ".join(types)) for name, types in every.items()}
        return [fields.pop(name) for name in ALWAYS], list(fields.values())

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, as the question's type takes them."""
        self.is_valid()
        data = self.cleaned_data
        type_, title = data.get("type", ""), data.get("title", "")
        row = {"type": type_, "name": data.get("name") or title[:60], "title": title}
        row["required"] = data.get("required", True)
        if type_ not in COMPARING:
            row["about"] = data.get("about") or "item"
        if condition := data.get("asked_when"):
            row["asked_when"] = _condition(condition)
        for name, types in OF_TYPES.items():
            value = data.get(name)
            if type_ in types and value not in (None, ""):
                row[name] = _classes(value) if name == "classes" else value
        return row


class QuestionsForm(TaskForm):
    """The form of a task with questions of its own, each a form in it."""

    shows = forms.MultipleChoiceField(
        label=gettext_lazy("An item shows"),
        choices=list(SHOWS.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=["request", "need", "persona"],
    )
    count = forms.IntegerField(
        widget=forms.HiddenInput, min_value=1, max_value=QUESTIONS_LIMIT, initial=1
    )

    def __init__(self, data: Mapping[str, Any] | None = None, **named: Any) -> None:
        button = data.get("press") if data else None
        super().__init__(None if button else data, **named)
        # The questions ask; a task has no further one.
        del self.fields["question"]
        task = named.get("task")
        rows = task.config["questions"] if task else [FIRST]
        rows = [{name: _shown(name, value) for name, value in row.items()} for row in rows]
        if data:
            count = whole_number(data.get("count"), 1, QUESTIONS_LIMIT) or 1
            rows = (rows + [{}] * count)[:count]
        if data and button:  # shown as typed, and checked when it is saved
            typed = [_typed(QuestionForm(data, n, row), data) for n, row in enumerate(rows)]
            self.initial = _typed(self, data)
            rows, data = pressed(typed, button), None
        self.questions = [QuestionForm(data, n, row) for n, row in enumerate(rows)]
        self.initial["count"] = len(rows)

    @property
    def errors(self) -> ErrorDict:
        found = super().errors
        for question in self.questions:
            found |= {question.add_prefix(name): each for name, each in question.errors.items()}
        return found

    def clean(self) -> dict[str, Any]:
        try:
            settings = [question.settings for question in self.questions]
            options = self.cleaned_data.get("options") or 0
            self.cleaned_data["questions"] = stored(questions_of(settings, options))
        except DomainError as refusal:
            self.add_error(None, refusal.sentence)
        return super().clean()

    def settings(self, data: dict[str, Any]) -> dict[str, Any]:
        return super().settings(data) | {"questions": data["questions"]}


def _typed(form: forms.Form, data: Mapping[str, Any]) -> dict[str, Any]:
    """What ``data`` have for the fields of a form, as it was typed."""
    nothing = MultiValueDict[str, Any]()
    return {
        name: field.widget.value_from_datadict(data, nothing, form.add_prefix(name))
        for name, field in form.fields.items()
    }


def pressed(questions: list[dict], button: str) -> list[dict]:
    """The questions after ``button``: "add", or "drop-N" or "up-N" of the one at place N."""
    act, _, place = button.partition("-")
    number = whole_number(place, 0, len(questions) - 1)
    if act == "add":
        questions = [*questions, {"type": "label"}][:QUESTIONS_LIMIT]
    elif number is not None:
        question = questions.pop(number)
        if act == "up":
            questions.insert(max(number - 1, 0), question)
    return questions or [{"type": "label"}]


def _classes(lines: list[str]) -> list[dict[str, str]]:
    """Classes of lines "name = title"; a line without a title is both."""
    parts = (line.partition("=") for line in lines)
    return [{"name": name.strip(), "title": title.strip()} for name, _, title in parts]


def _condition(text: str) -> dict[str, Any]:
    question, _, labels = text.partition(":")
    names = [label.strip() for label in labels.split(",")]
    return {"question": question.strip(), "labels": [name for name in names if name]}


def _shown(name: str, value: Any) -> Any:
    """A setting as its field shows it."""
    if name == "title":
        return text_in(value) if isinstance(value, dict) else value
    if name == "asked_when":
        return f"{value['question']}: {', '.join(value['labels'])}"
    if isinstance(value, list):
        return [each if isinstance(each, str) else _line(each) for each in value]
    return value


def _line(value: dict) -> str:
    """A class or the name of a point as a line of the form: "name = title" where these differ."""
    if "name" not in value:
        return text_in(value)
    title = text_in(value.get("title", {}))
    return f"{value['name']} = {title}" if title and title != value["name"] else value["name"]


def task_form(kind: Kind, data: Mapping[str, Any] | None = None, **named: Any) -> TaskForm:
    """The form that defines a task of a kind in a ``study``, or the next version of ``task``."""
    own = "questions" in kind.settings.model_fields
    return (QuestionsForm if own else TaskForm)(data, kind=kind, **named)
