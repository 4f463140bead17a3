from typing import Annotated, Any

from django.db import models
from django.utils.translation import gettext_lazy
from pydantic import BeforeValidator, Field, ValidationInfo

from annotation.judging.kinds import body


class Verdict(models.TextChoices):
    ACCEPTED = "accepted", gettext_lazy("accepted")
    UNCERTAIN = "uncertain", gettext_lazy("uncertain")
    REJECTED = "rejected", gettext_lazy("rejected")


class Cause(models.TextChoices):
    OVERGENERALISED = "overgeneralised", gettext_lazy("overgeneralised")
    EVIDENCE = "missing-evidence", gettext_lazy("the conversation does not show it")
    TASK = "task-context", gettext_lazy("it belongs to the task, not to the person")
    STANDALONE = "not-standalone", gettext_lazy("it cannot be understood by itself")
    OTHER = "other", gettext_lazy("something else")


def _cause(value: Any, info: ValidationInfo) -> Any:
    """What is accepted has no cause; "" is none of those that anything else needs."""
    return "" if info.data["verdict"] == Verdict.ACCEPTED else value or None


class AttributeBody(body.Body):
    verdict: Annotated[
        str, body.OneOf(Verdict.values), body.asked(gettext_lazy("Choose a verdict first."))
    ]
    cause: Annotated[
        str,
        body.OneOf(["", *Cause.values]),
        BeforeValidator(_cause),
        body.asked(gettext_lazy("Say what is wrong with the attribute.")),
    ] = Field("", validate_default=True, description="Needed unless accepted.")
