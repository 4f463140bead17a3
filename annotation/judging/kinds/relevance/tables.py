from django.db import models

from annotation.judging.tables import Judgment


class Relevance(Judgment):
    """Whether an attribute should change the response to a prompt in any way."""

    relevant = models.BooleanField()
