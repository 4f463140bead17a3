"""Korean dates in their usual order and with 24 hours; Django's put the half of the day last."""

DATETIME_FORMAT = "Y년 n월 j일 H:i"
SHORT_DATE_FORMAT = "Y. n. j."
SHORT_DATETIME_FORMAT = "Y. n. j. H:i"
TIME_FORMAT = "H:i"
