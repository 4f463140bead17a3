from annotation.core.squashing import squash

Migration = squash(__package__, "0004_installation")
