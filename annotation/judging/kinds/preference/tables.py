from django.db import models

from annotation.judging.tables import Judgment


class Preference(Judgment):
    """How much better one of two answers is, on a scale of an odd number of points.

    ``value`` counts from 1 (option 1 is much better) to the scale's end (option 2 is much better),
    whichever side the options were shown on; the middle is "no preference".
    """

    value = models.PositiveSmallIntegerField()
