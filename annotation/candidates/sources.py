"""The curators' page of what search-augmented answers rest on: sources, arms, documents."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from annotation.accounts.requests import UserRequest
from annotation.candidates import document_files, documents
from annotation.candidates.models import Retrieval
from annotation.candidates.strategies import STRATEGIES
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.jobs import REQUESTED, RUNNING
from annotation.studies.access import MANAGERS, study_for
from annotation.studies.models import Study

PAGE = 50
FILES_SHOWN = 10
ARMS = {
    "search": gettext_lazy("no context: the question and what is found"),
    "search-raw": gettext_lazy("raw history, the newest sessions"),
    "search-raw-selected": gettext_lazy("raw history, the sessions nearest to the question"),
    "search-static": gettext_lazy("static profile, from the newest sessions"),
    "search-static-selected": gettext_lazy("static profile, from the nearest sessions"),
    "search-aware": gettext_lazy("query-aware profile, from the newest sessions"),
    "search-aware-selected": gettext_lazy("query-aware profile, from the nearest sessions"),
    "search-oracle": gettext_lazy("oracle: the model is shown the need"),
    "search-endpoint": gettext_lazy("the endpoint's own web search: the question alone"),
}


class RetrievalForm(forms.ModelForm):
    sources = forms.MultipleChoiceField(
        label=gettext_lazy("Sources"),
        choices=Retrieval.Source.choices,
        widget=forms.CheckboxSelectMultiple,
    )
    strategies = forms.MultipleChoiceField(
        label=gettext_lazy("What the model is shown of the person"),
        choices=ARMS.items(),
        widget=forms.CheckboxSelectMultiple,
    )

    class Meta:
        model = Retrieval
        fields = ["sources", "strategies", "results", "oracle"]
        labels = {
            "results": gettext_lazy("Sources shown for one answer"),
            "oracle": gettext_lazy("This study is an experiment that may show the need to models"),
        }

    def clean_results(self) -> int:
        results = self.cleaned_data["results"]
        if not 1 <= results <= 20:
            raise forms.ValidationError(_("Choose a number from 1 to 20."))
        return results

    def clean(self) -> dict:
        super().clean()
        data = self.cleaned_data
        asks = [STRATEGIES[name].oracle for name in data.get("strategies", [])]
        if any(asks) and not data.get("oracle"):
            self.add_error("strategies", _("The arm “oracle” needs the mark below."))
        if "web" in data.get("sources", []) and not settings.SEARCH_URL:
            self.add_error("sources", _("No web search is configured: set ATTUNE_SEARCH_URL."))
        return data


class DocumentsForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("JSON lines, HTML, PDF, Markdown or plain text"))


@require_http_methods(["GET", "POST"])
def sources(request: UserRequest, slug: str) -> HttpResponse:
    """Sources and arms of the study; POST saves them."""
    study = study_for(request.user, slug, MANAGERS)
    stored = Retrieval.objects.filter(study=study).first() or Retrieval(study=study)
    form = RetrievalForm(request.POST if request.method == "POST" else None, instance=stored)
    if form.is_bound and form.is_valid():
        saved = form.save()
        audit.record(request.user, "retrieval.save", study, oracle=saved.oracle)
        messages.success(request, _("Saved."))
        return redirect("sources", slug)
    return _page(request, study, form, DocumentsForm())


@require_POST
def upload(request: UserRequest, slug: str) -> HttpResponse:
    """Add the documents of a file to the collection."""
    study = study_for(request.user, slug, MANAGERS)
    form = DocumentsForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            document_files.request(study, file, request.user)
        except DomainError as refusal:
            form.add_error("file", refusal.sentence)
        else:
            messages.success(request, _("The file is being read."))
            return redirect("sources", slug)
    stored = Retrieval.objects.filter(study=study).first() or Retrieval(study=study)
    return _page(request, study, RetrievalForm(instance=stored), form)


@require_POST
def clear(request: UserRequest, slug: str) -> HttpResponse:
    """Ask before the collection is emptied; then do it."""
    study = study_for(request.user, slug, MANAGERS)
    if not request.POST.get("sure"):
        context = {"study": study, "count": study.documents.count()}
        return render(request, "candidates/clear.html", context)
    documents.remove(study, by=request.user)
    messages.success(request, _("The collection is empty."))
    return redirect("sources", slug)


def _page(
    request: UserRequest, study: Study, form: BaseForm, upload_form: BaseForm
) -> HttpResponse:
    rows = study.documents.defer("text").order_by("external_id")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    files = list(study.document_files.order_by("-pk")[:FILES_SHOWN])
    context = {
        "study": study,
        "form": form,
        "upload": upload_form,
        "page": page,
        "files": files,
        "under_way": any(file.status in (REQUESTED, RUNNING) for file in files),
    }
    wrong = form.errors or upload_form.errors
    # While a file is being read the page asks for the list of files alone.
    part = "#files" if request.htmx and not wrong else ""
    response = render(
        request, f"candidates/sources.html{part}", context, status=400 if wrong else 200
    )
    patch_vary_headers(response, ["HX-Request"])
    return response
