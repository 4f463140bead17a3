"""The table of podiums as rows of a study."""

from annotation.datasets.released import Layout, Rows
from attune_podium.layout import COLUMNS


class Podium(Layout):
    """``podiums``: a row an item, with its answers and what people said of them."""

    name = "podium"

    def tasks(self) -> dict[str, tuple[str, dict]]:
        """The only task."""
        return {"rank": ("ranking", {"options": 3})}

    def _rows(self) -> Rows:
        return self.read("podiums", frozenset(COLUMNS))

    def queries(self) -> Rows:
        """A question an item."""
        for place, row in self._rows():
            yield place, {"id": f"q-{row['item']}", "text": row["question"], "type": "general"}

    def candidates(self) -> Rows:
        """The answers of each item."""
        for place, row in self._rows():
            for name, text in row["answers"].items():
                yield place, {"id": name, "query": f"q-{row['item']}", "text": text}

    def items(self) -> Rows:
        """The items themselves."""
        for place, row in self._rows():
            item = {"id": row["item"], "task": "rank", "query": f"q-{row['item']}"}
            yield place, item | {"candidates": list(row["answers"])}

    def judgments(self) -> Rows:
        """Where each person puts the answers."""
        for place, row in self._rows():
            for ranking in row["rankings"]:
                judgment = {"item_id": row["item"], "worker": ranking["worker"]}
                yield place, judgment | {"answer": ranking["places"]}
