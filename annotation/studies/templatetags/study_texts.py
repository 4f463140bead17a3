"""Study texts in templates: every template has it (settings.TEMPLATES builtins)."""

from django import template

from annotation.studies.wording import localized

register = template.Library()
# {{ study|localized:"title" }}, {{ task|localized:"guideline"|markdown }}
register.filter("localized", localized)
