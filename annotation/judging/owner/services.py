"""How a person gets their history from each service, and how long that takes.

Menus change: the names are those of autumn 2026, and each entry describes the service's file.
"""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Service:
    """One service: its name, the way to its export, and how long the file takes."""

    name: str
    path: Promise
    takes: Promise


SERVICES = (
    Service(
        "ChatGPT",
        _("Settings → Data controls → Export data. A link comes by mail; send the zip file."),
        _("minutes, at most a day"),
    ),
    Service(
        "Claude",
        _("Settings → Privacy → Export data. A link comes by mail; send the zip file."),
        _("minutes, at most a day"),
    ),
    Service(
        "Gemini",
        _(
            "takeout.google.com → deselect all → My Activity → only Gemini Apps, format JSON. "
            "Send the zip file."
        ),
        _("minutes to hours"),
    ),
    Service(
        "Google Search, YouTube, Chrome",
        _(
            "takeout.google.com → deselect all → My Activity → Search or YouTube, and Chrome → "
            "History, format JSON. Send the zip file."
        ),
        _("minutes to hours"),
    ),
    Service(
        "Copilot",
        _("Microsoft account → Privacy → Copilot → Export activity history. Send the CSV file."),
        _("at once"),
    ),
    Service(
        "DeepSeek",
        _("Settings → Data → Export data. Send the zip file."),
        _("minutes, at most a day"),
    ),
    Service(
        "Grok",
        _("Settings → Data controls → Export account data. A link comes by mail; send the file."),
        _("minutes, at most a day"),
    ),
    Service(
        "Le Chat",
        _("Account → Export data. A link comes by mail; send the zip file."),
        _("minutes, at most a day"),
    ),
)
