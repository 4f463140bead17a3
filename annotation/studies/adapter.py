"""Who may open an account: whoever holds an invitation or a join code that is still valid."""

from django.http import HttpRequest

from annotation.accounts.adapter import Accounts
from annotation.core.errors import NotFound
from annotation.studies import codes, members
from annotation.studies.models import Invitation, JoinCode

# In the session: what the person came by, as ["invitation" or "code", its number].
INVITED = "invited"


class InvitedOnly(Accounts):
    """Sign-up is open as long as the invitation or code in the session stands."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        kind, pk = request.session.get(INVITED) or (None, None)
        try:
            if kind == "invitation":
                return bool(members.standing_by_id(pk))
            return kind == "code" and bool(codes.standing(pk))
        except NotFound:
            return False


def admit(request: HttpRequest, pass_: Invitation | JoinCode) -> None:
    """Let this browser open an account by an invitation or a join code.

    An invitation that was mailed proves that its address is read by whoever holds the link.
    """
    if isinstance(pass_, JoinCode):
        request.session[INVITED] = ["code", pass_.pk]
        return
    request.session[INVITED] = ["invitation", pass_.pk]
    if pass_.mailed_at:
        InvitedOnly(request).stash_verified_email(request, pass_.email)
