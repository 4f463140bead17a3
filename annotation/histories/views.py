"""Pages of a history's owner. Objects of other owners answer 404."""

from collections.abc import Iterable
from math import ceil
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, F, Prefetch, Q, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import refusals
from annotation.core.jobs import worker_alive
from annotation.core.pages import done, whole_or_part
from annotation.core.uploads import PIECE
from annotation.histories import (
    browse,
    collection,
    consent,
    erase,
    forms,
    ingest,
    marks,
    redact,
    search,
    tasks,
)
from annotation.histories.models import Mark, Message, NamesWord, Session, Upload
from annotation.studies.models import Study

PAGE = 50
UPLOADS = 50
MESSAGES = 100
FILTERS = ("q", "state", "kind", "provider", "month", "page")


@require_safe
def history(request: UserRequest) -> HttpResponse:
    """One's own sessions: search, filters, months, and what to do with them."""
    owner = request.user
    form, which, hits = _filtered(owner, request.GET)
    wanted, rows = form.values(), browse.listed(which)
    pages = Paginator(rows if hits is None else _best_first(rows, hits), PAGE)
    context = {
        "form": form,
        "page": pages.get_page(request.GET.get("page")),
        "query": wanted["q"].strip(),
        # A search ends with the best: how many more there are is not known.
        "best_alone": hits is not None and len(hits) == search.LIMIT,
        "month": wanted["month"],
        "tally": browse.tally(owner),
        "late": marks.late(owner).aggregate(
            passages=Count("pk"), sessions=Count("session", distinct=True)
        ),
        "timeline": browse.timeline(owner),
    }
    return render(request, "histories/history.html", context | _way_back(request.GET))


def _filtered(
    owner: User, data: QueryDict
) -> tuple[forms.FilterForm, QuerySet[Session], dict[UUID, str] | None]:
    """The form of the list's filters, and the sessions that they narrow to.

    With words to search for also its hits, best first: {session's id: snippet}.
    """
    form = forms.FilterForm(data, browse.providers(owner))
    wanted = form.values()
    query = wanted.pop("q").strip()
    which = browse.which(owner, **wanted)
    if not query:
        return form, which, None
    hits = search.find(owner, query, only=which if any(wanted.values()) else None)
    return form, Session.objects.filter(owner=owner, pk__in=hits), hits


def _listed(owner: User, data: QueryDict) -> QuerySet[Session]:
    """The sessions of the list as it is filtered."""
    _form, which, _hits = _filtered(owner, data)
    return which


def _best_first(rows: Iterable[Any], hits: dict[UUID, str]) -> list[Session]:
    """The sessions that a search found, with their snippets."""
    by_id = {row.pk: row for row in rows}
    for pk, row in by_id.items():
        row.snippet = hits[pk]
    return [by_id[pk] for pk in hits if pk in by_id]


@require_POST
def decide(request: UserRequest) -> HttpResponse:
    """Keep, drop or erase the ticked sessions, or all that the filter finds."""
    owner = request.user
    form = forms.DecisionForm(request.POST, owner)
    if not form.is_valid():
        if "session" in form.errors:
            raise Http404
        messages.error(request, _("Say whether to keep, to drop or to erase them."))
        return _back(request)
    data = form.cleaned_data
    which = _listed(owner, request.POST) if data["all"] else data["session"]
    if data["action"] == "erase":
        return _erase(request, which, data["sure"])
    keeps = data["action"] == "keep"
    # Several would be kept of which some were never opened.
    if keeps and not data["sure"] and which.count() > 1 and which.filter(opened_at=None).exists():
        return _ask_before_keeping(request, which)
    following = None
    if "next" in request.POST and (decided := which.first()):
        following = browse.next_pending(_listed(owner, request.POST), decided)
    if keeps:
        count = browse.choose(owner, which, Session.State.RETAINED)
        words = ngettext("%(n)d session kept.", "%(n)d sessions kept.", count)
    else:
        count = browse.choose(owner, which, Session.State.DROPPED)
        words = ngettext("%(n)d session dropped.", "%(n)d sessions dropped.", count)
    messages.success(request, words % {"n": count})
    return _in_list(following, request.POST) if following else _back(request)


@require_safe
def undecided(request: UserRequest) -> HttpResponse:
    """Lead to the first session of the filtered list that is not decided on."""
    which = _listed(request.user, request.GET)
    pk = _uuid(request.GET.get("after"))
    after = Session.objects.filter(owner=request.user, pk=pk).first() if pk else None
    first = browse.next_pending(which, after)
    if first is None:
        return done(request, _("Nothing is left to decide here."), "history")
    return _in_list(first, request.GET)


def _in_list(session: Session, source: QueryDict) -> HttpResponse:
    """To a session, of the list as it is filtered by ``source``."""
    place = _encoded([("list", _encoded(_filters(source)))])
    return redirect(f"{reverse('history-session', args=[session.pk])}?{place}")


def _uuid(value: str | None) -> UUID | None:
    try:
        return UUID(value or "")
    except ValueError:
        return None


def _ask_before_keeping(request: UserRequest, which: QuerySet[Session]) -> HttpResponse:
    summary = browse.bulk(which)
    context = {
        "bulk": summary,
        "hidden": [(redact.KINDS[kind], count) for kind, count in summary["hidden"]],
        "all": bool(request.POST.get("all")),
        "sessions": [] if request.POST.get("all") else which,
        "figures": redact.measured_figures(),
    }
    return render(request, "histories/sure_keep.html", context | _way_back(request.POST))


def _erase(request: UserRequest, which: QuerySet[Session], sure: bool) -> HttpResponse:
    """Ask before something is erased for good; then do it."""
    if not sure:
        context = {
            "count": which.count(),
            "sessions": which[:PAGE],
            "all": bool(request.POST.get("all")),
        }
        return render(request, "histories/sure.html", context | _way_back(request.POST))
    with refusals.as_message(request):
        _note_erased(request, erase.sessions(request.user, which))
    return _back(request)


def _note_erased(request: UserRequest, count: int) -> None:
    if count:
        words = ngettext("%(n)d session erased.", "%(n)d sessions erased.", count)
        messages.success(request, words % {"n": count})


def _back(request: UserRequest) -> HttpResponse:
    """To the list as it was filtered."""
    query = _encoded(_filters(request.POST))
    return redirect(reverse("history") + (f"?{query}" if query else ""))


def _filters(source: QueryDict) -> list[tuple[str, str]]:
    """The filters of the list, to come back to it."""
    return [(name, value[: forms.QUERY_LIMIT]) for name in FILTERS if (value := source.get(name))]


def _way_back(source: QueryDict) -> dict[str, object]:
    """The filters of the list for a page: of its forms, and of its links."""
    filters = _filters(source)
    return {"filters": filters, "back": _encoded(filters)}


def _encoded(filters: list[tuple[str, str]]) -> str:
    """The filters as a part of an address, "" where there is none."""
    query = QueryDict(mutable=True)
    query.update(dict(filters))
    return query.urlencode()


# --- Uploads ----------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def uploads(request: UserRequest) -> HttpResponse:
    """What was sent, how it stands, and the form that sends the next file."""
    if request.method == "POST":
        return _receive(request)
    unmarked = Count("sessions", Q(sessions__marked_at=None))
    rows = Upload.objects.filter(owner=request.user).order_by("-created_at")
    rows = rows.annotate(session_count=Count("sessions"), unmarked=unmarked)
    rows = rows.annotate(looked=F("session_count") - F("unmarked"))[:UPLOADS]
    collecting = Study.objects.filter(collect_days__gt=0)
    under_way = any(row.status in Upload.READING for row in rows)
    context = {
        "form": forms.UploadForm(),
        "uploads": rows,
        "under_way": under_way,
        "nobody_works": under_way and not worker_alive(),
        "erasing": erase.pending(request.user),
        "piece": PIECE,
        "storing": _(ingest.STORING),
        "collections": collection.collections(request.user, collecting),
    }
    # While something is under way the page asks for its list alone.
    return whole_or_part(request, "histories/uploads.html", "list", context)


def _receive(request: UserRequest) -> HttpResponse:
    sent = request.FILES.getlist("file")
    if not sent:
        messages.error(request, _("Choose a file first."))
    for file in sent:
        with refusals.as_message(request):
            tasks.notify(ingest.whole(request.user, file).pk)
            messages.success(request, _("The file has arrived and is being read."))
    return redirect("history-uploads")


@require_POST
def upload(request: UserRequest, pk: UUID) -> HttpResponse:
    """Cancel a file that is under way, import it once more after an erasure, or erase it."""
    row = get_object_or_404(Upload, owner=request.user, pk=pk)
    action = request.POST.get("action")
    with refusals.as_message(request):
        if action == "cancel":
            ingest.cancel_upload(request.user, row.pk)
        elif action == "again":
            tasks.notify(ingest.retry_upload(request.user, row.pk).pk)
        elif action == "erase":
            count = row.sessions.count()
            if count and not request.POST.get("sure"):
                return render(request, "histories/sure_file.html", {"upload": row, "count": count})
            _note_erased(request, erase.upload(request.user, row))
    return redirect("history-uploads")


# --- One session ------------------------------------------------------------------------------


@require_safe
def session(request: UserRequest, pk: UUID) -> HttpResponse:
    """One session to read, with what is marked in it; or as others would see it."""
    chosen = get_object_or_404(Session, owner=request.user, pk=pk)
    others = request.GET.get("as") == "others"
    order = ("position",) if chosen.kind == Session.Kind.CHAT else ("at", "position")
    with_marks = Prefetch("marks", Mark.objects.select_related("alias").order_by("start"))
    rows = chosen.messages.order_by(*order).prefetch_related(with_marks)
    page = Paginator(rows, MESSAGES).get_page(request.GET.get("page"))
    of_title = list(chosen.marks.filter(message=None).select_related("alias"))
    at_start = page.number == 1 and page.object_list
    vars(chosen)["begins"] = page[0].text[: browse.BEGINNING] if at_start else ""
    context = {
        "session": chosen,
        "title": _displayed(Message(session=chosen, text=chosen.title), of_title, others),
        "page": page,
        "turns": [_displayed(message, message.marks.all(), others) for message in page],
        "others": others,
        "late": 0 if others else chosen.marks.filter(is_late=True).count(),
        "form": forms.StrikeForm(),
        # The list that the person came from, as it was filtered.
        **_way_back(QueryDict(request.GET.get("list", ""))),
    }
    return render(request, "histories/session.html", context)


@require_POST
def note_opened(request: UserRequest, pk: UUID) -> HttpResponse:
    """Note that the owner has the session before them: its page says so once it is in view."""
    browse.note_opened(get_object_or_404(Session, owner=request.user, pk=pk))
    return HttpResponse(status=204)


def _displayed(message: Message, rows: Iterable[Mark], others: bool) -> dict:
    """A message with its text in pieces (text, label), and its marks with what they hide.

    For others the label stands instead of the text, and no mark is listed.
    """
    pieces = redact.pieces(message.text, marks.passages(rows))
    if others:
        pieces = [(label or text, "") for text, label in pieces]
        rows = []
    listed = [{"mark": mark, "text": message.text[mark.start : mark.end]} for mark in rows]
    return {"message": message, "pieces": pieces, "marks": listed}


@require_POST
def mark(request: UserRequest, pk: UUID) -> HttpResponse:
    """Hide or show one marked passage, or its value everywhere."""
    chosen = get_object_or_404(Session, owner=request.user, pk=pk)
    form = forms.MarkForm(request.POST)
    if not form.is_valid():
        raise Http404
    data = form.cleaned_data
    row = get_object_or_404(Mark, session=chosen, pk=data["mark"])
    with refusals.as_message(request):
        marks.decide_mark(request.user, row, data["state"], data["everywhere"])
    return _to_session(request, chosen, f"m-{row.message.position}" if row.message else "")


@require_POST
def strike(request: UserRequest, pk: UUID) -> HttpResponse:
    """Hide a text that no rule found."""
    chosen = get_object_or_404(Session, owner=request.user, pk=pk)
    form = forms.StrikeForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        with refusals.as_message(request):
            count = marks.strike(request.user, chosen, data["text"], data["everywhere"])
            messages.success(request, _hidden(count))
    else:
        messages.error(request, " ".join(map(str, form.errors["text"])))
    return _to_session(request, chosen)


@require_POST
def accept_late(request: UserRequest) -> HttpResponse:
    """Keep hidden what later rules found, in one session or in all."""
    pk = _uuid(request.POST.get("session"))
    chosen = get_object_or_404(Session, owner=request.user, pk=pk) if pk else None
    with refusals.as_message(request):
        if count := marks.accept_late(request.user, chosen):
            messages.success(request, _decided(count, Mark.State.ACCEPTED))
    return _to_session(request, chosen) if chosen else redirect("history")


def _to_session(request: UserRequest, chosen: Session, place: str = "") -> HttpResponse:
    """To the page of a session where the person was, and the ``place`` on it."""
    position = [
        (name, value) for name in ("page", "list") if (value := request.POST.get(name, "")[:1_000])
    ]
    query = f"?{_encoded(position)}" if position else ""
    anchor = f"#{place}" if place else ""
    return redirect(reverse("history-session", args=[chosen.pk]) + query + anchor)


# --- What is hidden, and who may see the rest -------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def privacy(request: UserRequest) -> HttpResponse:
    """The owner's list of names, and the kinds of personal data that were found."""
    if request.method == "POST":
        form = forms.WordForm(request.POST)
        if form.is_valid():
            with refusals.as_message(request):
                count = marks.add_words(request.user, form.cleaned_data["word"])
                messages.success(request, _hidden(count))
        else:
            messages.error(request, " ".join(map(str, form.errors["word"])))
        return redirect("history-privacy")
    marked = Mark.objects.filter(session__owner=request.user)
    counts = marked.values("alias__kind").annotate(
        marks=Count("pk"),
        values=Count("alias", distinct=True),
        shown=Count("pk", Q(state=Mark.State.REJECTED)),
    )
    by_kind = {row["alias__kind"]: row for row in counts}
    context = {
        "form": forms.WordForm(),
        "words": request.user.names_words.order_by("word"),
        "figures": redact.measured_figures(),
        "kinds": [
            {"kind": kind, "name": name, **by_kind[kind]}
            for kind, name in redact.KINDS.items()
            if kind in by_kind
        ],
    }
    return render(request, "histories/privacy.html", context)


@require_POST
def word_remove(request: UserRequest, pk: int) -> HttpResponse:
    """Take a word off the list."""
    word = get_object_or_404(NamesWord, owner=request.user, pk=pk)
    with refusals.as_message(request):
        marks.remove_word(request.user, word)
    return redirect("history-privacy")


@require_POST
def kind(request: UserRequest) -> HttpResponse:
    """Hide or show everything of one kind."""
    form = forms.KindForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        with refusals.as_message(request):
            count = marks.decide_kind(request.user, data["kind"], data["state"])
            messages.success(request, _decided(count, data["state"]))
    else:
        messages.error(request, _("There is no such kind of personal data."))
    return redirect("history-privacy")


def _hidden(count: int) -> str:
    return ngettext("Hidden in %(n)d place.", "Hidden in %(n)d places.", count) % {"n": count}


def _decided(count: int, state: str) -> str:
    if state == Mark.State.ACCEPTED:
        words = ngettext("%(n)d passage is hidden.", "%(n)d passages are hidden.", count)
    else:
        words = ngettext(
            "%(n)d passage is shown to whoever may see its session.",
            "%(n)d passages are shown to whoever may see their sessions.",
            count,
        )
    return words % {"n": count}


@require_http_methods(["GET", "HEAD", "POST"])
def consents(request: UserRequest) -> HttpResponse:
    """For what the kept sessions may be used, study by study; and the way to take all back."""
    if request.method == "POST":
        form = forms.ConsentForm(request.POST)
        if not form.is_valid():
            raise Http404
        data = form.cleaned_data
        joined = Study.objects.filter(memberships__user=request.user, memberships__left_at=None)
        study = get_object_or_404(joined, pk=data["study"])
        act = consent.grant if data["allow"] else consent.withdraw
        with refusals.as_message(request):
            act(request.user, study, data["purpose"], data["endpoint"])
        return redirect("history-consent")
    context = {
        "choices": consent.choices(request.user),
        "retained": browse.sessions(request.user).count(),
        "form": forms.ForgetForm(),
        "backup_days": ceil(settings.BACKUP_HOURS * settings.BACKUP_KEEP / 24),
        "erasing": erase.pending(request.user),
    }
    return render(request, "histories/consent.html", context)


@require_POST
def forget(request: UserRequest) -> HttpResponse:
    """Erase one's whole history and withdraw every consent."""
    if not forms.ForgetForm(request.POST).is_valid():
        messages.error(request, _("Tick the box to say that you mean it."))
        return redirect("history-consent")
    words = _("Your history is erased, and every consent is withdrawn.")
    if erase.forget(request.user).done_at is None:
        words = _("Every consent is withdrawn. Your history is erased as soon as reading stops.")
    messages.success(request, words)
    return redirect("history-consent")
