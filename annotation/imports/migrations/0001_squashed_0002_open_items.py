from annotation.core.squashing import squash

Migration = squash(__package__, "0002_open_items")
