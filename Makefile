# What these targets make lies under var/; a second run reinstalls and resets nothing.
SHELL := /bin/bash
PYTHON ?= python3.11
EXTRA ?= cpu
TORCH := torch==2.13.0
FORM ?= QQ
SEED ?= 1
QUERIES ?= 40
KILLS ?= 20
# An environment for each EXTRA: faiss-cpu and faiss-gpu install the same module.
VENV := var/venv$(if $(filter-out cpu,$(EXTRA)),-$(EXTRA))
BIN := $(VENV)/bin
# Programs for Mechanical Turk, which share no release with us.
CLIENTS := var/venv-clients
# Tests know nothing of the shell's database, broker, crowd or credentials.
OUTSIDE := $(shell env | grep -oE '^(QUORUM|AWS|CELERY|DJANGO)_[A-Za-z0-9_]+' | sed 's/^/-u /')
# Bytecode is kept, whatever the shell says: without, each process compiles and rewrites every test.
ALONE := env $(OUTSIDE) -u PYTHONDONTWRITEBYTECODE QUORUM_DATA=var/test
export QUORUM_DATA ?= var/data

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-examples run lint lock bench bench-models bench-gpu mutants services services-stop test-services chaos faults

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | column -t -s "$$(printf '\t')"

# A stamp per lock: a changed lock installs again, an unchanged one does nothing.
$(VENV)/.runtime-$(EXTRA): requirements/$(EXTRA).txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements/$(EXTRA).txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet $(TORCH)
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime-$(EXTRA)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements/dev.txt
	touch $@

$(CLIENTS)/.clients: requirements/clients.txt
	test -x $(CLIENTS)/bin/python || $(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements/clients.txt
	touch $@

# A checkout is run as it is, uninstalled: the command finds it by its place.
$(BIN)/quorum: $(VENV)/.runtime-$(EXTRA)
	printf '%s\n' '#!$(CURDIR)/$(BIN)/python' 'import sys' 'sys.path.insert(0, "$(CURDIR)")' 'from config.commands import main' 'main()' > $@
	chmod +x $@

setup: $(BIN)/quorum ## the virtual environment with the locked dependencies

demo: setup ## the whole job on the demo's data: from q/a pairs to a release
	QUORUM_DATA=var/demo $(BIN)/python -m demo.run

run: setup ## the site with its workers and the MTurk emulator, on http://127.0.0.1:8000
	@# Ports first: what follows takes the counters from a site that runs already.
	@# Counters begin again with the site: its processes leave a file each.
	@# Without the encoder: `quorum index build` encodes by itself unless it is told otherwise.
	@ports="$$($(BIN)/python -m demo.ports $(QUORUM_DATA))" && eval "$$ports" && \
	  $(BIN)/python manage.py migrate --verbosity 0 && \
	  rm -f "$${PROMETHEUS_MULTIPROC_DIR:-$(QUORUM_DATA)/metrics}"/*.db && \
	  PATH="$(CURDIR)/$(BIN):$$PATH" python -m demo.site web worker jobs beat $$emulator

test: $(VENV)/.dev ## the tests
	$(ALONE) $(BIN)/python -m pytest -n 2 --dist worksteal

test-examples: $(VENV)/.dev ## the property tests and state machines with all their examples
	$(ALONE) HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n 2 --dist worksteal -m "hypothesis and not services"

lint: $(VENV)/.dev ## style, types, layers and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(ALONE) $(BIN)/mypy
	$(ALONE) $(BIN)/lint-imports
	$(BIN)/python -m tests.house.prose

services: setup ## PostgreSQL and Redis on loopback, without docker; prints the variables that name them
	@$(BIN)/python -m demo.services start

services-stop: setup ## ends them; what they hold stays in var/services
	@$(BIN)/python -m demo.services stop

test-services: $(VENV)/.dev $(CLIENTS)/.clients ## the tests on PostgreSQL, Redis, two workers and beat, each started for them; and with programs for MTurk
	$(ALONE) $(BIN)/python -m pytest -m services tests/services
	# What SQLite cannot show: two transactions at once.
	export QUORUM_SERVICES=var/test-services; trap '$(BIN)/python -m demo.services stop' EXIT; \
	  $(BIN)/python -m demo.services start > var/test-services.env && . var/test-services.env && \
	  $(ALONE) QUORUM_DATABASE_URL="$$QUORUM_DATABASE_URL" $(BIN)/python -m pytest -n 2 -m concurrent

chaos: $(VENV)/.dev ## kills the workers of a campaign on a failing crowd, then audits it (SEED=1 QUERIES=40 KILLS=20; KEEP=1: into benchmarks/results/chaos.json)
	$(ALONE) CHAOS_SEED=$(SEED) CHAOS_QUERIES=$(QUERIES) CHAOS_KILLS=$(KILLS) CHAOS_KEEP=$(KEEP) $(BIN)/python -m pytest -s -m chaos tests/services/test_chaos.py

faults: $(VENV)/.dev ## forty campaigns by a failing Prolific, whose books must be right to the cent; at least 1,000 faults (KEEP=1: into benchmarks/results/faults.json)
	$(ALONE) HYPOTHESIS_PROFILE=thorough FAULTS_KEEP=$(KEEP) $(BIN)/python -m pytest -s tests/annotation/crowd/prolific/test_campaign.py

mutants: $(VENV)/.dev ## changes each rule once and shows that a test notices (ONLY=annotation/protocol)
	$(ALONE) $(BIN)/python -m tests.house.mutants $(ONLY)

bench: $(VENV)/.dev ## the main job on real data; SIZE=paper: a campaign of the paper's size; SIZE=desk: taking and submitting, and 200 annotators at once; SIZE=release: a release of that size; SIZE=turk: HITs created, worked and paid at the site's Turk; SIZE=dashboard: each of its pages (KEEP=1: over the database of the last run); SIZE=controls: whether controls give themselves away; SIZE=aggregation: what aggregators make of real crowds; SIZE=exclusion: whom both rules exclude, and how soon; SIZE=shared_errors: who is named for errors in common; SIZE=label_error: whether intervals of the label error and certificates are true; SIZE=intervals: whether those of P@1 and MAP are; SIZE=plan: whether what is planned comes true; SIZE=adaptive: votes where they matter beside the paper's rule; SIZE=retrieval: encoding, indexes and what they find (ONLY=exact_search,quality)
	$(BIN)/python -m benchmarks.$(if $(filter paper,$(SIZE)),campaign.size,$(if $(filter desk turk,$(SIZE)),$(if $(filter turk,$(SIZE)),turk,judging),$(if $(filter release,$(SIZE)),release.size,$(if $(filter dashboard,$(SIZE)),dashboard $(if $(KEEP),--keep),$(if $(filter controls,$(SIZE)),control_leak,$(if $(filter adaptive aggregation exclusion shared_errors plan label_error intervals,$(SIZE)),quality.$(SIZE),$(if $(filter retrieval,$(SIZE)),retrieval $(if $(ONLY),--only $(ONLY)),main_job --form $(FORM))))))))

bench-models: $(VENV)/.dev ## trains and compares models on real data, and times it (ONLY=answers,speed; FULL=1: the paper's grid, for a GPU; MPNET=FOLDER)
	$(BIN)/python -m benchmarks.models $(if $(ONLY),--only $(ONLY)) $(if $(FULL),--full) $(if $(MPNET),--mpnet $(MPNET))

bench-gpu: $(VENV)/.dev ## what only a GPU shows, in pieces of less than ten minutes (ONLY=search,encoding_fp16; EXTRA=gpu: faiss-gpu's indexes too)
	$(BIN)/python -m benchmarks.gpu $(if $(ONLY),--only $(ONLY))

lock: $(VENV)/.dev ## writes the locks again from pyproject.toml
	PATH="$(CURDIR)/$(BIN):$$PATH" requirements/lock
