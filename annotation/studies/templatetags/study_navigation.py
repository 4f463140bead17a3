"""``{% study_groups here as groups %}``: the navigation of a study's pages."""

from django import template
from django.template import Context

from annotation.studies.navigation import groups_for

register = template.Library()


@register.simple_tag(takes_context=True)
def study_groups(context: Context, here: str) -> list[dict]:
    """The groups of pages that the reader of this page may open."""
    return groups_for(context["study"], context["request"].user, here)
