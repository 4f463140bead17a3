"""All tables of judging, gathered for Django and everybody else."""

from annotation.judging.kinds.attribute.tables import AttributeVerdict
from annotation.judging.kinds.claims.tables import ClaimReview, ClaimVerdict
from annotation.judging.kinds.feedback.tables import Feedback, Score
from annotation.judging.kinds.preference.tables import Preference
from annotation.judging.kinds.ranking.tables import RankedOption, Ranking
from annotation.judging.kinds.relevance.tables import Relevance
from annotation.judging.kinds.selection.tables import Selection
from annotation.judging.tables import (
    Adjudication,
    Batch,
    BonusNote,
    Checks,
    Desk,
    Draft,
    Handback,
    Item,
    ItemComment,
    ItemOption,
    Judgment,
    Slot,
)
