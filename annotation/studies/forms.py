from collections.abc import Iterable, Iterator
from typing import Any, cast

from django import forms
from django.conf import settings as site
from django.core.validators import RegexValidator, URLValidator
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from annotation.accounts.models import User
from annotation.core.languages import endonym
from annotation.core.pages import in_groups
from annotation.core.schema import form_of
from annotation.core.words import titled
from annotation.studies import messages
from annotation.studies.members import address_for
from annotation.studies.models import (
    DESCRIPTION_LIMIT,
    TITLE_LIMIT,
    CrowdSource,
    Study,
    Survey,
    TaskDefinition,
)
from annotation.studies.schemas import Invite, NewStudy, Settings, settings_of

CONSENT_LIMIT = 50_000
LANGUAGES = [(code, endonym(code)) for code in ("en", "zh", "ko", "es")]
PROLIFIC = "https://app.prolific.com/submissions/complete?cc={code}"


_Settings: Any = form_of(Settings)
_NewStudy: Any = form_of(NewStudy)


def _text_field(label: Any, rows: int = 8, **options: Any) -> forms.CharField:
    """A field for a versioned text, kept to its last newline: a stripped one would differ."""
    return forms.CharField(
        label=label,
        widget=forms.Textarea(attrs={"rows": rows}),
        max_length=CONSENT_LIMIT,
        strip=False,
        validators=[RegexValidator(r"\S")],
        **options,
    )


class StudyForm(forms.Form):
    """What both forms of a study ask for beside the schema's fields."""

    languages = forms.MultipleChoiceField(
        label=gettext_lazy("Languages"),
        choices=LANGUAGES,
        initial=["en"],
        widget=forms.CheckboxSelectMultiple,
    )
    consent = _text_field(
        gettext_lazy("Consent text (Markdown)"),
        help_text=gettext_lazy("People agree to it before any work. A change asks them again."),
    )

    def clean_consent(self) -> str:
        # Browsers send line ends as CRLF; a version must not differ by them.
        return self.cleaned_data["consent"].replace("\r\n", "\n")


class NewStudyForm(StudyForm, _NewStudy):
    """A study to be made; its address comes from its title where none is named."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["slug"].required = False
        self.fields["slug"].help_text = _("Left empty, it is made from the title.")

    def clean_slug(self) -> str:
        title = self.cleaned_data.get("title", "")
        return self.cleaned_data["slug"] or (address_for(title) if title else "")


class SettingsForm(StudyForm, _Settings):
    GROUPS = (
        (gettext_lazy("Texts"), ("title", "description", "consent")),
        (gettext_lazy("Languages"), ("languages", "match_languages")),
        (
            pgettext_lazy("settings", "Work"),
            ("automatic", "edit_hours", "break_minutes", "remind_to_read", "card_first"),
        ),
        (gettext_lazy("People"), ("owner_queries", "collect_days", "group_places")),
        (gettext_lazy("Pay"), ("pay_per_hour", "pay_per_judgment", "currency")),
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        text = study.consent_text
        initial = settings_of(study) | {"consent": text.body if text else ""}
        super().__init__(data, initial=initial)
        # A bundle may have brought other languages: saving must not lose them.
        others = [code for code in study.languages if code not in dict(LANGUAGES)]
        cast(forms.MultipleChoiceField, self.fields["languages"]).choices = LANGUAGES + [
            (code, endonym(code)) for code in others
        ]
        if not study.tasks.filter(config__owner_only=True).exists():
            for name in ("automatic", "owner_queries", "collect_days"):
                del self.fields[name]

    @property
    def groups(self) -> Iterator[tuple]:
        return in_groups(self, self.GROUPS)

    def changes(self) -> dict[str, Any]:
        """The settings that were entered: a number or choice left empty stays as it is."""
        emptied = ("description", "pay_per_hour", "pay_per_judgment", "currency")
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if name != "consent" and (value not in (None, "") or name in emptied)
        }

    def clean_currency(self) -> str:
        return self.cleaned_data["currency"].upper()


class TextsForm(forms.Form):
    """A study's texts in one language; what is left empty is shown as the study has it."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=TITLE_LIMIT, required=False)
    description = forms.CharField(
        label=gettext_lazy("Description"),
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=DESCRIPTION_LIMIT,
        required=False,
    )
    consent = _text_field(
        gettext_lazy("Consent text (Markdown)"),
        required=False,
        help_text=gettext_lazy(
            "A change in any language is a new version: people are asked again."
        ),
    )

    def __init__(
        self, *args: Any, tasks: Iterable[TaskDefinition], language: str, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for task in tasks:
            self._add(task, "guideline", gettext_lazy("Guideline of “%(task)s” (Markdown)"), 8)
            if task.config.get("question"):
                self._add(task, "question", gettext_lazy("Question of “%(task)s”"), 2)
        for field in self.fields.values():
            field.widget.attrs |= {"lang": language, "dir": "auto"}

    def _add(self, task: TaskDefinition, field: str, label: Promise, rows: int) -> None:
        self.fields[f"{field}-{task.name}"] = _text_field(
            label % {"task": titled(task.name)}, rows, required=False
        )

    def clean(self) -> dict:
        # Browsers send line ends as CRLF; a version must not differ by them.
        return {name: text.replace("\r\n", "\n") for name, text in self.cleaned_data.items()}


class SurveyForm(forms.Form):
    questions = forms.CharField(
        label=gettext_lazy("Questions"),
        help_text=gettext_lazy("One a line: question | choice | choice. None ends the survey."),
        widget=forms.Textarea(attrs={"rows": 8}),
        max_length=CONSENT_LIMIT,
        required=False,
    )
    consent = _text_field(
        gettext_lazy("What people agree to who answer (Markdown)"), 6, required=False
    )


class AnswersForm(forms.Form):
    """The questions of a survey, none of which must be answered."""

    def __init__(self, survey: Survey, *args: Any, stored: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for number, entry in enumerate(survey.questions):
            offered = [(choice, choice) for choice in entry["choices"]]
            self.fields[f"q{number}"] = forms.ChoiceField(
                label=entry["question"],
                choices=[("", gettext_lazy("no answer")), *offered],
                initial=stored.get(entry["question"]),
                required=False,
            )
        self.questions = [entry["question"] for entry in survey.questions]

    def answers(self) -> dict[str, str]:
        """{question: choice}, "" where there is none."""
        return {question: self.cleaned_data[f"q{number}"]
                for number, question in enumerate(self.questions)}  # fmt: skip


class InvitationForm(form_of(Invite)):  # type: ignore[misc] # made of the schema
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].help_text = (
            _("The link is mailed there. Left empty, you get a link that one person can use.")
            if site.EMAIL_URL
            else _(
                "Left empty, whoever opens the link first can use it, once. No mail server is set: "
                "an address cannot be confirmed, so hand the link over yourself."
            )
        )


class CodeForm(forms.Form):
    uses = forms.IntegerField(
        label=gettext_lazy("For how many people"), min_value=1, max_value=10_000, initial=30
    )
    days = forms.IntegerField(
        label=gettext_lazy("Valid for how many days"), min_value=1, max_value=365, initial=7
    )


class JoinForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=40,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}
        ),
    )


class SourceForm(forms.ModelForm):
    class Meta:
        model = CrowdSource
        fields = [
            *("name", "completion_code", "return_url"),
            *("places", "quota", "submission_study"),
        ]
        help_texts = {
            "name": gettext_lazy("For your own list, such as the round or the country."),
            "completion_code": gettext_lazy("As the platform gave it to you."),
            "return_url": gettext_lazy(
                "{code} stands for the completion code. Left empty, only the code is shown."
            ),
            "places": gettext_lazy("Left empty, as many as come."),
            "quota": gettext_lazy("Left empty, until nothing is left to judge."),
            "submission_study": gettext_lazy(
                "Left empty, any study of the platform may send people."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["return_url"].initial = PROLIFIC
        for name in ("places", "quota"):
            cast(forms.IntegerField, self.fields[name]).min_value = 1
            self.fields[name].widget.attrs["min"] = 1

    def clean_return_url(self) -> str:
        url = self.cleaned_data["return_url"].strip()
        if url:
            words = _("Give an address that begins with https://.")
            check = URLValidator(schemes=["https"], message=words)
            check(url.replace("{code}", "code"))
        return url

    def clean(self) -> dict:
        super().clean()
        data = self.cleaned_data
        for name in ("places", "quota"):
            if data.get(name) == 0:
                self.add_error(name, _("Give a number of 1 or more, or nothing."))
        return data


class MessageForm(forms.Form):
    body = forms.CharField(
        label=gettext_lazy("Message (Markdown)"),
        widget=forms.Textarea(attrs={"rows": 5}),
        max_length=messages.LENGTH_LIMIT,
    )


class CuratorsMessageForm(MessageForm):
    recipient = forms.ModelChoiceField(
        label=pgettext_lazy("whom a message is for", "To"),
        queryset=User.objects.none(),
        required=False,
        empty_label=gettext_lazy("all annotators"),
    )
    field_order = ["recipient", "body"]

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        members = messages.recipients(study).values("user")
        people = User.objects.filter(pk__in=members).order_by("name", "pk")
        cast(forms.ModelChoiceField, self.fields["recipient"]).queryset = people
