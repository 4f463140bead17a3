from django.urls import include, path

from annotation.queries import owner_views, views

of_study = [
    path("queries/", views.queries, name="queries"),
    path("queries/add/", views.add, name="query-add"),
    path("queries/<int:pk>/", views.query, name="query"),
    path("my-queries/", owner_views.queries, name="own-queries"),
    path("my-queries/<slug:key>/", owner_views.query, name="own-query"),
    path("my-queries/<slug:key>/change/", owner_views.change, name="own-query-change"),
    path("my-queries/<slug:key>/sessions/", owner_views.sessions, name="own-query-sessions"),
]
urlpatterns = [
    path("studies/<slug:slug>/", include(of_study)),
]
