"""The form that defines a task; each kind adds the fields of its own settings, named like them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.pages import in_groups
from annotation.judging.kinds import common
from annotation.studies.models import Study, TaskDefinition

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ASKED = [
    ("off", gettext_lazy("not asked")),
    ("optional", gettext_lazy("optional")),
    ("required", gettext_lazy("required")),
]


class Lines(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 4})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        lines = (line.strip() for line in (super().to_python(value) or "").splitlines())
        return [line for line in lines if line]


class TaskForm(forms.Form):
    """What every kind of task has. Saving under a name that exists makes its next version."""

    name = forms.SlugField(label=gettext_lazy("Name"), max_length=60)
    overlap = forms.IntegerField(
        label=gettext_lazy("Judgments an item"), min_value=1, max_value=99, initial=9
    )
    question = forms.CharField(
        label=gettext_lazy("The question under the answers"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("Left empty, the one that belongs to this kind of task."),
    )
    owner_only = forms.BooleanField(
        label=gettext_lazy("Only the owner of a query judges"),
        required=False,
        help_text=gettext_lazy("One judgment an item, by the person whose query it is."),
    )
    reason = forms.ChoiceField(label=gettext_lazy("Written reason"), choices=ASKED)
    chips = Lines(
        label=gettext_lazy("Common reasons to tick"),
        required=False,
        help_text=gettext_lazy("One a line."),
    )
    tags = forms.BooleanField(
        label=gettext_lazy("Offer tags for what is wrong"), required=False, initial=True
    )
    marks = forms.BooleanField(label=gettext_lazy("Let people mark passages"), required=False)
    hidden = Lines(
        label=gettext_lazy("Fields of the persona that are not shown"),
        required=False,
        help_text=gettext_lazy("One a line, such as Demographics.Age or Preference."),
    )
    guideline = forms.CharField(
        label=gettext_lazy("Guideline (Markdown)"), widget=forms.Textarea, required=False
    )
    # Columns of the definition; the other fields are settings.
    COLUMNS = ("name", "overlap", "guideline")
    GROUPS = (
        (gettext_lazy("Task"), ("name", "overlap", "owner_only")),
        (gettext_lazy("What people see"), ("question", "hidden", "guideline")),
        (gettext_lazy("What they add"), ("reason", "chips", "tags", "marks")),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        kind: Any,
        study: Study,
        task: TaskDefinition | None = None,
    ) -> None:
        self.kind, self.study = kind, study
        initial = None
        if task:
            initial = common.CONFIG | kind.DEFAULTS | task.config
            initial |= {
                "name": task.name,
                "overlap": task.overlap,
                "guideline": task.guideline,
            }
        super().__init__(data, initial=initial)

    @property
    def groups(self) -> Iterator[tuple["StrOrPromise", list[forms.BoundField]]]:
        """Legend and fields of each group; what only this kind has stands in the first."""
        return in_groups(self, self.GROUPS)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if self.errors:
            return data
        self.newest = self.study.tasks.filter(name=data["name"]).order_by("-version").first()
        if self.newest and self.newest.kind != self.kind.CODE:
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
        return {name: data[name] for name in self.fields if name not in self.COLUMNS}

    def next_version(self) -> TaskDefinition:
        """The task as the form gives it, or the next version of it; not stored."""
        versions = self.study.tasks.filter(name=self.cleaned_data["name"])
        return TaskDefinition(
            study=self.study,
            version=(versions.aggregate(v=Max("version"))["v"] or 0) + 1,
            kind=self.kind.CODE,
            config=self.config,
            translations=self.newest.translations if self.newest else {},
            **{name: self.cleaned_data[name] for name in self.COLUMNS},
        )

    def save(self, by: User) -> TaskDefinition:
        """Store the task, or the next version of it."""
        with transaction.atomic():
            # Two saves under one name would take the same version.
            Study.objects.select_for_update(no_key=True).get(pk=self.study.pk)
            task = self.next_version()
            task.save()
            audit.record(by, "task.define", task, version=task.version)
        return task
