"""The layout `personafeedback`, ours or as published, as rows of a study."""

from collections.abc import Iterator

from annotation.datasets import release_files
from annotation.datasets.released.base import Place, Rows, bare_persona, times_of
from annotation.datasets.released.pairs import HALVES, Pairs

TIERS = ("easy", "medium", "hard", "majority", "imported")
PERSONAS = "persona/all_personas"
TABLES = (
    PERSONAS,
    *(
        f"{root}{half}/{tier}"
        for root in ("data/", "")
        for halves in HALVES.values()
        for half in halves
        for tier in TIERS
    ),
)


class PersonaFeedback(Pairs):
    """``data/{specific,general}/{easy,medium,hard}`` and the personas, ours or as published."""

    name = "personafeedback"
    # fmt: off
    columns = frozenset((
        "user_id", "question", "chosen", "reject", "item_id", "query_id", "tier",
        "votes", "n", "share", "chosen_id", "reject_id", "chosen_strategy",
        "reject_strategy", "chosen_model", "reject_model", "scenario",
        "persona_version", "asked_on",
    ))
    # fmt: on

    def files(self) -> Iterator[tuple[str, str, str]]:
        """(table, half, tier) of the pairs that are there."""
        for half, folders in HALVES.items():
            for name in folders:
                for tier in TIERS:
                    for table in (f"data/{name}/{tier}", f"{name}/{tier}"):
                        if release_files.parts(self.folder, table):
                            yield table, half, tier

    def personas(self) -> Rows:
        """The line of a persona is its id; without that file, only a person's id is available."""
        if release_files.parts(self.folder, PERSONAS):
            for place, row in self.read(PERSONAS, None):
                yield place, {"id": str(place.line), "profile": row}
            return
        yield from self.convert(self.pair_rows(), bare_persona)

    def memories(self) -> Rows:
        """Texts that a persona would be interested in."""
        columns = frozenset(("user_id", "text", "since", "until"))
        for place, row in self.read("persona/memories", columns):
            memory = {"persona": str(row.get("user_id", "")), "text": row.get("text")}
            yield place, memory | times_of(row)

    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """The pairs of every half and tier."""
        for table, half, tier in self.files():
            for place, row in self.read(table, self.columns):
                yield place, row | {"half": half, "tier": tier}
