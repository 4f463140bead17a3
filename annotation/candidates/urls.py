from django.urls import include, path

from annotation.candidates import views

of_study = [
    path("candidates/", views.candidates, name="candidates"),
    path("candidates/cancel/", views.cancel, name="candidates-cancel"),
    path("candidates/retry/", views.retry, name="candidates-retry"),
    path("generation/", views.generation, name="generation"),
    path("generation/rules/", views.rules, name="generation-rules"),
    path("generation/runs/<int:pk>/", views.stop, name="run-stop"),
    path("generation/clusters/", views.clusters, name="clusters"),
    path("generation/verifier/", views.verify, name="verifier"),
    path("generation/prompts/<slug:name>/", views.prompt, name="prompt"),
    path("generation/<slug:name>/", views.step, name="step"),
    path("review/<slug:kind>/", views.queue, name="review"),
    path("review/<slug:kind>/decide/", views.decide, name="review-decide"),
    path("personas/board/", views.board, name="persona-board"),
    path("personas/board/pairs/", views.decide_pair, name="persona-pair"),
    path("personas/board/<slug:name>.<slug:ending>", views.figure, name="persona-figure"),
    path("sources/", views.sources, name="sources"),
    path("sources/add/", views.upload, name="sources-upload"),
    path("sources/clear/", views.clear, name="sources-clear"),
]
urlpatterns = [path("studies/<slug:slug>/", include(of_study))]
