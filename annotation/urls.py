from django.urls import include, path

from annotation.core import views as core

handler400 = "annotation.core.views.bad_request"
handler403 = "annotation.core.views.forbidden"
handler404 = "annotation.core.views.not_found"
handler500 = "annotation.core.views.server_error"

urlpatterns = [
    path("health/live", core.live, name="live"),
    path("health/ready", core.ready, name="ready"),
    # Before allauth's: some of its pages are replaced there.
    path("", include("annotation.accounts.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/elsewhere/", include("allauth.socialaccount.urls")),
    path("", include("annotation.studies.urls")),
    path("", include("annotation.histories.urls")),
    path("", include("annotation.personas.urls")),
    path("", include("annotation.queries.urls")),
    path("", include("annotation.candidates.urls")),
    path("", include("annotation.judging.urls")),
    path("", include("annotation.agreement.urls")),
    path("", include("annotation.datasets.urls")),
    path("", include("annotation.imports.urls")),
    path("", include("annotation.evaluation.urls")),
    path("", include("annotation.live.urls")),
    path("", include("annotation.webhooks.urls")),
    path("", include("annotation.overview.urls")),
    path("", include("annotation.operations.urls")),
    path("api/", include("annotation.api.urls")),
]
