from django.utils.translation import gettext_lazy

from annotation.imports.recipes import Recipe

RECIPE = Recipe(
    gettext_lazy("BESPOKE queries"),
    {"prompt": ("query",), "id": (["user", "query-id"], ["user", "query_id"])},
    {"persona": ("user",), "need": ("gold_information_need",)},
)
