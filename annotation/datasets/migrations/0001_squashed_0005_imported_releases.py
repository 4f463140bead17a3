from annotation.core.squashing import squash

Migration = squash(__package__, "0005_imported_releases")
