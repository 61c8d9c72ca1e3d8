# setup: what the tests need, in .venv. fix: format. check: all gates. golden: renew expected outputs.
# bench: the quick benchmarks. generate: completions, man pages and docs/cli.md, from the command line itself.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup fix check golden bench generate

setup:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev

fix:
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

check:
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_cli_files.py --check
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

golden:
	MURMUR_UPDATE_GOLDEN=1 $(BIN)/pytest tests/golden

generate:
	$(BIN)/python tools/generate_cli_files.py

bench:
	$(BIN)/python benchmarks/librispeech.py
	@echo "Longer ones, to be run by hand: benchmarks/cpu_batch.py benchmarks/long_files.py benchmarks/diarization.py"
