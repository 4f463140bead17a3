"""A study's own pages: settings, texts, consent, messages."""

from collections.abc import Callable

from django.contrib import messages as notes
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts import consent as consents
from annotation.accounts.models import ConsentText, User
from annotation.accounts.requests import UserRequest
from annotation.core import audit, refusals
from annotation.core.languages import endonym
from annotation.studies import members, messages, wording
from annotation.studies.access import member_of, study_for
from annotation.studies.forms import (
    CuratorsMessageForm,
    MessageForm,
    SettingsForm,
    TextsForm,
)
from annotation.studies.models import Study

MESSAGES_A_PAGE = 50


@require_http_methods(["GET", "POST"])
@transaction.atomic
def settings(request: UserRequest, slug: str) -> HttpResponse:
    study = study_for(request.user, slug, policies.study.may_administer)
    text = study.consent_text
    form = SettingsForm(
        request.POST or None, instance=study, initial={"consent": text.body if text else ""}
    )
    if request.method == "POST" and form.is_valid():
        study.consent_text = form.consent_text()
        # Not the whole row: its state may have been changed meanwhile.
        study.save(update_fields=[*SettingsForm.Meta.fields, "consent_text"])
        audit.record(request.user, "study.change", study)
        notes.success(request, _("The settings are saved."))
        if study.consent_text != text and study.consent_text.translations:
            notes.warning(
                request, _("The consent text in other languages was kept as it is: check it.")
            )
        return redirect("settings", slug)
    context = {
        "form": form,
        "study": study,
        "languages": [(code, endonym(code)) for code in study.languages],
    }
    return render(request, "studies/settings.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def texts(request: UserRequest, slug: str, language: str) -> HttpResponse:
    """Enter the study's texts in one of its languages."""
    study = study_for(request.user, slug, policies.study.may_administer)
    if language not in study.languages:
        raise Http404
    tasks = wording.newest_tasks(study)
    shown = wording.stored(study, tasks, language)
    form = TextsForm(request.POST or None, tasks=tasks, language=language, initial=shown)
    if request.method == "POST" and form.is_valid():
        wording.save(study, language, form.cleaned_data, request.user)
        notes.success(request, _("The texts are saved."))
        return redirect("settings", slug)
    context = {"form": form, "study": study, "name": endonym(language)}
    return render(request, "studies/texts.html", context, status=400 if form.errors else 200)


@require_POST
def status(request: UserRequest, slug: str) -> HttpResponse:
    """Open, close or reopen the study."""
    study = study_for(request.user, slug, policies.study.may_administer)
    wanted = request.POST.get("status", "")
    if wanted in Study.Status.values:
        members.change_status(study, wanted, request.user)
    return redirect("settings", slug)


@require_http_methods(["GET", "POST"])
@transaction.atomic
def consent(
    request: UserRequest, slug: str, withdraw: Callable[[Study, User], object]
) -> HttpResponse:
    """Read and agree to the study's text, or withdraw the agreement.

    ``withdraw(study, user)`` of the app that holds the judgments takes them back as well.
    """
    study = study_for(request.user, slug, policies.study.may_open)
    text = study.consent_text
    if request.method == "POST" and text:
        if request.POST.get("decision") != "withdraw":
            return _agree(request, study, text)
        withdraw(study, request.user)
        notes.success(
            request, _("Your consent is withdrawn, and what you judged here is taken out.")
        )
        return redirect("home")
    return render(request, "studies/consent.html", {"study": study})


def _agree(request: UserRequest, study: Study, text: ConsentText) -> HttpResponse:
    if request.POST.get("text") != str(text.pk) or not request.POST.get("agree"):
        context = {"study": study, "refused": True}
        return render(request, "studies/consent.html", context, status=400)
    consents.grant(request.user, text)
    # Which of the version's languages was on the page.
    audit.record(request.user, "consent.grant", text, language=get_language())
    judges = policies.judgment.may_give(member_of(request.user, study))
    return redirect("judge", study.slug) if judges else redirect("home")


@require_http_methods(["GET", "POST"])
def messages_(request: UserRequest, slug: str) -> HttpResponse:
    """What the curators and the annotators of a study write to each other."""
    study = study_for(request.user, slug, policies.message.may_read)
    writes_to_all = policies.message.may_write_to_all(member_of(request.user, study))
    data = request.POST or None
    form = CuratorsMessageForm(data, study=study) if writes_to_all else MessageForm(data)
    if request.method == "POST" and form.is_valid():
        with refusals.in_form(form):
            messages.write(study, request.user, **form.cleaned_data)
            notes.success(request, _("The message is sent."))
            return redirect("messages", slug)
    rows = messages.visible(request.user, study).select_related("sender", "recipient")
    page = Paginator(rows, MESSAGES_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "form": form,
        "manages": writes_to_all,
        "page": page,
        "headings": [(row, messages.heading(row, request.user, writes_to_all)) for row in page],
        "newest": messages.unread(request.user, study).first(),
    }
    return render(request, "studies/messages.html", context, status=400 if form.errors else 200)


@require_POST
def messages_read(request: UserRequest, slug: str) -> HttpResponse:
    """Note that everything up to the message shown last has been read."""
    study = study_for(request.user, slug, policies.message.may_read)
    up_to = request.POST.get("up_to", "")
    # As many digits as an id can have.
    if up_to.isascii() and up_to.isdigit() and len(up_to) < 19:
        messages.mark_read(request.user, study, int(up_to))
    return redirect("messages", slug)
