from annotation.core.squashing import squash

Migration = squash(__package__, "0005_rules_that_looked")
