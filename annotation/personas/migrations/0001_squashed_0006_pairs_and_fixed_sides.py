from annotation.core.squashing import squash

Migration = squash(__package__, "0006_pairs_and_fixed_sides")
