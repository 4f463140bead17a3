"""The ways into a study: invitation, join code, crowd link; and a crowd participant's way out."""

from collections.abc import Callable

from allauth.core import ratelimit
from django.conf import settings as site
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import refusals
from annotation.core.errors import Conflict, DomainError
from annotation.studies import codes, crowd, members
from annotation.studies.access import study_for
from annotation.studies.adapter import INVITED, admit
from annotation.studies.forms import JoinForm
from annotation.studies.models import CrowdSource, Role, Study

# In the session: the join code that was typed, in the browser: the participant it belongs to.
JOINING = "joining"
BROWSER_COOKIE = "__Host-crowd" if site.HTTPS else "attune-crowd"
BROWSER_SALT = "annotation.studies.arrive"
BROWSER_DAYS = 60


def _refused(request: HttpRequest, title: str, refusal: DomainError) -> HttpResponse:
    context = {"title": title, "sentence": refusal.sentence}
    return render(request, "core/error.html", context, status=refusal.status)


@login_not_required
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, key: str) -> HttpResponse:
    """Show what an invitation is for; the logged-in person joins by POST."""
    try:
        standing = members.standing(key)
        if request.method == "POST" and request.user.is_authenticated:
            members.accept(key, request.user)
            request.session.pop(INVITED, None)
            return redirect("consent", standing.study.slug)
    except DomainError as refusal:
        return _refused(request, _("Invitation"), refusal)
    admit(request, standing)
    context = {"study": standing.study, "role": standing.get_role_display()}
    return render(request, "studies/invitation.html", context)


@login_not_required
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, code: str = "") -> HttpResponse:
    """One field for a join code. A link only fills it in, so that guesses are counted here."""
    form = JoinForm(request.POST or None, initial={"code": code})
    if request.method == "POST":
        # Before the look: parallel guesses would all pass a limit that counts afterwards.
        if not ratelimit.consume(request, action="join_code"):
            return ratelimit.respond_429(request)
        if form.is_valid():
            with refusals.in_form(form, "code"):
                code_row = codes.find(form.cleaned_data["code"])
                request.session[JOINING] = code_row.pk
                admit(request, code_row)
                return redirect("join-study")
    context = {"form": form, "code": code}
    return render(request, "studies/join.html", context, status=400 if form.errors else 200)


@login_not_required
@require_http_methods(["GET", "POST"])
def join_study(request: HttpRequest) -> HttpResponse:
    """What the code in the session is for; the logged-in person joins by POST."""
    if JOINING not in request.session:
        return redirect("join")
    try:
        code = codes.standing(request.session[JOINING])
        if request.method == "POST" and request.user.is_authenticated:
            codes.join(code, request.user)
            for name in (JOINING, INVITED):
                request.session.pop(name, None)
            return redirect("consent", code.study.slug)
    except DomainError as refusal:
        del request.session[JOINING]
        return _refused(request, _("Join a study"), refusal)
    context = {"study": code.study, "role": Role.ANNOTATOR.label}
    return render(request, "studies/invitation.html", context)


@login_not_required
@require_http_methods(["GET", "POST"])
def crowd_enter(request: HttpRequest, token: str) -> HttpResponse:
    """Arrival of a crowd platform's participant: ask once; POST admits them."""
    try:
        source = crowd.source_of(token)
        arrival = crowd.read_arrival(request.GET)
        if request.method == "POST":
            if not ratelimit.consume(request, action="crowd_enter"):
                return ratelimit.respond_429(request)
            return _let_in(request, source, arrival)
    except DomainError as refusal:
        return _refused(request, _("This study cannot be opened"), refusal)
    context = {"study": source.study, "source": source, "participant": arrival.participant}
    return render(request, "studies/crowd_enter.html", context)


def _let_in(request: HttpRequest, source: CrowdSource, arrival: crowd.Arrival) -> HttpResponse:
    before = getattr(request.user, "crowd_entry", None)
    # Logged in here with an account of their own: it must not be swapped under their hands.
    if request.user.is_authenticated and before is None:
        raise Conflict(
            _("You are logged in as %(user)s. Log out first, then open the link again.")
            % {"user": request.user}
        )
    entry = crowd.enter(source, arrival, before.pk if before else _remembered(request))
    login(request, entry.user, site.AUTHENTICATION_BACKENDS[0])
    response = redirect("judge", source.study.slug)
    response.set_signed_cookie(
        BROWSER_COOKIE,
        str(entry.pk),
        BROWSER_SALT,
        max_age=BROWSER_DAYS * 86_400,
        secure=site.HTTPS,
        httponly=True,
        samesite="Lax",
    )
    return response


def _remembered(request: HttpRequest) -> int | None:
    """The entry that was made in this browser; None where there was none."""
    days = BROWSER_DAYS * 86_400
    value = request.get_signed_cookie(BROWSER_COOKIE, None, BROWSER_SALT, max_age=days)
    return int(value) if value else None


@require_http_methods(["GET", "POST"])
@transaction.atomic
def give_back(
    request: UserRequest, slug: str, release: Callable[[Study, User], None] | None = None
) -> HttpResponse:
    """A crowd participant returns their submission: confirm, then log out.

    ``release(study, user)`` of the app that hands out work takes back what the person holds.
    """
    study = study_for(request.user, slug, policies.member.may_return)
    entry = crowd.entry_of(request.user, study)
    if entry is None:
        raise Http404
    if request.method == "GET":
        return render(request, "studies/return.html", {"study": study, "entry": entry})
    if release:
        release(study, request.user)
    crowd.give_back(entry)
    logout(request)
    messages.success(
        request, _("You have left the study. Return your submission on the platform as well.")
    )
    return redirect("returned")


@login_not_required
@require_safe
def returned(request: HttpRequest) -> HttpResponse:
    """The page after leaving."""
    return render(request, "studies/returned.html")
