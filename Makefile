# gatebench: `make run` measures, `make test` tests, and `make help` lists all targets.

CARGO ?= cargo
GATEBENCH = $(or $(CARGO_TARGET_DIR),target)/dist/gatebench

# Arguments for `gatebench run`, as in: make run ARGS="--blocks 10"
ARGS ?=

# The fuzzing time of each target in seconds, and the names of the targets [default: all].
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=

# Gateways that the tests start in addition to those of the tour.
TEST_GATEWAYS = caddy nginx-lua nginx-njs envoy traefik httpd varnish
DEBUG = $(or $(CARGO_TARGET_DIR),target)/debug

# The number of test threads for package gatebench. Its tests limit how many of them run at once, so
# most threads only wait for their turn.
export GATEBENCH_TEST_THREADS ?= $(shell expr $$(nproc) \* 6)
TEST_RUNNER = --config 'target."cfg(unix)".runner = "scripts/run-test"'

.DEFAULT_GOAL := help
.PHONY: help run build agent quick test test-full lint workflows deny format deb image test-packages \
	release-notes gateways external k6 saxon xds fuzz memcheck test-cluster

help: ## prints this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## installs what is missing, builds (10 minutes on 2 cores), and runs the tour (3 minutes)
	@scripts/install-deps
	@$(CARGO) build --profile dist --locked --package gatebench
	@scripts/check-faults $(GATEBENCH)
	@scripts/split-symbols $(GATEBENCH)
	@$(GATEBENCH) run $(ARGS)

build: ## builds target/dist/gatebench
	@scripts/check-rust
	$(CARGO) build --profile dist --locked --package gatebench
	@scripts/check-faults $(GATEBENCH)
	@scripts/split-symbols $(GATEBENCH)

agent: ## builds target/dist/gatebench-agent, a small static program for load generators on other hosts
	@scripts/build-agent

quick: ## checks formatting, lints and the project's own rules, and runs all unit tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked --lib --bins --test tidy

test: ## installs the tests' dependencies and runs all tests except the slow ones, as CI does
	@scripts/install-test-deps
	$(CARGO) build --workspace --locked
	@scripts/check-faults $(DEBUG)/gatebench-faulty 2>&1 | grep -q "is built with the faults"
	@$(DEBUG)/gatebench install $(TEST_GATEWAYS)
	@scripts/run-tests
	$(CARGO) test --package gatebench-gateway --no-default-features --lib --locked
	@$(MAKE) --no-print-directory lint

test-full: test ## runs the slow tests as well (takes hours)
	@scripts/install-packages influxd=influxdb victoria-metrics=victoria-metrics chromium=chromium \
		chromedriver=chromium-driver
	@scripts/install-axe
	$(CARGO) test --workspace --locked -- --ignored
	$(CARGO) test --package gatebench --locked $(TEST_RUNNER) # the program as users build it, without deliberate faults
	@scripts/memcheck
	@$(MAKE) --no-print-directory workflows test-packages

lint: ## checks formatting, lints (warnings are errors), and the dependencies' licenses and sources
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package gatebench --no-default-features --locked -- -D warnings
	@scripts/check-faults
	@$(CARGO) metadata --manifest-path fuzz/Cargo.toml --locked --format-version 1 > /dev/null
	@scripts/deny

workflows: ## checks the workflows with actionlint and the sh scripts with shellcheck
	@scripts/lint-workflows

deny: ## checks the dependencies' licenses and sources against deny.toml
	@scripts/deny

deb: ## installs what is missing and builds the Debian package in target/packages
	@scripts/install-deps
	@$(MAKE) --no-print-directory build agent
	@scripts/build-deb $(GATEBENCH)

image: deb ## builds the container image localhost/gatebench with nginx and HAProxy
	@scripts/build-image

test-packages: deb ## installs the package in a fresh root file system, and runs the image (takes minutes)
	@scripts/test-deb
	@scripts/test-image

test-cluster: ## tests on a real Kubernetes cluster: KUBECONFIG=FILE, or KB=FOLDER with binaries (takes minutes)
	@scripts/test-cluster

release-notes: ## prints the changelog of version TAG, as in: make release-notes TAG=v0.2.0
	@scripts/release-notes $(TAG)

gateways: build ## installs every gateway that a package registry offers (`gatebench install all`)
	@$(GATEBENCH) install all

external: ## installs the load generators that `cargo xtask bench engine` compares gatebench with
	@scripts/install-external

k6: ## builds k6, for `gatebench run --engine k6`
	@scripts/install-k6

xds: ## builds, with Go, the control plane that `gatebench run hybrid` uses for Envoy
	@scripts/install-xds

saxon: ## installs SaxonC-HE, which runs XSLT 2.0 and 3.0 for the reference gateway
	@scripts/install-saxon

fuzz: ## fuzzes each parser for FUZZ_SECONDS (60); a stable compiler suffices
	@scripts/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

memcheck: ## runs the tests of the SOAP/XML policies under valgrind
	@scripts/memcheck

format: ## formats the Rust code
	$(CARGO) fmt --all
