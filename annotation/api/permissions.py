from rest_framework.permissions import BasePermission
from rest_framework.request import Request


class Nobody(BasePermission):
    """The default: a view must declare who may call it."""

    def has_permission(self, request: Request, view):
        return False
