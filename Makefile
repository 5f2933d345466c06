# The two commands: `make demo` shows what Penstock does, `make test` proves that it is right.
# Everything is built inside this directory: Rust in target/, Python in .venv/, results in out/.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One place for what Rust builds, for cargo and for pip alike: nothing is compiled twice.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

TIMED := tools/timed.sh

# One more than there are cores: some tests wait for others to speak, or for processes to be killed.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

# What random tests draw from. `make test` draws the same each time, so that it fails by a change and not by luck.
SEED ?= 1

# What an installed Penstock is made of.
SOURCES := $(shell find crates packaging python/penstock Cargo.toml Cargo.lock pyproject.toml README.md \
	-type f ! -name '*.pyc' ! -name '*.so' ! -name '.*' ! -path '*/.mypy_cache/*')

.PHONY: help demo test test-all of-python of-rust of-python-all of-rust-all python-all dev format lint clippy schema schema-written rustdoc rust wheels fuzz fuzzed properties python site viewer budget bench docs clean needs
.DEFAULT_GOAL := help

help: ## says what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

needs:
	@tools/needs.sh $(PYTHON)

demo: $(VENV)/installed ## builds Penstock, reproduces one chapter of a paper, names the picture
	@$(BIN)/penstock demo

# Two rows of work side by side: much of it is done by one thread, as linking the engine. What a part prints comes when it ends.
SIDE_BY_SIDE = $(MAKE) --no-print-directory --jobs=2 --output-sync=target

test: | needs ## proves the tree in some minutes: Rust, Python, docs, house rules, report page
	@echo "two parts at a time; each prints when it has ended"
	@$(SIDE_BY_SIDE) of-python of-rust
	@echo "all of it holds; make test-all tries what takes longer, too"

test-all: | needs ## proves all of it: studies, every command of the docs, random input, the engine's pages, speed
	@echo "two parts at a time; each prints when it has ended"
	@$(SIDE_BY_SIDE) of-python-all of-rust-all
	@echo "all of it holds"

of-python:
	@$(MAKE) --no-print-directory --jobs=1 format lint python

of-python-all:
	@$(MAKE) --no-print-directory --jobs=1 format lint python-all

of-rust:
	@$(MAKE) --no-print-directory --jobs=1 rust clippy viewer

of-rust-all:
	@$(MAKE) --no-print-directory --jobs=1 rust clippy rustdoc schema fuzzed viewer budget

# A change in one file of the engine takes some seconds. Python finds what was built before what is installed.
dev: $(VENV)/developed ## builds the engine quickly into python/penstock, for who changes it; see CONTRIBUTING.md
	@cargo build --locked --quiet --profile quick -p penstock
	@cd "$(CARGO_TARGET_DIR)/quick" && cp $$(ls lib_core.so lib_core.dylib 2>/dev/null) "$(CURDIR)/python/penstock/_core.abi3.so"
	@echo "export PYTHONPATH=$(CURDIR)/python"

# Quick and cheap first, so that a slip is told at once; `make -k test` goes on after a failure.
format: $(VENV)/developed
	cargo fmt --all --check
	$(BIN)/ruff format --quiet --check python tests tools benches docs/site

lint: $(VENV)/developed
	$(BIN)/ruff check --quiet python tests tools benches docs/site
	$(BIN)/mypy
	$(BIN)/mypy tools benches docs/site

clippy: | needs
	@$(TIMED) clippy cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

rustdoc: | needs ## builds the pages of the engine's crates, private modules and mechanisms too, in target/doc; a broken link is an error
	@RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
	$(TIMED) rustdoc cargo doc --locked --workspace --no-deps --document-private-items --keep-going --quiet

rust: | needs ## runs the tests of the engine
	@PROPTEST_RNG_SEED=$(SEED) $(TIMED) "tests of the engine" cargo test --locked --workspace --quiet --no-fail-fast

SCHEMA := crates/scenario/src/scenario.schema.json
GENERATED = $(CARGO_TARGET_DIR)/scenario.schema.json
GENERATE_SCHEMA = cargo run --locked --quiet -p scenario --features generate --example json_schema

schema: | needs ## says whether the JSON Schema of scenarios is that of the types that read them
	@$(GENERATE_SCHEMA) >"$(GENERATED)"
	@cmp "$(GENERATED)" $(SCHEMA) || { echo "stale, run make docs: $(SCHEMA)"; exit 1; }

schema-written: | needs
	@$(GENERATE_SCHEMA) >"$(GENERATED)"
	@cmp --silent "$(GENERATED)" $(SCHEMA) || cp "$(GENERATED)" $(SCHEMA)

# Penstock is named for its features, which are those of the whole workspace: what the tests were built with is not built again.
FUZZ = cargo build --locked --quiet -p fuzz -p penstock --bins && "$(CARGO_TARGET_DIR)/debug/fuzz"

fuzzed: | needs ## tries random scenarios, files, frames, packets and agents for a minute and a half, from fixed seeds
	@$(TIMED) "random input" sh -c '$(FUZZ) --seconds 8 --seed 1'

fuzz: | needs ## tries each of them for a minute, from a new seed that it prints
	$(FUZZ) --seconds 60

properties: SEED = $(shell date +%s)
properties: $(VENV)/developed ## tries what `make test` draws from a fixed seed with many more draws, from a new seed that it prints
	@echo "SEED=$(SEED)"
	PROPTEST_RNG_SEED=$(SEED) PROPTEST_CASES=500 cargo test --locked --workspace --quiet --no-fail-fast
	$(BIN)/python -m pytest --quiet --numprocesses $(WORKERS) -m hypothesis --hypothesis-seed=$(SEED)

PYTEST = $(TIMED) "tests of the package" $(BIN)/python -m pytest --quiet --numprocesses $(WORKERS) --dist loadfile --hypothesis-profile=ci \
	--durations=25 --durations-min=5

python: $(VENV)/developed ## runs the tests of the package, of the docs and of the house rules, but those of tests/long.txt
	@$(PYTEST) -m "not slow and not long"

python-all: $(VENV)/developed ## runs all of them
	@$(PYTEST)

site: $(VENV)/developed ## builds the documentation site in build/site, with a small run of each mechanism; a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -c docs . build/site
	@echo "build/site/docs/index.html"

viewer: ## says whether the committed report page is that of viewer/ (needs Node and viewer/node_modules)
	@tools/viewer-fresh.sh

budget: | needs ## counts instructions a frame-hop and holds them against the budget (where valgrind is installed)
	@if command -v valgrind >/dev/null; then $(TIMED) budget $(PYTHON) benches/instructions.py --check --quick; \
	else echo "valgrind is not installed: instructions are not counted"; fi

bench: $(VENV)/developed | needs ## measures speed and size: beside ns-2 and ns-3 if they are installed, by stage, by growth
	$(PYTHON) benches/peers/run.py
	$(BIN)/python benches/peers/table.py
	$(PYTHON) benches/schedulers.py
	$(PYTHON) benches/instructions.py --check
	$(PYTHON) benches/stages.py star fat-tree-8 "hashed-8 pfc" "incast-8 pfc"
	$(PYTHON) benches/growth.py
	$(PYTHON) benches/threads.py
	$(PYTHON) benches/controls.py
	$(PYTHON) benches/cpu.py
	$(BIN)/python benches/connections.py
	cargo test --locked --quiet -p fabric --test sizes -- --nocapture
	$(BIN)/python benches/sweeps.py
	$(BIN)/python benches/beyond.py

docs: schema-written $(VENV)/developed ## writes what is generated: the schema, the reference, the keys of the builder, drawings, pictures
	$(BIN)/python tools/builder.py
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/result_types.py
	$(BIN)/python tools/modules.py --draw docs/images/rooms.svg
	$(BIN)/python tools/coverage.py
	$(BIN)/penstock reproduce hagen-2012/ch7 --out out/docs --document docs/studies
	$(BIN)/python tools/pictures.py

# With zig as the linker, which takes the symbols of an old glibc and those of another processor.
wheels: | needs ## builds wheels for Linux on x86-64 and aarch64 into dist (the first time: half an hour, and the network)
	$(PYTHON) -m venv build/wheels
	build/wheels/bin/python -m pip install --quiet "maturin>=1.9,<2" ziglang
	for processor in x86_64 aarch64; do \
		rustup target add $$processor-unknown-linux-gnu && \
		PATH="$(CURDIR)/build/wheels/bin:$$PATH" maturin build --profile dist --locked --zig --out dist \
			--target $$processor-unknown-linux-gnu --compatibility manylinux_2_28 || exit 1; \
	done

clean: ## removes what was built; results in out/ stay
	rm -rf $(VENV) target build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python: | needs
	$(PYTHON) -m venv $(VENV)

# The first time this compiles the engine: two minutes. After that only what changed.
$(VENV)/installed: $(SOURCES) | $(VENV)/bin/python
	@echo "building Penstock and installing it into $(VENV) (the first time: two to three minutes)"
	@tools/install.sh $(VENV)
	@touch $@

$(VENV)/developed: $(VENV)/installed
	@echo "installing what the tests need into $(VENV)"
	@$(PIP) install $$($(BIN)/python tools/extra.py dev)
	@touch $@
