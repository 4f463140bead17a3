"""The request of a page that only people who are logged in get: every one but a few."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from annotation.accounts.models import User


class UserRequest(HttpRequest):
    """A request of somebody who is logged in, as ``LoginRequired`` let it pass."""

    user: User
    htmx: HtmxDetails
