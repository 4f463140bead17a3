"""Papers, a folder each: all that is one paper's own, as ``PAPER`` in the folder's ``paper``.

Nothing imports this package: general code asks the registry (``datasets.papers``).
"""

from collections.abc import Iterator
from importlib.metadata import EntryPoint

from django.apps import AppConfig
from django.conf import settings


class PapersConfig(AppConfig):
    """Registers the papers of this package, and gives what they offer to the apps that ask."""

    name = "annotation.papers"

    def ready(self) -> None:
        from annotation.candidates import strategies
        from annotation.datasets import papers
        from annotation.imports import recipes as mappings
        from annotation.judging.curator import recipes

        papers.SOURCES.insert(0, self.folders)
        strategies.SOURCES.append(papers.strategies)
        recipes.SOURCES.append(papers.recipe_folders)
        mappings.SOURCES.append(papers.mappings)

    def folders(self) -> Iterator[EntryPoint]:
        """An entry point for each folder of a paper, as an installed package has one."""
        from annotation.datasets.papers import GROUP

        for name in settings.PAPERS:
            yield EntryPoint(name, f"{self.name}.{name}.paper:PAPER", GROUP)
