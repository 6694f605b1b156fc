# `make install` needs Python 3.11 or newer and nothing else; every other target installs what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Where only pip knows the way to a package index, pip installs what uv cannot.
# The names of the stamps hold the sum of what was installed, so that a changed lock or project installs again.
PRODUCT := $(VENV)/.product-$(shell cat pyproject.toml requirements.lock | cksum | tr ' ' '-')
DEV := $(VENV)/.dev-$(shell cat pyproject.toml requirements-dev.lock | cksum | tr ' ' '-')

# Where it is set, every process would compile every module it loads anew: seconds of each start, half of a test run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install run lock check test test-all test-engine test-tools chaos bench install-dev clean

install: $(PRODUCT)

install-dev: $(PRODUCT) $(DEV)

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit("Loopwright needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(PRODUCT): | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable . \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@rm -f $(VENV)/.product-*
	@touch $@

$(DEV): | $(BIN)/uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-dev.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@rm -f $(VENV)/.dev-*
	@touch $@

run: install
	@exec $(BIN)/loopwright up

# Resolve the dependencies anew; UPGRADE=--upgrade takes the newest versions.
lock: $(BIN)/uv
	@$(BIN)/uv pip compile $(UPGRADE) --quiet --universal --python-version 3.11 --no-emit-index-url --no-header \
		--no-annotate pyproject.toml --output-file requirements.lock
	@$(BIN)/uv pip compile $(UPGRADE) --quiet --universal --python-version 3.11 --no-emit-index-url --no-header \
		--no-annotate --extra dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock

check: install-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/deptry .

# The browser and the sandbox: system packages where that is allowed, the browser driver's own download elsewhere.
test-tools: install-dev
	@tests/support/install_tools.sh $(BIN)/playwright

# Two at a time, a file's tests together: most of them wait for processes (docs/decisions/011). make test WORKERS=4
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# ARGS goes to pytest: make test ARGS="tests/unit -x"
test: install-dev test-tools
	@$(PYTEST) $(ARGS)

test-all: install-dev test-tools check
	@$(PYTEST) -m "" $(ARGS)

# The system tests and those of the sidecar against a running Inngest server: make test-engine URL=http://127.0.0.1:8288
# The keys of a self-hosted one stand in INNGEST_SIGNING_KEY and INNGEST_EVENT_KEY.
test-engine: install-dev
	@test -n "$(URL)" || { echo "name the server: make test-engine URL=http://127.0.0.1:8288" >&2; exit 2; }
	@$(BIN)/python -m pytest tests/system tests/sidecar -m "engine and not browser" --engine "$(URL)" $(ARGS)

# Processes are killed and the studio misbehaves while people work, then an audit: make chaos MINUTES=5 SEED=7
MINUTES ?= 5
chaos: install-dev
	@$(BIN)/python -m tests.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)

# Every benchmark as a table and in reports/bench.json: make bench ARGS="steps"
bench: install-dev
	@$(BIN)/python -m tests.bench $(ARGS)

clean:
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
