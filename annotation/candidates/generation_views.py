"""Generation: the steps with their plans, what runs, budgets and rules, prompts."""

from django.contrib import messages
from django.db.models import Max
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import proposals, review, spending, wording
from annotation.candidates.forms import FIELDS, BudgetForm, PromptForm, RulesForm, StepForm
from annotation.candidates.models import Budget, PromptTemplate, Run
from annotation.candidates.steps import STEPS
from annotation.core import refusals
from annotation.core.heartbeat import worker_alive
from annotation.studies.access import study_for
from annotation.studies.models import Study

SHOWN_RUNS = 20


@require_safe
def generation(request: UserRequest, slug: str) -> HttpResponse:
    """What can be asked of models, what runs and ran, and what it cost."""
    study = study_for(request.user, slug, policies.generation.may_run)
    context = _runs(study) | {
        "study": study,
        "steps": [STEPS[name] for name in FIELDS],
        "funnel": review.funnel(study),
        "queue": review.counts(study),
        "spent": spending.spent(study.pk),
        "budget": Budget.objects.filter(study=study).first(),
    }
    if request.htmx:
        return render(request, "candidates/generation.html#runs", context)
    return render(request, "candidates/generation.html", context)


def _runs(study: Study) -> dict:
    runs = list(study.runs.order_by("-pk")[:SHOWN_RUNS])
    counts = proposals.progress_of(runs)
    shown = [_shown(run, counts[run.pk]) for run in runs]
    busy = any(run["requested"] + run["running"] for run in shown)
    return {"runs": shown, "busy": busy, "no_worker": busy and not worker_alive()}


def _shown(run: Run, counts: dict) -> dict:
    """A run with what became of it; (name, actual, planned) of what its plan says."""
    names = {"calls": _("Calls"), "tokens": _("Tokens"), "cost": _("Cost"), "seconds": _("Seconds")}
    places = {"cost": 4}
    compared = [
        (label, counts["actual"][name], run.planned.get(name, 0), places.get(name, 0))
        for name, label in names.items()
    ]
    return {"run": run, "label": _label(run.step), "compared": compared, **counts}


def _label(step: str) -> str:
    return str(STEPS[step].label if step in STEPS else _("Answers"))


@require_http_methods(["GET", "POST"])
def step(request: UserRequest, slug: str, name: str) -> HttpResponse:
    """One step: POST "plan" says what it would take, POST "start" asks for it."""
    study = study_for(request.user, slug, policies.generation.may_run)
    if name not in FIELDS:
        raise Http404
    form = StepForm(*((request.POST, request.FILES) if request.method == "POST" else ()), step=name)
    context = {"study": study, "step": STEPS[name], "form": form}
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        with refusals.in_form(form):
            if request.POST.get("do") == "start":
                proposals.request(
                    study,
                    name,
                    data["options"],
                    endpoint=data["endpoint"],
                    by=request.user,
                    newest=data["newest"],
                )
                messages.success(request, _("It is asked for. You can leave this page."))
                return redirect("generation", slug)
            context["plan"] = proposals.plan(
                study, name, data["options"], endpoint=data["endpoint"]
            )
            newest = study.runs.aggregate(n=Max("pk", default=0))["n"]
            context["form"] = _filled(form, name, newest)
    status = 400 if form.errors else 200
    return render(request, "candidates/step.html", context, status=status)


def _filled(form: StepForm, name: str, newest: int) -> StepForm:
    """The form with a file's texts typed in (a browser sends no file twice), and the newest run."""
    again = StepForm(step=name)
    for field in again.fields:
        again.initial[field] = form.cleaned_data.get(field, "")
    again.initial.pop("file", None)
    again.initial["newest"] = newest
    return again


@require_POST
def stop(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    """Cancel a run, or resume it."""
    study = study_for(request.user, slug, policies.generation.may_run)
    run = get_object_or_404(Run, study=study, pk=pk)
    if request.POST.get("do") == "resume":
        count = proposals.resume(run, by=request.user)
        words = ngettext("%(n)d is asked for again.", "%(n)d are asked for again.", count)
    else:
        count = proposals.cancel(run, by=request.user)
        words = ngettext("%(n)d is cancelled.", "%(n)d are cancelled.", count)
    messages.success(request, words % {"n": count})
    return redirect("generation", slug)


@require_http_methods(["GET", "POST"])
def rules(request: UserRequest, slug: str) -> HttpResponse:
    """Budgets, and how what models write is reviewed."""
    study = study_for(request.user, slug, policies.generation.may_run)
    data = request.POST if request.method == "POST" else None
    budget = Budget.objects.filter(study=study).first() or Budget(study=study)
    forms = (BudgetForm(data, instance=budget), RulesForm(data, instance=proposals.rules_of(study)))
    # Not one after the other: both forms say at once what is wrong.
    valid = [form.is_valid() for form in forms]
    if data is not None and all(valid):
        review.set_rules(study, *(form.cleaned_data for form in forms), by=request.user)
        messages.success(request, _("Saved."))
        return redirect("generation", slug)
    context = {"study": study, "forms": forms, "prompts": list(wording.EDITABLE)}
    status = 400 if any(form.errors for form in forms) else 200
    return render(request, "candidates/rules.html", context, status=status)


@require_http_methods(["GET", "POST"])
def prompt(request: UserRequest, slug: str, name: str) -> HttpResponse:
    """The study's wording of one prompt; POST makes its next version."""
    study = study_for(request.user, slug, policies.generation.may_run)
    if name not in wording.EDITABLE:
        raise Http404
    current = wording.of(study, name)
    initial = {"system": current.system, "user": current.user}
    form = PromptForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_bound and form.is_valid():
        with refusals.in_form(form):
            wording.save(study, name, **form.cleaned_data, by=request.user)
            messages.success(request, _("Saved. Earlier results name the version that made them."))
            return redirect("prompt", slug, name)
    context = {
        "study": study,
        "name": name,
        "current": current,
        "form": form,
        "places": sorted(wording.EDITABLE[name].places),
        "versions": PromptTemplate.objects.filter(study=study, name=name).order_by("-version"),
    }
    return render(request, "candidates/prompt.html", context, status=400 if form.errors else 200)
