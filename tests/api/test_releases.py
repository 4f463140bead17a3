"""Releases by a program."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.conftest import opened


def test_releases_are_listed_without_their_manifests(tea, carol, django_assert_num_queries):
    opened(carol)
    made = [carol("POST", "studies/tea/releases/", {"layout": "long"}).json() for _ in range(2)]
    with CaptureQueriesContext(connection) as captured:
        carol("GET", "studies/tea/releases/?page_size=1")
    with django_assert_num_queries(len(captured)):
        carol("GET", "studies/tea/releases/?page_size=2")
    first = carol("GET", "studies/tea/releases/?page_size=1").json()
    rest = carol("GET", f"studies/tea/releases/?since={first['since']}").json()
    listed = first["results"] + rest["results"]
    assert [row["id"] for row in listed] == [release["id"] for release in made]
    assert [row["version"] for row in listed] == [1, 2]
    assert "manifest" not in listed[0]
