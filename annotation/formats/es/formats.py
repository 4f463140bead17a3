"""Spanish dates; numbers as in formulas and tables, with a point."""

DATE_FORMAT = r"j \d\e F \d\e Y"
SHORT_DATE_FORMAT = "j M Y"
DATETIME_FORMAT = r"j \d\e F \d\e Y, H:i"
SHORT_DATETIME_FORMAT = "j M Y, H:i"
TIME_FORMAT = "H:i"
DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
