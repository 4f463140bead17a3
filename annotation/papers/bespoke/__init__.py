"""BESPOKE: people judge answers to their own queries, from their own histories."""
