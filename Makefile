# Front door of the project: every target installs the Debian packages it needs, then works in build/.
# `make help` lists the targets. Variables: JOBS (parallel compiles), FUZZ_SECONDS (per fuzz target), PREFIX.

SHELL := /bin/bash
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

CTEST := ctest -j2 --output-on-failure
FORMATTED = $$(find src include cli tests bench fuzz -name '*.h' -o -name '*.cpp' 2>/dev/null | sort)

.DEFAULT_GOAL := help
.PHONY: help demo test build bench helpers asan tsan fuzz format format-check tidy install clean \
        packages packages-bench packages-dev packages-browser web-check

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	  while IFS='|' read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

demo: packages helpers ## Install what is missing, build the command, place a built-in model
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target allot_command
	build/release/allot demo

test: build helpers packages-browser ## Install what is missing, build, run all tests
	$(CTEST) --test-dir build/release

build: packages ## Build the release (build/release/allot)
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

helpers: packages ## Fetch the optional solvers HiGHS and CP-SAT (third_party/helpers)
	scripts/install-helpers.sh

bench: packages packages-bench ## Measure speed and print it against the goals
	cmake --preset release -DALLOT_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target allot_command allot_bench allot_bench_completion allot_bench_online allot_make_large allot_reference_chain_dp
	scripts/bench.sh build/release

asan: packages ## Run all tests under the address and undefined-behaviour sanitizers
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	$(CTEST) --test-dir build/asan

# Fixed addresses: gcc's thread sanitizer refuses some randomised layouts of recent kernels.
tsan: packages ## Run all tests under the thread sanitizer
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	if setarch -R true 2>/dev/null; then setarch -R $(CTEST) --test-dir build/tsan; \
	else $(CTEST) --test-dir build/tsan; fi

fuzz: packages packages-dev ## Run every fuzz target for FUZZ_SECONDS each
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	fuzz/run $(FUZZ_SECONDS) build/fuzz

format: packages-dev ## Format all sources in place
	clang-format -i $(FORMATTED)

format-check: ## Fail where a source is not formatted
	command -v clang-format >/dev/null || scripts/install-packages.sh dev
	clang-format --dry-run --Werror --ferror-limit=1 $(FORMATTED)

tidy: packages packages-dev ## Run clang-tidy over the library and the command
	cmake --preset debug
	run-clang-tidy -quiet -j $(JOBS) -p build/debug "$(CURDIR)/(src|cli)/"

web-check: ## Check the types of the report's viewer (needs npm)
	cd web && npm install --no-audit --no-fund --no-package-lock && npm run check

install: build ## Install below PREFIX (default /usr/local)
	cmake --install build/release --prefix $(PREFIX)

clean: ## Remove build/
	rm -rf build

packages:
	scripts/install-packages.sh build

packages-bench:
	scripts/install-packages.sh bench

packages-dev:
	scripts/install-packages.sh dev

# Tests of the report in a browser skip without one.
packages-browser:
	scripts/install-packages.sh browser || echo "no Chromium: the report is not tested in a browser"
