"""A paper that is no part of Attune: people put three answers in order."""
