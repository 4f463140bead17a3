"""Log-in through the organisation's OpenID Connect server: allauth's two views, with its faults."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import requests
from allauth.account import adapter as accounts
from allauth.account import views as allauth
from allauth.account.decorators import reauthentication_required
from allauth.mfa.adapter import get_adapter
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY
from allauth.socialaccount.providers.openid_connect import views as openid
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, gettext, gettext_lazy, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.i18n import set_language

from annotation.accounts import sessions
from annotation.accounts.forms import NewToken
from annotation.accounts.models import ApiToken, User
from annotation.accounts.requests import UserRequest
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.pages import show
from annotation.core.schema import form_of


class Addresses(allauth.EmailView):
    """One's addresses. What is another account's log-in name never becomes the main address."""

    def _action_primary(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        email = request.POST["email"]
        user = cast("User", request.user)  # the view asks for a log-in
        if User.objects.filter(email__iexact=email).exclude(pk=user.pk).exists():
            sentence = "account/messages/unverified_primary_email.txt"
            accounts.get_adapter(request).add_message(request, messages.ERROR, sentence)
            return None
        return super()._action_primary(request, *args, **kwargs)


addresses = Addresses.as_view()


class TokenForm(form_of(NewToken)):  # type: ignore[misc] # made of the schema
    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("days", "scopes"):
            self.fields[name].required = True
        self.fields["days"].initial = 90
        self.fields["scopes"].choices = offered = ApiToken.scopes_of(user)
        # What is most private is added by whoever wants it.
        self.fields["scopes"].initial = [name for name, _words in offered if name != "history"]
        self.fields["study"] = forms.ModelChoiceField(
            label=self.fields["study"].label,
            queryset=ApiToken.studies_of(user).order_by("title"),
            to_field_name="slug",
            required=False,
            empty_label=_("all of mine"),
        )


@require_http_methods(["GET", "POST"])
def sessions_page(request: UserRequest) -> HttpResponse:
    """Where one is logged in; POST ends the ``session`` of that number, or all but this one."""
    rows = sessions.active(request.user)
    if request.method == "POST":
        wanted = request.POST.get("session", "")
        others = [row for row in rows if not row.is_current()]
        count = sessions.end(request.user, [r for r in others if wanted in ("", str(r.pk))])
        sentence = ngettext("One session is ended.", "%(n)d sessions are ended.", count)
        messages.success(request, sentence % {"n": count})
        return redirect("sessions")
    shown = [(row, sessions.describe(row.user_agent)) for row in rows]
    return render(request, "accounts/sessions.html", {"sessions": shown})


@require_http_methods(["GET", "POST"])
@reauthentication_required(allow_get=True)
@transaction.atomic
def tokens(request: UserRequest) -> HttpResponse:
    """One's own API tokens; a new one's key is shown this once."""
    form = TokenForm(request.user, request.POST or None)
    key = ""
    if request.method == "POST" and form.is_valid():
        token, key = ApiToken.issue(request.user, **form.cleaned_data)
        audit.record(request.user, "token.issue", token, scopes=token.scopes)
        form = TokenForm(request.user)
    old = timezone.now() - timedelta(days=30)
    shown = request.user.tokens.filter(Q(revoked_at=None) | Q(revoked_at__gt=old)).order_by("-pk")
    shown = shown.select_related("study")
    active = sum(token.revoked_at is None for token in shown)
    context = {"form": form, "key": key, "tokens": shown, "active": active}
    return show(request, "accounts/tokens.html", context)


@require_POST
@transaction.atomic
def revoke(request: UserRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, user=request.user, pk=pk)
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        audit.record(request.user, "token.revoke", token)
    return redirect("tokens")


@require_POST
def revoke_all(request: UserRequest) -> HttpResponse:
    count = sessions.revoke_tokens(request.user)
    sentence = ngettext("One token is revoked.", "%(n)d tokens are revoked.", count)
    messages.success(request, sentence % {"n": count})
    return redirect("tokens")


class ReadingForm(forms.Form):
    """The languages that a person reads: studies may hand out items by them."""

    # Commonly studied first the languages of these pages; each in its own name.
    LANGUAGES = (
        *(("en", "English"), ("zh", "中文"), ("ko", "한국어"), ("ja", "日本語"), ("es", "Español")),
        *(("fr", "Français"), ("de", "Deutsch"), ("pt", "Português"), ("it", "Italiano")),
        *(("ru", "Русский"), ("ar", "العربية"), ("hi", "हिन्दी"), ("vi", "Tiếng Việt")),
        *(("id", "Bahasa Indonesia"), ("tr", "Türkçe"), ("th", "ไทย")),
    )
    reads = forms.MultipleChoiceField(
        label=gettext_lazy("Languages you read well enough to judge answers in them"),
        choices=LANGUAGES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Tick none, and you get items in every language."),
    )


@require_http_methods(["GET", "POST"])
def reading(request: UserRequest) -> HttpResponse:
    """Ask which languages a person reads, with that of the page ticked at first.

    ``next`` leads back to where the question came up.
    """
    reads = request.user.reads
    if reads is None:
        reads = [str(get_language()).split("-")[0]]
    form = ReadingForm(request.POST or None, initial={"reads": reads})
    ahead = request.POST.get("next") or request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(ahead, allowed_hosts={request.get_host()}):
        ahead = ""
    if request.method == "POST" and form.is_valid():
        User.objects.filter(pk=request.user.pk).update(reads=form.cleaned_data["reads"])
        if not ahead:  # there it would take the room of what is judged
            messages.success(request, gettext("Your languages are saved."))
        return redirect(ahead or "reading")
    context = {"form": form, "next": ahead}
    return show(request, "accounts/reading.html", context)


@login_not_required
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Choose the language of the pages: for this browser, and for the person logged in."""
    chosen = request.POST.get("language")
    if request.user.is_authenticated and chosen in dict(settings.LANGUAGES):
        User.objects.filter(pk=request.user.pk).update(language=chosen)
    return set_language(request)


@require_safe
def totp_picture(request: UserRequest) -> HttpResponse:
    """The picture that an authenticator app reads, of the secret that is being set up."""
    secret = request.session.get(SECRET_SESSION_KEY)
    if not secret:
        raise Http404
    adapter = get_adapter()
    picture = adapter.build_totp_svg(adapter.build_totp_url(request.user, secret))
    return HttpResponse(picture, content_type="image/svg+xml")


log = logging.getLogger(__name__)
# What comes of a server that is away, or answers something else than it should.
FAULTS = (requests.RequestException, KeyError, TypeError, ValueError, AttributeError)


def _guarded(view: Callable[..., HttpResponse], request: HttpRequest, name: str) -> HttpResponse:
    try:
        return view(request, name)
    except FAULTS as error:
        log.warning("log-in server: %s", type(error).__name__)
        sentence = _("The log-in server does not answer as it should. Try again later.")
        raise DomainError(sentence, code="log_in_server", status=503) from error


@login_not_required
def log_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Ask whether to go on (GET), then lead to the log-in server."""
    return _guarded(openid.login, request, provider_id)


@login_not_required
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the log-in server leads back to."""
    return _guarded(openid.callback, request, provider_id)
