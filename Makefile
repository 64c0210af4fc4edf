# Three commands for those who work on Trivium: check, test, bench. One for those who meet it: demo.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench bench-peers soak mutate clean
SHELL := /bin/bash
PY := .venv/bin/python

help: ## Print this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 16

setup: ## Make .venv: system packages, pinned Python packages, trivium (quick when nothing changed)
	@scripts/setup.sh

demo: setup ## From raw files to a trained nano model on this machine: out/demo/report.html
	@.venv/bin/trivium demo --out out/demo

test: setup ## The whole suite, on two processes
	@$(PY) -m pytest -n 2 --dist worksteal --durations 15 $(ARGS)

check: setup ## Lint, format, types
	@scripts/check.sh

bench: setup ## Throughput floors of this machine; on a GPU the kernels' table: docs/benchmarks.md (some: make bench ARGS=loader; ARGS=--help)
	@$(PY) scripts/bench.py $(ARGS)

bench-peers: setup ## Text stages beside datatrove and text-dedup, each in an environment of its own: docs/corpora/peers.md
	@scripts/bench_peers.sh
	@$(PY) bench/text_peers.py --write $(ARGS)

soak: setup ## The long proofs, minutes to hours
	@$(PY) -m pytest -p no:cacheprovider -o faulthandler_timeout=0 --durations 0 -m soak $(ARGS)

mutate: setup ## Apply every deliberate defect of tests/mutations.yaml; each must turn its test red
	@$(PY) scripts/mutate.py $(ARGS)

clean: ## Remove what can be made again, except .venv
	@rm -rf build out .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
