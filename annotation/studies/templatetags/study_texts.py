"""Texts and navigation of studies: every template has them (settings.TEMPLATES builtins)."""

from django import template
from django.template import Context

from annotation.studies.access import groups_for
from annotation.studies.adapter import invited_by
from annotation.studies.models import Study
from annotation.studies.wording import localized

register = template.Library()
# {{ study|localized:"title" }}, {{ task|localized:"guideline"|markdown }}
register.filter("localized", localized)


@register.simple_tag(takes_context=True)
def study_groups(context: Context, here: str) -> list[dict]:
    """The groups of pages that the reader of this page may open."""
    return groups_for(context["study"], context["request"].user, here)


@register.simple_tag(takes_context=True)
def inviting_study(context: Context) -> Study | None:
    """The study for which whoever sees this page may open an account."""
    invitation = invited_by(context["request"])
    return invitation.study if invitation else None
