# make demo           train on an embedded corpus and print the result
# make quick          run the unit tests; under two minutes on two cores once the kernels are compiled
# make test           lint, check types, run all tests
# make lint           check style with ruff
# make types          check types with mypy and pyright
# make format         format the code and fix style
# make docs           build the documentation into build/site
# make coverage       measure the coverage of the tests, branches included
# make digests        print digests of all computed results, to compare two versions bit for bit; some minutes
# make compile-times  print CPU seconds that kernels take to compile, from an empty cache; some minutes
# make lowest         run the unit tests with the lowest allowed versions of all dependencies; some minutes
# make install-check  install wheel and sdist in empty environments and use each extra; some minutes
# make fuzz           200,000 generated files for the readers, 20,000 mutated inputs and as many crafted model files;
#                     about half an hour (make fuzz FUZZ=100000 for more of the latter two)
# make boundscheck    run the tests with compiled kernels that check the bounds of arrays; about half an hour
# make api-fuzz       5,000 generated requests for the service; some minutes
# make kills          kill 20 fits of each kind at random times and resume them to the same bits; some minutes
# make interrupts     press Ctrl-C at 20 random times of a fit; some minutes
# make mutants        mutation testing of the inference code; up to 25 minutes
# make clean          remove everything that is built
#
# Every target creates .venv and installs what it needs there. make test also installs Java and Chromium if they are
# missing and apt-get is available; without them the tests that need them are skipped.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
UV     := $(BIN)/uv pip install --quiet --python $(BIN)/python --cache-dir build/uv
# by uv, in half of pip's time. pip installs where there is no uv, where uv fails, and from an index of the user's own,
# which only pip knows
install = { { ! $(PIP) config list | grep -q '[.]index-url' && $(PIP) install -c constraints.txt uv && \
	$(UV) -c constraints.txt $(1); } >/dev/null 2>&1 || $(PIP) install --no-compile -c constraints.txt $(1); } && \
	rm -rf build/uv
comma  := ,
# to bytecode on all cores; what the tests seldom import is compiled when it is imported
BYTECODE := $(BIN)/python -m compileall -q -j 0 -x '/(tests?|plotly|pyLDAvis|pip|setuptools|debugpy)/' \
	$(VENV)/lib >/dev/null 2>&1 || true

.PHONY: demo quick test docs lint types check kernels collected java archive browser fuzz boundscheck api-fuzz kills interrupts \
	mutants coverage digests compile-times lowest install-check format clean

demo: $(VENV)/.installed
	$(BIN)/tagtopic demo

# Spark, whose wheel takes long to build, is installed while kernels are compiled
test:
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.installed-local browser
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.installed-dev kernels
	@$(MAKE) --no-print-directory --jobs=3 types archive collected
	@$(MAKE) --no-print-directory check

lint: $(VENV)/.installed-local
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	@$(BIN)/pyright --pythonpath $(BIN)/python & other=$$!; $(BIN)/mypy && wait $$other

# compiled once here, instead of by every test worker
kernels: build/kernels
build/kernels: $(shell find src -name '*.py') | $(VENV)/.installed-local
	$(BIN)/python tools/compile_kernels.py
	@mkdir -p build && touch $@

# pytest rewrites the assertions of all test modules: once here, instead of in every test worker
collected: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null

# unit tests of the packages; no browser, no Spark, no long fits
UNIT_TESTS := tests/analysis tests/baselines tests/cli tests/core tests/corpus tests/curation tests/datasets tests/engines tests/evaluation tests/explore \
	tests/inference tests/models tests/tagging tests/test_layers.py
LONG_TESTS := tests/analysis/test_effects.py tests/baselines/test_baselines.py tests/baselines/test_corr_lda.py \
	tests/baselines/test_kernels.py tests/cli/test_analysis.py tests/cli/test_audit.py \
	tests/cli/test_decisions.py tests/cli/test_demo.py tests/cli/test_experiment.py tests/cli/test_explore.py \
	tests/cli/test_fit.py tests/cli/test_infer.py tests/core/test_jit.py tests/corpus/reading/test_fuzz.py \
	tests/engines/distributed/test_session.py tests/engines/test_local.py tests/evaluation/test_coherence.py \
	tests/evaluation/test_perplexity.py tests/explore/test_connections.py tests/explore/test_escaping.py \
	tests/explore/test_openapi.py tests/explore/test_report.py tests/explore/test_review.py \
	tests/inference/test_gibbs.py tests/models/test_batch.py tests/models/test_checkpoint.py \
	tests/models/test_edits.py tests/models/test_estimators.py tests/models/test_fuzz.py \
	tests/models/test_gibbs.py tests/models/test_guidance.py tests/models/test_intervals.py \
	tests/models/test_online.py tests/models/test_partial_fit.py tests/models/test_planted_truth.py \
	tests/models/test_sklearn_checks.py tests/models/test_tag_predictor.py tests/models/test_topic_search.py \
	tests/models/test_topic_word_prior.py tests/models/test_validation.py tests/models/test_weight_prior.py \
	tests/tagging/test_audit.py tests/tagging/test_planted_tags.py tests/tagging/test_predictor.py
quick: build/kernels
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto -m "not slow" $(LONG_TESTS:%=--ignore=%) $(UNIT_TESTS)

# tests/conftest.py orders the longest first. Spark tests wait for Java half of the time, so there are two workers more
# than cores
WORKERS := $$(($$(getconf _NPROCESSORS_ONLN) + 2))
# idle threads of BLAS and OpenMP take a core from another worker for a tenth of a second after each product, and threads
# of a worker's own only cost time where all cores have one; tests of threads ask for several
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 LOKY_MAX_CPU_COUNT=1
check: $(VENV)/.installed-dev browser archive
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

# a warning (a broken link, an unknown name) is an error
docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs build/site
	@echo "open build/site/index.html"

# Spark needs Java
java:
	@command -v java >/dev/null || { command -v apt-get >/dev/null && apt-get -qq update && \
		apt-get -qq install -y openjdk-17-jre-headless >/dev/null; } || echo "no Java: Spark tests are skipped"

# Spark starts faster with an archive of its classes and bytecode, and the tests start it more than twenty times
archive: build/spark.jsa
build/spark.jsa: constraints.txt | $(VENV)/.installed-dev java
	@$(BIN)/python tools/spark_start.py $@

# pages are tested in Chromium; the headless shell, where there is one, takes two thirds of the CPU time
browser: java
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
		command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		command -v apt-get >/dev/null && apt-get -qq update && { \
		apt-get -qq install -y chromium-headless-shell >/dev/null 2>&1 || apt-get -qq install -y chromium >/dev/null; }; } || \
		echo "no Chromium: browser tests are skipped"

api-fuzz: $(VENV)/.installed-dev
	TAGTOPIC_API_CASES=5000 $(BIN)/python -m pytest -x tests/explore/test_openapi.py

FUZZ ?= 20000
fuzz: $(VENV)/.installed-dev
	TAGTOPIC_FUZZ=200000 $(BIN)/python -m pytest -x -o faulthandler_timeout=300 tests/corpus/reading/test_fuzz.py
	TAGTOPIC_FUZZ=$(FUZZ) $(BIN)/python -m pytest -x -o faulthandler_timeout=300 tests/models/test_fuzz.py

# compiled anew, into a cache of their own: Numba's cache does not distinguish code that checks bounds
boundscheck: $(VENV)/.installed-dev browser archive
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/boundscheck $(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

kills: $(VENV)/.installed-dev
	$(BIN)/python tools/kills.py
	$(BIN)/python tools/kills.py --learning online
	$(BIN)/python tools/kills.py --inference gibbs

interrupts: $(VENV)/.installed-dev
	$(BIN)/python tools/interrupts.py

mutants: $(VENV)/.installed-dev
	$(BIN)/python tools/mutants.py --sample 300 --minutes 25

digests: $(VENV)/.installed-dev
	@$(BIN)/python tools/digests.py

compile-times: $(VENV)/.installed-dev
	@$(BIN)/python benchmarks/compile.py

# compiled code cannot be measured, so tests of kernels run a second time in plain Python, where NumPy warns of the
# overflow of hashes
KERNEL_TESTS := tests/inference tests/core/test_strings.py tests/core/test_hashing.py tests/corpus/test_tokenizer.py \
	tests/tagging/test_likelihood.py tests/tagging/test_similarity.py tests/baselines/test_kernels.py \
	tests/datasets/test_sampling.py
coverage: $(VENV)/.installed-dev browser archive
	rm -f .coverage .coverage.*
	$(BIN)/python -m pytest -n auto --no-loadscope-reorder --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --cov --cov-append --cov-report= \
		-W 'ignore:overflow encountered:RuntimeWarning' $(KERNEL_TESTS)
	$(BIN)/coverage report --fail-under=92

# warnings of old versions are ignored
LOWEST_TESTS := tests/test_import.py tests/core tests/corpus tests/curation tests/datasets tests/evaluation tests/inference \
	tests/models tests/tagging tests/cli tests/explore/test_service.py tests/explore/test_report.py
lowest:
	mkdir -p build
	$(PYTHON) tools/lowest.py analysis explore spark experiments test:pandas,polars > build/lowest.txt
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c build/lowest.txt \
		'.[analysis,explore,spark,experiments]' pandas polars pytest hypothesis httpx httpx2
	build/lowest/bin/python -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning \
		-W ignore::pytest.PytestRemovedIn10Warning $(LOWEST_TESTS)

install-check: $(VENV)/.installed-dev
	$(BIN)/python tools/install_check.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@$(call install,-e '.[explore]')
	@$(BYTECODE)
	touch $@

$(VENV)/.installed-local: pyproject.toml constraints.txt | $(BIN)/python
	@$(call install,-e '.[test$(comma)lint$(comma)analysis$(comma)experiments$(comma)explore$(comma)docs]')
	@$(BYTECODE)
	touch $@ $(VENV)/.installed $(VENV)/.installed-docs

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/.installed-local
	@$(call install,pyspark)
	touch $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	@$(call install,-e '.[docs]')
	@$(BYTECODE)
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
