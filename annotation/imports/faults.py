"""Lines of a file that cannot be imported, and the refusal that lists them."""

from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.judging.kinds.files import WIDER

FAULTS_LIMIT = 100_000


@dataclass
class Faults:
    """Lines that are not imported; beyond FAULTS_LIMIT they are only counted."""

    rows: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0
    # What a task could be given to take lines that do not fit it (imported.WIDER): its name.
    wider: dict[str, str] = field(default_factory=dict)
    # Whether a line is a further judgment of one person, which repeats could be.
    repeated: bool = False

    def add(self, line: int, reason: str) -> None:
        self.count += 1
        if len(self.rows) < FAULTS_LIMIT:
            self.rows.append((line, reason))

    def add_all(self, others: "Faults") -> None:
        """Add those of ``others`` that are not among them."""
        for line, reason in set(others.rows).difference(self.rows):
            self.add(line, reason)
        self.rows.sort()
        self.repeated |= others.repeated

    def offers(self) -> list[str]:
        """The changes of tasks that would make lines fit, a sentence for each."""
        words = _("The task “%(task)s” would take more of them with: %(change)s (%(name)s).")
        offers = [
            words % {"task": task, "change": WIDER[name], "name": name}
            for name, task in sorted(self.wider.items())
        ]
        if self.repeated:
            offers.append(_("Further judgments of one person can be kept as repeats."))
        return offers


class FaultsError(DomainError):
    """Lines are faulty and none may be left out; ``faults`` lists them."""

    code = "faulty_lines"

    def __init__(self, faults: Faults, sentence: str = "") -> None:
        sentence = sentence or (
            _("%d lines are faulty. Nothing was imported: correct them, or leave them out.")
            % faults.count
        )
        super().__init__(" ".join([sentence, *faults.offers()]))
        self.faults = faults
