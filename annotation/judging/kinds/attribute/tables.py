from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.judging.tables import Judgment


class AttributeVerdict(Judgment):
    """Whether an attribute holds, seen against the conversation it was extracted from."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", _("accepted")
        UNCERTAIN = "uncertain", _("uncertain")
        REJECTED = "rejected", _("rejected")

    class Cause(models.TextChoices):
        OVERGENERALISED = "overgeneralised", _("overgeneralised")
        EVIDENCE = "missing-evidence", _("the conversation does not show it")
        TASK = "task-context", _("it belongs to the task, not to the person")
        STANDALONE = "not-standalone", _("it cannot be understood by itself")
        OTHER = "other", _("something else")

    verdict = models.CharField(max_length=10, choices=Verdict)
    cause = models.CharField(max_length=20, choices=Cause, blank=True)
