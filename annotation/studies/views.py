from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.accounts import consent as consents
from annotation.accounts.adapter import INVITED
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.studies import members
from annotation.studies.access import may_create, study_for
from annotation.studies.models import RESERVED_SLUGS, Invitation, Membership, Role, Study

ADMINISTRATORS = (Role.ADMINISTRATOR,)


class StudyForm(forms.ModelForm):
    languages = forms.MultipleChoiceField(
        label=gettext_lazy("Languages"),
        choices=[("en", "English"), ("zh", "中文"), ("ko", "한국어")],
        initial=["en"],
        widget=forms.CheckboxSelectMultiple,
    )
    consent = forms.CharField(
        label=gettext_lazy("Consent text (Markdown)"),
        help_text=gettext_lazy("People agree to it before any work. A change asks them again."),
        widget=forms.Textarea(attrs={"rows": 8}),
        max_length=50_000,
    )

    class Meta:
        model = Study
        fields = ["title", "slug", "description", "languages"]
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}

    def clean_slug(self):
        slug = self.cleaned_data["slug"]
        if slug in RESERVED_SLUGS:
            raise forms.ValidationError(_("This address is taken by a page of the site."))
        return slug

    def fields_to_store(self) -> dict:
        data = dict(self.cleaned_data)
        body = data.pop("consent").replace("\r\n", "\n")
        return data | {
            "consent_text": consents.publish(data.get("slug") or self.instance.slug, body)
        }


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Role.choices)
    email = forms.EmailField(
        label=gettext_lazy("Only for this e-mail address"),
        required=False,
        help_text=gettext_lazy("Left empty, whoever opens the link first can use it, once."),
    )


@require_safe
def home(request):
    """Everybody's desk: the studies they are in, and what they can do there."""
    studies = Study.objects.visible_to(request.user).with_standing(request.user).order_by("title")
    context = {"studies": studies[:200], "may_create": may_create(request.user)}
    return render(request, "studies/home.html", context)


@require_http_methods(["GET", "POST"])
def new(request):
    if not may_create(request.user):
        raise PermissionDenied
    form = StudyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        study = members.create_study(form.fields_to_store(), request.user)
        return redirect("personas", study.slug)
    context = {"form": form}
    return render(request, "studies/new.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@transaction.atomic
def settings(request, slug):
    study = study_for(request.user, slug, ADMINISTRATORS)
    body = study.consent_text.body if study.consent_text else ""
    form = StudyForm(request.POST or None, instance=study, initial={"consent": body})
    del form.fields["slug"]
    if request.method == "POST" and form.is_valid():
        study.consent_text = form.fields_to_store()["consent_text"]
        # Not the whole row: its state may have been changed meanwhile.
        study.save(update_fields=["title", "description", "languages", "consent_text"])
        audit.record(request.user, "study.change", study)
        messages.success(request, _("The settings are saved."))
        return redirect("settings", slug)
    context = {"form": form, "study": study}
    return render(request, "studies/settings.html", context, status=400 if form.errors else 200)


@require_POST
@transaction.atomic
def status(request, slug):
    """Open, close or reopen the study: work is handed out only while it is open."""
    study = study_for(request.user, slug, ADMINISTRATORS)
    wanted = request.POST.get("status")
    if wanted in Study.Status.values:
        study.status = wanted
        study.save(update_fields=["status"])
        audit.record(request.user, "study.status", study, status=wanted)
    return redirect("settings", slug)


@require_http_methods(["GET", "POST"])
@transaction.atomic
def consent(request, slug):
    """Read and agree to the study's text, or withdraw the agreement."""
    study = study_for(request.user, slug)
    if request.method == "POST" and study.consent_text:
        return _decide(request, study)
    return render(request, "studies/consent.html", {"study": study})


def _decide(request, study):
    if request.POST.get("decision") == "withdraw":
        consents.withdraw(request.user, study.consent_text)
        audit.record(request.user, "consent.withdraw", study.consent_text)
        messages.success(
            request, _("Your consent is withdrawn. Nothing more is asked of you here.")
        )
        return redirect("home")
    if request.POST.get("text") != str(study.consent_text.pk) or not request.POST.get("agree"):
        context = {"study": study, "refused": True}
        return render(request, "studies/consent.html", context, status=400)
    consents.grant(request.user, study.consent_text)
    audit.record(request.user, "consent.grant", study.consent_text)
    return redirect("judge", study.slug) if study.role == Role.ANNOTATOR else redirect("home")


@require_http_methods(["GET", "POST"])
@transaction.atomic
def people(request, slug):
    """Members and invitations; a new invitation's link is shown this once."""
    study = study_for(request.user, slug, ADMINISTRATORS)
    form = InvitationForm(request.POST or None)
    link = ""
    if request.method == "POST" and form.is_valid():
        invitation, key = Invitation.issue(study, by=request.user, **form.cleaned_data)
        audit.record(request.user, "invitation.issue", invitation, role=invitation.role)
        link = request.build_absolute_uri(reverse("invitation", args=[key]))
        form = InvitationForm()
    context = {
        "study": study,
        "form": form,
        "link": link,
        "roles": Role.choices,
        "members": study.memberships.filter(left_at=None).select_related("user").order_by("pk"),
        "invitations": study.invitations.filter(
            accepted_at=None, revoked_at=None, expires_at__gt=timezone.now()
        ).order_by("-pk"),
    }
    return render(request, "studies/people.html", context, status=400 if form.errors else 200)


@require_POST
def member(request, slug, pk):
    """Change one member's role, or end the membership."""
    study = study_for(request.user, slug, ADMINISTRATORS)
    membership = get_object_or_404(Membership, study=study, pk=pk, left_at=None)
    role = request.POST.get("role", "")
    if role and role not in Role.values:
        messages.error(request, _("There is no such role."))
        return redirect("people", slug)
    try:
        members.change_role(membership, role, request.user)
    except DomainError as refusal:
        messages.error(request, refusal.sentence)
    return redirect("people", slug)


@require_POST
@transaction.atomic
def revoke(request, slug, pk):
    study = study_for(request.user, slug, ADMINISTRATORS)
    invitation = get_object_or_404(Invitation, study=study, pk=pk, accepted_at=None)
    invitation.revoked_at = timezone.now()
    invitation.save(update_fields=["revoked_at"])
    audit.record(request.user, "invitation.revoke", invitation)
    return redirect("people", slug)


@login_not_required
@require_http_methods(["GET", "POST"])
def invitation(request, key):
    """Show what an invitation is for; the logged-in person joins by POST."""
    try:
        found = members.standing(key)
        if request.method == "POST" and request.user.is_authenticated:
            members.accept(key, request.user)
            request.session.pop(INVITED, None)
            return redirect("consent", found.study.slug)
    except DomainError as refusal:
        context = {"title": _("Invitation"), "sentence": refusal.sentence}
        return render(request, "core/error.html", context, status=refusal.status)
    request.session[INVITED] = True
    return render(request, "studies/invitation.html", {"invitation": found})
