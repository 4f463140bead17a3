"""Who may open which page of a study. Every view of a study begins with ``study_for``."""

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import reverse

from annotation.studies.models import Role, Study

MANAGERS = (Role.CURATOR, Role.ADMINISTRATOR)
READERS = (Role.RESEARCHER, *MANAGERS)
EVERYBODY = tuple(Role)


class ConsentNeeded(Exception):  # noqa: N818 - a turn of the way, not an error
    """The annotator has not agreed to the study's current text yet."""

    def __init__(self, study):
        self.url = reverse("consent", args=[study.slug])


def study_for(user, slug: str, roles=EVERYBODY) -> Study:
    """Return the study with ``user``'s ``role`` and ``consented`` on it, in one query.

    The site's administrator has every role except the annotator's: whoever judges must be a member
    who does. Raises Http404 where the user may not know of the study, PermissionDenied where the
    role does not include the page.
    """
    study = Study.objects.visible_to(user).with_standing(user).filter(slug=slug).first()
    if study is None:
        raise Http404
    administers = user.is_superuser and set(roles) != {Role.ANNOTATOR}
    if study.role not in roles and not administers:
        raise PermissionDenied
    return study
