# make demo: the tool on an example. make test: lint, types, all tests. Both set up .venv on their first run.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

CORE := .venv-core

.PHONY: demo test test-core test-engines test-fast test-graphrag lint types unit format docs model wheel clean

demo: $(VENV)/.installed
	@mkdir -p build/demo
	$(BIN)/incoref resolve examples/story.txt
	$(BIN)/incoref resolve examples/story.txt -o build/demo/story.html
	@echo "build/demo/story.html: open it in a browser to point at chains and replay the story"
	printf 'Ines: I called Omar.\nOmar: You woke me.\n' | $(BIN)/incoref stream --speakers
	$(BIN)/incoref trace "Auto workers ended their strike."
	$(BIN)/incoref corpus stats examples/scoring/key.conll
	$(BIN)/incoref convert examples/scoring/response.conll build/demo/response.conllu
	$(BIN)/incoref score examples/scoring/key.conll build/demo/response.conllu

test: lint types unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal

unit: $(VENV)/.installed-dev
	$(PYTEST)

# What takes long is left out.
test-fast: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow"

# The run-time tests in an environment of their own without PyTorch. The small models that they read are made with it.
test-core: $(CORE)/.installed $(VENV)/.installed-dev
	rm -rf build/tiny-models
	OMP_NUM_THREADS=1 $(BIN)/python tests/tiny_models.py build/tiny-models
	$(CORE)/bin/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is not None)'
	INCOREF_TINY_MODELS=build/tiny-models OMP_NUM_THREADS=1 $(CORE)/bin/pytest --numprocesses auto --maxprocesses 4 \
	  --dist worksteal -m "not learning and not slow" tests/unit tests/properties

# The adapter for GraphRAG-SDK with the real package. One package that it needs is compiled: a C++ compiler must be there.
test-graphrag: $(VENV)/.installed-dev
	$(PIP) --editable '.[graphrag]'
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 0 tests/unit/integrations/test_graphrag.py

# The tests on clusters of this machine: Ray's and Spark's, which are large. Spark needs Java 17.
test-engines: $(VENV)/.installed-dev
	$(PIP) --editable '.[ray,spark]'
	INCOREF_ENGINES=1 OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 0 tests/e2e/test_engines.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The documentation as a site, in build/site; a broken link is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html: open it in a browser"

# The shipped model, in runs/en/model: some nine hours on one core; after an interrupt it goes on.
model: $(VENV)/.installed-dev
	$(BIN)/incoref recipe recipes/en.toml --out runs/en

wheel: $(VENV)/.made
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) $(CORE) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.made:
	@PYTHON="$(PYTHON)" .ci/make-venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing incoref into $(VENV) …"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing incoref with what its tests need into $(VENV): this takes a few minutes the first time …"
	@$(PIP) --editable '.[dev,train,eval,spacy,serve,redis,client]'
	@touch $@ $(VENV)/.installed

$(CORE)/.installed: pyproject.toml constraints.txt
	@PYTHON="$(PYTHON)" .ci/make-venv $(CORE)
	@echo "Installing incoref without PyTorch into $(CORE) …"
	@$(CORE)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
	  --editable '.[test,eval,spacy,serve,redis,client,parquet]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing incoref with what its documentation needs into $(VENV) …"
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.installed
