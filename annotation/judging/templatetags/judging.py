"""The tag of pages that say how far an owner is."""

from django import template
from django.template import Context

from annotation import policies
from annotation.judging.annotator.checklist import checklist
from annotation.queries import owner_queries
from annotation.studies.access import member_of
from annotation.studies.models import Study

register = template.Library()


@register.inclusion_tag("judging/_journey.html", takes_context=True)
def journey(context: Context, study: Study | None = None, *, brief: bool = False) -> dict:
    """How far the reader is on the way of an owner in ``study``; else in the study that needs them.

    Empty where no study of theirs asks for own queries; an answer to htmx replaces the page's.
    """
    request = context["request"]
    visible = Study.objects.visible_to(request.user).with_membership(request.user)
    if study:
        visible = visible.filter(pk=study.pk)
    rows = [row for row in visible if policies.query.may_write_own(member_of(request.user, row))]
    asking = owner_queries.asking(rows)
    lists = [checklist(request.user, row) for row in rows if row.pk in asking]
    first = min(lists, key=lambda each: not each.is_due, default=None)
    step = first and first.current
    leads = step and step.state == "now" and step.url.partition("?")[0] != request.path
    return {"checklist": first, "leads": leads, "brief": brief, "oob": request.htmx}
