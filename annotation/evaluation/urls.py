from django.urls import path

from annotation.evaluation import views

release = "studies/<slug:slug>/releases/<int:version>/models/"

urlpatterns = [
    path("studies/<slug:slug>/gap/", views.gap_report, name="gap"),
    path("studies/<slug:slug>/gap/report.json", views.gap_json, name="gap-json"),
    path("studies/<slug:slug>/gap/<slug:task>.<slug:ending>", views.gap_file, name="gap-file"),
    path("studies/<slug:slug>/gap/<slug:task>/units/", views.gap_units, name="gap-units"),
    path("studies/<slug:slug>/gap/<uuid:run>/again/", views.rater_again, name="rater-again"),
    path("studies/<slug:slug>/results/<slug:task>/estimates/", views.estimated, name="estimates"),
    path("studies/<slug:slug>/results/<slug:task>/groups/", views.by_group, name="groups"),
    path(release, views.models, name="models"),
    path(f"{release}system/", views.system, name="models-system"),
    path(f"{release}<uuid:run>/again/", views.again, name="models-again"),
    path(f"{release}<slug:name>.<slug:ending>", views.export, name="models-export"),
]
