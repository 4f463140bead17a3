from django import template
from django.utils.translation import gettext as _

from annotation.core import text
from annotation.histories import browse
from annotation.histories.models import Session

Kind = Session.Kind

register = template.Library()


@register.filter
def heading(session: Session) -> str:
    """The title made of how a session begins (``begins``, of ``browse.listed``)."""
    return browse.heading(session, getattr(session, "begins", None) or "")


@register.filter
def kind_words(session: Session) -> str:
    """What stands for the title of a session without any words."""
    words = {Kind.SEARCH: _("Searches"), Kind.VISIT: _("Visits")}
    return words.get(Kind(session.kind)) or _("Untitled")


@register.filter
def marked_markdown(pieces: list[tuple[str, str]]) -> str:
    """Pieces of a text, (words, label), as Markdown in which labelled words are highlighted."""
    return text.render_marked(pieces)
