# Bare `make` prints help and changes nothing.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# Tests start many processes: without compiled modules, which some images switch off, each compiles all of Python's code again.
export PYTHONDONTWRITEBYTECODE :=

# glue-5.1 (Spark 3.5, Python 3.11) or glue-6.0 (Spark 4.1, Python 3.13, an environment of its own): RUNTIME=glue-6.0 make test
RUNTIME ?= glue-5.1
BIN := $(if $(filter glue-6.0,$(RUNTIME)),.venv-glue-6.0,.venv)/bin
PYTEST_ARGS ?=
# Which tests `make test` runs; with "not release" those of `make test-long` as well, in one session.
TEST_MARKS ?= not long and not release and not runtimes
# Each has a JVM of its own with up to 2 GB; the tests of a file stay together. One of them mostly waits for Terraform.
TEST_WORKERS ?= 3
PYTEST = $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder --durations=40 --durations-min=5
# Session, formats, merges, crashes, random histories and S3, without files in which no version shows, and the test in which both runtimes
# write the same tables.
RUNTIME_MERGES = $(patsubst %,tests/spark/merge/test_%.py,append delete_files direct history late merge soft_delete)
RUNTIME_FURTHER = tests/spark/sql tests/spark/silver/test_masked_values.py tests/properties tests/s3 tests/e2e/test_two_runtimes.py
RUNTIME_NOT_SHOWN = properties/test_file_order s3/test_doctor spark/iceberg/test_readers spark/bronze/test_wrong_folder
RUNTIME_LEFT_OUT = $(patsubst %,--ignore=tests/%.py,$(RUNTIME_NOT_SHOWN) spark/bronze/test_before_images)
RUNTIME_TESTS = $(addprefix tests/spark/,spark bronze iceberg runs) $(RUNTIME_MERGES) $(RUNTIME_FURTHER) $(RUNTIME_LEFT_OUT)
# Committed, so that the Terraform modules find the zips in the git ref they are taken from.
DIST_DIR ?= dist
# A name of benchmarks/__main__.py; empty: the job beside the hand-written script and the floor.
BENCH ?=
BENCH_ARGS ?=
SOAK_SECONDS ?= 1800
SOAK_SEED ?=

##@ Use
.PHONY: demo
demo: setup ## Mirror a real PostgreSQL into Iceberg on this machine; DEMO_SECONDS=15 shortens it, DEMO_SOURCE=mysql takes a MariaDB
	@$(BIN)/dms-iceberg demo

##@ Develop
.PHONY: setup
setup: ## Install Python, jars and PostgreSQL into .venv (RUNTIME=glue-6.0: .venv-glue-6.0); every target below does it by itself
	@RUNTIME="$(RUNTIME)" PYTHON="$(PYTHON)" tools/setup.sh

.PHONY: test
test: setup ## Run the main test suite, 25 minutes; PYTEST_ARGS="-k position" chooses, RUNTIME=glue-6.0 takes Spark 4
	$(PYTEST) -m "$(TEST_MARKS)" $(PYTEST_ARGS)

.PHONY: test-long
test-long: setup ## Run the long tests (Terraform, mutated files, reloads, faults, kills), half an hour
	$(PYTEST) -m "long and not release" $(PYTEST_ARGS)

.PHONY: test-runtime
# None of these waits for Terraform, and a third JVM has to get warm as well.
test-runtime: TEST_WORKERS = 2
test-runtime: setup ## Run what shows whether a runtime works: RUNTIME=glue-6.0 make test-runtime, a quarter of an hour
	$(PYTEST) -m "not long and not release" $(RUNTIME_TESTS) $(PYTEST_ARGS)

.PHONY: test-release
test-release: setup ## Run the further tests of a release, an hour and a half; PROPERTY_SEED, PROPERTY_WORLDS
	PROPERTY_WORLDS=$${PROPERTY_WORLDS:-2} $(PYTEST) -m release $(PYTEST_ARGS)

.PHONY: coverage
coverage: setup ## Run all tests and report line coverage into build/coverage
	@mkdir -p build
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=html $(PYTEST_ARGS)

.PHONY: test-fast
test-fast: setup ## Run only the tests without Spark and PostgreSQL, a minute and a half
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/unit tests/trigger $(PYTEST_ARGS)

.PHONY: test-terraform
test-terraform: setup ## Run only the Terraform tests: modules, two examples on a local AWS, the whole chain
	$(BIN)/python -m pytest tests/terraform $(PYTEST_ARGS)

.PHONY: test-full
test-full: setup ## Run all tests, with every Terraform example applied
	DMS_ICEBERG_ALL_EXAMPLES=1 $(PYTEST) $(PYTEST_ARGS)

.PHONY: soak
soak: setup ## Run half an hour of random faults and kills on a live database; SOAK_SECONDS, SOAK_SEED repeats one
	SOAK_SECONDS=$(SOAK_SECONDS) SOAK_SEED=$(SOAK_SEED) $(BIN)/python -m pytest tests/e2e/test_soak.py -s $(PYTEST_ARGS)

.PHONY: lint
lint: setup ## Check style, types, spelling, lengths, lock, Terraform; changes nothing; offline after the first time
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python tools/file_length.py
	$(BIN)/python tools/lock.py --check
	$(BIN)/python tools/guarantee_tests.py --check
	$(BIN)/python tools/terraform_readme.py --check
	$(BIN)/python tools/terraform_lint.py

.PHONY: fmt
fmt: setup ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	if command -v terraform >/dev/null; then terraform fmt && terraform fmt -recursive terraform; fi
	$(BIN)/python tools/guarantee_tests.py
	$(BIN)/python tools/terraform_readme.py

.PHONY: bench
bench: setup ## Measure the job; BENCH=full, small, watch, late, maintain, models, verify, throughput, tables or quarantine; BENCH_ARGS
	$(BIN)/python -m benchmarks $(BENCH) $(BENCH_ARGS)

##@ Deliver
.PHONY: dist
dist: setup ## Build the reproducible zips for Glue and Lambda in DIST_DIR; commit them
	@$(BIN)/python tools/build_dist.py $(DIST_DIR)

.PHONY: python-archive
python-archive: setup ## Build the Python of a watch on EMR Serverless (Linux x86_64); downloads a Python that needs no libraries
	$(BIN)/uv python install --install-dir build/python 3.11
	$(BIN)/python -m tools.python_archive --prefix "$$(ls -d build/python/cpython-3.11*-linux-x86_64-gnu | sort -V | tail -1)" build/python-3.11-x86_64.tar.gz

.PHONY: lock
lock: setup ## Resolve the Python packages into the locks of both runtimes; needs a network
	$(BIN)/python tools/lock.py

.PHONY: baseline
baseline: setup ## Write this version's lake and stack, with which later versions are tested; once for each release
	version=$$($(BIN)/python -c "import dms_iceberg; print(dms_iceberg.__version__)"); \
		cd tests && ../$(BIN)/python -m support.baseline "baselines/$$version/lake.tar.xz"
	DMS_ICEBERG_BASELINE=1 $(BIN)/python -m pytest tests/terraform/test_examples.py -k test_stack_of

.PHONY: release-check
release-check: ## Check all that a release needs: lint, every suite on both runtimes, the demo; some four hours
	$(MAKE) lint
	$(MAKE) test TEST_MARKS="not runtimes"
	$(MAKE) test RUNTIME=glue-6.0
	$(MAKE) test-runtime RUNTIME=glue-6.0
	$(MAKE) demo

.PHONY: clean
clean: ## Remove what demo, tests and benchmarks created here; never .venv, configuration or another lake
	rm -rf build/demo build/coverage build/.coverage build/bench build/bench-full build/bench-full-charts build/bench.json build/bench-*.json
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find job lambda tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help:
	@awk 'BEGIN { FS = ":.*## "; print "usage: make TARGET" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile
