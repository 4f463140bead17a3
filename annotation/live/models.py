import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.personas.models import PersonaVersion
from annotation.queries.models import Query
from annotation.studies.models import Study


class Talk(models.Model):
    """One person's conversation with two or three hidden systems at once, until it is judged.

    What the systems say are candidates of ``query`` with the purpose "turn".
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="talks")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="talks"
    )
    # The opening question; None before it is asked.
    query = models.ForeignKey(Query, on_delete=models.CASCADE, null=True, related_name="talks")
    persona_version = models.ForeignKey(
        PersonaVersion, on_delete=models.RESTRICT, null=True, related_name="talks"
    )
    # The study's settings as they were at the start (talks.Live).
    settings = models.JSONField()
    # [endpoint, strategy, what results call it] of each, in the order shown; how likely this draw
    # was.
    systems = models.JSONField()
    chance = models.FloatField()
    # {"text", "asked": when (seconds since 1970), "chosen": the place of the system whose answer
    # the conversation goes on with, or null} of each turn.
    turns = models.JSONField(default=list)
    # Places of systems that the person goes on without.
    silent = models.JSONField(default=list)
    draft = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "person"], condition=Q(ended_at=None), name="one_talk_at_a_time"
            )
        ]

    @property
    def places(self) -> list[int]:
        """The places of the systems that still take part."""
        return [place for place in range(len(self.systems)) if place not in self.silent]
