from typing import Annotated, Any

from django.utils.translation import gettext_lazy
from pydantic import BeforeValidator, Field, ValidationInfo

from annotation.judging.kinds import body
from annotation.judging.kinds.attribute.tables import AttributeVerdict

Verdict, Cause = AttributeVerdict.Verdict, AttributeVerdict.Cause


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
