from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:
    # It reads the settings of DRF, which name this module.
    from rest_framework.views import APIView


class Nobody(BasePermission):
    """The default: a view must declare who may call it."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return False
