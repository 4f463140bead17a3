"""Two texts word by word."""

import re
from difflib import SequenceMatcher

# A run of white space, a Chinese, Japanese or Korean sign, or a word with what clings to it.
_TOKEN = re.compile(
    r"\s+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
# SequenceMatcher is quadratic: longer texts are compared line by line.
WORDS_LIMIT = 4_000


def words(old: str, new: str) -> list[tuple[str, str]]:
    """The differences in order: (sign, text) with sign "=" equal, "-" removed, "+" added."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(before), len(after)) > WORDS_LIMIT:
        before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    parts = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, j, k, n in matcher.get_opcodes():
        if tag == "equal":
            parts.append(("=", "".join(before[i:j])))
            continue
        parts += [("-", "".join(before[i:j]))] if j > i else []
        parts += [("+", "".join(after[k:n]))] if n > k else []
    return parts
