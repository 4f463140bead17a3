"""How somebody stands to a study. Every view of a study begins with ``study_for``."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import sql
from annotation.policies import Member
from annotation.studies.models import Study

# Every request of a study's page asks this, so it is written out (reason: see core.sql).
_MEMBERSHIP = f"""
    SELECT {sql.columns(Study, "s")}, m.role,
           s.consent_text_id IS NULL OR EXISTS (
               SELECT 1 FROM accounts_consent c WHERE c.user_id = %(me)s
               AND c.text_id = s.consent_text_id AND c.withdrawn_at IS NULL) AS consented
    FROM studies_study s
    LEFT JOIN studies_membership m
        ON m.study_id = s.id AND m.user_id = %(me)s AND m.left_at IS NULL
    WHERE s.slug = %(slug)s"""  # noqa: S608 - constants only


def study_for(user: User, slug: str, may: Callable[[Member], bool]) -> Study:
    """Return the study with ``user``'s ``role`` and ``consented`` on it, in one query.

    ``may`` is the policy of the page. Raises Http404 where the user may not know of the study,
    PermissionDenied where the policy refuses.
    """
    row = sql.first(_MEMBERSHIP, {"me": user.pk, "slug": slug})
    if row is None:
        raise Http404
    study = sql.instance(Study, row)
    study.role, study.consented = row[-2:]
    member = member_of(user, study)
    if not policies.study.may_open(member):
        raise Http404
    if not may(member):
        raise PermissionDenied
    return study


def study_page(may: Callable[[Member], bool], *methods: str) -> Callable:
    """Decorator of a page of a study: the view gets what ``study_for`` gives in place of the slug.

    ``may`` is the policy of the page, ``methods`` are all that it takes (``GET`` brings ``HEAD``).
    """
    taken = (*methods, "HEAD") if "GET" in methods else methods

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @require_http_methods(taken)
        @wraps(view)
        def page(request: UserRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            return view(request, study_for(request.user, slug, may), *args, **kwargs)

        return page

    return decorate


def member_of(user: User, study: Study) -> Member:
    """``user`` as policies see them; ``study`` has ``role``, from ``study_for`` or a query."""
    return Member(study.role, user.is_superuser)


def memberships_of(user: User) -> list[Member]:
    """``user`` as each study sees them, those of which they are no member as one."""
    roles = user.memberships.filter(left_at=None).values_list("role", flat=True).distinct()
    return [Member(role, user.is_superuser) for role in (None, *roles)]


def may_create(user: User) -> bool:
    """Whether ``user`` may start studies: who runs one already, and the site's administrator."""
    return any(map(policies.study.may_create, memberships_of(user)))
