"""Run Attune studies from Python."""

from attune_client.client import Attune, AttuneError, Progress, Study

__all__ = ["Attune", "AttuneError", "Progress", "Study"]
