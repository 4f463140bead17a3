import re

from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination

_NUMBER = re.compile(r"[0-9]{1,18}")


class Cursor(CursorPagination):
    """Pages by cursor: no count, and no page grows dearer towards the end."""

    ordering = "pk"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000

    def decode_cursor(self, request):
        cursor = super().decode_cursor(request)
        # Positions are our own row numbers; a made-up one must not reach the database.
        if cursor and cursor.position is not None and not _NUMBER.fullmatch(cursor.position):
            raise NotFound(self.invalid_cursor_message)
        return cursor
