# Everything runs from the checkout's own .venv. `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.up-to-date
JOBS   ?= 2
# REPEAT=1 runs the tests that failed once more, alone.
REPEAT ?=
# One more test process than cores: the steps of kubectl take minutes, and mostly wait.
WORKERS := $(shell expr $(JOBS) + 1)
PYTEST := $(abspath $(BIN))/python $(if $(REPEAT),$(abspath tools)/repeat_failed.py,-m pytest)

# A release of the table in tools/testenv/build.py, such as 1.36.4; its REFERENCE where none is named.
RELEASE ?=
TESTENV := $(PYTHON) tools/testenv/build.py --jobs $(JOBS) $(if $(RELEASE),--release $(RELEASE))

SCHEDULER           ?= mooring
SCHEDULER_mooring   := $(abspath $(BIN))/mooring-kube-scheduler
SCHEDULER_reference := $$KUBE_SCHEDULER
# Mooring follows the newest release unless it is told to emulate an older one.
EMULATION_mooring   := $$(case $$BEHAVE_RELEASE in 1.36) echo --emulated-version=1.36;; esac)
SCHEDULER_FLAGS     := --config={config} --secure-port={port} --bind-address=127.0.0.1 \
  --authentication-kubeconfig={kubeconfig} --authorization-kubeconfig={kubeconfig}

API       ?= real
API_local := export KUBE_APISERVER=$(abspath tests/support)/local-kube-apiserver ETCD=$(abspath tests/support)/local-etcd;

# Without files of bytecode each program that a test starts compiles 400 modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv up check test shuffled coverage soak gangs frozen-leader mutants testenv helm older-kubectl testenv-env behave groups kubectl-judge recorder follow lint format bench bench-live bench-local bench-insight image docs clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

venv: $(STAMP) ## create .venv with the pinned tools and the `mooring` command

# Hashes cover every download; the package itself is built with the pinned hatchling, not in an
# isolated environment that would fetch one of its own.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mooring needs Python 3.11 or later; choose one with make PYTHON=...")'
	@test -x $(BIN)/python || { echo 'venv [1/3]: creating $(VENV)'; $(PYTHON) -m venv $(VENV); }
	@echo "venv [2/3]: installing $$(grep -c '==' requirements.lock) pinned packages; a minute"
	@$(BIN)/python -m pip install --progress-bar on --require-hashes -r requirements.lock
	@echo 'venv [3/3]: installing mooring from this checkout'
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
	@echo 'venv: ready; `source $(BIN)/activate` puts its commands on the path'

# A filter by label, on four nodes of which one will do once it is labelled.
up: venv ## run a local cluster with a sample plugin, for kubectl to use
	@command -v kubectl > /dev/null || \
	  echo 'There is no kubectl on the path; https://kubernetes.io/docs/tasks/tools/ says how to get one.'
	@echo 'In another terminal, try:'
	@echo '  export KUBECONFIG=$(CURDIR)/.mooring/kubeconfig'
	@echo '  kubectl create deployment web --image=nginx'
	@echo '  kubectl describe pod -l app=web         # pending: no node has the label cpu=true'
	@echo '  kubectl label nodes node1 cpu=true'
	@echo '  kubectl get pods -o wide                # running on node1'
	@echo
	@$(BIN)/mooring up -f examples/sample/cluster.yaml --plugin mooring.contrib.samples:Sample $(ARGS)

check: venv ## run the tests without processes, sockets and recordings; about 3 minutes
	$(PYTEST) -q -n 2 --dist worksteal --check $(ARGS)

test: venv ## run every test; those that need real parts, where Go is present
	@echo 'test: runs every test in $(WORKERS) processes; about 20 minutes on two cores. `make check` takes 3.'
	@command -v go > /dev/null || \
	  echo 'test: there is no Go, so tests that need real parts are skipped unless these were built.'
	@$(TESTENV) --optional
	$(PYTEST) -n $(WORKERS) --dist worksteal $(ARGS)

# Takes about twice as long as the tests alone, so it is not part of .ci/run.
coverage: venv ## run every test and measure the lines and branches that they execute
	@$(TESTENV) --optional
	@rm -rf .coverage; status=0; \
	$(BIN)/coverage run -m pytest -n $(WORKERS) --dist worksteal $(ARGS) || status=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/python -m tools.coverage_totals && exit $$status

# Not part of .ci/run: five runs of everything. Each prints the seed of its order.
RUNS ?= 5
shuffled: venv ## run every test RUNS=N times in random orders, from SEED=N on, while two processes burn a core each
	@$(TESTENV) --optional
	@$(BIN)/python -m tools.shuffled_runs --runs $(RUNS) --first $(SEED) -n $(WORKERS) --dist worksteal $(ARGS)

# The test suite runs some; a seed that fails is printed with the command that repeats it.
SEEDS ?= 5000
FIRST ?= 0
GROUP_SEEDS ?= 2000
soak: venv ## run SEEDS=N seeds of the fault simulation, from FIRST=N on, and GROUP_SEEDS=N of pod groups and of trees of groups
	@$(BIN)/python -m tests.soak.soak --first $(FIRST) --seeds $(SEEDS) --jobs $(JOBS)
	@$(BIN)/python -m tests.soak.pod_groups --seeds $(GROUP_SEEDS)
	@$(BIN)/python -m tests.soak.group_trees --seeds $(GROUP_SEEDS)

# The test suite runs 10.
gangs: venv ## run 100 seeds of two gangs that fit one at a time, with faults
	@$(BIN)/python -m tests.soak.gangs --seeds 100

# The test suite runs 3; SCHEDULER=reference counts what kube-scheduler does.
ROUNDS ?= 20
SEED ?= 1
frozen-leader: venv ## stop and continue the leader of two replicas, ROUNDS=N times, from SEED=N
	@$(TESTENV)
	MOORING_FROZEN_ROUNDS=$(ROUNDS) MOORING_FROZEN_SEED=$(SEED) MOORING_FROZEN_SCHEDULER=$(SCHEDULER) \
	$(BIN)/python -m pytest -s tests/faults/test_frozen_leader.py $(ARGS)

# Not part of any check: it takes minutes, and some mutants behave as the code does.
COUNT ?= 400
mutants: venv ## change the code in COUNT=N places drawn from SEED=N; print what no test notices
	@$(BIN)/python -m tools.mutants --seed $(SEED) --count $(COUNT) $(ARGS)

testenv: ## build the real parts of each release, or of RELEASE=X.Y.Z, into a cache folder (needs Go)
	@$(TESTENV)

helm: ## build helm, which renders the chart for its tests, into the cache folder (needs Go)
	@$(PYTHON) -m tools.helm

older-kubectl: ## build kubectl 1.32, for the tests that use it, into the cache folder (needs Go)
	@$(PYTHON) -m tools.older_kubectl.build

testenv-env: ## print the export lines of what testenv built; RELEASE=X.Y.Z of that release
	@$(TESTENV) --env

# The suite knows a scheduler by its command line alone; SCHEDULER=reference tries the suite itself.
behave: venv ## run the behaviour suite with Mooring, or with SCHEDULER=reference; RELEASE=X.Y.Z; API=local on our server
	@set -e; parts=$$($(TESTENV) --env); eval "$$parts"; $(API_$(API)) \
	export SCHEDULER_CMD="$(SCHEDULER_$(SCHEDULER)) $(SCHEDULER_FLAGS) $(EMULATION_$(SCHEDULER))"; \
	cd tests/behaviour && $(PYTEST) $(ARGS)

# Pod groups need an API server of 1.37; the harness turns them on.
groups: venv ## run the suite of pod groups with Mooring, or with SCHEDULER=reference
	@set -e; parts=$$($(TESTENV) --env); eval "$$parts"; \
	export SCHEDULER_CMD="$(SCHEDULER_$(SCHEDULER)) $(SCHEDULER_FLAGS)"; \
	cd tests/groups && $(PYTEST) $(ARGS)

# Runs kubectl step by step against a real API server and the local one; what users see must be equal.
kubectl-judge: venv ## compare the local API server with a real one, through kubectl
	@set -e; parts=$$($(TESTENV) --env); eval "$$parts"; \
	gates=; if [ "$(POD_GROUPS)" ]; then gates=--feature-gates=GenericWorkload=true; \
	  export JUDGE_TABLES="$(CURDIR)/tests/kubectl_tables/pod_groups" \
	  REAL_KUBE_APISERVER="$$KUBE_APISERVER" \
	  KUBE_APISERVER="$(CURDIR)/tests/support/pod-group-kube-apiserver"; fi; \
	export CANDIDATE_CMD="$(abspath $(BIN))/mooring up --nodes=0 $$gates --port={port} --kubeconfig={kubeconfig}"; \
	cd tests/kubectl && $(abspath $(BIN))/python -m pytest $(ARGS)

recorder: venv ## record the scenarios of RELEASE=X.Y.Z again, and compare the decisions (needs Go)
	@$(BIN)/python -m tools.recorder verify tests/conformance/vectors/$(or $(RELEASE),1.36.4) \
	  --release $(or $(RELEASE),1.36.4)

# The newest recorded release is compared with, unless AGAINST names another one.
follow: venv ## report what RELEASE=vX.Y.Z changed, against AGAINST=vX.Y.Z (needs Go)
	@$(BIN)/python -m tools.follow --release $(or $(RELEASE),$(error name a release: make follow RELEASE=v1.38.0)) \
	  $(if $(AGAINST),--against $(AGAINST)) --parts --jobs $(JOBS)

lint: venv ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: venv ## sort imports and format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: venv ## run the benchmarks of the scheduling core
	$(BIN)/python -m benchmarks $(ARGS)

bench-live: venv ## run Mooring and kube-scheduler in turn on one API server
	@$(TESTENV)
	$(BIN)/python -m benchmarks.live $(ARGS)

bench-local: venv ## measure the local cluster beside a real API server, and under load
	@$(TESTENV)
	$(BIN)/python -m benchmarks.local $(ARGS)

bench-insight: venv ## measure what records, journal, explanations and replay cost
	@$(TESTENV)
	$(BIN)/python -m benchmarks.records $(ARGS)

# Docker builds the same file; BASE=debian makes the base image from Debian's packages.
BASE ?= pull
image: venv ## build the container image with buildah; BASE=debian needs no container registry
	@$(BIN)/python -m tools.image --base $(BASE) $(ARGS)

docs: venv ## build the documentation site into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo 'build/site/index.html is the first page.'

clean: ## remove .venv and every cache
	rm -rf $(VENV) build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
