from django.urls import path

from annotation.agreement import views

urlpatterns = [
    path("studies/<slug:slug>/", views.study, name="study"),
    path("studies/<slug:slug>/planner/", views.planner, name="planner"),
    path("studies/<slug:slug>/results/<slug:task>/", views.results, name="results"),
    path("studies/<slug:slug>/results/<slug:task>/rule/", views.rule, name="rule-preview"),
    path(
        "studies/<slug:slug>/results/<slug:task>/items/<uuid:pk>/", views.item, name="result-item"
    ),
]
