"""The curators' pages of answers: candidates, generation, review, personas' round 2, sources."""

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import F, Max
from django.forms import BaseForm
from django.http import Http404, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import (
    attributes,
    calls,
    documents,
    endpoints,
    generate,
    retrieve,
    review,
    wording,
)
from annotation.candidates.endpoints import Endpoint
from annotation.candidates.forms import (
    DocumentsForm,
    GenerateForm,
    PromptForm,
    StepForm,
    VerifierForm,
)
from annotation.candidates.models import Budget, Candidate, PromptTemplate, Retrieval, Run
from annotation.candidates.steps import STEPS
from annotation.core import charts, downloads, refusals
from annotation.core.errors import DomainError
from annotation.core.jobs import REQUESTED, RUNNING, worker_alive
from annotation.core.pages import Listing, Wanted, done, show, whole_or_part, words_in
from annotation.core.schema import SchemaForm, form_of
from annotation.personas import board as personas
from annotation.personas.board import DIMENSIONS, Tally, tally
from annotation.personas.forms import PairForm
from annotation.personas.models import PersonaVersion
from annotation.studies.access import study_page
from annotation.studies.models import Study

PAGE = 20
LIST = Listing(
    "answers",
    columns={
        "id": lambda answer: answer.external_id,
        "query": lambda answer: answer.about,
        "strategy": lambda answer: answer.strategy,
        "endpoint": lambda answer: answer.endpoint,
        "model": lambda answer: answer.model,
        "text": lambda answer: answer.text,
    },
    rules={"q": words_in("external_id", "text", "query__text", "strategy", "endpoint", "model")},
    orders={"": ("about", "strategy", "external_id")},
    form=lambda data, study: form_of(Wanted, "q")(data),
    first=(),
    size=PAGE,
)
FAILURES = 50
SHOWN_RUNS = 20
DOCUMENTS_PAGE = 50
FILES_SHOWN = 10


@study_page(policies.candidate.may_change, "GET", "POST")
def candidates(request: UserRequest, study: Study) -> HttpResponseBase:
    """The study's answers: GET shows them and what is being written, POST asks for more."""
    if request.method == "GET" and request.htmx:
        return _progress(request, study)
    servers = configured_servers(request)
    form = GenerateForm(request.POST or None, study=study)
    if form.is_valid() and request.POST.get("do") == "plan":
        return _page(
            request, study, form, servers, plan=_planned(request, study, form.cleaned_data)
        )
    if form.is_valid():
        with refusals.as_message(request):
            new = len(generate.request_answers(study, **form.cleaned_data, by=request.user))
            text = ngettext("%(n)d answer was asked for.", "%(n)d answers were asked for.", new)
            return done(request, text % {"n": new}, "candidates", study.slug)
    return _page(request, study, form, servers)


@study_page(policies.candidate.may_change, "POST")
def retry(request: UserRequest, study: Study) -> HttpResponse:
    count = generate.retry(study, by=request.user)
    text = ngettext("%(n)d answer is tried again.", "%(n)d answers are tried again.", count)
    return done(request, text % {"n": count}, "candidates", study.slug)


@study_page(policies.candidate.may_change, "POST")
def cancel(request: UserRequest, study: Study) -> HttpResponse:
    count = generate.cancel(study, by=request.user)
    text = ngettext("%(n)d is cancelled.", "%(n)d are cancelled.", count)
    return done(request, text % {"n": count}, "candidates", study.slug)


def configured_servers(request: UserRequest) -> list[endpoints.Endpoint]:
    """The configured endpoints; a message and none where the configuration is wrong."""
    try:
        return endpoints.all()
    except endpoints.EndpointsWrong as wrong:
        messages.error(request, str(wrong))
        return []


def _planned(request: UserRequest, study: Study, data: dict) -> dict | None:
    """What the choice would take; nothing is asked for. None, with a message, where it cannot."""
    with refusals.as_message(request), transaction.atomic():
        rows = generate.request_answers(study, **data)
        transaction.set_rollback(True)
        return generate.planned(rows)
    return None


def _progress(request: UserRequest, study: Study) -> HttpResponse:
    """The live part alone; when nothing is left to do the browser fetches the page anew."""
    context = _state(study)
    response = render(request, "candidates/candidates.html#progress", context)
    if not context["busy"]:
        response["HX-Refresh"] = "true"
    return response


def _state(study: Study) -> dict:
    counts = generate.progress(study)
    busy = bool(counts["requested"] + counts["running"])
    return {
        "study": study,
        "counts": counts,
        "finished": counts["done"] + counts["failed"] + counts["cancelled"],
        "busy": busy,
        "few": generate.with_few_answers(study),
        "fewest": generate.FEWEST,
        "stopped": calls.stopped(Candidate.every.filter(study=study)).count(),
        "no_worker": busy and not worker_alive(),
    }


def _page(
    request: UserRequest,
    study: Study,
    form: BaseForm,
    servers: list[Endpoint],
    plan: dict | None = None,
) -> HttpResponseBase:
    rows = Candidate.objects.filter(study=study).select_related("query")
    failed = calls.stopped(rows).filter(status="failed")
    written = rows.filter(status="done").annotate(about=F("query__external_id"))
    listed = written.exclude(query__text="")
    context = _state(study) | {
        "count": listed.count(),
        "form": form,
        "plan": plan,
        "servers": servers,
        "searches": Retrieval.objects.filter(study=study).exists(),
        "embedded": any(server.embedded for server in servers),
        "failed": failed.order_by("external_id")[:FAILURES],
        "left": written.filter(query__text="").count(),
    }
    return LIST.answer(request, study, listed, "candidates/candidates.html", context)


@study_page(policies.generation.may_run, "GET")
def generation(request: UserRequest, study: Study) -> HttpResponse:
    """What can be asked of models, what runs and ran, and what it cost."""
    context = _runs(study) | {
        "study": study,
        "steps": list(STEPS.values()),
        "funnel": [row for row in review.funnel(study) if row[1]],
        "queue": review.counts(study),
        "spent": calls.spent(study.pk),
        "budget": Budget.objects.filter(study=study).first(),
    }
    return whole_or_part(request, "candidates/generation.html", "runs", context)


def _runs(study: Study) -> dict:
    runs = list(study.runs.order_by("-pk")[:SHOWN_RUNS])
    counts = generate.progress_of_runs(runs)
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
    label = str(STEPS[run.step].label if run.step in STEPS else _("Answers"))
    return {"run": run, "label": label, "compared": compared, **counts}


@study_page(policies.generation.may_run, "GET", "POST")
def step(request: UserRequest, study: Study, name: str) -> HttpResponse:
    """One step: POST "plan" says what it would take, POST "start" asks for it."""
    if name not in STEPS:
        raise Http404
    form = StepForm(*((request.POST, request.FILES) if request.method == "POST" else ()), step=name)
    context = {"study": study, "step": STEPS[name], "form": form}
    if form.is_valid():
        data = form.cleaned_data
        options, endpoint, newest = data["options"], data["endpoint"], data["newest"]
        with refusals.in_form(form):
            if request.POST.get("do") == "start":
                generate.request_proposals(
                    study, name, options, endpoint=endpoint, by=request.user, newest=newest
                )
                words = _("It is asked for. You can leave this page.")
                return done(request, words, "generation", study.slug)
            context["plan"] = generate.plan(study, name, options, endpoint=endpoint)
            newest = study.runs.aggregate(n=Max("pk", default=0))["n"]
            # With a file's texts typed in: a browser sends no file twice.
            initial = data | {"file": None, "newest": newest}
            context["form"] = StepForm(initial=initial, step=name)
    return show(request, "candidates/step.html", context)


@study_page(policies.generation.may_run, "POST")
def stop(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Cancel a run, or resume it."""
    run = get_object_or_404(study.runs, pk=pk)
    if request.POST.get("do") == "resume":
        count = generate.resume_run(run, by=request.user)
        words = ngettext("%(n)d is asked for again.", "%(n)d are asked for again.", count)
    else:
        count = generate.cancel_run(run, by=request.user)
        words = ngettext("%(n)d is cancelled.", "%(n)d are cancelled.", count)
    return done(request, words % {"n": count}, "generation", study.slug)


@study_page(policies.generation.may_run, "GET", "POST")
def rules(request: UserRequest, study: Study) -> HttpResponse:
    """Budgets, and how what models write is reviewed."""
    data = request.POST if request.method == "POST" else None
    stored = Budget.objects.filter(study=study).first() or Budget()
    budget = form_of(review.Limits)(data, initial=vars(stored))
    reviewing = form_of(review.ReviewRules)(data, initial=vars(review.rules_of(study)))
    forms = budget, reviewing
    # Not one after the other: both forms say at once what is wrong.
    valid = [form.is_valid() for form in forms]
    if data is not None and all(valid):
        # An empty limit is none; an empty rule stays as it is.
        review.set_rules(study, budget.cleaned_data, reviewing.values, by=request.user)
        return done(request, _("Saved."), "generation", study.slug)
    context = {"study": study, "forms": forms, "prompts": list(wording.EDITABLE)}
    status = 400 if any(form.errors for form in forms) else 200
    return render(request, "candidates/rules.html", context, status=status)


@study_page(policies.generation.may_run, "GET", "POST")
def prompt(request: UserRequest, study: Study, name: str) -> HttpResponse:
    """The study's wording of one prompt; POST makes its next version."""
    if name not in wording.EDITABLE:
        raise Http404
    current = wording.of(study, name)
    initial = {"system": current.system, "user": current.user}
    form = PromptForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with refusals.in_form(form):
            wording.save_prompt(study, name, **form.cleaned_data, by=request.user)
            words = _("Saved. Earlier results name the version that made them.")
            return done(request, words, "prompt", study.slug, name)
    context = {
        "study": study,
        "name": name,
        "current": current,
        "form": form,
        "places": sorted(wording.EDITABLE[name].places),
        "versions": PromptTemplate.objects.filter(study=study, name=name).order_by("-version"),
    }
    return show(request, "candidates/prompt.html", context)


@study_page(policies.generation.may_run, "GET")
def queue(request: UserRequest, study: Study, kind: str) -> HttpResponse:
    """What waits for this reviewer, one page of it, with what to look out for."""
    _check(kind)
    # Answers are compared by people, not with each other.
    compared = kind != review.ANSWER
    flag = request.GET.get("flag", "")
    flags = review.flags_of(kind)
    similar = review.similarity_of(request.GET.get("similar"), study)
    if "similar" in request.GET and compared:
        rows = review.near_duplicates(study, kind, request.user, similar)
    else:
        rows = review.waiting(study, kind, request.user, flag=flag if flag in flags else "")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    for row in page:
        row.words = [flags.get(code, code) for code in row.flags]
    if compared:
        people = [row.persona_id for row in page]
        versions = PersonaVersion.objects.filter(persona__in=people).select_related("persona")
        names = {row.persona_id: row.name for row in versions.order_by("version")}
        for row in page:
            row.title, row.person = STEPS[kind].label, names.get(row.persona_id)
            row.beside = row.nearest and row.similarity >= similar
    context = {
        "study": study,
        "kind": kind,
        "page": page,
        "reasons": review.reasons_of(kind),
        "flags": flags,
        "flag": flag,
        "kinds": review.counts(study),
        "crowded": review.over_represented(study, kind),
        "preview": review.preview_threshold(study, kind, request.user) if compared else [],
        "similar": similar,
        "undo": request.session.get(_key(study, kind), []),
    }
    return render(request, "candidates/review.html", context)


@study_page(policies.generation.may_run, "POST")
def decide(request: UserRequest, study: Study, kind: str) -> HttpResponse:
    """Accept or reject what was chosen; or take the last decision back."""
    _check(kind)
    key = _key(study, kind)
    with refusals.as_message(request):
        if request.POST.get("do") == "undo":
            count = review.undo(study, kind, request.session.pop(key, []), by=request.user)
            words = ngettext("%(n)d decision taken back.", "%(n)d decisions taken back.", count)
        else:
            words, count = _decided(request, study, kind, key)
        messages.success(request, words % {"n": count})
    return redirect("review", study.slug, kind)


def _decided(request: UserRequest, study: Study, kind: str, key: str) -> tuple[str, int]:
    ids = _ids(request.POST.getlist("row"))
    accepts = request.POST.get("do") == "accept"
    reason = request.POST.get("reason", "")
    count = review.decide(study, kind, ids, accepts=accepts, reason=reason, by=request.user)
    # Undo is for the last decision of this browser; older ones are on their own pages.
    request.session[key] = [str(pk) for pk in ids]
    if accepts:
        return ngettext("%(n)d accepted.", "%(n)d accepted.", count), count
    return ngettext("%(n)d rejected.", "%(n)d rejected.", count), count


def _ids(values: list[str]) -> list[UUID]:
    try:
        ids = [UUID(value) for value in values]
    except ValueError:
        ids = []
    if not ids:
        raise DomainError(_("Choose what is meant first."), code="rows")
    return ids


def _check(kind: str) -> None:
    if kind != review.ANSWER and kind not in STEPS:
        raise Http404


def _key(study: Study, kind: str) -> str:
    return f"review-{study.pk}-{kind}"


# Bars of a chart, rows of a table and pairs of a page.
BARS, ROWS, PAIRS = 12, 50, 10


@study_page(policies.persona.may_change, "GET")
def board(request: UserRequest, study: Study) -> HttpResponse:
    """The personas by dimension, and pairs of them that are alike."""
    people = personas.versions(study)
    pairs = personas.undecided(study, people)
    similarity = review.similarity_of(request.GET.get("similar"), study)
    shown = [pair for pair in pairs if pair.similarity >= similarity]
    context = {
        "study": study,
        "people": len(people),
        "tallies": [_shown_tally(values) for values in personas.tallies(people)],
        "preview": personas.preview_threshold(pairs),
        "similar": similarity,
        "page": Paginator(shown, PAIRS).get_page(request.GET.get("page")),
        "decided": study.pair_decisions.filter(decided_by=request.user).exists(),
        "funnel": review.persona_funnel(study),
    }
    return render(request, "candidates/board.html", context)


def _shown_tally(values: Tally) -> dict:
    return {
        "tally": values,
        "svg": _chart(values),
        "rows": [
            (value, count, 100 * count / values.personas, value in values.over)
            for value, count in values.rows[:ROWS]
        ],
    }


def _chart(values: Tally) -> str:
    """Bars of the most frequent values; "" where nobody states one."""
    if not values.rows:
        return ""
    label = str(values.dimension.label)
    bars = None if values.dimension.name == "age" else BARS
    rows = [(value, float(count)) for value, count in values.rows[:bars]]
    desc = _("How many personas have each value; ▲ marks what is over-represented.")
    key = f"board-{values.dimension.name}"
    axes = (_("Personas"), label)
    return charts.bars((key, label, desc), rows, marked=values.over, axes=axes)


@study_page(policies.persona.may_change, "GET")
def figure(request: UserRequest, study: Study, name: str, ending: str) -> HttpResponse:
    """A dimension as SVG or PNG, its whole table as CSV."""
    if name not in DIMENSIONS or ending not in downloads.CHART_TYPES:
        raise Http404
    profiles = [version.profile for version in personas.versions(study)]
    values, file = tally(DIMENSIONS[name], profiles), f"{study.slug}-personas-{name}.{ending}"
    if ending == "csv":
        rows = [(value, count, value in values.over) for value, count in values.rows]
        return downloads.csv_response(file, [("value", "personas", "over_represented"), *rows])
    if not (drawn := _chart(values)):
        raise Http404
    caption = _("%(what)s of %(n)d personas. ▲: over-represented.") % {
        "what": values.dimension.label,
        "n": values.personas,
    }
    return downloads.picture(file, drawn, f"{caption} {study.title}.")


@study_page(policies.persona.may_change, "POST")
def decide_pair(request: UserRequest, study: Study) -> HttpResponse:
    """Keep both personas of a pair or drop one of them; or take the last decision back."""
    with refusals.as_message(request):
        if request.POST.get("do") == "undo":
            personas.undo(study, by=request.user)
            messages.success(request, _("The last decision is taken back."))
        else:
            form = PairForm(request.POST)
            if not form.is_valid():
                raise DomainError(_("Choose what becomes of the pair."), code="choice")
            decision = personas.decide_pair(study, **form.cleaned_data, by=request.user)
            words = _("%(name)s is dropped.") if decision.dropped else _("Both stay.")
            messages.success(request, words % {"name": decision.dropped})
    similar = review.similarity_of(request.POST.get("similar"), study)
    return redirect(f"{request.path.removesuffix('pairs/')}?similar={similar:.2f}#pairs")


@study_page(policies.generation.may_run, "GET", "POST")
def clusters(request: UserRequest, study: Study) -> HttpResponse:
    """A preview of the thresholds; POST makes the attributes."""
    data = request.POST if request.method == "POST" else request.GET or None
    form = form_of(attributes.Thresholds)(data)
    valid = form.is_valid()
    if request.method == "POST" and valid:
        with refusals.in_form(form):
            counts = attributes.make(study, form.schema, by=request.user)
            return done(request, _made(counts), "tasks", study.slug)
    thresholds = form.schema if valid else attributes.Thresholds()
    context = {"study": study, "form": form, "now": thresholds}
    context |= attributes.preview_thresholds(study, thresholds)
    status = 400 if request.method == "POST" else 200
    return render(request, "candidates/clusters.html", context, status=status)


def _made(counts: dict) -> str:
    sentence = _(
        "Statements: %(statements)d; attributes made of them: %(attributes)d; people: %(people)d."
    )
    if counts["left"]:
        more = ngettext(
            "%(left)d person is left as they are: their attributes are judged already.",
            "%(left)d people are left as they are: their attributes are judged already.",
            counts["left"],
        )
        sentence = f"{sentence} {more}"
    return sentence % counts


@study_page(policies.source.may_change, "GET", "POST")
def sources(request: UserRequest, study: Study) -> HttpResponse:
    """Sources and arms of the study; POST saves them."""
    form = _retrieval_form(study, request.POST if request.method == "POST" else None)
    if form.is_valid():
        retrieve.save_retrieval(study, form.values, by=request.user)
        return done(request, _("Saved."), "sources", study.slug)
    return _sources_page(request, study, form, DocumentsForm())


def _retrieval_form(study: Study, data: QueryDict | None = None) -> SchemaForm:
    return form_of(retrieve.Search)(data, initial=vars(retrieve.settings_of(study)))


@study_page(policies.source.may_change, "POST")
def upload(request: UserRequest, study: Study) -> HttpResponse:
    """Add the documents of a file to the collection."""
    form = DocumentsForm(request.POST, request.FILES)
    if form.is_valid():
        with refusals.in_form(form, "file"):
            documents.request_reading(study, form.cleaned_data["file"], request.user)
            return done(request, _("The file is being read."), "sources", study.slug)
    return _sources_page(request, study, _retrieval_form(study), form)


@study_page(policies.source.may_change, "POST")
def clear(request: UserRequest, study: Study) -> HttpResponse:
    """Ask before the collection is emptied; then do it."""
    if not request.POST.get("sure"):
        context = {"study": study, "count": study.documents.count()}
        return render(request, "candidates/clear.html", context)
    documents.remove(study, by=request.user)
    return done(request, _("The collection is empty."), "sources", study.slug)


def _sources_page(
    request: UserRequest, study: Study, form: BaseForm, upload_form: BaseForm
) -> HttpResponse:
    rows = study.documents.defer("text").order_by("external_id")
    page = Paginator(rows, DOCUMENTS_PAGE).get_page(request.GET.get("page"))
    files = list(study.document_files.order_by("-pk")[:FILES_SHOWN])
    context = {
        "study": study,
        "form": form,
        "upload": upload_form,
        "page": page,
        "files": files,
        "under_way": any(file.status in (REQUESTED, RUNNING) for file in files),
    }
    # While a file is being read the page asks for the list of files alone.
    part = "" if form.errors or upload_form.errors else "files"
    return whole_or_part(request, "candidates/sources.html", part, context)


@study_page(policies.generation.may_run, "GET", "POST")
def verify(request: UserRequest, study: Study) -> HttpResponse:
    """What it is for; POST takes the file and verifies."""
    form = VerifierForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        (model, card), flagged = form.cleaned_data["model"], form.cleaned_data["flagged"]
        refine = flagged == attributes.REFINE
        with refusals.in_form(form):
            counts = attributes.verify(study, model, card, refine=refine, by=request.user)
            words = _(
                "Statements that pass: %(supported)d of %(statements)d; that do not: %(flagged)d."
            )
            after = ("step", study.slug, "verify") if refine else ("clusters", study.slug)
            return done(request, words % counts, *after)
    context = {"study": study, "form": form, "waiting": attributes.unverified(study).count()}
    return show(request, "candidates/verifier.html", context)
