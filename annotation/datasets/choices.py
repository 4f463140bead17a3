"""The options of a release apart from layout and format. Pure."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from annotation.agreement.figures.wording import translated
from annotation.agreement.tiers.rules import TierRule
from annotation.core.errors import DomainError
from annotation.datasets import layouts
from annotation.datasets.truth import RULE
from annotation.queries.scenarios import SHOTS

TIERS, MAJORITY, HALF, IMPORTED = "tiers", "majority", "more-than-half", "imported"
PAIR_RULES = (TIERS, MAJORITY, HALF, IMPORTED)
MOST_VOTES = 1_000
MOST_SHOTS = 100
FEWEST_SHARD_ROWS, MOST_SHARD_ROWS = 1_000, 10_000_000


@dataclass(frozen=True)
class Choices:
    """How a release makes its rows from votes; stored with it and stated in its manifest.

    ``rule`` makes pairs of tiers, or of a majority of at least ``min_votes`` votes whose winner is
    ``min_margin`` votes before the next label ("more-than-half": and has more than half of the
    votes, so that 4 : 3 : 2 is none), or takes those that a release was imported with.
    ``hard_fill`` is the largest share of borderline items in the hard tier. ``shots`` of a query's
    responses are examples for a judge model. ``easy_share`` is the least share of an item's votes
    that its ground truth needs for an easy pair. ``shard_rows`` is the number of rows at which a
    table goes on in another file, 0 for one file a table.
    """

    hard_fill: Fraction = Fraction(0)
    rule: str = TIERS
    min_votes: int = 1
    min_margin: int = 1
    shots: int = SHOTS
    easy_share: Fraction = Fraction(0)
    shard_rows: int = 0

    @classmethod
    def of(cls, layout: str, **wanted: Any) -> "Choices":
        """The choices ``wanted``, default where None; DomainError for what cannot be."""
        choices = cls(**{name: value for name, value in wanted.items() if value not in (None, "")})
        choices.check(layout)
        return choices

    @classmethod
    def from_json(cls, frozen: dict) -> "Choices":
        """The choices of a release's ``frozen``; older releases name ``hard_fill`` alone."""
        named = dict(frozen.get("choices", {}))
        shares: dict[str, Any] = {
            "hard_fill": Fraction(frozen.get("hard_fill", 0)),
            "easy_share": Fraction(named.pop("easy_share", 0)),
        }
        return cls(**shares, **named)

    def as_json(self) -> dict:
        """The part of ``frozen`` that ``from_json`` reads."""
        named = ("rule", "min_votes", "min_margin", "shots", "shard_rows")
        choices = {name: getattr(self, name) for name in named}
        return {
            "hard_fill": str(self.hard_fill),
            "choices": choices | {"easy_share": str(self.easy_share)},
        }

    @property
    def by_majority(self) -> bool:
        """Whether pairs come from a majority instead of tiers."""
        return self.rule in (MAJORITY, HALF)

    @property
    def by_tiers(self) -> bool:
        """Whether pairs come from the tier rule."""
        return self.rule == TIERS

    @property
    def tier_rule(self) -> TierRule:
        """The tier rule with this share of borderline items."""
        return replace(RULE, hard_fill=self.hard_fill)

    def rules(self) -> dict:
        """The manifest's description of the rules of pairs."""
        if not self.by_majority:
            return {"name": self.rule}
        return {
            "name": self.rule,
            "min_votes": self.min_votes,
            "min_margin": self.min_margin,
            "note": "every vote counts; the winner is an answer, the margin its votes less those "
            "of the next label",
        }

    def check(self, layout: str) -> None:
        """DomainError where a choice cannot be, or the layout has no use for it."""
        tiered = layouts.layout_of(layout).TIERED
        if self.rule not in PAIR_RULES:
            raise DomainError(
                "The rule of pairs is “tiers”, “majority”, “more-than-half” or “imported”."
            )
        if self.hard_fill and not tiered:
            raise DomainError(
                f"The layout “{layout}” has no tiers that borderline items could join."
            )
        if self.easy_share and not (tiered and self.rule == TIERS):
            raise DomainError("The share of the ground truth belongs to tiers and their pairs.")
        if not 0 <= self.easy_share <= 1:
            raise DomainError("The share of the ground truth is a number from 0 to 1.")
        if self.hard_fill and self.rule != TIERS:
            raise DomainError("Borderline items join the hard tier by the rule “tiers” alone.")
        if self.rule != TIERS and not tiered:
            raise DomainError(f"The layout “{layout}” has no pairs that a rule could make.")
        if (self.min_votes, self.min_margin) != (1, 1) and not self.by_majority:
            raise DomainError(
                "Minimum votes and margin belong to the rules “majority” and “more-than-half”."
            )
        _within("The minimum of votes", self.min_votes, MOST_VOTES)
        _within("The minimum margin", self.min_margin, MOST_VOTES)
        _within("The number of shots", self.shots, MOST_SHOTS)
        if self.shard_rows:
            _within(
                "The number of rows a file", self.shard_rows, MOST_SHARD_ROWS, FEWEST_SHARD_ROWS
            )
        try:
            _ = self.tier_rule
        except ValueError as error:
            raise DomainError(translated(str(error))) from error


def _within(what: str, number: int, most: int, least: int = 1) -> None:
    if type(number) is not int or not least <= number <= most:
        raise DomainError(f"{what} is a whole number from {least:,} to {most:,}.")
