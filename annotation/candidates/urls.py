from django.urls import path

from annotation.candidates import (
    board_views,
    cluster_views,
    generation_views,
    review_views,
    source_views,
    verifier_views,
    views,
)

urlpatterns = [
    path("studies/<slug:slug>/candidates/", views.candidates, name="candidates"),
    path("studies/<slug:slug>/candidates/cancel/", views.cancel, name="candidates-cancel"),
    path("studies/<slug:slug>/candidates/retry/", views.retry, name="candidates-retry"),
    path("studies/<slug:slug>/generation/", generation_views.generation, name="generation"),
    path("studies/<slug:slug>/generation/rules/", generation_views.rules, name="generation-rules"),
    path("studies/<slug:slug>/generation/runs/<int:pk>/", generation_views.stop, name="run-stop"),
    path("studies/<slug:slug>/generation/clusters/", cluster_views.clusters, name="clusters"),
    path("studies/<slug:slug>/generation/verifier/", verifier_views.verify, name="verifier"),
    path(
        "studies/<slug:slug>/generation/prompts/<slug:name>/",
        generation_views.prompt,
        name="prompt",
    ),
    path("studies/<slug:slug>/generation/<slug:name>/", generation_views.step, name="step"),
    path("studies/<slug:slug>/review/<slug:kind>/", review_views.queue, name="review"),
    path(
        "studies/<slug:slug>/review/<slug:kind>/decide/", review_views.decide, name="review-decide"
    ),
    path("studies/<slug:slug>/personas/board/", board_views.board, name="persona-board"),
    path("studies/<slug:slug>/personas/board/pairs/", board_views.decide, name="persona-pair"),
    path(
        "studies/<slug:slug>/personas/board/<slug:name>.<slug:ending>",
        board_views.figure,
        name="persona-figure",
    ),
    path("studies/<slug:slug>/sources/", source_views.sources, name="sources"),
    path("studies/<slug:slug>/sources/add/", source_views.upload, name="sources-upload"),
    path("studies/<slug:slug>/sources/clear/", source_views.clear, name="sources-clear"),
]
