# A spreadsheet takes a cell that begins with one of these for a formula; in East Asia with the wide
# forms, too.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def disarmed(text: str) -> str:
    """``text`` as a spreadsheet shows it: an apostrophe before what it would run as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text
