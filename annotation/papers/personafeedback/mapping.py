from django.utils.translation import gettext_lazy

from annotation.imports.recipes import Recipe

RECIPE = Recipe(
    gettext_lazy("PersonaFeedback pairs"),
    {
        "persona": ("user_id",),
        "prompt": ("question",),
        "answer_a": ("chosen",),
        "answer_b": ("reject", "rejected"),
    },
    {"type": ("type",), "scenario": ("scenario",)},
)
