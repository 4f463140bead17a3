from rest_framework.permissions import BasePermission


class Nobody(BasePermission):
    """The default: a view must declare who may call it."""

    def has_permission(self, request, view):
        return False
