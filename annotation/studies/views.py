"""A study's own pages: settings, texts, consent, messages."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from allauth.core import ratelimit
from django.conf import settings as site
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.core.mail import send_mail
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.accounts import consent as consents
from annotation.accounts.models import ConsentText, User
from annotation.accounts.requests import UserRequest
from annotation.core import audit, refusals
from annotation.core.errors import Conflict, DomainError
from annotation.core.languages import endonym
from annotation.core.pages import Listing, done, show, words_in
from annotation.studies import crowd, forms, members, wording
from annotation.studies import messages as study_messages
from annotation.studies import survey as surveys
from annotation.studies.access import member_of, study_page
from annotation.studies.adapter import INVITED, admit
from annotation.studies.models import (
    CrowdEntry,
    CrowdSource,
    Invitation,
    JoinCode,
    Membership,
    Role,
    Study,
)

MEMBERS = Listing(
    "people",
    columns={
        "person": lambda member: str(member.user),
        "role": lambda member: member.role,
        "since": lambda member: member.joined_at.isoformat(),
    },
    rules={"q": words_in("user__name", "user__email", "role")},
)
MESSAGES_A_PAGE = 50
ENTRIES_A_PAGE = 100
# In the session: the join code that was typed, in the browser: the participant it belongs to.
JOINING = "joining"
BROWSER_SALT = "annotation.studies.views"
BROWSER_DAYS = 60


@study_page(policies.study.may_administer, "GET", "POST")
@transaction.atomic
def settings(request: UserRequest, study: Study) -> HttpResponse:
    form = forms.SettingsForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        before = study.consent_text
        text = consents.publish(study.slug, form.cleaned_data["consent"])
        with refusals.in_form(form):
            members.change_settings(study, form.changes() | {"consent_text": text}, request.user)
            messages.success(request, _("The settings are saved."))
            if text != before and text.translations:
                messages.warning(
                    request,
                    _("The consent text in other languages was kept as it is: check it."),
                )
            return redirect("settings", study.slug)
    context = {
        "form": form,
        "study": study,
        "languages": [(code, endonym(code)) for code in study.languages],
    }
    return show(request, "studies/settings.html", context)


@study_page(policies.study.may_administer, "GET", "POST")
def texts(request: UserRequest, study: Study, language: str) -> HttpResponse:
    if language not in study.languages:
        raise Http404
    tasks = wording.newest_tasks(study)
    shown = wording.stored(study, tasks, language)
    form = forms.TextsForm(request.POST or None, tasks=tasks, language=language, initial=shown)
    if request.method == "POST" and form.is_valid():
        wording.save_wording(study, language, form.cleaned_data, request.user)
        return done(request, _("The texts are saved."), "settings", study.slug)
    context = {"form": form, "study": study, "name": endonym(language)}
    return show(request, "studies/texts.html", context)


@study_page(policies.study.may_administer, "POST")
def status(request: UserRequest, study: Study) -> HttpResponse:
    wanted = request.POST.get("status", "")
    if wanted in Study.Status.values:
        members.change_status(study, wanted, request.user)
    return redirect("settings", study.slug)


@study_page(policies.study.may_open, "GET", "POST")
@transaction.atomic
def consent(
    request: UserRequest, study: Study, withdraw: Callable[[Study, User], object]
) -> HttpResponse:
    """Read and agree to the study's text, or withdraw the agreement.

    ``withdraw(study, user)`` of the app that holds the judgments takes them back as well.
    """
    text = study.consent_text
    if request.method == "POST" and text:
        if request.POST.get("decision") != "withdraw":
            return _agree(request, study, text)
        withdraw(study, request.user)
        return done(
            request, _("Your consent is withdrawn, and what you judged here is taken out."), "home"
        )
    asks = study.role == Role.ANNOTATOR and surveys.current(study) is not None
    changed = text is not None and consents.stood(request.user, text)
    context = {"study": study, "asks": asks, "changed": changed}
    return render(request, "studies/consent.html", context)


def _agree(request: UserRequest, study: Study, text: ConsentText) -> HttpResponse:
    if request.POST.get("text") != str(text.pk) or not request.POST.get("agree"):
        context = {"study": study, "refused": True}
        return render(request, "studies/consent.html", context, status=400)
    consents.grant(request.user, text)
    # Which of the version's languages was on the page.
    audit.record(request.user, "consent.grant", text, language=get_language())
    if not policies.judgment.may_give(member_of(request.user, study)):
        return redirect("home")
    return redirect("survey" if surveys.current(study) else "judge", study.slug)


@study_page(policies.judgment.may_give, "GET", "POST")
def survey(request: UserRequest, study: Study) -> HttpResponse:
    """Say something about oneself, skip that, or take it back."""
    asked = surveys.current(study)
    stored = asked and asked.answers.filter(user=request.user).first()
    decision = request.POST.get("decision", "")
    if request.method == "POST" and decision == "withdraw":
        surveys.take_back(study, request.user)
        return done(request, _("What you said about yourself is deleted."), "survey", study.slug)
    if not asked:
        return render(request, "studies/survey.html", {"study": study})
    form = forms.AnswersForm(asked, request.POST or None, stored=stored.answers if stored else {})
    if request.method == "POST" and form.is_valid():
        surveys.answer(asked, request.user, {} if decision == "skip" else form.answers())
        return redirect("judge", study.slug)
    context = {"study": study, "survey": asked, "form": form, "stored": stored}
    return show(request, "studies/survey.html", context)


@study_page(policies.study.may_administer, "GET", "POST")
def survey_questions(request: UserRequest, study: Study) -> HttpResponse:
    """Enter what people are asked about themselves; below it what a release would tell of them."""
    asked = surveys.current(study)
    form = forms.SurveyForm(request.POST or None, initial=surveys.as_form(asked))
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            questions = surveys.read_questions(form.cleaned_data["questions"])
            surveys.publish(study, questions, form.cleaned_data["consent"], by=request.user)
            return done(request, _("The survey is saved."), "survey-questions", study.slug)
    context = {"study": study, "form": form, "survey": asked, "least": surveys.LEAST}
    if asked:
        context |= surveys.summary(asked)
    return show(request, "studies/survey_questions.html", context)


@study_page(policies.message.may_read, "GET", "POST")
def messages_(request: UserRequest, study: Study) -> HttpResponse:
    """What the curators and the annotators of a study write to each other."""
    writes_to_all = policies.message.may_write_to_all(member_of(request.user, study))
    data = request.POST or None
    form = (
        forms.CuratorsMessageForm(data, study=study) if writes_to_all else forms.MessageForm(data)
    )
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            study_messages.send_message(study, request.user, **form.cleaned_data)
            return done(request, _("The message is sent."), "messages", study.slug)
    rows = study_messages.visible(request.user, study).select_related("sender", "recipient")
    page = Paginator(rows, MESSAGES_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "form": form,
        "manages": writes_to_all,
        "page": page,
        "headings": [
            (row, study_messages.heading(row, request.user, writes_to_all)) for row in page
        ],
        "newest": study_messages.unread(request.user, study).first(),
    }
    return show(request, "studies/messages.html", context)


@study_page(policies.message.may_read, "POST")
def messages_read(request: UserRequest, study: Study) -> HttpResponse:
    """Note that everything up to the message shown last has been read."""
    up_to = request.POST.get("up_to", "")
    # As many digits as an id can have.
    if up_to.isascii() and up_to.isdigit() and len(up_to) < 19:
        study_messages.mark_read(request.user, study, int(up_to))
    return redirect("messages", study.slug)


@study_page(policies.member.may_manage, "GET", "POST")
@transaction.atomic
def people(request: UserRequest, study: Study) -> HttpResponseBase:
    """Members and invitations; a new invitation's link is shown this once, or mailed."""
    form = forms.InvitationForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _people(request, study, invite=form)
    try:
        with transaction.atomic():
            link, mailed = _invite(request, study, **form.cleaned_data)
    except OSError:  # what a mail server that is away or refuses raises
        form.add_error("email", _("The mail could not be sent, so there is no invitation."))
        return _people(request, study, invite=form)
    if mailed:
        return done(
            request, _("The invitation is on its way to the address."), "people", study.slug
        )
    return _people(request, study, link=link)


def _invite(request: UserRequest, study: Study, **fields: Any) -> tuple[str, bool]:
    """Make an invitation; its link, and whether that was mailed to its address."""
    invitation, key = Invitation.issue(study, by=request.user, **fields)
    audit.record(request.user, "invitation.issue", invitation, role=invitation.role)
    path = reverse("invitation", args=[key])
    if not (invitation.email and site.EMAIL_URL):
        return request.build_absolute_uri(path), False
    # Never from the request: its Host is whatever the client says.
    _mail(invitation, site.BASE_URL + path)
    return "", True


def _mail(invitation: Invitation, link: str) -> None:
    """Send the link to its address, and show it to nobody: so it proves whose mail was read."""
    host = urlsplit(site.BASE_URL).netloc
    context = {"invitation": invitation, "link": link, "site": host}
    send_mail(
        site.ACCOUNT_EMAIL_SUBJECT_PREFIX + _("Invitation to a study"),
        render_to_string("studies/email/invitation.txt", context),
        None,
        [invitation.email],
    )
    invitation.mailed_at = timezone.now()
    invitation.save(update_fields=["mailed_at"])


def _people(
    request: UserRequest,
    study: Study,
    *,
    invite: BaseForm | None = None,
    code_form: BaseForm | None = None,
    **shown: Any,
) -> HttpResponseBase:
    invite, code_form = invite or forms.InvitationForm(), code_form or forms.CodeForm()
    context = {
        **shown,
        "form": invite,
        "code_form": code_form,
        "roles": Role.choices,
        "invitations": members.valid_invitations().filter(study=study).order_by("-pk"),
        "codes": study.codes.filter(revoked_at=None, expires_at__gt=timezone.now()).order_by("-pk"),
    }
    # Participants of a crowd have a page of their own.
    rows = study.memberships.filter(left_at=None, user__crowd_entry=None).select_related("user")
    return MEMBERS.answer(request, study, rows, "studies/people.html", context)


@study_page(policies.member.may_manage, "POST")
def member(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    membership = get_object_or_404(Membership, study=study, pk=pk, left_at=None)
    back = "crowd" if request.POST.get("back") == "crowd" else "people"
    role = request.POST.get("role", "")
    if role and role not in Role.values:
        messages.error(request, _("There is no such role."))
        return redirect(back, study.slug)
    with refusals.as_message(request):
        members.change_role(membership, role, request.user)
    return redirect(back, study.slug)


@study_page(policies.member.may_manage, "POST")
def revoke(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    members.revoke(study, pk, request.user)
    return redirect("people", study.slug)


@study_page(policies.member.may_manage, "POST")
@transaction.atomic
def code_make(request: UserRequest, study: Study) -> HttpResponseBase:
    """Make a join code; it is shown this once."""
    form = forms.CodeForm(request.POST)
    if not form.is_valid():
        return _people(request, study, code_form=form)
    code, signs = JoinCode.issue(study, by=request.user, **form.cleaned_data)
    audit.record(request.user, "code.issue", code, uses=code.uses)
    shown: dict[str, Any] = {
        "join_link": request.build_absolute_uri(reverse("join")),
        "code_link": request.build_absolute_uri(reverse("join-link", args=[signs])),
    }
    return _people(request, study, new_code=code, signs=signs, **shown)


@study_page(policies.member.may_manage, "POST")
@transaction.atomic
def code_revoke(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    code = get_object_or_404(JoinCode, study=study, pk=pk)
    code.revoked_at = timezone.now()
    code.save(update_fields=["revoked_at"])
    audit.record(request.user, "code.revoke", code)
    return redirect("people", study.slug)


@study_page(policies.member.may_manage, "GET", "POST")
@transaction.atomic
def crowd_(request: UserRequest, study: Study) -> HttpResponse:
    """Crowd sources with their links, and who came through them."""
    form = forms.SourceForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.instance.study, form.instance.created_by = study, request.user
        audit.record(request.user, "source.make", form.save())
        return redirect("crowd", study.slug)
    context = {
        "study": study,
        "form": form,
        "sources": [(source, _link(request, source)) for source in _counted(study)],
        "page": Paginator(_entries(study), ENTRIES_A_PAGE).get_page(request.GET.get("page")),
    }
    return show(request, "studies/crowd.html", context)


def _link(request: UserRequest, source: CrowdSource) -> str:
    """The address to paste into the platform, which fills in what stands in its braces."""
    path = reverse("crowd-enter", args=[crowd.token(source)])
    filled = "&".join(f"{name}={{{{%{name}%}}}}" for name in crowd.PARAMETERS)
    return f"{request.build_absolute_uri(path)}?{filled}"


def _counted(study: Study) -> QuerySet:
    return study.sources.annotate(
        came=Count("entries"),
        completed=Count("entries", filter=Q(entries__completed_at__isnull=False)),
        returned=Count("entries", filter=Q(entries__returned_at__isnull=False)),
    ).order_by("-pk")


def _entries(study: Study) -> QuerySet[CrowdEntry]:
    """Everybody who came, newest first, with their ``membership`` where it stands."""
    standing = Membership.objects.filter(study=study, user=OuterRef("user"), left_at=None)
    return (
        study.crowd_entries.select_related("source", "user")
        .annotate(membership=Subquery(standing.values("pk")[:1]))
        .order_by("-pk")
    )


@study_page(policies.member.may_manage, "POST")
@transaction.atomic
def crowd_close(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Take in no newcomers through a source any more."""
    source = get_object_or_404(study.sources, pk=pk)
    if source.closed_at is None:
        source.closed_at = timezone.now()
        source.save(update_fields=["closed_at"])
        audit.record(request.user, "source.close", source)
    return redirect("crowd", study.slug)


BROWSER_COOKIE = "__Host-crowd" if site.HTTPS else "attune-crowd"


def _refused(request: HttpRequest, title: str, refusal: DomainError) -> HttpResponse:
    context = {"title": title, "sentence": refusal.sentence}
    return render(request, "core/error.html", context, status=refusal.status)


@login_not_required
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, key: str) -> HttpResponse:
    """Show what an invitation is for; the logged-in person joins by POST."""
    try:
        invitation = members.valid_invitation(key=key)
        if request.method == "POST" and request.user.is_authenticated:
            members.accept(key, request.user)
            request.session.pop(INVITED, None)
            return redirect("consent", invitation.study.slug)
    except DomainError as refusal:
        return _refused(request, _("Invitation"), refusal)
    admit(request, invitation)
    context = {"study": invitation.study, "role": invitation.get_role_display()}
    return render(request, "studies/invitation.html", context)


@login_not_required
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, code: str = "") -> HttpResponse:
    """One field for a join code. A link only fills it in, so that guesses are counted here."""
    form = forms.JoinForm(request.POST or None, initial={"code": code})
    if request.method == "POST":
        # Before the look: parallel guesses would all pass a limit that counts afterwards.
        if not ratelimit.consume(request, action="join_code"):
            return ratelimit.respond_429(request)
        if form.is_valid():
            with refusals.in_form(form, "code"):
                code_row = members.valid_code(form.cleaned_data["code"])
                request.session[JOINING] = code_row.pk
                admit(request, code_row)
                return redirect("join-study")
    context = {"form": form, "code": code}
    return show(request, "studies/join.html", context)


@login_not_required
@require_http_methods(["GET", "POST"])
def join_study(request: HttpRequest) -> HttpResponse:
    """What the code in the session is for; the logged-in person joins by POST."""
    if JOINING not in request.session:
        return redirect("join")
    try:
        code = members.valid_code(pk=request.session[JOINING])
        if request.method == "POST" and request.user.is_authenticated:
            members.join_by_code(code, request.user)
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


@study_page(policies.member.may_return, "GET", "POST")
@transaction.atomic
def give_back(
    request: UserRequest, study: Study, release: Callable[[Study, User], None] | None = None
) -> HttpResponse:
    """A crowd participant returns their submission: confirm, then log out.

    ``release(study, user)`` of the app that hands out work takes back what the person holds.
    """
    entry = crowd.entry_of(request.user, study)
    if entry is None:
        raise Http404
    if request.method != "POST":
        return render(request, "studies/return.html", {"study": study, "entry": entry})
    if release:
        release(study, request.user)
    crowd.give_back(entry)
    logout(request)
    return done(
        request,
        _("You have left the study. Return your submission on the platform as well."),
        "returned",
    )


@login_not_required
@require_safe
def returned(request: HttpRequest) -> HttpResponse:
    return render(request, "studies/returned.html")
