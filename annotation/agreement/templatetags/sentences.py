from django import template

from annotation.agreement.summary import verdict
from annotation.agreement.wording import coefficients_of, tier_name, translated

register = template.Library()
register.filter("translated", translated)
register.filter("tier_name", tier_name)
register.filter("verdict", verdict)


@register.filter
def first_coefficient(entry: dict) -> dict:
    """``name``, ``value``, ``low`` and ``high`` of the coefficient that tells most of an entry of a
    manifest's ``agreement``; empty where it has no value.
    """
    for _key, name, coefficient in coefficients_of(entry["all"], entry["level"])[:1]:
        if coefficient["value"] is not None:
            return {"name": name} | coefficient
    return {}
