"""PersonalBench: people check what was inferred of a person, and what follows from it."""
