# `make demo` shows the product, `make test` proves it. Both work on a fresh Debian or Ubuntu with Python 3.11+.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := fabricc custom_napalm benchmarks tests ansible_collections
DEMO := inventories/superpod-b200-4su/cluster.yaml
PEERS := nftables opensm ibsim-utils infiniband-diags ibutils frr frr-pythontools lldpd openssh-server iproute2 netplan.io network-manager dbus ethtool udev shellcheck slurmctld openmpi-bin ucx-utils perftest libyang2-tools \
  man-db groff minisign zsh fish \
  libyang2-dev build-essential pkg-config python3-dev chromium chromium-driver
APT := timeout 600 apt-get -qq -y -o DPkg::Lock::Timeout=120
export DEBIAN_FRONTEND := noninteractive
# The tested version of every dependency and tool; the variables also reach the isolated build of the editable install.
INSTALL = PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/pip install -qq --disable-pip-version-check
# Tests run hundreds of commands: what one has compiled, the next need not.
unexport PYTHONDONTWRITEBYTECODE
# Processes that tests run in: three for each of two cores, as many tests wait; a larger machine takes more of them.
WORKERS ?= 6
LINT = { $(BIN)/ruff check $(SOURCES) \
  && { $(BIN)/ruff format --check --quiet $(SOURCES) || { echo "run: $(BIN)/ruff format $(SOURCES)"; false; }; } \
  && $(BIN)/mypy && $(BIN)/lint-imports --no-cache; }

.PHONY: demo test test-all test-lowest test-newest fuzz site release lint clean peers

demo: $(VENV)/.installed
	@$(BIN)/fabricc build $(DEMO) -o build
	@echo "Look at: build/*/plan/ (tables), build/*/switches/, build/*/hosts/, build/*/jobs/"

# Lint needs one core for half a minute, so it runs beside the tests; what it says is told after them.
test: $(VENV)/.dev peers
	@$(LINT) >$(VENV)/lint.log 2>&1 & lint=$$!; \
	$(BIN)/pytest -m "not slow" -n $(WORKERS) --dist worksteal; tested=$$?; \
	if wait $$lint; then echo "lint, types and import contracts: passed"; else cat $(VENV)/lint.log; exit 1; fi; \
	exit $$tested

# The ordinary tests with the lowest declared version of each runtime dependency, and with the newest of everything.
test-lowest: peers
	@$(PYTHON) -m venv .venv-lowest && .ci/lowest >.venv-lowest/constraints.txt
	@.venv-lowest/bin/pip install -qq --disable-pip-version-check -c .venv-lowest/constraints.txt \
	  -e '.[keyring,mcp,xlsx]' pytest pytest-xdist hypothesis markdown-it-py selenium
	@.venv-lowest/bin/pytest -m "not slow" -n $(WORKERS) --dist worksteal

test-newest: peers
	@$(PYTHON) -m venv .venv-newest
	@.venv-newest/bin/pip install -qq --disable-pip-version-check --upgrade -e '.[dev]'
	@.venv-newest/bin/pytest -m "not slow" -n $(WORKERS) --dist worksteal

test-all: lint
	@$(BIN)/pytest --hypothesis-profile=explore

# Every kind of file that fabricc opens, changed at random: `make fuzz INPUTS=1000000`.
INPUTS ?= 100000
fuzz: $(VENV)/.dev
	@$(BIN)/python -m tests.fuzz --inputs $(INPUTS)

# The documentation as a site, build/site/site/index.html.
site: $(VENV)/.dev
	@$(BIN)/fabricc docs --site build/site
	@$(BIN)/zensical build --strict -f build/site/mkdocs.yml

# What a release holds, of the last commit, in dist/: wheel, source archive, SBOM, checksums.
release: $(VENV)/.dev
	@PYTHON=$(BIN)/python .ci/release dist

lint: $(VENV)/.dev peers
	@$(LINT)

# The real peers that some tests ask: FRR, netplan, slurmctld, libyang, Chromium, … Tests of a missing one skip and say so.
peers: $(VENV)/.peers

$(VENV)/.peers: | $(VENV)/bin/pip
	@missing=""; for package in $(PEERS); do \
	  dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q '^install ok' || missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then touch $@; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "note: tests against real peers skip without:$$missing (sudo apt-get install$$missing)"; \
	else \
	  echo "installing for tests against real peers:$$missing"; \
	  $(APT) update >/dev/null 2>&1 || true; \
	  for package in $$missing; do \
	    $(APT) install --no-install-recommends $$package >/dev/null 2>&1 || echo "note: could not install $$package"; \
	  done; touch $@; \
	fi
	@$(INSTALL) -e '.[judges]' >/dev/null 2>&1 \
	  || echo "note: the Python judges (libyang, nvueschema) could not be installed; their tests skip"
	@timeout 120 npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4.14.1 >/dev/null 2>&1 \
	  || echo "note: npm could not install axe-core; the tests of accessibility skip"
	@timeout 120 npm install --silent --no-audit --no-fund --prefix $(VENV)/editor yaml-language-server@2.0.0 >/dev/null 2>&1 \
	  || echo "note: npm could not install yaml-language-server; the test of what editors say skips"

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "fabricc needs Python 3.11 or later; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing python3-venv"; $(APT) update >/dev/null; $(APT) install python3-venv >/dev/null; \
	  else echo "Python's venv is missing. Install it with: sudo apt-get install python3-venv"; exit 1; fi; \
	fi
	@echo "making $(VENV)"; $(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/pip
	@echo "installing fabricc"; $(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/pip
	@echo "installing fabricc with its tools"; $(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find fabricc tests -name __pycache__ -type d -prune -exec rm -rf {} +
