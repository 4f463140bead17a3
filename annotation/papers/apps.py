from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pkgutil import iter_modules

from django.apps import AppConfig


class PapersConfig(AppConfig):
    """Registers the papers of this package, and gives what they offer to the apps that ask."""

    name = "annotation.papers"

    def ready(self) -> None:
        from annotation.datasets import papers
        from annotation.imports import recipes as mappings
        from annotation.judging.curator import recipes

        papers.SOURCES.insert(0, self.folders)
        recipes.SOURCES.append(papers.recipe_folders)
        mappings.SOURCES.append(papers.mappings)

    def folders(self) -> Iterator[EntryPoint]:
        """An entry point for each folder beside this module, as an installed package has one."""
        from annotation.datasets.papers import GROUP

        for folder in iter_modules([self.path]):
            if folder.ispkg:
                yield EntryPoint(folder.name, f"{self.name}.{folder.name}.paper:PAPER", GROUP)
