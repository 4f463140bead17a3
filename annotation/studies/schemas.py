"""What can be said of a study, its settings, invitations and members: the fields of page, API and
bundle.
"""

import re
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email, validate_slug
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.core.schema import asked, fields_of
from annotation.studies.bundle_rows import DEFAULT_OVERLAP, LINE_LIMIT, OVERLAP_LIMIT
from annotation.studies.models import (
    DESCRIPTION_LIMIT,
    RESERVED_SLUGS,
    SLUG,
    SLUG_LIMIT,
    TITLE_LIMIT,
    Role,
    Study,
)

MOST_PAY = 999_999


@schema(frozen=True)
class NewStudy:
    """A study to be made."""

    title: str = asked(gettext_lazy("Title"), max_length=TITLE_LIMIT)
    slug: str = asked(gettext_lazy("Address"), max_length=SLUG_LIMIT)
    description: str = asked(
        gettext_lazy("Description"), "", max_length=DESCRIPTION_LIMIT, unit="text"
    )
    languages: list[str] = asked(gettext_lazy("Languages"), ["en"], max_length=50)

    def __post_init__(self) -> None:
        if not re.fullmatch(SLUG, self.slug):
            raise ValueError(_("Use a-z, 0-9 and hyphens."))
        if self.slug in RESERVED_SLUGS:
            raise ValueError(_("This address is taken by a page of the site."))


@schema(frozen=True)
class Settings:
    """What can be changed while a study runs; its address cannot, which links and bundles name."""

    title: str = asked(gettext_lazy("Title"), max_length=TITLE_LIMIT)
    description: str = asked(
        gettext_lazy("Description"), "", max_length=DESCRIPTION_LIMIT, unit="text"
    )
    languages: list[str] = asked(gettext_lazy("Languages"), ["en"], max_length=50)
    edit_hours: int = asked(
        gettext_lazy("Hours in which a judgment may be changed"),
        24,
        gettext_lazy("0: never. The first answer and every change are kept."),
        ge=0,
        le=24 * 365,
    )
    pay_per_hour: Decimal | None = asked(
        gettext_lazy("Pay an hour"),
        None,
        gettext_lazy("Left empty, annotators see no estimate of their pay."),
        ge=0,
        le=MOST_PAY,
    )
    pay_per_judgment: Decimal | None = asked(
        gettext_lazy("Pay a judgment"), None, ge=0, le=MOST_PAY
    )
    currency: str = asked(
        gettext_lazy("Currency"), "", gettext_lazy("Three letters, like EUR or KRW."), max_length=3
    )
    break_minutes: int = asked(
        gettext_lazy("Minutes at work after which a break is suggested"),
        45,
        gettext_lazy("0: never. Each person can switch it off; nobody's pace is shown."),
        ge=0,
        le=240,
    )
    remind_to_read: bool = asked(
        gettext_lazy("Remind people, once an item, of what they have not read"),
        False,
        gettext_lazy(
            "Before a submit where the card of the person was not in view, or the end of an "
            "answer, or two seconds were not over. A second press submits."
        ),
    )
    match_languages: bool = asked(
        gettext_lazy("Hand out items only to people who read their language"),
        False,
        gettext_lazy("People who have not said which languages they read get items of all."),
    )
    automatic: bool = asked(
        gettext_lazy("Answer people's own queries without a curator"),
        False,
        gettext_lazy(
            "Each query that its owner calls ready goes to the first model server. Answers that no "
            "check flags pass, and are opened for the owner at once; the others wait for you."
        ),
    )
    owner_queries: int = asked(
        gettext_lazy("Most queries of one owner"), 0, gettext_lazy("0: no limit."), ge=0, le=10_000
    )
    collect_days: int = asked(
        gettext_lazy("Days that owners collect their history"),
        0,
        gettext_lazy("From the day they join; they are reminded of missing days. 0: none."),
        ge=0,
        le=90,
    )
    group_places: int = asked(
        gettext_lazy("Most people with the same answer to the survey"),
        0,
        gettext_lazy("0: no limit."),
        ge=0,
        le=100_000,
    )
    card_first: str = asked(
        gettext_lazy("What the card of a person begins with"),
        Study.CardGroup.PREFERENCES.value,
        choices=dict(Study.CardGroup.choices),
    )

    def __post_init__(self) -> None:
        if self.currency and not re.fullmatch("[A-Z]{3}", self.currency):
            raise ValueError(_("Use the three letters, like EUR or KRW."))
        if (self.pay_per_hour, self.pay_per_judgment) != (None, None) and not self.currency:
            raise ValueError(_("Name the currency of the pay."))


# What a bundle's "settings" may name.
IN_A_BUNDLE = tuple(fields_of(Settings))[3:]


@schema(frozen=True)
class NewTask:
    """What every task has beside its kind and the settings of the kind."""

    name: str = asked(gettext_lazy("Name"), max_length=SLUG_LIMIT)
    overlap: int = asked(gettext_lazy("Judgments an item"), DEFAULT_OVERLAP, ge=1, le=OVERLAP_LIMIT)
    guideline: str = asked(
        gettext_lazy("Guideline (Markdown)"), "", max_length=LINE_LIMIT, unit="text"
    )

    def __post_init__(self) -> None:
        try:
            validate_slug(self.name)
        except ValidationError as error:
            raise ValueError(error.messages[0]) from error


@schema(frozen=True)
class Invite:
    """Somebody to let in; ``email`` "" lets in whoever opens the link."""

    role: str = asked(gettext_lazy("Role"), choices=dict(Role.choices))
    email: str = asked(gettext_lazy("Only for this e-mail address"), "", max_length=254)

    def __post_init__(self) -> None:
        if self.email:
            try:
                validate_email(self.email)
            except ValidationError as error:
                raise ValueError(error.messages[0]) from error


def settings_of(study: Study) -> dict[str, Any]:
    return {name: getattr(study, name) for name in fields_of(Settings)}
