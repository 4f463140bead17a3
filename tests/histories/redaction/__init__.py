"""Recall and precision of `redact.suggest` on a labelled set of our own, in three languages.

Sentences are invented, and so is everybody in them. `[[kind:value]]` labels what is personal, and a
literal backslash-n is a line break. A label is found where suggested passages cover all of it; a
suggested passage is right where it touches a label, of whatever kind: what is hidden is hidden.
Names that nothing introduces are labelled, too: no rule finds them, and an owner lists them.

The figures are written to `annotation/histories/redaction.json`, from where the pages read them.
"""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

LANGUAGES = ("en", "zh", "ko")
FOLDER = Path(__file__).parent
FIGURES = FOLDER.parents[2] / "annotation" / "histories" / "redaction.json"
_LABEL = re.compile(r"\[\[(?P<kind>[a-z]+):(?P<value>.*?)\]\]", re.DOTALL)


def sentences(language: str) -> list[tuple[str, list[tuple[int, int, str]]]]:
    """The labelled sentences of a language: text and labels (start, end, kind)."""
    lines = (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    return [_parsed(line.replace("\\n", "\n")) for line in lines if line]


def main() -> None:
    """Print and store the figures of each language."""
    figures, stored = document(), json.loads(FIGURES.read_text())
    if figures["spans"] != stored["spans"] and figures["rules"] == stored["rules"]:
        raise SystemExit(
            "The rules find other passages: raise RULES in annotation/histories/redact.py, so that "
            "older histories are looked through again."
        )
    FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    for name, entry in {"all": figures["all"], **figures["languages"]}.items():
        print(f"redaction_{name} " + " ".join(f"{key}={value}" for key, value in entry.items()))


def document() -> dict:
    """The figures of all sentences, of each language, and the recall of each kind."""
    from annotation.histories import redact

    by_language = {language: _measured(language) for language in LANGUAGES}
    total = sum((counts for counts, _kinds in by_language.values()), Counter())
    kinds = sum((kinds for _counts, kinds in by_language.values()), Counter())
    return {
        "rules": redact.RULES,
        "spans": _digest(),
        "sentences": total["sentences"],
        "all": _figures(total),
        "languages": {name: _figures(counts) for name, (counts, _k) in by_language.items()},
        "kinds": {
            kind: {"labels": kinds[kind, "labels"], "recall": _share(kinds, kind)}
            for kind in sorted({kind for kind, _what in kinds})
        },
    }


def _digest() -> str:
    """Of all passages that the rules suggest: it changes when the rules find others."""
    spans = [_suggested(text) for name in LANGUAGES for text, _labels in sentences(name)]
    return hashlib.sha256(json.dumps(spans).encode()).hexdigest()[:16]


def _parsed(line: str) -> tuple[str, list[tuple[int, int, str]]]:
    text, labels, place = "", [], 0
    for match in _LABEL.finditer(line):
        text += line[place : match.start()]
        labels.append((len(text), len(text) + len(match["value"]), match["kind"]))
        text, place = text + match["value"], match.end()
    return text + line[place:], labels


def _suggested(text: str) -> list[tuple[int, int]]:
    from annotation.histories import redact

    return [(span.start, span.end) for span in redact.suggest(text)]


def _measured(language: str) -> tuple[Counter, Counter]:
    counts, kinds = Counter(), Counter()
    for text, labels in sentences(language):
        spans = _suggested(text)
        counts["sentences"] += 1
        counts["labels"] += len(labels)
        counts["passages"] += len(spans)
        counts["right"] += sum(_touches(start, end, labels) for start, end in spans)
        for start, end, kind in labels:
            is_covered = _covered(start, end, spans)
            counts["found"] += is_covered
            kinds[kind, "labels"] += 1
            kinds[kind, "found"] += is_covered
    return counts, kinds


def _covered(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    hidden = {place for a, b in spans for place in range(a, b)}
    return all(place in hidden for place in range(start, end))


def _touches(start: int, end: int, labels: list[tuple[int, int, str]]) -> bool:
    return any(a < end and start < b for a, b, _kind in labels)


def _figures(counts: Counter) -> dict:
    return {
        "sentences": counts["sentences"],
        "labels": counts["labels"],
        "recall": round(counts["found"] / counts["labels"], 3),
        "precision": round(counts["right"] / counts["passages"], 3),
    }


def _share(kinds: Counter, kind: str) -> float:
    return round(kinds[kind, "found"] / kinds[kind, "labels"], 3)
