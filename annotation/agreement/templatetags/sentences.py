from django import template

from annotation.agreement.summary import verdict
from annotation.agreement.wording import tier_name, translated

register = template.Library()
register.filter("translated", translated)
register.filter("tier_name", tier_name)
register.filter("verdict", verdict)
