from django.urls import path

from annotation.accounts import views

urlpatterns = [
    path("accounts/email/", views.addresses, name="account_email"),
    path("accounts/2fa/totp/picture.svg", views.totp_picture, name="totp-picture"),
    path("language/", views.language, name="language"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<int:pk>/revoke/", views.revoke, name="token-revoke"),
]
