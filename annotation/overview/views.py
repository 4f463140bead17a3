"""The first page of a study for whoever runs it or reads its results."""

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.agreement.wording import translated
from annotation.core import refusals
from annotation.core.errors import DomainError
from annotation.core.jobs import worker_alive
from annotation.core.pages import whole_or_part
from annotation.core.words import titled
from annotation.overview import items
from annotation.overview.steps import figures_of, steps_of
from annotation.studies.access import member_of, study_page
from annotation.studies.models import Study


@study_page(policies.study.may_read, "GET")
def overview(request: UserRequest, study: Study) -> HttpResponse:
    """The steps of the study; htmx fetches them alone while something runs."""
    figures = figures_of(study)
    steps = steps_of(study, figures, _agreement(study), request.user)
    context = {
        "study": study,
        "steps": steps,
        "running": any(step.state == "running" for step in steps),
        "no_worker": bool(figures.writing or figures.freezing) and not worker_alive(),
    }
    return whole_or_part(request, "studies/overview.html", "steps", context)


def _agreement(study: Study) -> list[str]:
    """One sentence a task with votes: its first coefficient."""
    sentences, reason = [], ""
    for result in study.agreement_results.defer("sums", "sample").order_by("task"):
        for criterion, _report, coefficients in result.parts[:1]:
            _key, name, value = coefficients[0]
            if value["value"] is None:
                reason = translated(value["reason"])
                continue
            task = titled(result.task) + (f" ({criterion})" if criterion else "")
            sentences.append(f"{task}: {name} {value['value']:.2f}")
    if reason and not sentences:
        return [_("Agreement cannot be told yet: %(reason)s.") % {"reason": reason}]
    return sentences


@study_page(policies.batch.may_read, "GET", "POST", post=policies.batch.may_change)
def items_table(request: UserRequest, study: Study) -> HttpResponseBase:
    """The study's items, filtered by the address; POST does something to those that are chosen."""
    if request.method == "POST":
        return _act(request, study)
    acts = policies.batch.may_change(member_of(request.user, study))
    context = {"act": items.ActForm(), "acts": acts}
    return items.LIST.answer(request, study, items.of_work(study), "studies/items.html", context)


def _act(request: UserRequest, study: Study) -> HttpResponse:
    """Do to the chosen items what the form names, and show the same list again."""
    form, query = items.ActForm(request.POST), QueryDict(request.POST.get("query", "")).urlencode()
    with refusals.as_message(request):
        if not form.is_valid():
            raise DomainError(_("Choose what to do, and with how many more judgments."))
        done = items.act(
            study,
            request.POST.getlist("item"),
            form.cleaned_data["act"],
            by=request.user,
            **form.options,
        )
        words = ngettext("%(n)d judgment was changed.", "%(n)d judgments were changed.", done)
        messages.success(request, words % {"n": done})
    response = redirect("items", study.slug)
    response["Location"] += f"?{query}" if query else ""
    return response
