from rest_framework.pagination import CursorPagination


class Cursor(CursorPagination):
    """Pages by cursor: no count, and no page grows dearer towards the end."""

    ordering = "pk"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000
