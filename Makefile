# Needs make and Python 3.11, 3.12 or 3.13; everything else goes into .venv.
#   make check   set up and run the demo      make test   set up and run the tests
#   make lint    style, types and imports     make docs   build the documentation into site/
#   make test-fast   the tests without Spark  make test-times   the table of tests/TIMES.md
#   make proofs  run every proof, and remember those that hold
#   make searches    run every search of the tests, and remember what the long ones find
#   make clean   remove what these made
#   make release-check   build the distributions and try the wheel

VENV := .venv
BIN := $(VENV)/bin
PYTHONS := python3.13 python3.12 python3.11 python3 python
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Modules are compiled when they are imported; most modules of these packages never are. What was compiled is
# kept, whatever the environment says: the tests start Python a few hundred times.
INSTALL := $(PIP) install --no-compile
export PYTHONDONTWRITEBYTECODE :=

# The first interpreter that starts, has a usable version, and can make environments.
FIND_PYTHON = for python in $(PYTHON) $(PYTHONS); do \
	  if $$python -c 'import ensurepip, venv, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	    >/dev/null 2>&1; then echo $$python; exit 0; fi; \
	done

.PHONY: check test test-fast test-times proofs searches lint docs release-check clean

check: $(VENV)/.installed-all
	$(BIN)/skipproof demo
	$(BIN)/skipproof tables demo

# The environment and the tests are timed apart.
test:
	@began=$$(date +%s) && $(MAKE) --no-print-directory $(VENV)/.installed-tests && \
	echo "environment: $$(($$(date +%s) - began)) s"
	@began=$$(date +%s); $(BIN)/python -m pytest -n auto $(PYTEST_ARGUMENTS); status=$$?; \
	echo "tests: $$(($$(date +%s) - began)) s"; exit $$status

# Without Spark, and without the tests that tests/slow_tests.txt lists.
test-fast: $(VENV)/.installed-tests
	$(BIN)/python -m pytest -n auto -m 'not spark and not slow' $(PYTEST_ARGUMENTS)

# The table of tests/TIMES.md and the list of tests/slow_tests.txt, from a whole run.
test-times: $(VENV)/.installed-tests
	$(BIN)/python -m pytest -n auto --junitxml=build/times.xml
	$(BIN)/python tools/test_times.py build/times.xml tests

# Run every proof; those that hold need not be run again until what they prove changes.
proofs: $(VENV)/.installed-tests
	@mkdir -p build && rm -f build/proofs.txt
	SKIPPROOF_PROVE_ANEW=1 SKIPPROOF_WRITE_PROOFS=build/proofs.txt $(BIN)/python -m pytest -n auto tests/proofs
	LC_ALL=C sort -u build/proofs.txt > tests/proofs/remembered_proofs.txt

# Search for what strategies are to reach; what long searches find is drawn again until strategies change.
searches: $(VENV)/.installed-tests
	@mkdir -p build && rm -f build/searches.txt
	SKIPPROOF_SEARCH_ANEW=1 SKIPPROOF_WRITE_SEARCHES=build/searches.txt $(BIN)/python -m pytest -n auto \
	  $$(grep -rl '^from searches import' --include='test_*.py' tests)
	LC_ALL=C sort -u build/searches.txt > tests/remembered_searches.txt

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/voice.py --check

# A link that leads nowhere fails, and so does a page that asks another host for anything.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python tools/docs/check_site.py site

release-check: $(VENV)/.installed-release
	$(BIN)/python -m tools.release_check

clean:
	rm -rf $(VENV) build dist site *.egg-info

$(BIN)/python:
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
	  echo "make: no Python 3.11, 3.12 or 3.13 with venv found; install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; \
	  exit 2; \
	fi; \
	echo "$$python -m venv $(VENV)"; \
	$$python -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'

# A stamp is older than pyproject.toml exactly when what is installed may be out of date.
$(VENV)/.installed-all: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[all]'
	@touch $@

# In one call, which resolves and installs once.
$(VENV)/.installed-tests: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[all]' --group tests --group engines
	@touch $(VENV)/.installed-all $@

# Without Spark: pages are made of docstrings, commands and models, none of which needs it.
$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(INSTALL) --editable '.[histories,simulator]' --group docs
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-all
	$(INSTALL) --group tests --group lint
	@touch $@

$(VENV)/.installed-release: pyproject.toml | $(BIN)/python
	$(INSTALL) --group release
	@touch $@
