# Everything a stranger needs, on a machine with Python 3.11 or later, git and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
READY := .venv/.ready

.PHONY: setup demo test check docs figures clean
setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup
	.venv/bin/python scripts/demo

test: setup
	scripts/system-packages
	scripts/real-upstreams
	scripts/test

check: setup
	scripts/check

docs: setup
	.venv/bin/python scripts/docs

figures: setup
	.venv/bin/python scripts/figures

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
