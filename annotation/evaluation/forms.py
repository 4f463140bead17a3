from collections.abc import Collection, Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from annotation.candidates.endpoints import Endpoint
from annotation.core import refusals
from annotation.core.schema import SchemaForm, form_of
from annotation.core.words import titled
from annotation.evaluation import draws, judges, pairs, raters, runs, systems

# Of answers on a page: a form may hold two megabytes.
PAGE_BYTES = 1_500_000


class ModelForm(SchemaForm):
    """Which model is asked; ``confirmed`` once the cost was shown."""

    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, servers: Collection[Endpoint], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.servers = [(server.name, f"{server.name} ({server.model})") for server in servers]
        self.offer("endpoint", self.servers)
        if not servers:
            self.fields["endpoint"].help_text = _(
                "No endpoint is configured. The operator sets ATTUNE_ENDPOINTS."
            )


class EvaluationForm(
    ModelForm,
    form_of(systems.Measurement, "endpoint", "setting", "limit"),  # type: ignore[misc]
):
    def __init__(self, *args: Any, layout: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        judge = judges.of_layout(layout)
        words = judge.ARMS if judge else pairs.SETTINGS
        # Any other layout is refused in words when the form is sent.
        names = runs.settings(layout) or pairs.SETTINGS
        self.offer("setting", [(name, words[name]) for name in names])
        if judge:
            self.fields["limit"].label = _("Answers at most")


class SystemForm(EvaluationForm, form_of(systems.Measurement)):  # type: ignore[misc]
    """A system whose answers a model judges: they are brought, or an endpoint writes them from the
    release alone (``generate``).

    Once the cost was shown the answers come back as text: a browser sends no file twice.
    """

    file = forms.FileField(
        label=_("Answers"), required=False,
        help_text=_("JSON lines or CSV with the columns user, query (its id or text) and text."),
    )  # fmt: skip
    answers = forms.CharField(required=False, widget=forms.HiddenInput, strip=False)
    field_order: Sequence[str] = (
        *("generate", "writer", "system", "context", "file"),
        *("endpoint", "setting", "limit"),
    )

    def __init__(self, *args: Any, layout: str, **kwargs: Any) -> None:
        super().__init__(*args, layout=layout, **kwargs)
        arms = cast(judges.Judge, judges.of_layout(layout)).WRITERS
        self.offer("generate", [("", _("no: they are in a file")), *arms.items()])
        self.offer("writer", self.servers)
        self.fields["endpoint"].label = pgettext("a model", "Judge")
        self.fields["setting"].label = _("What the judge sees")

    def clean(self) -> dict[str, Any]:
        """``rows`` are the answers of the file, or those that were read before."""
        data = super().clean()
        sent = "" if data.get("generate") else data.get("file") or data.get("answers")
        data["rows"], data["answers"] = [], ""
        if not sent:
            if not data.get("generate"):
                self.add_error("file", _("Choose a file of answers."))
            return data
        with refusals.in_form(self):
            file = BytesIO(sent.encode()) if isinstance(sent, str) else sent
            data["rows"] = systems.of_file(file)
        data["answers"] = systems.as_text(data["rows"])
        if len(data["answers"].encode()) > PAGE_BYTES:
            raise forms.ValidationError(
                _("The page takes up to 1.5 MB of answers; the command takes any number.")
            )
        return data


class RaterForm(
    ModelForm,
    form_of(raters.Rating, "task", "endpoint", "limit", "samples"),  # type: ignore[misc]
):
    def __init__(self, *args: Any, tasks: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer("task", [(name, titled(name)) for name in tasks])


class DrawForm(
    form_of(draws.Round, "votes", "rule", "panel", "half_width", "question")  # type: ignore[misc]
):
    """A round of drawing; a task of one question asks for none."""

    def __init__(self, *args: Any, questions: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer("question", [("", "–"), *questions.items()])
        if len(questions) < 2:
            del self.fields["question"]
