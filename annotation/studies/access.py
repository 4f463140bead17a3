"""Who may open which page of a study. Every view of a study begins with ``study_for``."""

from collections.abc import Collection

from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotation.accounts.models import User
from annotation.core import sql
from annotation.studies.models import Role, Study

MANAGERS = (Role.CURATOR, Role.ADMINISTRATOR)
READERS = (Role.RESEARCHER, *MANAGERS)
EVERYBODY = tuple(Role)


# Every request of a study's page asks this, so it is written out (reason: see core.sql).
_STANDING = f"""
    SELECT {sql.columns(Study, "s")}, m.role,
           s.consent_text_id IS NULL OR EXISTS (
               SELECT 1 FROM accounts_consent c WHERE c.user_id = %(me)s
               AND c.text_id = s.consent_text_id AND c.withdrawn_at IS NULL) AS consented
    FROM studies_study s
    LEFT JOIN studies_membership m
        ON m.study_id = s.id AND m.user_id = %(me)s AND m.left_at IS NULL
    WHERE s.slug = %(slug)s AND (m.id IS NOT NULL OR %(all)s)"""  # noqa: S608 - constants only


def study_for(user: User, slug: str, roles: Collection[str] = EVERYBODY) -> Study:
    """Return the study with ``user``'s ``role`` and ``consented`` on it, in one query.

    The site's administrator has every role except the annotator's: whoever judges must be a member
    who does. Raises Http404 where the user may not know of the study, PermissionDenied where the
    role does not include the page.
    """
    values = {"me": user.pk, "slug": slug, "all": user.is_superuser}
    row = sql.first(_STANDING, values)
    if row is None:
        raise Http404
    study = sql.instance(Study, row)
    study.role, study.consented = row[-2:]
    administers = user.is_superuser and set(roles) != {Role.ANNOTATOR}
    if study.role not in roles and not administers:
        raise PermissionDenied
    return study


def may_create(user: User) -> bool:
    """Whether ``user`` may start studies: who runs one already, and the site's administrator."""
    return user.is_superuser or user.memberships.filter(role__in=MANAGERS, left_at=None).exists()
