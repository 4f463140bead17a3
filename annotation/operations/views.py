"""The operator's pages, for the site's administrators alone, and what Prometheus fetches."""

import functools
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.core.mail import send_mail
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import audit, downloads, refusals, uploads
from annotation.core.errors import Conflict, DomainError
from annotation.core.models import AuditEvent
from annotation.operations import examine, metrics, people

PAGE = 50
FIELDS = ("id", "at", "actor", "action", "target", "target_id", "details")


class SearchForm(forms.Form):
    q = forms.CharField(
        label=gettext_lazy("Address, name or worker"), required=False, max_length=100
    )


class AuditForm(forms.Form):
    """What the trail is narrowed down to."""

    action = forms.CharField(label=gettext_lazy("Act"), required=False, max_length=60)
    actor = forms.IntegerField(
        label=gettext_lazy("By account number"), required=False, min_value=1, max_value=2**62
    )
    target = forms.CharField(label=gettext_lazy("Thing"), required=False, max_length=60)
    target_id = forms.CharField(label=gettext_lazy("Its number"), required=False, max_length=60)

    def filters(self) -> dict:
        """The fields that were filled in, as they narrow rows down."""
        return {name: value for name, value in self.cleaned_data.items() if value}


def for_operators(view: Callable) -> Callable:
    """Only the site's administrators pass; PermissionDenied for others who are logged in."""

    @functools.wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.installation.may_operate(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


@require_safe
def held_of_you(request: UserRequest) -> HttpResponse:
    """What the tables hold of a person, how long it stays, and the way to a copy of all of it."""
    days = math.ceil(settings.BACKUP_HOURS * settings.BACKUP_KEEP / 24)
    context = {"rows": people.counts(request.user), "backup_days": days}
    return render(request, "operations/held.html", context)


@require_POST
@reauthentication_required
def export(request: UserRequest) -> FileResponse:
    """Everything of a person as a zip, after the password once more."""
    audit.record(request.user, "account.export", request.user)
    with uploads.scratch_folder() as folder:
        # Open, it can be read to its end although the folder is deleted.
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the answer closes it
    people.write_archive(request.user, file)
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename="attune-of-you.zip")


@require_safe
@for_operators
def overview(request: HttpRequest) -> HttpResponse:
    """The state of every part, jobs by state, and what is stuck."""
    context = {
        "checks": examine.examine(),
        "totals": examine.totals(),
        "stuck": examine.stuck(),
        "spend": metrics.spend(),
    }
    return render(request, "operations/overview.html", context)


@require_POST
@for_operators
def job(request: UserRequest, kind: str, pk: str) -> HttpResponse:
    """Ask once more for a stuck job, or close it."""
    act = examine.park if request.POST.get("act") == "park" else examine.retry
    try:
        act(kind, pk, request.user)
        messages.success(request, _("Done."))
    except Conflict as refusal:
        messages.error(request, refusal.sentence)
    return redirect("operations")


@require_POST
@for_operators
def mail_test(request: UserRequest) -> HttpResponse:
    """Send a mail to the operator's own address."""
    if not request.user.email:
        messages.error(request, _("This account has no address to log in with."))
        return redirect("operations")
    try:
        send_mail("Attune", _("This is the test of the mail server."), None, [request.user.email])
    except OSError as error:
        words = _("The mail was not sent: %(reason)s.")
        messages.error(request, words % {"reason": error.strerror or type(error).__name__})
    else:
        messages.success(request, _("A mail is on its way to you."))
    return redirect("operations")


@require_safe
@for_operators
def accounts(request: HttpRequest) -> HttpResponse:
    form = SearchForm(request.GET)
    words = form.cleaned_data["q"] if form.is_valid() else ""
    page = Paginator(people.search(words), PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page}
    return render(request, "operations/accounts.html", context)


ACTS = {
    "close": people.deactivate,
    "open": people.activate,
    "erase": people.erase_account,
    "tokens": people.drop_tokens,
    "factors": people.drop_factors,
}
# What is asked before those acts that end something: title, sentence, button.
QUESTIONS = {
    "close": (
        gettext_lazy("Close the account of %(person)s?"),
        gettext_lazy(
            "Its sessions and API tokens end. What the person judged stays, and the account can be "
            "opened again; its tokens cannot."
        ),
        gettext_lazy("Close"),
    ),
    "erase": (
        gettext_lazy("Erase the account of %(person)s?"),
        gettext_lazy(
            "Name, addresses, second factors, tokens and history are erased, and nobody can log in "
            "to it. What the person judged stays, with a number alone. This cannot be undone."
        ),
        gettext_lazy("Erase"),
    ),
    "tokens": (
        gettext_lazy("Revoke all API tokens of %(person)s?"),
        gettext_lazy("Programs that use them are refused from now on. This cannot be undone."),
        gettext_lazy("Revoke tokens"),
    ),
    "factors": (
        gettext_lazy("Remove all second factors of %(person)s?"),
        gettext_lazy(
            "Passkeys, codes from an app and recovery codes are removed and sessions end: the "
            "password alone opens the account until the person sets up others."
        ),
        gettext_lazy("Remove second factors"),
    ),
}


@require_POST
@for_operators
def account(request: UserRequest, pk: int) -> HttpResponse:
    """One act on one account; what ends something asks first. A password link is shown once."""
    user = get_object_or_404(User, pk=pk)
    act = request.POST.get("act", "")
    with refusals.as_message(request):
        if act == "reset":
            context = {"person": user, "link": people.reset_link(user, request.user)}
            return render(request, "operations/reset.html", context)
        if act not in ACTS:
            raise DomainError(_("There is no such act."))
        if act in QUESTIONS and not request.POST.get("sure"):
            return render(request, "core/sure.html", _question(user, act))
        ACTS[act](user, request.user)
        messages.success(request, _("Done."))
    return redirect("operations-accounts")


def _question(user: User, act: str) -> dict:
    title, sentence, button = QUESTIONS[act]
    return {
        "title": title % {"person": user},
        "sentence": sentence,
        "button": button,
        "fields": {"act": act},
        "back": reverse("operations-accounts"),
    }


@require_safe
@for_operators
def trail(request: HttpRequest) -> HttpResponseBase:
    """The audit trail, newest first; ``format=csv`` or ``jsonl`` streams all that fits."""
    form = AuditForm(request.GET)
    filters = form.filters() if form.is_valid() else {}
    rows = AuditEvent.objects.filter(**filters).order_by("-pk")
    if (format := request.GET.get("format")) in WRITERS:
        kind, write = WRITERS[format]
        values = rows.values(*FIELDS).iterator(2_000)
        lines = write(row | {"at": row["at"].isoformat()} for row in values)
        response = StreamingHttpResponse(lines, content_type=f"{kind}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="audit.{format}"'
        return response
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    # As pairs: in a template `details.items` is a detail of that name where there is one.
    events = [(event, list(event.details.items())) for event in page]
    context = {"form": form, "page": page, "events": events}
    return render(request, "operations/trail.html", context, status=200 if form.is_valid() else 400)


def _csv(rows: Iterator[dict]) -> Iterator[str]:
    texts = (row | {"details": json.dumps(row["details"])} for row in rows)
    return downloads.csv_lines(chain([FIELDS], (map(str, row.values()) for row in texts)))


def _jsonl(rows: Iterator[dict]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# By the `format` of an address: the type of the file, and what writes its lines.
WRITERS = {"csv": ("text/csv", _csv), "jsonl": ("application/x-ndjson", _jsonl)}


@require_safe
@login_not_required
def scrape(request: HttpRequest) -> HttpResponse:
    """Metrics, for whoever holds ATTUNE_METRICS_KEY; 404 where none is set or it is wrong."""
    if not (settings.METRICS_KEY and metrics.allowed(request)):
        raise Http404
    return HttpResponse(metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")
