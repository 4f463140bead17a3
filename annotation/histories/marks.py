"""What of a history is hidden from everybody but its owner.

A mark that the owner has not decided on hides its passage too. Other apps get texts as
``shown_text`` and ``browse`` give them.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Max, Q, QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.histories import redact
from annotation.histories.models import Alias, Mark, Message, NamesWord, Session, changing

SUGGESTED, ACCEPTED, REJECTED = Mark.State.SUGGESTED, Mark.State.ACCEPTED, Mark.State.REJECTED
# The rule of marks that come from the owner's list; ``redact`` calls it the same.
LISTED = "names list"
WORD_LIMIT = 100
WORDS_LIMIT = 500
ROWS = 500

# A text to look at: its session's id, its message's id (None: the title), the text itself.
Row = tuple[UUID, int | None, str]


def shown_text(message: Message, marks: Iterable[Mark] | None = None) -> str:
    """The redacted text of a message.

    ``marks``: those of the message, with their aliases, where they are fetched already.
    """
    if marks is None:
        marks = message.marks.select_related("alias")
    return redact.apply(message.text, passages(marks))


def passages(marks: Iterable[Mark]) -> list[tuple[int, int, str]]:
    """What of the marks hides something, as ``redact.apply`` takes it."""
    return [(mark.start, mark.end, str(mark.alias)) for mark in marks if mark.state != REJECTED]


def suggest(owner: User, rows: Sequence[Row], is_late: bool = False) -> int:
    """Mark what looks personal in ``rows``; how many passages. Call it inside ``changing``.

    A passage that has a mark keeps it, with what its owner decided; ``is_late`` looks beside the
    marks that are there alone.
    """
    names = list(owner.names_words.values_list("word", flat=True))
    taken: dict[tuple[UUID, int | None], list[tuple[int, int]]] = defaultdict(list)
    if is_late:
        marked = Mark.objects.filter(session__in={row[0] for row in rows})
        for mark in marked.only("session", "message", "start", "end"):
            taken[mark.session_id, mark.message_id].append((mark.start, mark.end))
    passages = []
    for row in rows:
        spans = redact.suggest(row[2], names)
        if is_late:
            spans = redact.uncovered(row[2], spans, taken[row[0], row[1]])
        passages += [(row, span.start, span.end, span.kind, span.rule) for span in spans]
    return _insert(owner, passages, SUGGESTED, is_late)


def late(owner: User) -> QuerySet[Mark]:
    """What later rules found in sessions that ``owner`` has not dropped, and is not decided on."""
    marks = Mark.objects.filter(is_late=True, session__owner=owner)
    return marks.exclude(session__state=Session.State.DROPPED)


def accept_late(owner: User, session: Session | None = None) -> int:
    """Keep hidden what later rules found, in one session or in all; how many passages."""
    where = {"session": session} if session else {}
    return _decide(owner, ACCEPTED, is_late=True, **where)


def decide_mark(owner: User, mark: Mark, state: str, everywhere: bool = False) -> int:
    """Hide or show one passage, or ``everywhere`` its value stands; how many passages."""
    where = {"alias": mark.alias_id} if everywhere else {"pk": mark.pk}
    return _decide(owner, state, **where)


def decide_kind(owner: User, kind: str, state: str) -> int:
    """Hide or show every marked passage of one kind; how many."""
    if kind not in redact.KINDS:
        raise DomainError(_("There is no such kind of personal data."))
    return _decide(owner, state, alias__kind=kind)


def _decide(owner: User, state: str, **where: Any) -> int:
    if state not in (ACCEPTED, REJECTED):
        raise DomainError(_("Say whether to hide or to show it."))
    with changing(owner):
        marks = Mark.objects.filter(session__owner=owner, **where)
        return marks.update(state=state, is_late=False)


def strike(owner: User, session: Session, text: str, everywhere: bool = False) -> int:
    """Hide ``text`` wherever it stands in the session, or in all of ``owner``'s; how often.

    Raises DomainError where it stands nowhere.
    """
    text = _word(text)
    with changing(owner):
        sessions = Session.objects.filter(owner=owner)
        if not everywhere:
            sessions = sessions.filter(pk=session.pk)
        count = _strike(owner, sessions, text, "private", "struck out", ACCEPTED, part=True)
    if not count:
        raise DomainError(_("This text stands nowhere here. Copy it exactly as it is written."))
    return count


def add_words(owner: User, texts: Iterable[str]) -> int:
    """Put words on the owner's list and hide them in every session; how often they stood there."""
    words = list(dict.fromkeys(map(_word, texts)))
    with changing(owner):
        listed = set(NamesWord.objects.filter(owner=owner).values_list("word", flat=True))
        if len(listed | set(words)) > WORDS_LIMIT:
            raise DomainError(_("The list is full: %(n)d words.") % {"n": WORDS_LIMIT})
        sessions, count = Session.objects.filter(owner=owner), 0
        for word in words:
            NamesWord.objects.get_or_create(owner=owner, word=word)
            count += _strike(owner, sessions, word, "name", LISTED, SUGGESTED)
        return count


def remove_word(owner: User, word: NamesWord) -> None:
    """Take a word off the list; where its owner decided nothing else it is shown again."""
    with changing(owner):
        digest = _digest(owner, "name", redact.canonical("name", word.word))
        marks = Mark.objects.filter(session__owner=owner, state=SUGGESTED, rule=LISTED)
        marks.filter(alias__kind="name", alias__digest=digest).delete()
        word.delete()


def _word(text: str) -> str:
    word = unicodedata.normalize("NFC", " ".join(text.split()))
    if not word:
        raise DomainError(_("Write the text that is to be hidden."))
    if len(word) > WORD_LIMIT:
        sentence = _("At most %(n)d characters can be hidden at once.") % {"n": WORD_LIMIT}
        raise DomainError(sentence)
    return word


def _strike(
    owner: User,
    sessions: QuerySet[Session],
    text: str,
    kind: str,
    rule: str,
    state: str,
    part: bool = False,
) -> int:
    """Mark every place of ``text`` in ``sessions``; a ``part`` of a word counts as well."""
    passages = []
    for row in _rows_with(sessions, text):
        places = redact.occurrences(row[2], [text])
        if part and not places:
            places = [match.span() for match in re.finditer(re.escape(text), row[2])]
        passages += [(row, start, end, kind, rule) for start, end in places]
    _insert(owner, passages, state)
    return len(passages)


def _rows_with(sessions: QuerySet[Session], text: str) -> Iterator[Row]:
    """Titles and messages that may hold ``text``: its longest word stands in them."""
    word = max(text.split(), key=len)
    forms = {unicodedata.normalize(form, word) for form in ("NFC", "NFD")}

    def holds(field: str) -> Q:
        return Q(*[(f"{field}__icontains", form) for form in forms], _connector=Q.OR)

    for pk, title in sessions.filter(holds("title")).values_list("pk", "title"):
        yield pk, None, title
    messages = Message.objects.filter(holds("text"), session__in=sessions)
    rows = messages.values_list("session_id", "pk", "text")
    yield from rows.iterator(chunk_size=ROWS)


def _insert(owner: User, passages: list, state: str, is_late: bool = False) -> int:
    """Insert marks for ``passages`` (row, start, end, kind, rule); decided marks do not change."""
    keys = [
        (kind, redact.canonical(kind, row[2][start:end])) for row, start, end, kind, _r in passages
    ]
    aliases = _aliases(owner, keys)
    rows = [
        Mark(
            session_id=row[0],
            message_id=row[1],
            start=start,
            end=end,
            rule=rule,
            alias_id=aliases[key],
            state=state,
            is_late=is_late,
        )
        for (row, start, end, _kind, rule), key in zip(passages, keys, strict=True)
    ]
    options: dict[str, Any] = {"ignore_conflicts": True}
    if state == ACCEPTED:  # what its owner strikes out is hidden, whatever was decided before
        options = {
            "update_conflicts": True,
            "unique_fields": ["session", "message", "start", "end"],
            "update_fields": ["state", "alias", "rule", "is_late"],
        }
    Mark.objects.bulk_create(rows, batch_size=ROWS, **options)
    return len(rows)


def _aliases(owner: User, keys: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The alias of each (kind, canonical value), made where there is none, in order of meeting."""
    digests = {key: _digest(owner, *key) for key in dict.fromkeys(keys)}
    aliases = Alias.objects.filter(owner=owner)
    alias_ids = dict(aliases.filter(digest__in=digests.values()).values_list("digest", "pk"))
    last = Counter(dict(aliases.values_list("kind").annotate(Max("number"))))
    new = []
    for key, digest in digests.items():
        if digest not in alias_ids:
            last[key[0]] += 1
            new.append(Alias(owner=owner, kind=key[0], number=last[key[0]], digest=digest))
    for alias in Alias.objects.bulk_create(new, batch_size=ROWS):
        alias_ids[alias.digest] = alias.pk
    return {key: alias_ids[digest] for key, digest in digests.items()}


def _digest(owner: User, kind: str, value: str) -> str:
    # Keyed: an address or a number could be guessed from its plain digest.
    salt = "annotation.histories.alias"
    return salted_hmac(salt, f"{owner.pk}\0{kind}\0{value}", algorithm="sha256").hexdigest()
