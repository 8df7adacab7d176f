# Commands for users and developers. Each command installs its own requirements; their implementation follows below.

VENV   := .venv
BIN    := $(VENV)/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --no-input install -qq --no-compile
# pip itself compiles modules one by one, those of the packages' tests as well. Like pip, this accepts files that cannot
# be compiled, such as templates.
COMPILE_INSTALLED := $(BIN)/python -m compileall -qq -j 0 -x '[/\\]tests?[/\\]' $(VENV)/lib || true
PACKAGES := app core workers client migrations
# Two more than processors: many tests wait for services that they have started. The slowest files run first.
TEST_PROCESSES = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
TEST_IN_PARALLEL = --numprocesses $(TEST_PROCESSES) --maxprocesses 5 --dist loadfile --no-loadscope-reorder
# Each process takes half of the time of its collection to rewrite assertions, unless one may store them for the others.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo serve test test-kernels coverage check format docs reference bench lock clean

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; \
		do printf 'make %-9s %s\n' "$$name" "$$text"; done

setup: $(VENV)/.runtime-installed ## Install the locked packages into .venv (skipped if they are up to date)

demo: setup ## Start the service and compare models trained on noisy labels (EXIT=1 stops it at the end)
	@exec $(BIN)/python -m app.cli demo $(if $(filter-out 0,$(EXIT)),--exit)

serve: setup ## Run the service until Ctrl-C; see docs/reference/settings.md
	@exec $(BIN)/python -m app.cli serve

# The tests start hundreds of processes, which compile every module again if PYTHONDONTWRITEBYTECODE is set.
test: setup ## Run the tests (ARGS="tests/core -x" selects a part)
	@$(BIN)/python -m compileall -q $(PACKAGES)
	@$(MAKE) --no-print-directory --jobs=2 setup-dev $(if $(ARGS),,test-kernels)
	@$(PYTEST) $(TEST_IN_PARALLEL) $(ARGS)

# It needs no development packages, and so runs while these are installed.
test-kernels: setup
	@$(BIN)/python -m tests.compile_kernels

check: setup-dev ## Check linting, formatting, types, import contracts, repository rules and the documentation build
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@sh .ci/check-repository
	@$(BUILD_DOCS)

format: setup-dev ## Format the code and apply the safe fixes of the linter
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

docs: setup-dev ## Build the documentation site in docs/_build/html; warnings are errors
	@$(BUILD_DOCS)
	@echo "The site is in docs/_build/html/index.html"

reference: setup-dev ## Regenerate the tables and the OpenAPI document in docs/
	@$(BIN)/python -m docs.generation

coverage: setup-dev ## Run the tests and measure branch coverage; fail below the minimum (ARGS as for test)
	@$(PYTEST) $(TEST_IN_PARALLEL) --cov --cov-report=term:skip-covered $(ARGS)

bench: setup-dev ## Run all benchmarks (QUICK=1 in minutes on few rows; ARGS="fit predict --repeats 1" selects a part)
	@$(BIN)/python -m benchmarks $(if $(filter-out 0,$(QUICK)),--quick) $(ARGS)

lock: ## Resolve the newest allowed versions and write the lock files (UPGRADE=0 keeps the locked versions)
	@$(find_python); "$$python" -m venv .venv-lock
	@.venv-lock/bin/python -m pip install -qq --disable-pip-version-check uv
	@.venv-lock/bin/uv pip compile pyproject.toml $(LOCK_OPTIONS) --output-file requirements.lock
	@.venv-lock/bin/uv pip compile pyproject.toml --extra dev $(LOCK_OPTIONS) --constraint requirements.lock \
		--output-file requirements-dev.lock
	@.venv-lock/bin/uv pip compile pyproject.toml --extra otel $(LOCK_OPTIONS) --constraint requirements-dev.lock \
		--output-file requirements-image.lock
	@rm -rf .venv-lock

clean: ## Remove installed packages, caches and built documentation; keep the state in ./var
	@rm -rf $(VENV) .venv-lock .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage \
		*.egg-info docs/_build
	@find $(PACKAGES) tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# --- implementation --------------------------------------------------------------------------------------------------

# Extras stay in the lock files: older versions of pip do not take "name==1.0" for the pin of "name[extra]", and refuse
# to install as soon as a newer release than the locked one exists.
LOCK_OPTIONS := --quiet $(if $(filter 0,$(UPGRADE)),,--upgrade) --universal --python-version 3.11 --generate-hashes \
	--no-strip-extras --no-annotate --no-header

BUILD_DOCS := $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --jobs auto docs docs/_build/html

# Set $python to the first Python for which the locked packages have wheels.
define find_python
python=; for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; \
	then python="$$candidate"; break; fi; done; \
if [ -z "$$python" ]; then \
	echo "Bristlecone needs Python 3.11 to 3.14, and none is on the PATH; install one, or run make PYTHON=/path/to/python3" >&2; \
	exit 1; fi
endef

setup-dev: $(VENV)/.dev-installed ## Install the locked development packages too

# The stamp is written last, so that an interrupted installation is repeated.
$(VENV)/.runtime-installed: requirements.lock pyproject.toml client/pyproject.toml | $(VENV)/.created
	@echo "Installing the locked packages into $(VENV) (about a minute the first time)"
	@$(INSTALL) --require-hashes --requirement requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable . --editable client
	@$(COMPILE_INSTALLED)
	@touch $@

# The runtime stamp is an order-only prerequisite: both targets write to the same folder, and make may run in parallel.
$(VENV)/.dev-installed: requirements-dev.lock pyproject.toml | $(VENV)/.runtime-installed
	@echo "Installing the locked development packages into $(VENV)"
	@$(INSTALL) --require-hashes --requirement requirements-dev.lock
	@$(COMPILE_INSTALLED)
	@touch $@

$(VENV)/.created:
	@$(find_python); \
	if ! $(BIN)/python -c 'import pip' 2>/dev/null; then \
		"$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); \
			echo "Python's venv module could not create $(VENV); on Debian and Ubuntu, run apt-get install python3-venv" >&2; \
			exit 1; }; fi
	@touch $@
