"""The rows of a release, ours or a published one, as rows of a study bundle."""

from annotation.datasets.released.base import Layout
from annotation.datasets.released.long import Long
from annotation.datasets.released.pairs import Dpo
from annotation.datasets.released.tools import Argilla, Export, LabelStudio

# Of the layouts that are no paper's.
READERS: dict[str, type[Layout]] = {
    layout.name: layout for layout in (Dpo, Long, LabelStudio, Argilla)
}
# Exports of other tools are known by their files.
EXPORTS: tuple[type[Export], ...] = (Argilla, LabelStudio)
