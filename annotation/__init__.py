"""Attune: people judge how well an answer fits one particular person."""

__version__ = "1.0.0"
