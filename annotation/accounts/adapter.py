from allauth.account.adapter import DefaultAccountAdapter
from django.utils.http import url_has_allowed_host_and_scheme

INVITED = "invited"


class InvitedOnly(DefaultAccountAdapter):
    """Accounts are opened by invitation: the link puts ``INVITED`` into the session."""

    def is_open_for_signup(self, request) -> bool:
        return bool(request.session.get(INVITED))

    def is_safe_url(self, url) -> bool:
        """Only addresses of this server: allauth would also trust other allowed hosts."""
        host = self.request.get_host() if self.request else None
        return url_has_allowed_host_and_scheme(url, allowed_hosts={host})
