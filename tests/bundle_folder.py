"""A good bundle in a folder, for tests that change it and import it."""

import json

STUDY = {
    "slug": "walk",
    "title": "Walks",
    "description": "Answers about walking.",
    "guideline": "Choose what fits the person.",
    "consent": "I take part.",
    "languages": ["en", "ko"],
    "tasks": [
        {"name": "best", "kind": "selection", "options": 3, "overlap": 4, "tie": True},
        {"name": "better", "kind": "selection", "options": 2, "overlap": 2, "none": True},
    ],
}
FILES = {
    "personas": [
        {"id": "p1", "profile": {"Name": "Mina Park", "Demographics": {"Age": 34}}},
        {"id": "p2", "profile": {"Name": "林夏", "Preference": {"Social": "小聚"}}},
    ],
    "memories": [
        {"persona": "p1", "text": "Five quiet paths along the river."},
        {"persona": "p2", "text": "秋天的山路。"},
    ],
    "queries": [
        {"id": "q1", "persona": "p1", "text": "Where can I walk?", "need": "near, flat"},
        {"id": "q2", "persona": "p2", "text": "周末去哪里走走?", "type": "general"},
    ],
    "candidates": [
        {"id": f"{query}-c{n}", "query": query, "text": f"Answer {n} to {query}.", "strategy": "A1"}
        for query in ("q1", "q2")
        for n in (1, 2, 3)
    ],
    "items": [
        {"id": "i1", "task": "best", "query": "q1", "candidates": ["q1-c2", "q1-c1", "q1-c3"]},
        {"id": "i2", "task": "better", "query": "q2", "candidates": ["q2-c1", "q2-c3"]},
        {
            "id": "i3",
            "task": "better",
            "query": "q1",
            "candidates": ["q1-c1", "q1-c2"],
            "overlap": 5,
        },
    ],
}


class Folder:
    """A good bundle in a folder; its rows can be changed and written again."""

    def __init__(self, path):
        self.path = path
        self.study = json.loads(json.dumps(STUDY))
        self.files = json.loads(json.dumps(FILES))

    def write(self):
        """Write the folder as it stands now; its path."""
        self.path.mkdir(exist_ok=True)
        text = json.dumps(self.study, ensure_ascii=False, indent=2)
        (self.path / "study.json").write_text(text, encoding="utf-8")
        for name, rows in self.files.items():
            lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            (self.path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        return self.path

    def row(self, name, key):
        """The row with this id."""
        return next(row for row in self.files[name] if row["id"] == key)
