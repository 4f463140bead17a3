from annotation.core.squashing import squash

Migration = squash(__package__, "0012_calls_of_rows")
