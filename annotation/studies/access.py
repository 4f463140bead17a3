"""How somebody stands to a study, and which of its pages they may open.

Every view of a study begins with ``study_page``, or with ``study_for`` where the study is not all
that it is given.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from itertools import groupby
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.models import Consent, User
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
OVERVIEW = gettext_lazy("Overview")
MATERIAL = gettext_lazy("Material")
JUDGING = gettext_lazy("Judging")
PEOPLE = gettext_lazy("People")
RESULTS = gettext_lazy("Results")
SETTINGS = gettext_lazy("Settings")


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


def study_page(
    may: Callable[[Member], bool], *methods: str, post: Callable[[Member], bool] | None = None
) -> Callable:
    """Decorator of a page of a study: the view gets what ``study_for`` gives in place of the slug.

    ``may`` is the policy of the page, ``methods`` are all that it takes (``GET`` brings ``HEAD``),
    ``post`` is the policy of a POST, where that is another.
    """
    taken = (*methods, "HEAD") if "GET" in methods else methods

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @require_http_methods(taken)
        @wraps(view)
        def page(request: UserRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            wanted = post if post and request.method == "POST" else may
            return view(request, study_for(request.user, slug, wanted), *args, **kwargs)

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


@dataclass(frozen=True)
class Page:
    """``url`` is the name of its address, and what its template calls itself.

    A ``group`` is a tab that leads to the first of its pages that the person may open.
    """

    group: str | Promise
    url: str
    title: str | Promise
    may: Callable[[Member], bool]


PAGES = {
    page.url: page
    for page in (
        Page(OVERVIEW, "overview", gettext_lazy("Overview"), policies.study.may_read),
        Page(MATERIAL, "generation", gettext_lazy("Generation"), policies.generation.may_run),
        Page(MATERIAL, "imports", gettext_lazy("Data"), policies.data_import.may_manage),
        Page(MATERIAL, "personas", gettext_lazy("Personas"), policies.persona.may_change),
        Page(MATERIAL, "queries", gettext_lazy("Queries"), policies.query.may_change),
        Page(MATERIAL, "candidates", gettext_lazy("Answers"), policies.candidate.may_change),
        Page(JUDGING, "tasks", gettext_lazy("Tasks"), policies.task.may_change),
        Page(JUDGING, "items", gettext_lazy("Items"), policies.batch.may_read),
        Page(JUDGING, "talk-setup", gettext_lazy("Live"), policies.task.may_change),
        Page(JUDGING, "checks", gettext_lazy("Checks"), policies.check.may_change),
        Page(JUDGING, "raters", gettext_lazy("Raters"), policies.rater.may_read),
        Page(JUDGING, "adjudicate", gettext_lazy("Adjudication"), policies.judgment.may_adjudicate),
        Page(PEOPLE, "people", gettext_lazy("Members"), policies.member.may_manage),
        Page(PEOPLE, "crowd", gettext_lazy("Crowd"), policies.member.may_manage),
        Page(PEOPLE, "messages", gettext_lazy("Messages"), policies.study.may_curate),
        Page(RESULTS, "study", gettext_lazy("Results"), policies.result.may_read),
        Page(RESULTS, "releases", gettext_lazy("Releases"), policies.release.may_read),
        Page(SETTINGS, "settings", gettext_lazy("Settings"), policies.study.may_administer),
        Page(SETTINGS, "webhooks", gettext_lazy("Webhooks"), policies.webhook.may_manage),
    )
}


def opens(url: str, member: Member) -> bool:
    """Whether the page whose address has the name ``url`` is open to ``member``."""
    return PAGES[url].may(member)


def groups_for(study: Study, user: User, here: str) -> list[dict]:
    """The groups with the pages open to ``user``; ``current`` is the group that holds ``here``."""
    member, shown = member_of(user, study), []
    for title, pages in groupby(PAGES.values(), key=lambda page: page.group):
        if allowed := [page for page in pages if page.may(member)]:
            current = any(page.url == here for page in allowed)
            # A group of one page is that page.
            name = title if len(allowed) > 1 else allowed[0].title
            shown.append({"title": name, "pages": allowed, "current": current})
    return shown


def withdrawn_from(study: Study) -> list[int]:
    """Ids of everybody who took their consent to the study back and has not given it again."""
    if study.consent_text is None:
        return []
    consents = Consent.objects.filter(text__name=study.consent_text.name)
    standing = consents.filter(withdrawn_at=None)
    left = consents.exclude(user__in=standing.values("user"))
    return sorted(left.values_list("user", flat=True).distinct())
