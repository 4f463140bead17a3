"""Papers, a folder each: all that is one paper's own, as ``PAPER`` in the folder's ``paper``.

Nothing imports this package: general code asks the registry (``datasets.papers``).
"""
