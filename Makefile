# make demo: the tool on an example. make test: lint, types, all tests. Both set up .venv on their first run.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test lint types unit format model wheel clean

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

unit: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The shipped model, in runs/en: some nine hours on one core; after an interrupt it goes on.
TRAIN := $(BIN)/incoref train configs/default-en.toml --resume --set encoder.capitals=false
OLD := --set 'heads.without=["name", "gender", "rank", "opened", "speech", "told"]'
FIRST := $(OLD) --set encoder.cache=true --set heads.clusterer_hidden=512
LATER := --set training.head_rate=3e-4 --set training.warmup=0.05 --set training.own_mentions=0.5 \
  --set training.own_from=1 --set train.0.dialogue_share=1.5
LAST := $(LATER) --set training.bf16=true --set training.own_clusters=0.5 --set training.action_power=0 \
  --set training.masked=0.15 --set training.renamed=0.5 --set heads.vector_dropout=0.1 --set heads.dropout=0.4 \
  --set train.2.share=1.5

model: $(VENV)/.installed-dev
	$(TRAIN) --out runs/en-1 $(FIRST) --set training.epochs=3
	$(TRAIN) --out runs/en-2 $(FIRST) $(LATER) --set start=runs/en-1/best --set training.epochs=3 \
	  --set training.seed=2 --set training.encoder_rate=7e-5
	$(BIN)/incoref export runs/en-2 runs/en-2-model
	$(TRAIN) --out runs/en-3 $(OLD) $(LATER) --set start=runs/en-2-model --set training.epochs=3 --set training.seed=4 \
	  --set training.encoder_rate=7e-5 --set training.average_epochs=2
	$(TRAIN) --out runs/en-4 $(OLD) $(LATER) --set start=runs/en-2-model --set training.epochs=2 --set training.seed=5 \
	  --set training.encoder_rate=7e-5
	$(TRAIN) --out runs/en-5 $(OLD) $(LATER) --set start=runs/en-4/best --set training.epochs=1 --set training.seed=6 \
	  --set training.encoder_rate=6e-5 --set train.2.share=1.5
	$(TRAIN) --out runs/en-6 $(OLD) $(LATER) --set start=runs/en-3/best --set training.epochs=1 --set training.seed=7 \
	  --set training.encoder_rate=5e-5 --set train.2.share=1.5
	$(BIN)/incoref export runs/en-3 runs/en-4 runs/en-5 runs/en-6 runs/en-3-to-6 --calibrate configs/default-en.toml
	$(TRAIN) --out runs/en-7 $(LAST) --set start=runs/en-3-to-6 --set training.epochs=4 --set training.seed=55 \
	  --set training.encoder_rate=4e-5 --set training.average_epochs=4
	$(TRAIN) --out runs/en-8 $(LAST) --set start=runs/en-3-to-6 --set training.epochs=3 --set training.seed=61 \
	  --set training.encoder_rate=4e-5 --set training.average_epochs=3
	$(BIN)/incoref export runs/en-7 runs/en-8 runs/en-3-to-6 runs/en-7-and-8 --fp32
	$(TRAIN) --out runs/en-9 $(LAST) --set start=runs/en-7-and-8 --set training.epochs=3 --set training.seed=71 \
	  --set training.encoder_rate=3e-5 --set encoder.pretrained=0.3 --set training.average_epochs=3
	$(TRAIN) --out runs/en-10 $(LAST) --set start=runs/en-7-and-8 --set training.epochs=3 --set training.seed=72 \
	  --set training.encoder_rate=5e-5 --set encoder.pretrained=0.5 --set training.average_epochs=3
	$(BIN)/incoref export runs/en-9 runs/en-10 runs/en-7-and-8 runs/en --calibrate configs/default-en.toml

wheel: $(VENV)/.made
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

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
