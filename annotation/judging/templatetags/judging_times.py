import math
from statistics import median

from django import template

from annotation.judging.models import Judgment
from annotation.studies.models import Study

register = template.Library()
SAMPLE, FEWEST = 500, 20


@register.simple_tag
def minutes_of_half(study: Study) -> int | None:
    """Whole minutes that half of the study's judgments stayed within; None while it has few.

    At most ``SAMPLE`` judgments are read, in no order: a server of many studies would search for
    the newest.
    """
    judged = Judgment.objects.filter(slot__study=study, seconds__gt=0)
    seconds = [spent or 0 for spent in judged.order_by().values_list("seconds", flat=True)[:SAMPLE]]
    return math.ceil(median(seconds) / 60) if len(seconds) >= FEWEST else None
