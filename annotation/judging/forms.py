"""Forms that define a task, one a kind. Fields are named like the kind's settings."""

from django import forms
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.judging.kinds import config_of, feedback, kind_of
from annotation.studies.models import Study, TaskDefinition

ASKED = [
    ("off", gettext_lazy("not asked")),
    ("optional", gettext_lazy("optional")),
    ("required", gettext_lazy("required")),
]


class Lines(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 4})

    def prepare_value(self, value):
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value) -> list[str]:
        lines = (line.strip() for line in super().to_python(value).splitlines())
        return [line for line in lines if line]


class TaskForm(forms.Form):
    """What every kind of task has. Saving under a name that exists makes its next version."""

    kind = ""
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
    guideline = forms.CharField(
        label=gettext_lazy("Guideline (Markdown)"), widget=forms.Textarea, required=False
    )
    COMMON = ("question", "owner_only", "reason", "chips", "tags", "marks", "guideline")

    def __init__(self, data=None, *, study, task: TaskDefinition | None = None):
        self.study = study
        initial = None
        if task:
            initial = config_of(task.kind, task.config) | {
                "name": task.name,
                "overlap": task.overlap,
                "guideline": task.guideline,
            }
        super().__init__(data, initial=initial)
        # The template takes them by group.
        self.order_fields(["name", "overlap"])

    @property
    def own(self) -> list:
        """The fields that this kind has besides."""
        known = ("name", "overlap", *self.COMMON)
        return [self[name] for name in self.fields if name not in known]

    @property
    def common(self) -> list:
        return [self[name] for name in self.COMMON if name in self.fields]

    def clean(self):
        data = super().clean()
        if self.errors:
            return data
        self.newest = self.study.tasks.filter(name=data["name"]).order_by("-version").first()
        if self.newest and self.newest.kind != self.kind:
            # Versions of a task are read together.
            self.add_error("name", _("This name is a task of another kind: choose another."))
            return data
        # What has no field stays as it was.
        old = self.newest.config if self.newest else {}
        settings = {name: data[name] for name in self.fields if name not in _COLUMNS}
        try:
            self.config = kind_of(self.kind).check_config(old | settings)
        except DomainError as refusal:
            self.add_error(None, refusal.sentence)
        return data

    def save(self, by) -> TaskDefinition:
        """Store the task, or the next version of it."""
        with transaction.atomic():
            # Two saves under one name would take the same version.
            Study.objects.select_for_update(no_key=True).get(pk=self.study.pk)
            versions = self.study.tasks.filter(name=self.cleaned_data["name"])
            version = (versions.aggregate(v=Max("version"))["v"] or 0) + 1
            task = TaskDefinition.objects.create(
                study=self.study,
                version=version,
                kind=self.kind,
                config=self.config,
                translations=self.newest.translations if self.newest else {},
                **{name: self.cleaned_data[name] for name in _COLUMNS},
            )
            audit.record(by, "task.define", task, version=version)
        return task


_COLUMNS = ("name", "overlap", "guideline")


class SelectionForm(TaskForm):
    kind = "selection"
    options = forms.TypedChoiceField(
        label=gettext_lazy("Answers side by side"), choices=[(3, "3"), (2, "2")], coerce=int
    )
    pairs_per_query = forms.IntegerField(
        label=gettext_lazy("Pairs a query (for two answers)"), min_value=1, max_value=100, initial=1
    )
    tie = forms.BooleanField(label=gettext_lazy("Allow “equally good”"), required=False)
    none = forms.BooleanField(label=gettext_lazy("Allow “none meets the need”"), required=False)
    strength = forms.BooleanField(
        label=gettext_lazy("Ask how much better the choice is"), required=False
    )


class PreferenceForm(TaskForm):
    kind = "preference"
    points = forms.TypedChoiceField(
        label=gettext_lazy("Points of the scale"), choices=[(5, "5"), (7, "7")], coerce=int
    )
    pairs_per_query = forms.IntegerField(
        label=gettext_lazy("Pairs a query"), min_value=1, max_value=100, initial=1
    )
    attribute = forms.BooleanField(
        label=gettext_lazy("Show an attribute of the person"),
        required=False,
        help_text=gettext_lazy("Its items name the attribute, so they come with a study bundle."),
    )


class FeedbackForm(TaskForm):
    kind = "feedback"
    criteria = Lines(
        label=gettext_lazy("Criteria"),
        initial=feedback.DEFAULTS["criteria"],
        help_text=gettext_lazy("One a line; each is scored from 1 to 5."),
    )
    options = forms.IntegerField(
        label=gettext_lazy("Answers side by side"),
        min_value=1,
        max_value=feedback.OPTIONS_LIMIT,
        initial=1,
    )
    feedback = forms.ChoiceField(
        label=gettext_lazy("Feedback on each criterion"), choices=ASKED, initial="required"
    )
    least = forms.IntegerField(
        label=gettext_lazy("Characters of feedback, at least"),
        min_value=1,
        max_value=1000,
        initial=1,
    )
    feedback_chips = Lines(
        label=gettext_lazy("Common feedback to tick"),
        required=False,
        help_text=gettext_lazy("One a line."),
    )


class AttributeForm(TaskForm):
    kind = "attribute"


class RelevanceForm(TaskForm):
    kind = "relevance"


class ClaimsForm(TaskForm):
    kind = "claims"


FORMS = {
    form.kind: form
    for form in (
        *(SelectionForm, PreferenceForm, FeedbackForm),
        *(AttributeForm, RelevanceForm, ClaimsForm),
    )
}
