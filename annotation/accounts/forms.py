from allauth.account.forms import ResetPasswordForm, SignupForm
from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest

from annotation.accounts.models import User


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
    """A password is set anew through an account's primary or a confirmed address only.

    Anybody who holds a session for a moment can list an address that is not confirmed.
    """

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
