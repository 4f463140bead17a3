"""The address of a new study, made from its title."""

from django.utils.text import slugify

from annotation.studies.models import RESERVED_SLUGS, Study

LENGTH = 40


def address_for(title: str) -> str:
    """Return an address that no study has yet; "study" stands where the title has no a-z or 0-9."""
    plain = slugify(title).replace("_", "-")[:LENGTH].strip("-") or "study"
    taken = set(Study.objects.filter(slug__startswith=plain).values_list("slug", flat=True))
    taken |= RESERVED_SLUGS
    number, address = 1, plain
    while address in taken:
        number += 1
        address = f"{plain}-{number}"
    return address
