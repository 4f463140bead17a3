"""The pages of a study in the order of work, in groups; which of them a person may open."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation import policies
from annotation.accounts.models import User
from annotation.policies import Member
from annotation.studies.access import member_of
from annotation.studies.models import Study


@dataclass(frozen=True)
class Page:
    """``url`` is the name of its address, and what its template calls itself.

    A ``group`` is a tab that leads to the first of its pages that the person may open.
    """

    group: str | Promise
    url: str
    title: str | Promise
    may: Callable[[Member], bool]


OVERVIEW = gettext_lazy("Overview")
MATERIAL = gettext_lazy("Material")
JUDGING = gettext_lazy("Judging")
PEOPLE = gettext_lazy("People")
RESULTS = gettext_lazy("Results")
SETTINGS = gettext_lazy("Settings")
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
