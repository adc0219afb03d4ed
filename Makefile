# make demo   trains on an embedded corpus, prints what it found
# make test   lints, type-checks, runs every test
# make docs   builds the site into build/site
# Both make their own .venv and install what they need there; make test also installs a Java and a
# Chromium where there are none.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test docs lint types check kernels java archive browser fuzz api-fuzz kills interrupts mutants coverage lowest install-check format clean

demo: $(VENV)/.installed
	$(BIN)/tagtopic demo

# what is downloaded and what is compiled do not wait for each other
test: lint
	@$(MAKE) --no-print-directory --jobs=3 types kernels browser archive
	@$(MAKE) --no-print-directory check

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	@$(BIN)/pyright --pythonpath $(BIN)/python & other=$$!; $(BIN)/mypy && wait $$other

# compiled once, while the types are checked, and not by each of the tests' workers
kernels: $(VENV)/.installed-dev
	$(BIN)/python tools/compile_kernels.py

# the longest begin first (tests/conftest.py says which): those with Spark, which wait for Java half of the time; so there
# are two workers more than cores
WORKERS := $$(($$(getconf _NPROCESSORS_ONLN) + 2))
check: $(VENV)/.installed-dev browser archive
	$(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

# the site; a warning (a broken link, a name that is not there) is an error
docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs build/site
	@echo "open build/site/index.html"

# Spark needs Java; where it is missing and cannot be had, the tests that need it are skipped and say so
java:
	@command -v java >/dev/null || { command -v apt-get >/dev/null && apt-get -qq update && \
		apt-get -qq install -y openjdk-17-jre-headless >/dev/null; } || echo "no Java: Spark tests are skipped"

# Java starts quicker with it: the tests start it more than twenty times
archive: build/spark.jsa
build/spark.jsa: constraints.txt | $(VENV)/.installed-dev java
	@$(BIN)/python tools/java_archive.py $@

# the pages are tested in a real browser; where it is missing and cannot be had, those tests are skipped and say so
browser: java
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		command -v apt-get >/dev/null && apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } || \
		echo "no Chromium: browser tests are skipped"

# 5,000 generated requests to the service; some minutes
api-fuzz: $(VENV)/.installed-dev
	TAGTOPIC_API_CASES=5000 $(BIN)/python -m pytest -x tests/explore/test_openapi.py

# 200,000 generated files to the readers; about 15 minutes
fuzz: $(VENV)/.installed-dev
	TAGTOPIC_FUZZ=200000 $(BIN)/python -m pytest -x -o faulthandler_timeout=300 tests/corpus/reading/test_fuzz.py

# fault injection: 20 fits killed at random moments, each resumed to the same bits; a few minutes
kills: $(VENV)/.installed-dev
	$(BIN)/python tools/kills.py
	$(BIN)/python tools/kills.py --learning online

# fault injection: Ctrl-C at 20 random moments of a fit; some minutes
interrupts: $(VENV)/.installed-dev
	$(BIN)/python tools/interrupts.py

# mutation testing of the inference code; up to 25 minutes
mutants: $(VENV)/.installed-dev
	$(BIN)/python tools/mutants.py --sample 300 --minutes 25

# what the tests reach, branches included; kernels once more as plain Python, for compiled code cannot be watched
coverage: $(VENV)/.installed-dev browser archive
	rm -f .coverage .coverage.*
	$(BIN)/python -m pytest -n auto --no-loadscope-reorder --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --cov --cov-append --cov-report= $(KERNEL_TESTS)
	$(BIN)/coverage report --fail-under=92
KERNEL_TESTS := tests/inference tests/corpus/test_from_texts.py tests/corpus/test_tokens.py tests/corpus/test_names.py \
	tests/baselines/test_kernels.py tests/datasets/test_sampling.py

# the quick tests with the lowest versions that pyproject.toml allows (what those warn of is not our business); some minutes
QUICK := tests/test_import.py tests/test_optional.py tests/corpus tests/datasets tests/evaluation tests/inference \
	tests/models tests/cli tests/explore/test_service.py tests/explore/test_report.py
lowest:
	mkdir -p build
	$(PYTHON) tools/lowest.py explore spark experiments test:pandas,polars > build/lowest.txt
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c build/lowest.txt \
		'.[explore,spark,experiments]' pandas polars pytest hypothesis httpx httpx2
	build/lowest/bin/python -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning \
		-W ignore::pytest.PytestRemovedIn10Warning $(QUICK)

# wheel and sdist, installed in bare environments with each extra alone and all together; some minutes
install-check: $(VENV)/.installed-dev
	$(BIN)/python tools/install_check.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[explore]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[test,lint,spark,experiments,explore,docs]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-docs

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
