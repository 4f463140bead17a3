"""Gemini Apps: prompts with their answers, which Takeout lists without conversations."""

import re
from collections.abc import Iterable, Iterator

from annotation.histories import texts, times
from annotation.histories.formats.build import Draft, Spill, digest, names
from annotation.histories.records import Record

# An answer and the next prompt further apart than this (seconds) begin a new conversation.
GAP = 30 * 60
_PREFIX = re.compile(
    r"(?:Prompted|Asked:|Asked|Live Prompt|Submitted query|Prompt\s*:|Υποβλήθηκε το ερώτημα)\s+"
)
_NO_PROMPT = re.compile(r"Used |Created Gemini Canvas titled |Branched ")
# What Google calls the product in the languages of Takeout: a title of only this is no prompt.
_PRODUCT = re.compile(
    r"(?:(?:applis?|applications?|aplicaciones|apps?|app|aplicativos|приложения|aplikacje|تطبيقات|"
    r"aplikasi|ứng dụng|แอป|ऐप्स|εφαρμογές)[ -](?:de |do |d[’'])?)?(?:gemini|bard)"
    r"(?:[ -]?(?:apps?|앱|应用|应用程序|應用程式|アプリ|uygulamaları|-appar|-sovellukset|-apper))?",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?<![A-Za-z0-9])(?:Gemini|Bard)(?![A-Za-z0-9])")
_CHAT = re.compile(r"https://gemini\.google\.com/app/([0-9a-f]{6,64})\b")


def is_header(header: str) -> bool:
    """Whether records under this header, in any language, are Gemini's; Bard's before 2024."""
    return bool(_HEADER.search(header))


class Prompts:
    """Prompts as they are read, newest first, until they can be put into conversations."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._order: list[tuple[float, int, str, int]] = []

    def add(
        self,
        where: str,
        title: str,
        time: times.Moment,
        answer: str,
        urls: Iterable[object],
        attachments: tuple[str, ...],
    ) -> None:
        """Take one record: `title` is the prompt with its verb, `urls` may name the chat."""
        title = texts.clean(title).replace("\xa0", " ").strip()
        if _NO_PROMPT.match(title) or _PRODUCT.fullmatch(title):
            return
        prefix = _PREFIX.match(title)
        at = time.at.timestamp() if time.at else 0.0
        chats = (_CHAT.match(url) for url in urls if isinstance(url, str))
        chat = next((match[1] for match in chats if match), "")
        prompt = title[prefix.end() :] if prefix else title
        record = (where, prompt, not prefix, at, time.assumed, answer, list(attachments))
        # The later in the file, the older: also among those of the same time.
        self._order.append((at, -len(self._order), chat, self._spill.put(*record)))

    def conversations(self) -> Iterator[Record]:
        """All of them: by the chat that the records name, else by gaps in time."""
        chats: dict[str, list[int]] = {}
        loose: list[list[int]] = []
        last = None
        for at, _, chat, key in sorted(self._order):
            if chat:
                chats.setdefault(chat, []).append(key)
                continue
            if last is None or at - last > GAP:
                loose.append([])
            last = at
            loose[-1].append(key)
        for chat, keys in chats.items():
            yield self._conversation(keys, chat)
        for keys in loose:
            yield self._conversation(keys, "")

    def _conversation(self, keys: list[int], chat: str) -> Record:
        first = self._spill.get(keys[0])
        name = chat or digest("gemini", str(first[3]), first[1])
        draft = Draft("gemini", first[0], id=name)
        if not chat:
            draft.flags.add("grouped_by_time")
        for key in keys:
            _, prompt, whole, at, assumed, answer, attachments = self._spill.get(key)
            if whole:
                draft.flags.add("prefix_kept")
            time = times.from_number(at)._replace(assumed=assumed)
            draft.add("user", prompt, time, attachments=names(attachments))
            draft.add("assistant", answer, time)
        return draft.finish()
