"""The pages of a study in the order of work, in groups; which of them a person may open."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.studies.access import MANAGERS, READERS
from annotation.studies.models import Role, Study

ADMINISTRATORS = (Role.ADMINISTRATOR,)


@dataclass(frozen=True)
class Page:
    """``here`` is what a page's template calls itself, ``url`` the name of its address."""

    here: str
    url: str
    title: str | Promise
    roles: tuple[Role, ...]


# Each group is a tab that leads to the first of its pages that the person may open.
GROUPS = [
    (gettext_lazy("Overview"), [Page("overview", "overview", gettext_lazy("Overview"), READERS)]),
    (
        gettext_lazy("Material"),
        [
            Page("generation", "generation", gettext_lazy("Generation"), MANAGERS),
            Page("imports", "imports", gettext_lazy("Data"), MANAGERS),
            Page("personas", "personas", gettext_lazy("Personas"), MANAGERS),
            Page("queries", "queries", gettext_lazy("Queries"), MANAGERS),
            Page("candidates", "candidates", gettext_lazy("Answers"), MANAGERS),
        ],
    ),
    (
        gettext_lazy("Judging"),
        [
            Page("tasks", "tasks", gettext_lazy("Tasks"), MANAGERS),
            Page("checks", "checks", gettext_lazy("Checks"), MANAGERS),
            Page("raters", "raters", gettext_lazy("Raters"), READERS),
            Page("adjudicate", "adjudicate", gettext_lazy("Adjudication"), MANAGERS),
        ],
    ),
    (
        gettext_lazy("People"),
        [
            Page("people", "people", gettext_lazy("Members"), ADMINISTRATORS),
            Page("crowd", "crowd", gettext_lazy("Crowd"), ADMINISTRATORS),
            Page("messages", "messages", gettext_lazy("Messages"), MANAGERS),
        ],
    ),
    (
        gettext_lazy("Results"),
        [
            Page("study", "study", gettext_lazy("Results"), READERS),
            Page("releases", "releases", gettext_lazy("Releases"), READERS),
        ],
    ),
    (
        gettext_lazy("Settings"),
        [
            Page("settings", "settings", gettext_lazy("Settings"), ADMINISTRATORS),
            Page("webhooks", "webhooks", gettext_lazy("Webhooks"), MANAGERS),
        ],
    ),
]


def allows(page: Page, study: Study, user: User) -> bool:
    """Whether ``user`` may open ``page``; ``study`` comes from ``access.study_for``."""
    return study.role in page.roles or user.is_superuser


def groups_for(study: Study, user: User, here: str) -> list[dict]:
    """The groups with the pages open to ``user``; ``current`` is the group that holds ``here``."""
    shown = []
    for title, pages in GROUPS:
        allowed = [page for page in pages if allows(page, study, user)]
        if allowed:
            current = any(page.here == here for page in allowed)
            # A group of one page is that page.
            name = title if len(allowed) > 1 else allowed[0].title
            shown.append({"title": name, "pages": allowed, "current": current})
    return shown
