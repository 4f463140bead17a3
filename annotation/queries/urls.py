from django.urls import path

from annotation.queries import mine, views

urlpatterns = [
    path("studies/<slug:slug>/queries/", views.queries, name="queries"),
    path("studies/<slug:slug>/queries/add/", views.add, name="query-add"),
    path("studies/<slug:slug>/queries/<int:pk>/", views.query, name="query"),
    path("studies/<slug:slug>/my-queries/", mine.queries, name="own-queries"),
    path("studies/<slug:slug>/my-queries/<slug:key>/", mine.query, name="own-query"),
    path("studies/<slug:slug>/my-queries/<slug:key>/change/", mine.change, name="own-query-change"),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/sessions/",
        mine.sessions,
        name="own-query-sessions",
    ),
]
