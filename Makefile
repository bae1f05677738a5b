# Each target first sets up what is missing, then does its work.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Set, all packages are those of locks/, each with its hash: make test LOCKED=1.
LOCKED ?=

READY := $(VENV)/.ready
SMALL := $(VENV)/.ready$(if $(LOCKED),,-small)
SOURCES := pyproject.toml hatch_build.py $(wildcard canon/pipeline/*.[ch]) \
    crawler/batch/_key_set.c crawler/documents/_page_scan.c
INSTALL := python -m pip install --quiet --disable-pip-version-check
# What the tests use; "make test-adapters" has the other extras, which are large.
EXTRAS := all,duckdb,pandas,polars,scrapy,spark
# Tests wait for other processes for almost half of their time.
WORKERS = $$($(PYTHON) -c "import os; print(min(8, (os.cpu_count() or 1) + 3))")
# Where this is set, each process of each test compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

HASHED := --require-hashes --requirement
# "make lock UPGRADE=--upgrade" takes the newest releases; else pins stay where they fit.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 $(UPGRADE) \
    --generate-hashes --no-emit-index-url --no-header --no-annotate

# What make test-small runs: all, if it is empty.
TESTS ?=

.PHONY: demo test test-fast test-small test-plain test-frontier test-adapters test-all test-lowest test-sanitized simulate trial-learning trial-sites coverage check lock audit docs docs-site screenshots bench clean help

help:
	@echo "make demo            crawl a site served on loopback, and see what was merged and why"
	@echo "make test            run the whole test suite"
	@echo "make test-fast       run the tests that need no database server and no other process"
	@echo "make test-small      run most of those, with 200 MB to install; TESTS=tests/canon takes some"
	@echo "make test-plain      run the tests of the library and of dedup without the compiled kernels"
	@echo "make test-frontier   run the tests of the frontier, with an engine in Java if Maven is there"
	@echo "make test-adapters   test each adapter with the newest and oldest release of its peer"
	@echo "make test-all        run the fast tests with every Python from 3.11 to 3.14 on this machine"
	@echo "make simulate        crawl simulated sites night after night: SEEDS=\"0 1000\" NIGHTS=365"
	@echo "make test-lowest     run the fast tests with the oldest packages that are allowed"
	@echo "make test-sanitized  run the tests of the C kernels under GCC's sanitizers"
	@echo "make trial-learning  crawl real manuals served by nginx (Debian only; tests/trials)"
	@echo "make trial-sites     compare crawls of real trees of HTML with another crawler's (Debian only)"
	@echo "make coverage        run the whole test suite, and see which lines it leaves out"
	@echo "make check           format, lint, types, import contracts, docs and their links"
	@echo "make lock            write locks/ anew, after a change of pyproject.toml"
	@echo "make audit           look for known faults of what is locked, and for images without a digest"
	@echo "make docs            write the generated pages"
	@echo "make docs-site       build the site of the documentation, and check its links"
	@echo "make screenshots     take the pictures of the live page for the docs"
	@echo "make bench           measure against other libraries"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or newer is needed; name it: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	    || { echo "the venv module is missing; on Debian: apt install python3-venv"; exit 1; }
ifndef LOCKED
	$(BIN)/$(INSTALL) 'pip>=25.1'  # knows dependency groups

# The command, and enough for most of the tests.
$(SMALL): $(SOURCES) | $(BIN)/python
	$(BIN)/$(INSTALL) --editable '.[crawl]' --group test-small
	@$(BIN)/canonry --version  # says whether the kernels are compiled; pip hides it
	@touch $@
endif

$(READY): $(SOURCES) | $(BIN)/python
	@echo "Installing what the tests and checks use: 2.2 GB in $(VENV), some minutes (make test-small needs a tenth)"
ifdef LOCKED
	$(BIN)/$(INSTALL) $(HASHED) locks/backend.txt
	$(BIN)/$(INSTALL) --no-build-isolation $(HASHED) locks/tests.txt
	$(BIN)/$(INSTALL) --no-deps --no-build-isolation --editable .
else
	$(BIN)/$(INSTALL) --editable '.[$(EXTRAS)]' --group test --group check
endif
	@$(BIN)/canonry --version
	@touch $(VENV)/.ready-small $@

demo: $(SMALL)
	@$(BIN)/canonry demo --keep build/demo

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Without a database server, Java, a browser or other processes, and with fewer examples for each law.
FAST := --dist worksteal --hypothesis-profile=fast \
    -m "not (browser or postgresql or processes or kills or slow)"

test-fast: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) $(FAST)

# Those of the fast tests that need no packages beside the command's: most of them.
test-small: $(SMALL)
	$(BIN)/python -m pytest -n $(WORKERS) $(FAST) $(TESTS)

# A part of the tests, without a compiler: from a copy, since the kernels are beside their sources.
test-plain: $(READY)
	rm -rf build/plain && mkdir -p build/plain
	tar -c --exclude='*.so' --exclude=./build --exclude=./.git --exclude='./.venv*' . | tar -x -C build/plain
	$(BIN)/python -m venv --system-site-packages build/plain/venv
	echo "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	    > "$$(echo build/plain/venv/lib/python*/site-packages)/tested.pth"
	CC=false build/plain/venv/bin/python -m pip install --quiet --no-deps --editable build/plain
	cd build/plain && venv/bin/python -m pytest -n $(WORKERS) $(FAST) \
	    tests/canon tests/crawler/batch tests/crawler/files tests/crawler/cli/dedup
	rm -rf build/plain

# A part of the tests, which is left out where Maven is missing or its registry is not reached.
test-frontier: $(READY)
	$(BIN)/python -m pytest -rs tests/crawler/frontier tests/storage/frontier

# Not part of the tests: it downloads gigabytes. PEERS="crawlee datatrove" runs only these.
test-adapters:
	$(PYTHON) tests/peers.py $(PEERS)

# Not part of the tests: minutes for each Python. NAMES="python3.14t /opt/python3.13" takes these.
test-all:
	$(PYTHON) tests/interpreters.py $(NAMES)

# Not part of the tests: it needs uv, and an environment of its own.
test-lowest:
	$(PYTHON) tests/interpreters.py --lowest

# Not part of the tests: it needs GCC, and takes minutes.
test-sanitized: $(READY)
	$(BIN)/python tests/sanitized.py
	$(BIN)/python tests/sanitized.py --threads

# A dozen seeds; SEEDS="0 1000" and NIGHTS=365 for more, and DATABASE=postgresql for the other one.
SEEDS := 0 12
NIGHTS := 3
DATABASE := sqlite

simulate: $(READY)
	$(BIN)/python tests/simulation --seeds $(SEEDS) --nights $(NIGHTS) --database $(DATABASE)

# Not part of the tests: it downloads packages of Debian, and takes minutes.
trial-learning: $(READY)
	$(BIN)/python tests/trials/learning.py

trial-sites: $(READY)
	$(BIN)/$(INSTALL) lxml
	$(BIN)/python tests/trials/sites.py

# Not part of the tests: with fewer examples for each law, it still takes longer than all of them.
# Left out is what coverage changes: what a command imports, what it does on a full disk, and whether
# an interrupt ends it (not while coverage holds its own lock).
coverage: $(READY)
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	    --hypothesis-profile=fast --timeout=600 \
	    -k "not (imports_little or imports_no or a_full_disk or killed_and_resumed_the_output)"
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet --directory build/coverage/html
	$(BIN)/python -m coverage report

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --no-cache .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yml
	$(BIN)/zizmor --offline --quiet --no-progress .github
	@if command -v actionlint; then actionlint; else echo "actionlint is not here, and left out"; fi
	$(MAKE) --no-print-directory docs-site

# Not part of the checks: both need the network, and an audit may fail without any change of ours.
lock: $(READY)
	$(BIN)/$(INSTALL) uv
	$(LOCK) pyproject.toml --extra $$(echo $(EXTRAS) | sed 's/,/ --extra /g') \
	    --group test --group check --group docs --output-file locks/tests.txt
	$(LOCK) pyproject.toml --extra all --constraint locks/tests.txt --output-file locks/image.txt
	$(LOCK) --group build --output-file locks/build.txt
	$(LOCK) --group backend --constraint locks/build.txt --output-file locks/backend.txt

audit:
	$(PYTHON) -m venv build/audit
	build/audit/bin/$(INSTALL) $(HASHED) locks/build.txt
	@for file in locks/*.txt; do echo "$$file"; \
	    build/audit/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes \
	        --requirement "$$file" \
	    || { echo "$$file: a package has a known fault, or could not be audited: the package index," \
	        "which knows these faults, has to be reached"; exit 1; }; done
	$(PYTHON) .github/ready.py --images

docs: $(READY)
	$(BIN)/python docs/generate.py

# A warning is an error: a link or an anchor that leads nowhere, a page that no other names.
docs-site: $(READY)
	$(if $(LOCKED),,$(BIN)/$(INSTALL) --group docs)
	$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/site-doctrees . build/site
	$(BIN)/python docs/generate.py --schemas build/site/docs/reference/schemas
	@echo "build/site/index.html"

screenshots: $(READY)
	PYTHONPATH=tests $(BIN)/python docs/generators/take_screenshots.py

bench: $(READY)
	$(BIN)/$(INSTALL) --group bench \
	    || echo "some peers cannot be installed here: they are left out"
	$(BIN)/python benchmarks/canonicalize.py
	$(BIN)/python benchmarks/kernel.py --rounds 300
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/linear.py --rounds 1
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/dedup.py --times 10
	$(BIN)/python benchmarks/crawl.py
	$(BIN)/python benchmarks/clusters.py
	$(BIN)/python benchmarks/frames.py
	$(BIN)/python benchmarks/learning.py --seeds 1

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
