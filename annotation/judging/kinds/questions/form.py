"""The form of a task with questions of its own: a group of fields for each question.

The fields of a type are made from its settings, so that a bound stands in one place.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from annotated_types import Ge, Le
from django import forms
from django.forms import BoundField
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy
from pydantic import Field, SkipValidation
from pydantic.fields import FieldInfo

from annotation.core.errors import DomainError
from annotation.core.pages import in_groups
from annotation.judging.kinds import body
from annotation.judging.kinds.form import ASKED, Lines, TaskForm
from annotation.questions import COMPARING, QUESTIONS_LIMIT, TYPES, questions_of, stored
from annotation.questions.base import Asking, Question, text_in
from annotation.studies.models import Study, TaskDefinition

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

OPTIONS_LIMIT = 8
# What an item can show beside its answers.
SHOWS = {
    "request": gettext_lazy("a request"),
    "need": gettext_lazy("the need behind it"),
    "persona": gettext_lazy("the person"),
    "attribute": gettext_lazy("an attribute of the person, with its conversations"),
}
ABOUT = [("item", gettext_lazy("the item")), ("option", gettext_lazy("each of its answers"))]
# What every question has, in the order of the form, and what of all settings is not folded.
SHARED = ("title", "type", "about", "name", "required", "asked_when")
ALWAYS = ("title", "type", "about", "classes", "points")
FIRST = {"type": "label", "name": "verdict", "classes": [{"name": "yes"}, {"name": "no"}]}


# Fields of a question, each with the types that have it.
Settings = list[tuple[BoundField, str]]


def _fields_of(type_: type[Question]) -> dict[str, FieldInfo]:
    """The settings that a type has beside what all have."""
    return {
        name: field
        for name, field in type_.model_fields.items()
        if name not in Question.model_fields
    }


# {setting: the names of the types that have it}, and the setting of the first of them.
OF_TYPES: dict[str, list[str]] = {}
SETTINGS: dict[str, FieldInfo] = {}
for _type, _class in TYPES.items():
    for _name, _field in _fields_of(_class).items():
        OF_TYPES.setdefault(_name, []).append(_type)
        SETTINGS.setdefault(_name, _field)


def _form_field(setting: FieldInfo) -> forms.Field:
    """A form's field for one setting of a type, with the setting's own bounds."""
    words: dict[str, Any] = {"label": setting.title, "required": False}
    if setting.description:
        words["help_text"] = setting.description
    if setting.annotation is bool:
        return forms.BooleanField(**words)
    if setting.annotation is int:
        bounds = {
            name: getattr(each, side)
            for each in setting.metadata
            for kind, side, name in ((Ge, "ge", "min_value"), (Le, "le", "max_value"))
            if isinstance(each, kind)
        }
        return forms.IntegerField(initial=setting.default, **bounds, **words)
    if get_args(setting.annotation) == get_args(Asking):
        return forms.ChoiceField(choices=ASKED, **words)
    return Lines(**words)


class QuestionsForm(TaskForm):
    shows = forms.MultipleChoiceField(
        label=gettext_lazy("An item shows"),
        choices=list(SHOWS.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=["request", "need", "persona"],
    )
    options = forms.IntegerField(
        label=gettext_lazy("Answers side by side"),
        min_value=0,
        max_value=OPTIONS_LIMIT,
        initial=1,
        help_text=gettext_lazy("0: there are no answers to judge."),
    )
    count = forms.IntegerField(
        widget=forms.HiddenInput, min_value=1, max_value=QUESTIONS_LIMIT, initial=1
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        kind: Any,
        study: Study,
        task: TaskDefinition | None = None,
    ) -> None:
        button = data.get("press") if data else None
        changed = pressed(data, button) if data and button else None
        super().__init__(None if changed else data, kind=kind, study=study, task=task)
        # The questions ask; a task has no further one.
        del self.fields["question"]
        stored_ones = task.config["questions"] if task else [FIRST]
        sent = changed or data
        self.number = _count(sent) if sent else len(stored_ones)
        for n in range(self.number):
            self._add(n, stored_ones[n] if n < len(stored_ones) else {})
        if changed:  # shown as typed, and checked when it is saved
            self.initial = {
                name: field.widget.value_from_datadict(changed, MultiValueDict(), name)
                for name, field in self.fields.items()
            }
        self.initial["count"] = self.number

    def _add(self, n: int, given: dict) -> None:
        """The fields of the question at place ``n``, filled with what is ``given``."""
        fields = {
            "name": forms.CharField(
                label=gettext_lazy("Name in the data"), max_length=60, required=False
            ),
            "title": forms.CharField(
                label=gettext_lazy("What people are asked"), max_length=300, required=False
            ),
            "type": forms.ChoiceField(
                label=gettext_lazy("They answer with"),
                choices=[(name, each.TITLE) for name, each in TYPES.items()],
            ),
            "about": forms.ChoiceField(label=gettext_lazy("About"), choices=ABOUT, required=False),
            "required": forms.BooleanField(
                label=gettext_lazy("It must be answered"), required=False, initial=True
            ),
            "asked_when": forms.CharField(
                label=gettext_lazy("Asked only when"),
                required=False,
                help_text=gettext_lazy(
                    "An earlier question and its classes, as verdict: no, unsure."
                ),
            ),
            **{name: _form_field(setting) for name, setting in SETTINGS.items()},
        }
        for name, field in fields.items():
            for_types = " ".join(OF_TYPES.get(name, ()))
            if for_types:
                field.widget.attrs["data-for"] = for_types
            self.fields[f"q{n}-{name}"] = field
            if name in given:
                self.initial[f"q{n}-{name}"] = _shown(name, given[name])

    @property
    def groups(self) -> Iterator[tuple["StrOrPromise", list[BoundField]]]:
        """The groups of the task, without its questions."""
        names = ("name", "overlap", "owner_only", "shows", "options", "count")
        groups = ((self.GROUPS[0][0], names), *self.GROUPS[1:])
        for legend, fields in in_groups(self, groups):
            yield legend, [field for field in fields if not field.name.startswith("q")]

    @property
    def questions(self) -> list[tuple[int, Settings, Settings]]:
        """(number, what is always asked, (setting, its types) that are folded) of each question."""
        rows = []
        for n in range(self.number):
            every = {name: list(TYPES) for name in SHARED} | OF_TYPES
            every["about"] = [name for name in TYPES if name not in COMPARING]
            fields = {name: (self[f"q{n}-{name}"], " ".join(every[name])) for name in every}
            first = [fields.pop(name) for name in ALWAYS]
            rows.append((n, first, list(fields.values())))
        return rows

    def clean(self) -> dict[str, Any]:
        try:
            settings = [self._question(n) for n in range(self.number)]
            options = self.cleaned_data.get("options") or 0
            self.cleaned_data["questions"] = stored(questions_of(settings, options))
        except DomainError as refusal:
            self.add_error(None, refusal.sentence)
        return super().clean()

    def settings(self, data: dict[str, Any]) -> dict[str, Any]:
        """The task's settings as the form gives them."""
        rest = {
            name: value
            for name, value in data.items()
            if not name.startswith(("q", "count")) and name not in self.COLUMNS
        }
        return rest | {"questions": data["questions"]}

    def _question(self, n: int) -> dict[str, Any]:
        """The settings of the question at place ``n``, as its type takes them."""
        data = self.cleaned_data
        type_ = data.get(f"q{n}-type", "")
        title = data.get(f"q{n}-title", "")
        row = {"type": type_, "name": data.get(f"q{n}-name") or title[:60], "title": title}
        row["required"] = data.get(f"q{n}-required", True)
        if type_ not in COMPARING:
            row["about"] = data.get(f"q{n}-about") or "item"
        if condition := data.get(f"q{n}-asked_when"):
            row["asked_when"] = _condition(condition)
        for name, types in OF_TYPES.items():
            value = data.get(f"q{n}-{name}")
            if type_ in types and value not in (None, ""):
                row[name] = _classes(value) if name == "classes" else value
        return row


def _classes(lines: list[str]) -> list[dict[str, str]]:
    """Classes of lines "name = title"; a line without a title is both."""
    parts = (line.partition("=") for line in lines)
    return [{"name": name.strip(), "title": title.strip()} for name, _, title in parts]


def _count(data: Mapping[str, Any]) -> int:
    number = body.number(data.get("count"))
    return min(max(number, 1), QUESTIONS_LIMIT) if type(number) is int else 1


def pressed(data: Mapping[str, Any], button: str) -> Mapping[str, Any]:
    """The form's data after ``button``: "add", or "drop-N" or "up-N" of the question at place N."""
    count, (act, _, place) = _count(data), button.partition("-")
    number = body.number(place)
    order = list(range(count))
    if act == "add":
        order = [*order, count][:QUESTIONS_LIMIT]
    elif type(number) is int and number < count:
        order.remove(number)
        if act == "up":
            order.insert(max(number - 1, 0), number)
    order = order or [count]
    changed: MultiValueDict[str, Any] = MultiValueDict()
    for name, values in _lists(data):
        if not name.startswith("q"):
            changed.setlist(name, values)
    for new, old in enumerate(order):
        for name, values in _lists(data):
            if name.startswith(f"q{old}-"):
                changed.setlist(f"q{new}-{name.partition('-')[2]}", values)
        if old == count:
            changed.setlist(f"q{new}-required", ["on"])
            changed.setlist(f"q{new}-type", ["label"])
    changed["count"] = str(len(order))
    return changed


def _lists(data: Mapping[str, Any]) -> list[tuple[str, list]]:
    if isinstance(data, MultiValueDict):
        return list(data.lists())
    return [(name, [value]) for name, value in data.items()]


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


class QuestionsBody(body.Body):
    # Each question reads its own answer.
    answers: SkipValidation[dict[str, Any]] = Field(
        description="{question: its answer}; of questions about each answer {question: {option's "
        "id: its answer}}."
    )
