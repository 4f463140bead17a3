from django.urls import include, path

from annotation.candidates import (
    board_views,
    cluster_views,
    generation_views,
    review_views,
    source_views,
    verifier_views,
    views,
)

of_study = [
    path("candidates/", views.candidates, name="candidates"),
    path("candidates/cancel/", views.cancel, name="candidates-cancel"),
    path("candidates/retry/", views.retry, name="candidates-retry"),
    path("generation/", generation_views.generation, name="generation"),
    path("generation/rules/", generation_views.rules, name="generation-rules"),
    path("generation/runs/<int:pk>/", generation_views.stop, name="run-stop"),
    path("generation/clusters/", cluster_views.clusters, name="clusters"),
    path("generation/verifier/", verifier_views.verify, name="verifier"),
    path("generation/prompts/<slug:name>/", generation_views.prompt, name="prompt"),
    path("generation/<slug:name>/", generation_views.step, name="step"),
    path("review/<slug:kind>/", review_views.queue, name="review"),
    path("review/<slug:kind>/decide/", review_views.decide, name="review-decide"),
    path("personas/board/", board_views.board, name="persona-board"),
    path("personas/board/pairs/", board_views.decide, name="persona-pair"),
    path("personas/board/<slug:name>.<slug:ending>", board_views.figure, name="persona-figure"),
    path("sources/", source_views.sources, name="sources"),
    path("sources/add/", source_views.upload, name="sources-upload"),
    path("sources/clear/", source_views.clear, name="sources-clear"),
]
urlpatterns = [
    path("studies/<slug:slug>/", include(of_study)),
]
