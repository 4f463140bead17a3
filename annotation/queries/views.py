"""The pages of queries: the curators', and annotators' of their own."""

import hashlib
from collections.abc import Collection
from functools import partial
from typing import cast
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count
from django.forms import BaseForm
from django.forms.models import model_to_dict
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import refusals, sql
from annotation.core.errors import DomainError
from annotation.core.pages import Listing, done, show, words_in
from annotation.histories import browse, search
from annotation.queries import author, owner_queries
from annotation.queries.forms import ExamplesForm, QueriesUpload, QueryForm
from annotation.queries.models import Query
from annotation.queries.scenarios import SCENARIOS
from annotation.studies.access import study_page
from annotation.studies.models import Study

HITS = 10
LIST = Listing(
    "queries",
    columns={
        "id": lambda query: query.external_id,
        "text": lambda query: query.text,
        "persona": lambda query: query.persona.external_id if query.persona else "",
        "type": lambda query: query.type,
        "scenario": lambda query: query.scenario,
        "answers": lambda query: query.answers,
        "items": lambda query: query.in_items,
    },
    rules={"q": words_in("external_id", "text", "scenario")},
)


@study_page(policies.query.may_change, "GET", "POST")
def queries(request: UserRequest, study: Study) -> HttpResponseBase:
    """The list of current queries; POST imports a queries.jsonl."""
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = QueriesUpload(*data, study=study)
    if form.is_valid():
        save = partial(author.save_all, study, by=request.user)
        changed = sql.save_in_chunks(save, form.cleaned_data["file"])
        words = ngettext(
            "%(n)d query is new or changed.", "%(n)d queries are new or changed.", changed
        )
        return done(request, words % {"n": changed}, "queries", study.slug)
    return _list(request, study, form, ExamplesForm())


@study_page(policies.query.may_change, "POST")
def examples(request: UserRequest, study: Study) -> HttpResponseBase:
    """Import an examples.jsonl: it becomes the study's pool."""
    form = ExamplesForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, study, QueriesUpload(study=study), form)
    author.set_examples(study, form.cleaned_data["file"], by=request.user)
    return done(request, _("Saved."), "queries", study.slug)


def _list(request: UserRequest, study: Study, form: BaseForm, pool: BaseForm) -> HttpResponseBase:
    current = study.queries.filter(replaced_at=None)
    rows = current.select_related("persona").annotate(
        answers=Count("candidates", distinct=True), in_items=Count("items", distinct=True)
    )
    left = study.candidates.filter(purpose="answer", status="done", query__text="").count()
    context = {"form": form, "left": left, "count": current.count(), "examples_form": pool}
    context["examples"] = study.examples.order_by("pk")
    return LIST.answer(request, study, rows, "queries/queries.html", context)


@study_page(policies.query.may_change, "GET", "POST")
def add(request: UserRequest, study: Study) -> HttpResponse:
    form = QueryForm(request.POST if request.method == "POST" else None, study=study)
    if form.is_valid():
        key = form.cleaned_data["external_id"]
        if study.queries.filter(external_id=key).exists():
            form.add_error("external_id", _("There is a query of this id already."))
        else:
            author.save_query(study, key, by=request.user, **form.fields_for_save())
            return done(request, _("The query is saved."), "queries", study.slug)
    return show(request, "queries/query.html", {"study": study, "form": form})


@study_page(policies.query.may_change, "GET", "POST")
def query(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """One query and its earlier versions; POST saves a change."""
    shown = get_object_or_404(Query, study=study, pk=pk)
    versions = study.queries.filter(external_id=shown.external_id).order_by("-version")
    current = versions[0]
    if current != shown and request.method != "POST":
        return redirect("query", study.slug, current.pk)
    form = QueryForm(request.POST if request.method == "POST" else None, study=study, query=current)
    # A page that was opened before somebody else's change would undo it unseen.
    seen = hashlib.sha256(repr([*map(str, form.initial.values())]).encode()).hexdigest()
    if form.is_bound and (current != shown or request.POST.get("seen", seen) != seen):
        form.add_error(None, _("The query was changed meanwhile: compare before you save again."))
    if form.is_valid():
        fields = form.fields_for_save()
        saved = author.save_query(study, current.external_id, by=request.user, **fields)
        words = _("Saved as version %(n)d.") % {"n": saved.version}
        return done(request, words, "query", study.slug, saved.pk)
    context = {"study": study, "form": form, "query": current, "versions": versions, "seen": seen}
    return show(request, "queries/query.html", context)


TEXTS = ("text", "scenario", "language")


def _current(study: Study, request: UserRequest, key: str) -> Query:
    """The person's current query of this id; 404 for anybody else's."""
    return get_object_or_404(owner_queries.of(study, request.user), external_id=key)


@require_http_methods(["GET", "POST"])
def own_queries(request: UserRequest, slug: str) -> HttpResponse:
    """The list; POST begins a new query."""
    study = owner_queries.study_of(request.user, slug)
    if request.method == "POST":
        with refusals.as_message(request):
            return redirect("own-query", slug, owner_queries.begin(study, request.user).external_id)
        return redirect("own-queries", slug)
    context = {
        "study": study,
        "queries": owner_queries.of(study, request.user),
        "retained": browse.sessions(request.user, study).count(),
    }
    return render(request, "queries/own.html", context)


@require_http_methods(["GET", "POST"])
def own_query(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """One query; POST saves it, and with ``done`` marks it as ready to be answered."""
    study = owner_queries.study_of(request.user, slug)
    row = _current(study, request, key)
    asked = _sought(request.POST if "find" in request.POST else request.GET)
    if request.method == "GET":
        return _page(request, study, row, asked)
    try:
        row = owner_queries.write_query(row, request.user, **_typed(request))
        if "done" in request.POST:
            owner_queries.finish(row, request.user)
            return done(request, _("Your query is ready to be answered."), "own-queries", slug)
    except DomainError as refusal:
        return _page(request, study, row, asked, refusal)
    if request.htmx:
        return render(request, "queries/own_query.html#saved", {"study": study, "saved": True})
    if "seek" in request.POST:
        place = reverse("own-query", args=(slug, key))
        return redirect(f"{place}?{urlencode({'find': asked})}#find")
    return redirect("own-queries", slug)


@require_POST
def change(request: UserRequest, slug: str, key: str) -> HttpResponse:
    study = owner_queries.study_of(request.user, slug)
    owner_queries.change(_current(study, request, key), request.user)
    return redirect("own-query", slug, key)


@require_safe
def sessions(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """Own kept sessions that fit the words typed, to ground the query in; a fragment.

    It tells apart those that are picked on the page: not all of them need be saved already.
    """
    study = owner_queries.study_of(request.user, slug)
    row = _current(study, request, key)
    context = {"oob": True} | _sessions(study, row, _sought(request.GET), _picked(request.GET))
    return render(request, "queries/own_query.html#found", context)


def _sought(data: QueryDict) -> str:
    """The words by which sessions are looked for."""
    return data.get("find", "").replace("\x00", "").strip()


def _typed(request: UserRequest) -> dict:
    def words(name: str, longest: int | None = None) -> str:
        return request.POST.get(name, "").replace("\x00", "").replace("\r\n", "\n")[:longest]

    return {
        "text": words("text"),
        "guide": {part: words(part) for part in owner_queries.PARTS},
        "scenario": words("scenario", 100),
        "language": words("language", 20),
        "grounds": _picked(request.POST),
    }


def _page(
    request: UserRequest, study: Study, row: Query, asked: str, refusal: DomainError | None = None
) -> HttpResponse:
    texts = request.POST if refusal else {**row.guide, **model_to_dict(row, TEXTS)}
    if refusal and refusal.code != "grounds":
        picked = _picked(request.POST)
    else:
        picked = list(row.grounds.values_list("session_id", flat=True))
    context = {
        "study": study,
        "query": row,
        "frozen": author.frozen(row),
        "refusal": refusal,
        "typed": {name: texts.get(name, "") for name in TEXTS},
        "parts": [
            (name, title, texts.get(name, "")) for name, title in owner_queries.PARTS.items()
        ],
        "scenarios": SCENARIOS,
    } | _sessions(study, row, asked, picked)
    fragment = "#saved" if request.htmx and refusal else ""
    return show(request, f"queries/own_query.html{fragment}", context)


def _sessions(study: Study, query: Query, asked: str, picked: Collection[UUID]) -> dict:
    """The kept sessions among the ids ``picked``, and others that fit the words ``asked``."""
    owner = cast(User, query.owner)
    rows = browse.sessions(owner, study)
    grounds = rows.filter(pk__in=picked).order_by("started_at", "pk")
    picked_ids = {session.pk for session in grounds}
    snippets = search.find(owner, asked, HITS, only=rows)
    sessions = rows.exclude(pk__in=picked_ids).in_bulk(snippets)
    hits = [(sessions[pk], snippet) for pk, snippet in snippets.items() if pk in sessions]
    return {"grounds": grounds, "hits": hits, "asked": asked}


def _picked(data: QueryDict) -> list[UUID]:
    try:
        return [UUID(value) for value in data.getlist("grounds")]
    except ValueError:
        raise DomainError(_("Choose sessions from the list."), code="grounds") from None
