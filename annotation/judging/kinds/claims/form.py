from typing import Annotated, Any

from django.db import models
from django.utils.translation import gettext_lazy
from pydantic import BeforeValidator, Field, SkipValidation, ValidationInfo

from annotation.judging.kinds import body


class Verdict(models.TextChoices):
    KEEP = "keep", gettext_lazy("keep")
    EDIT = "edit", gettext_lazy("edit")
    DROP = "drop", gettext_lazy("drop")


def _edited(value: Any, info: ValidationInfo) -> str:
    """Only of a claim that is edited, where it may not be empty."""
    if info.data["verdict"] != Verdict.EDIT:
        return ""
    if text := body.text_of(value, "optional"):
        return text
    raise ValueError


class ClaimBody(body.Body):
    verdict: Annotated[
        str, body.OneOf(Verdict.values), body.asked(gettext_lazy("Decide on claim %(n)d."))
    ]
    text: Annotated[
        str,
        BeforeValidator(_edited),
        body.asked(gettext_lazy("Write the new text of claim %(n)d.")),
    ] = Field("", validate_default=True, description="The claim as edited.")


class ClaimsBody(body.Body):
    # Each claim is read with its number, for the sentences.
    claims: SkipValidation[dict[str, ClaimBody]] = Field(
        description="{claim's id: verdict}, every claim."
    )
