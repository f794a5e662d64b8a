# make demo, make test, make check and make docs set up their own environment in .venv; nothing else is needed but Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

MINUTES ?= 30

# LOCKED=1 takes the very packages that distribution/ci.lock names, as .ci/run does.
LOCKED ?=

.PHONY: demo test test-more test-oldest test-newest soak check docs bench reproduce wheel clean
demo: $(READY)
	$(BIN)/python -m discreet demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

test-more: $(READY)
	$(BIN)/python -m pytest -n 2 -m more

# Another Python than the oldest or the newest of this machine: make test-newest PYTHON=3.12
VERSION := $(filter 3.%,$(PYTHON))
test-oldest test-newest:
	$(if $(VERSION),python3,$(PYTHON)) -m tools.versions $(@:test-%=%) $(VERSION:%=--python %)

soak: $(READY)
	$(BIN)/python -m tools.soak --minutes $(MINUTES)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/package/test_architecture.py

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The site is in build/site. To read it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

bench: $(READY)
	$(BIN)/python -m pip install --quiet ".[bench]"
	$(BIN)/python -m benchmarks.moments
	$(BIN)/python -m benchmarks.noise
	$(BIN)/python -m benchmarks.parquet

reproduce: $(READY)
	$(BIN)/python -m discreet reproduce all --out experiments/results/reproduce

wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# The wheel and the source archive, the same bytes twice, and a bill of materials of what they need, with licences, in dist/.
.PHONY: dist sbom man schemas lock
dist sbom: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[dist]"
	$(BIN)/python -m distribution

man: $(READY)
	$(BIN)/python -m distribution.manual

schemas: $(READY)
	$(BIN)/python -m distribution.schemas

# New versions in the lock file of CI: make lock UPGRADE=--upgrade
lock: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[dist]"
	$(BIN)/python -m distribution.lock $(UPGRADE)

$(READY): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'discreet needs Python 3.11 or newer: make PYTHON=python3.12')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(if $(LOCKED),$(BIN)/python -m pip install --quiet --require-hashes --requirement distribution/ci.lock)
	$(BIN)/python -m pip install --quiet $(if $(LOCKED),--no-deps --no-build-isolation) --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) .venv-oldest* .venv-newest* build dist discreet-demo
