"""The administrators' pages: members, invitations, join codes, crowd sources."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as site
from django.contrib import messages
from django.core.mail import send_mail
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import audit, refusals
from annotation.studies import crowd, members
from annotation.studies.access import study_for
from annotation.studies.forms import CodeForm, InvitationForm, SourceForm
from annotation.studies.models import (
    CrowdEntry,
    CrowdSource,
    Invitation,
    JoinCode,
    Membership,
    Role,
    Study,
)

ENTRIES_A_PAGE = 100


@require_http_methods(["GET", "POST"])
@transaction.atomic
def people(request: UserRequest, slug: str) -> HttpResponse:
    """Members and invitations; a new invitation's link is shown this once, or mailed."""
    study = study_for(request.user, slug, policies.member.may_manage)
    form = InvitationForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _people(request, study, invite=form)
    try:
        with transaction.atomic():
            link, mailed = _invite(request, study, **form.cleaned_data)
    except OSError:  # what a mail server that is away or refuses raises
        form.add_error("email", _("The mail could not be sent, so there is no invitation."))
        return _people(request, study, invite=form)
    if mailed:
        messages.success(request, _("The invitation is on its way to the address."))
        return redirect("people", slug)
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
) -> HttpResponse:
    invite, code_form = invite or InvitationForm(), code_form or CodeForm()
    context = {
        **shown,
        "study": study,
        "form": invite,
        "code_form": code_form,
        "roles": Role.choices,
        # Participants of a crowd have a page of their own.
        "members": study.memberships.filter(left_at=None, user__crowd_entry=None)
        .select_related("user")
        .order_by("pk"),
        "invitations": members.standing_invitations().filter(study=study).order_by("-pk"),
        "codes": study.codes.filter(revoked_at=None, expires_at__gt=timezone.now()).order_by("-pk"),
    }
    status = 400 if invite.errors or code_form.errors else 200
    return render(request, "studies/people.html", context, status=status)


@require_POST
def member(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    """Change one member's role, or end the membership."""
    study = study_for(request.user, slug, policies.member.may_manage)
    membership = get_object_or_404(Membership, study=study, pk=pk, left_at=None)
    back = "crowd" if request.POST.get("back") == "crowd" else "people"
    role = request.POST.get("role", "")
    if role and role not in Role.values:
        messages.error(request, _("There is no such role."))
        return redirect(back, slug)
    with refusals.as_message(request):
        members.change_role(membership, role, request.user)
    return redirect(back, slug)


@require_POST
def revoke(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    members.revoke(study_for(request.user, slug, policies.member.may_manage), pk, request.user)
    return redirect("people", slug)


@require_POST
@transaction.atomic
def code_make(request: UserRequest, slug: str) -> HttpResponse:
    """Make a join code; it is shown this once."""
    study = study_for(request.user, slug, policies.member.may_manage)
    form = CodeForm(request.POST)
    if not form.is_valid():
        return _people(request, study, code_form=form)
    code, signs = JoinCode.issue(study, by=request.user, **form.cleaned_data)
    audit.record(request.user, "code.issue", code, uses=code.uses)
    shown: dict[str, Any] = {
        "join_link": request.build_absolute_uri(reverse("join")),
        "code_link": request.build_absolute_uri(reverse("join-link", args=[signs])),
    }
    return _people(request, study, new_code=code, signs=signs, **shown)


@require_POST
@transaction.atomic
def code_revoke(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    study = study_for(request.user, slug, policies.member.may_manage)
    code = get_object_or_404(JoinCode, study=study, pk=pk)
    code.revoked_at = timezone.now()
    code.save(update_fields=["revoked_at"])
    audit.record(request.user, "code.revoke", code)
    return redirect("people", slug)


@require_http_methods(["GET", "POST"])
@transaction.atomic
def crowd_(request: UserRequest, slug: str) -> HttpResponse:
    """Crowd sources with their links, and who came through them."""
    study = study_for(request.user, slug, policies.member.may_manage)
    form = SourceForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.instance.study, form.instance.created_by = study, request.user
        audit.record(request.user, "source.make", form.save())
        return redirect("crowd", slug)
    context = {
        "study": study,
        "form": form,
        "sources": [(source, _link(request, source)) for source in _counted(study)],
        "page": Paginator(_entries(study), ENTRIES_A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "studies/crowd.html", context, status=400 if form.errors else 200)


def _link(request: UserRequest, source: CrowdSource) -> str:
    """The address to paste into the platform, which fills in what stands in its braces."""
    path = reverse("crowd-enter", args=[crowd.token(source)])
    filled = "&".join(f"{name}={{{{%{name}%}}}}" for name in crowd.PARAMETERS)
    return f"{request.build_absolute_uri(path)}?{filled}"


def _counted(study: Study) -> QuerySet:
    """The study's sources with the numbers of their people."""
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


@require_POST
@transaction.atomic
def crowd_close(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    """Take in no newcomers through a source any more."""
    study = study_for(request.user, slug, policies.member.may_manage)
    source = get_object_or_404(study.sources, pk=pk)
    if source.closed_at is None:
        source.closed_at = timezone.now()
        source.save(update_fields=["closed_at"])
        audit.record(request.user, "source.close", source)
    return redirect("crowd", slug)
