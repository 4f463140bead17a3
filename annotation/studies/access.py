"""Who may open which page of a study. Every view of a study begins with ``study_for``."""

from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotation.studies.models import Role, Study

MANAGERS = (Role.CURATOR, Role.ADMINISTRATOR)
READERS = (Role.RESEARCHER, *MANAGERS)
EVERYBODY = tuple(Role)


def study_for(user, slug: str, roles=EVERYBODY, **more) -> Study:
    """Return the study with ``user``'s ``role`` and ``consented`` on it, in one query.

    ``more`` are annotations of the caller's, fetched by the same query.

    The site's administrator has every role except the annotator's: whoever judges must be a member
    who does. Raises Http404 where the user may not know of the study, PermissionDenied where the
    role does not include the page.
    """
    studies = Study.objects.visible_to(user).with_standing(user).annotate(**more)
    study = studies.filter(slug=slug).select_related("consent_text").first()
    if study is None:
        raise Http404
    administers = user.is_superuser and set(roles) != {Role.ANNOTATOR}
    if study.role not in roles and not administers:
        raise PermissionDenied
    return study


def may_create(user) -> bool:
    """Whether ``user`` may start studies: who runs one already, and the site's administrator."""
    return user.is_superuser or user.memberships.filter(role__in=MANAGERS, left_at=None).exists()
