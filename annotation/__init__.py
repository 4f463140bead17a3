"""Attune: people judge how well an answer fits one particular person."""

__version__ = "0.2.0"
