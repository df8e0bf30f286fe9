# make demo: build, install into .venv and train the two examples. make test: the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core bind rushlight -name '*.cpp' -o -name '*.h' -o -name '*.py' 2>/dev/null) \
           CMakeLists.txt pyproject.toml

.PHONY: demo test bench clean

demo: $(VENV)/.demo
	@echo "== Handwritten digits: 1,437 to learn from, 360 to be tested on"
	@$(BIN)/python examples/digits.py
	@echo
	@echo "== A small GPT reads The Devil's Dictionary, letter by letter"
	@$(BIN)/python examples/char_gpt.py

test: $(VENV)/.test
	$(BIN)/python tools/layers.py
	$(BIN)/ruff check -q .
	$(BIN)/python tools/stubs.py --check
	$(BIN)/pytest -q -n 2 tests

bench: $(VENV)/.test
	$(BIN)/python benchmarks/compare.py $(if $(TORCH_PYTHON),--python $(TORCH_PYTHON))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q ".[demo]"
	@touch $@

$(VENV)/.test: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q ".[demo,test]"
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build
