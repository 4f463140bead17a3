from django import template

from annotation.core import text
from annotation.histories import browse

register = template.Library()


@register.filter
def heading(session) -> str:
    """The title made of how a session begins (``begins``, of ``browse.listed``)."""
    return browse.heading(session, getattr(session, "begins", None) or "")


@register.filter
def marked_markdown(pieces) -> str:
    """Pieces of a text, (words, label), as Markdown in which labelled words are highlighted."""
    return text.render_marked(pieces)
