from django.urls import path

from annotation.agreement import views

urlpatterns = [
    path("studies/<slug:slug>/", views.study, name="study"),
    path("studies/<slug:slug>/raters/", views.raters, name="raters"),
    path("studies/<slug:slug>/raters/<int:user>/", views.rater, name="rater"),
    path("studies/<slug:slug>/comments/", views.comments, name="comments"),
    path("studies/<slug:slug>/planner/", views.planner, name="planner"),
    path("studies/<slug:slug>/audit/", views.audit, name="audit"),
    path("studies/<slug:slug>/audit/open/", views.open_audit, name="audit-open"),
    path("studies/<slug:slug>/ratings/<slug:task>/", views.ratings, name="ratings"),
    path("studies/<slug:slug>/results/<slug:task>/", views.results, name="results"),
    path(
        "studies/<slug:slug>/results/<slug:task>/figures/<slug:name>.<slug:ending>",
        views.figure,
        name="figure",
    ),
    path("studies/<slug:slug>/results/<slug:task>/top-up/", views.top_up, name="top-up"),
    path("studies/<slug:slug>/results/<slug:task>/stop/", views.stop_early, name="stop-early"),
    path(
        "studies/<slug:slug>/results/<slug:task>/items/<uuid:pk>/", views.item, name="result-item"
    ),
]
