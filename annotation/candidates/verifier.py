"""Verify extracted statements with a model that was trained on people's judgments of attributes."""

from typing import IO, cast

import numpy as np
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates.models import Extraction
from annotation.core import audit, learned
from annotation.core.embed import DIMENSIONS, unit
from annotation.core.errors import DomainError
from annotation.core.rows import chunks
from annotation.studies.models import Study

CHUNK = 2_000
Verdict = Extraction.Verdict
# What becomes of statements that the verifier finds problematic.
DROP, REFINE = FLAGGED = ("drop", "refine")


def uploaded(file: UploadedFile) -> tuple[learned.Linear, dict]:
    """The verifier in ``file`` and its card. DomainError where it is too large or holds none."""
    if (file.size or 0) > learned.FILE_LIMIT:
        raise DomainError(_("The file is too large for a model."), code="size")
    return learned.read(cast(IO[bytes], file), str(file.name), "verifier")


def unverified(study: Study) -> QuerySet[Extraction]:
    """The statements of ``study`` on which nothing decided yet."""
    rows = Extraction.objects.filter(proposal__study=study, persona__dropped_at=None, verdict="")
    return rows.exclude(proposal__review="rejected")


@transaction.atomic
def verify(
    study: Study, model: learned.Linear, card: dict, *, refine: bool = False, by: User | None = None
) -> dict:
    """Decide on the statements of ``study`` that nothing verified yet.

    A statement from the card's threshold on counts as problematic: it is unsupported, or with
    ``refine`` left for the step that asks a model. Returns ``{"statements", "supported",
    "flagged"}``. Raises DomainError where there is none, or the model takes other features.
    """
    threshold = card.get("threshold")
    if model.weights.shape != (DIMENSIONS + 2,) or not isinstance(threshold, int | float):
        raise DomainError(_("This verifier takes other features than statements have."))
    rows = unverified(study).select_for_update(of=("self",)).order_by("pk")
    counts = {"statements": 0, "supported": 0, "flagged": 0}
    rows = rows.only("text", "confidence", "embedding")
    for some in chunks(rows.iterator(chunk_size=CHUNK), CHUNK):
        flagged = _scores(model, some) >= threshold
        passed = [row.pk for row, bad in zip(some, flagged, strict=True) if not bad]
        others = [row.pk for row, bad in zip(some, flagged, strict=True) if bad]
        Extraction.objects.filter(pk__in=passed).update(verdict=Verdict.SUPPORTED)
        if not refine:
            Extraction.objects.filter(pk__in=others).update(verdict=Verdict.UNSUPPORTED)
        counts["statements"] += len(some)
        counts["supported"] += len(passed)
        counts["flagged"] += len(others)
    if not counts["statements"]:
        raise DomainError(_("There is no statement that nothing verified yet."), code="nothing")
    audit.record(by, "attributes.verify", study, **counts, refine=refine)
    return counts


def _scores(model: learned.Linear, rows: list[Extraction]) -> np.ndarray:
    """Log odds (rows,) that a statement is problematic."""
    vectors = unit(np.array([row.embedding for row in rows], dtype=np.float32))
    texts, confidence = [row.text for row in rows], [row.confidence for row in rows]
    return model.score(learned.attribute_features(vectors, texts, confidence))
