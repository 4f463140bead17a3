# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def disarmed(text: str) -> str:
    """``text`` as a spreadsheet shows it: an apostrophe before what it would run as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text
