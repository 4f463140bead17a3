"""What tests of votes share with those of agreement."""

from tests.agreement.conftest import votes_file

__all__ = ["votes_file"]
