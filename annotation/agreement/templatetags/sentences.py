from django import template

from annotation.agreement.figures.wording import said, tier_name

register = template.Library()
register.filter("said", said)
register.filter("tier_name", tier_name)
