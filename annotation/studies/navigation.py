"""The pages of a study in the order of work, in groups; which of them a person may open."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation import policies
from annotation.accounts.models import User
from annotation.policies import Member
from annotation.studies.access import member_of
from annotation.studies.models import Study


@dataclass(frozen=True)
class Page:
    """``url`` is the name of its address, and what its template calls itself."""

    url: str
    title: str | Promise
    may: Callable[[Member], bool]


# Each group is a tab that leads to the first of its pages that the person may open.
GROUPS = [
    (
        gettext_lazy("Overview"),
        [Page("overview", gettext_lazy("Overview"), policies.study.may_read)],
    ),
    (
        gettext_lazy("Material"),
        [
            Page("generation", gettext_lazy("Generation"), policies.generation.may_run),
            Page("imports", gettext_lazy("Data"), policies.data_import.may_manage),
            Page("personas", gettext_lazy("Personas"), policies.persona.may_change),
            Page("queries", gettext_lazy("Queries"), policies.query.may_change),
            Page("candidates", gettext_lazy("Answers"), policies.candidate.may_change),
        ],
    ),
    (
        gettext_lazy("Judging"),
        [
            Page("tasks", gettext_lazy("Tasks"), policies.task.may_change),
            Page("items", gettext_lazy("Items"), policies.batch.may_read),
            Page("talk-setup", gettext_lazy("Live"), policies.task.may_change),
            Page("checks", gettext_lazy("Checks"), policies.check.may_change),
            Page("raters", gettext_lazy("Raters"), policies.rater.may_read),
            Page("adjudicate", gettext_lazy("Adjudication"), policies.judgment.may_adjudicate),
        ],
    ),
    (
        gettext_lazy("People"),
        [
            Page("people", gettext_lazy("Members"), policies.member.may_manage),
            Page("crowd", gettext_lazy("Crowd"), policies.member.may_manage),
            Page("messages", gettext_lazy("Messages"), policies.study.may_curate),
        ],
    ),
    (
        gettext_lazy("Results"),
        [
            Page("study", gettext_lazy("Results"), policies.result.may_read),
            Page("releases", gettext_lazy("Releases"), policies.release.may_read),
        ],
    ),
    (
        gettext_lazy("Settings"),
        [
            Page("settings", gettext_lazy("Settings"), policies.study.may_administer),
            Page("webhooks", gettext_lazy("Webhooks"), policies.webhook.may_manage),
        ],
    ),
]
PAGES = {page.url: page for _title, pages in GROUPS for page in pages}


def opens(url: str, member: Member) -> bool:
    """Whether the page whose address has the name ``url`` is open to ``member``."""
    return PAGES[url].may(member)


def groups_for(study: Study, user: User, here: str) -> list[dict]:
    """The groups with the pages open to ``user``; ``current`` is the group that holds ``here``."""
    member, shown = member_of(user, study), []
    for title, pages in GROUPS:
        allowed = [page for page in pages if page.may(member)]
        if allowed:
            current = any(page.url == here for page in allowed)
            # A group of one page is that page.
            name = title if len(allowed) > 1 else allowed[0].title
            shown.append({"title": name, "pages": allowed, "current": current})
    return shown
