from typing import Any

from allauth.account.forms import ResetPasswordForm, SignupForm
from allauth.account.models import EmailAddress
from allauth.mfa.webauthn import forms as webauthn
from django import forms
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from pydantic.dataclasses import dataclass

from annotation.accounts.models import ApiToken, User
from annotation.core.schema import asked


@dataclass
class NewToken:
    """What the page and the command ask about a token."""

    days: int | None = asked(_("Valid for how many days"), None, ge=1, le=ApiToken.LONGEST_DAYS)
    scopes: list[str] = asked(_("What it may do"), [], choices=ApiToken.SCOPES, flag="scope")
    study: str = asked(_("In which study"), "")


SHAPE = (KeyError, TypeError, ValueError, AttributeError)


class SignUp(SignupForm):
    """Opens an account; a taken address is listed unconfirmed and is not its log-in name.

    Only without a mail server is a taken address accepted: a refusal would tell strangers who has
    an account, and no mail could tell the owner instead.
    """

    @transaction.atomic
    def save(self, request: HttpRequest) -> User:
        email = self.cleaned_data["email"]
        if not User.objects.filter(email__iexact=email).exists():
            return super().save(request)
        user = User(email=None)
        user.set_password(self.cleaned_data["password1"])
        user.save()
        EmailAddress.objects.create(user=user, email=email.lower(), primary=True)
        return user


class ResetForm(ResetPasswordForm):
    """A password is reset through an account's primary or a confirmed address only.

    Anybody who holds a session for a moment can list an address that is not confirmed.
    """

    users: list[User]

    def clean_email(self) -> str:
        email = super().clean_email()
        listed = EmailAddress.objects.filter(
            Q(primary=True) | Q(verified=True), email__iexact=email
        )
        owners = set(listed.values_list("user_id", flat=True))
        self.users = [
            user
            for user in self.users
            if user.pk in owners or (user.email or "").lower() == email.lower()
        ]
        return email


class Credential(forms.JSONField):
    """A browser's passkey response; invalid data is refused like a wrong code."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except RecursionError:
            raise forms.ValidationError(_("This passkey cannot be read.")) from None


class _Readable(forms.Form):
    """A form of allauth's whose library meets a credential of another shape with any error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["credential"] = Credential()

    def full_clean(self) -> None:
        try:
            super().full_clean()
        except SHAPE:
            self.add_error("credential", _("This passkey cannot be read."))


class AddPasskey(_Readable, webauthn.AddWebAuthnForm):
    name = forms.CharField(label=_("Name"), required=False)
    passwordless = forms.BooleanField(
        label=_("Log in with it alone"),
        required=False,
        help_text=_("Without a password: the device asks for your finger, face or code each time."),
    )


class PasskeyLogIn(_Readable, webauthn.LoginWebAuthnForm):
    pass


class PasskeyAuthenticate(_Readable, webauthn.AuthenticateWebAuthnForm):
    pass


class PasskeyReauthenticate(_Readable, webauthn.ReauthenticateWebAuthnForm):
    pass
