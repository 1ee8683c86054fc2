# One Makefile, non-recursive. `make help` lists the targets. Programs land in $(B)/ (build/ unless B is given), objects
# in $(B)/obj, generated sources in $(B)/gen: modes never mix (make asan uses B=build/asan).

# The line editor of the prompt: readline, libedit or none. The others build in a folder of their own.
EDITLINE ?= readline
$(if $(filter readline libedit none,$(EDITLINE)),,$(error EDITLINE is readline, libedit or none, not '$(EDITLINE)'))
B        ?= build$(addprefix /,$(filter-out readline,$(EDITLINE)))
# Always one name for a folder in the tree, also if B is absolute: it is in the dependencies that the compiler writes.
override B := $(patsubst $(CURDIR)/%,%,$(B))
PREFIX   ?= /usr/local
# Where `make install` puts things, named as in other projects; DESTDIR goes before all of them.
prefix      = $(PREFIX)
exec_prefix = $(prefix)
bindir      = $(exec_prefix)/bin
datarootdir = $(prefix)/share
datadir     = $(datarootdir)
mandir      = $(datarootdir)/man
docdir      = $(datarootdir)/doc/gtsh
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir  = $(datadir)/zsh/site-functions
vimdir      = $(datadir)/vim/vimfiles
CC       ?= cc
CFLAGS   ?= -O2 -g
V        ?= 0
Q        := $(if $(filter 0,$(V)),@,)
# Each step of a build is counted; how many there are is what `make -n` would take, asked for once. STEPS=1: this is asked.
STEPS     = $(eval STEPS := $(shell $(MAKE) --no-print-directory -n STEPS=1 V=0 $(MAKEOVERRIDES) $(MAKECMDGOALS) 2>/dev/null | grep -c '^: a step'))$(STEPS)
STEP      = $(eval STEP_LIST += x)$(words $(STEP_LIST))
say       = $(if $(filter 0,$(V)),$(if $(filter command,$(firstword $(origin STEPS))),@: a step,@printf '[%3d/%d] %-7s %s\n' $(STEP) $(STEPS) $(1) $(2)),@:)
# All cores build, unless -j says how many.
JOBS      = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))

WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -fno-common -Wno-missing-field-initializers
# Functions behind one table take what the table passes, used or not.
WARN     += -Wno-unused-parameter $(if $(WERROR),-Werror)
# Floats are computed as written: no contraction; no other flag that changes results.
FLOATS   := -ffp-contract=off -fno-math-errno -fno-trapping-math
PKGS     := libzmq yaml-0.1 $(filter-out none,$(EDITLINE)) libpng zlib libcrypto
PKG_CF    = $(eval PKG_CF := $(shell pkg-config --cflags $(PKGS) 2>/dev/null))$(PKG_CF)
PKG_LIBS  = $(eval PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null))$(PKG_LIBS)
# Of single tools: the terminal of gt-top, the pictures of gt-visualize.
TOP_PKGS := ncursesw
DRAW_PKGS := cairo cairo-pdf cairo-svg
EDIT_CF  := $(if $(filter libedit,$(EDITLINE)),-DEDIT_LIBEDIT,$(if $(filter none,$(EDITLINE)),-DEDIT_NONE))
# UCX is optional: without its headers that way between machines is not built in.
UCX_CF   := $(shell pkg-config --exists ucx 2>/dev/null && { echo -DHAVE_UCX; pkg-config --cflags ucx; })
# The same sources give the same bits in every folder: debuggers find sources from the top of the tree.
ALL_CF    = -std=c11 -D_GNU_SOURCE -I. -I$(B)/gen $(WARN) $(FLOATS) $(PKG_CF) $(CPPFLAGS) $(CFLAGS) $(SAN) $(WHERE)
WHERE    := '-ffile-prefix-map=$(CURDIR)=.'
LINK      = $(CC) $(CFLAGS) $(SAN) -Wl,--as-needed $(LDFLAGS)
LIBS      = $(PKG_LIBS) -lm -ldl -lpthread

# What pkg-config has to find, and the Debian package that it is in.
NEEDS    := libzmq=libzmq3-dev yaml-0.1=libyaml-dev $(filter $(EDITLINE)=%,readline=libreadline-dev libedit=libedit-dev) libpng=libpng-dev zlib=zlib1g-dev \
            libcrypto=libssl-dev ncursesw=libncurses-dev cairo=libcairo2-dev
# Debian packages that building and testing need; scripts/deps installs what is missing.
DEBS     := gcc make pkg-config libc6-dev libdnnl-dev $(foreach n,$(NEEDS),$(lastword $(subst =, ,$(n))))

# The tools that watch a run: dispatcher/watch/main_NAME.c is gt-NAME.
TOOLS    := $(patsubst dispatcher/watch/main_%.c,%,$(wildcard dispatcher/watch/main_*.c))
MAINS    := lang/main.c dispatcher/main.c worker/main.c worker/kernel/genkernels.c $(TOOLS:%=dispatcher/watch/main_%.c)
ROOMS    := runtime lang dispatcher worker
SRC      := $(filter-out $(MAINS),$(wildcard $(foreach r,$(ROOMS),$(r)/*.c $(r)/*/*.c)))
PRELUDE  := $(sort $(wildcard lang/prelude/*.gt lang/prelude/*/*.gt lang/prelude/*/*/*.gt lang/prelude/*/*/*/*.gt))
# In the order of the index.
HELP     := lang/help/topics.txt lang/help/statements.txt
HELP     += $(filter-out $(HELP),$(sort $(wildcard lang/help/*.txt)))
LIB      := $(B)/libgt.a
VERSION_O := $(B)/obj/gen/version.o
PROGRAMS := $(B)/gtsh $(B)/gt-dispatcher $(B)/gt-worker $(TOOLS:%=$(B)/gt-%)
UNITS    := $(patsubst tests/unit/%.c,$(B)/test/%,$(wildcard tests/unit/*_test.c))
FUZZERS  := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
ISAS     := base v3 v4
MARCH_base := -march=x86-64
MARCH_v3   := -march=x86-64-v3
MARCH_v4   := -march=x86-64-v4 -mprefer-vector-width=512
# What editors and shells need, besides the programs and the manual: scripts/install says what goes where.
SHARE    := $(B)/man/gt-ops.7 $(foreach p,$(notdir $(PROGRAMS)),$(B)/share/bash/$(p) $(B)/share/zsh/_$(p))
SHARE    += $(B)/share/vscode/syntaxes/gt.tmLanguage.json
# The kernels of common layers, losses and optimizers, compiled as worker/jit compiles kernels at run time. Not for sanitizers.
SHIPPED  := $(if $(SAN),,$(ISAS:%=$(B)/lib/gt/kernels-%.so))
KERNELS  := $(ISAS:%=$(B)/obj/gen/kernels_%.o)
CUDA_O   := $(patsubst worker/cuda/%.cu,$(B)/obj/gen/cuda_%_cu.o,$(wildcard worker/cuda/*.cu))
OBJ      := $(SRC:%.c=$(B)/obj/%.o) $(CUDA_O) $(B)/obj/gen/prelude.o $(B)/obj/gen/help.o $(B)/obj/gen/emit_head.o $(B)/obj/gen/emit_cuda_head.o $(KERNELS)

.DEFAULT_GOAL := all
.PHONY: all run test soak unit asan ubsan tsan bench bench-cuda asm-cuda fuzz fuzz-torch fuzz-shard fuzz-fuse sim test-torch test-cuda lint count deps install uninstall deb test-deb repro clean help
.DELETE_ON_ERROR:
.SECONDARY:

##@ Build and run
all: $(PROGRAMS) $(SHARE) $(SHIPPED)              ## build the programs into build/

deps:                                             ## install the packages that the build needs (apt), or say how
	$(Q)sh scripts/deps $(DEBS)

run: deps                                         ## build, train a small GPT and print a sample
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	$(Q)sh scripts/demo $(B)

##@ Test
test: deps                                        ## build and run all tests
	$(Q)$(MAKE) --no-print-directory $(JOBS) all tests-built
	$(Q)sh scripts/runtests $(B)

.PHONY: tests-built
tests-built: $(UNITS) $(FUZZERS) $(B)/fuzz/shard $(B)/fuzz/fuse $(B)/test/runner

soak: deps                                        ## long runs of the random tests, and long checks (SOAK_SECONDS=600, SOAK_SEED)
	$(Q)$(MAKE) --no-print-directory $(JOBS) all tests-built
	$(Q)sh scripts/soak $(B) $(or $(SOAK_SECONDS),600)

unit: tests-built                                 ## the C unit tests alone
	$(Q)sh scripts/runtests $(B) unit

asan:                                             ## all tests under AddressSanitizer
	$(Q)$(MAKE) --no-print-directory test B=build/asan SAN="-fsanitize=address -fno-omit-frame-pointer" CFLAGS="-O1 -g"
ubsan:                                            ## all tests under UndefinedBehaviorSanitizer
	$(Q)$(MAKE) --no-print-directory test B=build/ubsan SAN="-fsanitize=undefined -fno-sanitize-recover=undefined" CFLAGS="-O1 -g"
tsan:                                             ## all tests under ThreadSanitizer
	$(Q)$(MAKE) --no-print-directory test B=build/tsan SAN="-fsanitize=thread" CFLAGS="-O1 -g"
##@ Measure
bench: all                                        ## speed beside PyTorch and NumPy, as a table and a picture (GT_PYTHON, ONLY="charlm adam")
	$(Q)$(MAKE) --no-print-directory $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
	$(Q)sh tests/bench/run $(B) $(ONLY)
bench-cuda: all tests-built $(B)/bench/cuda_calls ## the engine cuda: what kernels do on an emulated device and predicted shares of the memory bound; the host's time, kernels and bytes of a training step
	$(Q)sh tests/bench/cuda $(B) && echo && sh tests/bench/cuda_host $(B)
asm-cuda: all tests-built                         ## registers, stack, shared memory and occupancy of all kernels of the engine cuda, on four architectures
	$(Q)sh tests/bench/cuda_asm $(B)
##@ Search for bugs
fuzz: $(FUZZERS)                                  ## fuzz the decoders and parsers (FUZZ_SECONDS=60 each)
	$(Q)sh scripts/fuzz $(B) $(or $(FUZZ_SECONDS),60)
fuzz-torch: all                                   ## compare random programs with PyTorch (GT_PYTHON, FUZZ_PROGRAMS, FUZZ_SEED)
	$(Q)FUZZ_BUILD=$(B) $(or $(GT_PYTHON),python3) -B tests/fuzz/diff.py -n $(or $(FUZZ_PROGRAMS),2000) -s $(or $(FUZZ_SEED),1)
fuzz-shard: all $(B)/fuzz/shard                   ## compare random programs with and without random sharding (N=1000 FUZZ_SEED=1)
	$(Q)$(B)/fuzz/shard -b $(B) -n $(or $(N),1000) -s $(or $(FUZZ_SEED),1) -j $(or $(FUZZ_JOBS),$(shell nproc))
fuzz-fuse: $(B)/fuzz/fuse                         ## compare random programs eager and compiled, bit for bit (N=500 FUZZ_SEED=1)
	$(Q)$(B)/fuzz/fuse -n $(or $(N),500) -s $(or $(FUZZ_SEED),1) -j $(or $(FUZZ_JOBS),$(shell nproc))
sim: $(B)/test/sim_test                           ## run a whole cluster in one thread with random schedules (SIM_SCHEDULES=100000)
	$(Q)$(B)/test/sim_test -n $(or $(SIM_SCHEDULES),100000) -s $(or $(SIM_SEED),1) -j $(or $(SIM_JOBS),$(shell nproc))
accuracy: $(B)/test/prologue_test                 ## check every float of every function (an hour; STRIDE=7: a seventh of them, ACCURACY_JOBS=2)
	$(Q)$(B)/test/prologue_test -l | xargs -P $(or $(ACCURACY_JOBS),$(shell nproc)) -n 1 $(B)/test/prologue_test $(or $(STRIDE),1)
test-torch: all                                   ## train a GPT, a ResNet-18 and Transformers here and in PyTorch (GT_PYTHON)
	$(Q)$(or $(GT_PYTHON),python3) -c 'import torch' 2>/dev/null || { echo "PyTorch is not installed: skipped (GT_PYTHON chooses the interpreter)"; exit 0; }; \
	  text=../shared/data/tinyshakespeare.txt; [ -e $$text ] || { text=$(B)/gpt.txt; cat README.md lang/*/*.c >$$text; }; \
	  $(or $(GT_PYTHON),python3) -B tests/torch/gpt.py $(B)/gtsh $$text && \
	  $(or $(GT_PYTHON),python3) -W ignore -B tests/torch/models.py $(B)/gtsh
test-cuda: all tests-built                        ## all operations and scripts about tensors on the engine cuda, on an emulated device
	$(Q)sh scripts/testcuda $(B) && sh scripts/testfaults $(B)
##@ Check the code
lint:                                             ## check the house rules: columns, folders, headers, manual pages
	$(Q)sh scripts/lint
count:                                            ## count lines per folder, waivers, long functions, constants
	$(Q)sh scripts/count $(B)

# ---- programs ----
$(B)/gtsh: $(B)/obj/lang/main.o $(VERSION_O) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $< $(VERSION_O) $(LIB) $(LIBS)
$(B)/gt-%: $(B)/obj/%/main.o $(VERSION_O) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $< $(VERSION_O) $(LIB) $(LIBS)
$(B)/gt-%: $(B)/obj/dispatcher/watch/main_%.o $(VERSION_O) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $< $(VERSION_O) $(LIB) $(LIBS)
$(B)/gt-top: LIBS += $(shell pkg-config --libs $(TOP_PKGS) 2>/dev/null)
$(B)/gt-visualize: LIBS += $(shell pkg-config --libs $(DRAW_PKGS) 2>/dev/null)
$(LIB): $(OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(OBJ)

# The version with the commit. Its header is looked at whenever make runs, and changes only with the commit.
$(if $(wildcard $(B)/gen/describe.h),$(shell sh scripts/describe $(B)/gen/describe.h))
$(B)/gen/describe.h:
	@mkdir -p $(@D) && sh scripts/describe $@
$(VERSION_O): runtime/base/version.c runtime/base/version.h $(B)/gen/describe.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -include $(B)/gen/describe.h -c -o $@ $<

# ---- objects ----
# Libraries that are missing are named before the first compilation.
$(B)/gen/needs: Makefile scripts/deps
	@mkdir -p $(@D) && sh scripts/deps -c '$(CC)' $(NEEDS) && touch $@
$(B)/obj/%.o: %.c | $(B)/gen/needs
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -MMD -MP -c -o $@ $<
$(B)/obj/lang/shell/%.o $(B)/test/%: ALL_CF += $(EDIT_CF)
$(B)/obj/runtime/net/dp_ucx.o: ALL_CF += $(UCX_CF)
$(B)/obj/dispatcher/watch/%.o: ALL_CF += $(shell pkg-config --cflags $(TOP_PKGS) $(DRAW_PKGS) 2>/dev/null)
# Kernels: one generated source, compiled once per instruction set; worker/cpu/cpu.c chooses at run time.
$(B)/obj/gen/kernels_%.o: $(B)/gen/kernels.c $(wildcard worker/kernel/*.h) runtime/base/rng.h runtime/base/tree.h
	$(call say,CC,"kernels for $*")
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(CPPFLAGS) $(CFLAGS) $(FLOATS) $(WHERE) -O3 -g1 -Wno-stringop-overflow $(SAN) $(MARCH_$*) -DISA=$* -c -o $@ $<
$(B)/gen/kernels.c: $(B)/gen/genkernels
	@mkdir -p $(@D)
	$(Q)$< > $@
$(B)/gen/genkernels: worker/kernel/genkernels.c worker/kernel/emit.c worker/kernel/emit.h runtime/inst/op.c runtime/base/err.c runtime/base/map.c runtime/base/arena.c $(wildcard runtime/*/*.def runtime/*/*.h)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARN) -O1 -g -o $@ $(filter %.c,$^)
$(B)/gen/prelude.c: scripts/embed $(PRELUDE)
	@mkdir -p $(@D)
	$(Q)sh scripts/embed prelude_files lang/prelude $(PRELUDE) > $@
$(B)/gen/help.c: scripts/embed $(HELP)
	@mkdir -p $(@D)
	$(Q)sh scripts/embed help_files lang/help $(HELP) > $@
$(B)/obj/gen/prelude.o $(B)/obj/gen/help.o: $(B)/obj/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -c -o $@ $<
# The head of kernels compiled at run time, and the flags that give them the bits of those above.
$(B)/gen/emit_head.c: scripts/embedc $(wildcard worker/kernel/*.h)
	@mkdir -p $(@D)
	$(Q)sh scripts/embedc emit_head worker/kernel/kernel_fused.h > $@
$(B)/gen/emit_cuda_head.c: scripts/embedc $(wildcard worker/kernel/*.h) runtime/base/rng.h
	@mkdir -p $(@D)
	$(Q)sh scripts/embedc emit_cuda_head worker/kernel/kernel_cuda.h > $@
$(B)/gen/cuda_%_cu.c: worker/cuda/%.cu scripts/embedc $(wildcard worker/cuda/*.h)
	@mkdir -p $(@D)
	$(Q)sh scripts/embedc cuda_$*_cu $< > $@
$(B)/obj/gen/emit_head.o $(B)/obj/gen/emit_cuda_head.o $(CUDA_O): $(B)/obj/gen/%.o: $(B)/gen/%.c
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CF) -c -o $@ $<

# Kernels that come with the programs. The list is made anew with each gtsh; a part of it is compiled again if it changed.
PARTS    := 0 1 2 3
$(B)/gen/shipped/list: $(B)/gtsh worker/jit/shipped.gt scripts/genshipped
	$(call say,KERNELS,worker/jit/shipped.gt)
	$(Q)sh scripts/genshipped $(B) '$(CC)' && touch $@
$(PARTS:%=$(B)/gen/shipped/%.c): $(B)/gen/shipped/list
	@:
define shipped
$(B)/lib/gt/kernels-$(1).so: $(PARTS:%=$(B)/obj/gen/shipped-$(1)-%.o)
	$(Q)mkdir -p $$(@D) && $(CC) -shared -s $(LDFLAGS) -o $$@ $$^ -lm
$(B)/obj/gen/shipped-$(1)-%.o: $(B)/gen/shipped/%.c
	$(Q)mkdir -p $$(@D) && $(CC) `sed 's|^/\* flags: \(.*\) \*/$$$$|\1|;q' $$<` $(MARCH_$(1)) -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call shipped,$(i))))

# ---- tests ----
# The reference of prologue_test, which comes with gcc where long double is not it already.
QUADMATH := $(if $(wildcard $(shell $(CC) -print-file-name=libquadmath.so 2>/dev/null)),-lquadmath)
$(B)/test/prologue_test: LIBS += $(QUADMATH)
$(B)/test/prologue_test: ALL_CF += $(if $(QUADMATH),-DHAVE_QUADMATH)
$(B)/test/%: tests/unit/%.c $(LIB) $(wildcard tests/unit/*.h)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -o $@ $< $(LIB) $(LIBS)
$(B)/test/runner: $(wildcard tests/*.[ch])
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -o $@ $(filter %.c,$^) -lm
$(B)/fuzz/%: tests/fuzz/%.c $(LIB) $(wildcard tests/fuzz/*.h tests/unit/*.h)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -o $@ $< $(LIB) $(LIBS)
# gtsh, whose worker's calls of the engine cuda are counted.
$(B)/bench/cuda_calls: tests/bench/cuda_calls.c $(B)/obj/lang/main.o $(VERSION_O) $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -Wl,--wrap=engine_cuda -o $@ $(filter %.c %.o,$^) $(LIB) $(LIBS)
$(B)/bench/%: tests/bench/%.c $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CF) -o $@ $< $(LIB) $(LIBS)

# The stand-ins for NVIDIA's libraries (tests/gpu), by the names that a program looks for; in build/test/gpu. Each has a soname
# of its own: NVRTC asks the loader for libcuda.so.1, and crashes if it gets one without NVIDIA's hidden tables.
GPU_CUDA := $(B)/test/gpu/libcuda.so.1
GPU_IDLE := $(B)/test/gpu/idle/libcuda.so.1
GPU_LIBS := $(GPU_CUDA) $(GPU_IDLE) $(B)/test/gpu/libcublasLt.so.13 $(B)/test/gpu/libnvidia-ml.so.1 $(B)/test/gpu/nvrtc/libnvrtc.so.13
IDLE_SRC := tests/gpu/idle.c tests/gpu/idle_rest.c tests/gpu/cubin.c
GPU_SRC  := $(filter-out tests/gpu/blas.c tests/gpu/nvml.c tests/gpu/nvrtc.c $(IDLE_SRC),$(wildcard tests/gpu/*.c))
# They are executed where they are built: with this machine's vectors.
GPU_MARCH := $(if $(shell grep -wom1 avx2 /proc/cpuinfo 2>/dev/null),$(MARCH_v3))
GPU_CF    = $(filter-out -O%,$(ALL_CF)) -O3 -fPIC -fvisibility=hidden -fno-strict-aliasing $(GPU_MARCH)
$(B)/obj/tests/gpu/%.o: tests/gpu/%.c $(wildcard tests/gpu/*.h tests/gpu/*.def) | $(B)/gen/needs
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(GPU_CF) -c -o $@ $<
$(GPU_CUDA): $(GPU_SRC:%.c=$(B)/obj/%.o)
$(GPU_IDLE): $(IDLE_SRC:%.c=$(B)/obj/%.o)
$(B)/test/gpu/libcublasLt.so.13: $(B)/obj/tests/gpu/blas.o $(B)/obj/tests/gpu/memory.o $(GPU_CUDA)
$(B)/test/gpu/libnvidia-ml.so.1: $(B)/obj/tests/gpu/nvml.o
$(B)/test/gpu/nvrtc/libnvrtc.so.13: $(B)/obj/tests/gpu/nvrtc.o $(GPU_CUDA)
$(GPU_LIBS):
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,emulated-$(@F) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -o $@ $^ -lm -lpthread && ln -sf $(@F) $(@D)/emulated-$(@F)
$(filter $(B)/test/gpu_% $(B)/test/cuda_%,$(UNITS)): $(GPU_LIBS) $(wildcard tests/gpu/*.h)

# ---- the rest ----
# The files of editors, all of one run: share/vim/ and share/vscode/.
$(B)/share/vscode/syntaxes/gt.tmLanguage.json: scripts/gensyntax lang/syntax/tokens.def lang/math/functions.def runtime/inst/ops.def \
                                               runtime/inst/dtypes.def runtime/base/version.h $(wildcard lang/builtin/*.c) $(PRELUDE)
	$(Q)sh scripts/gensyntax $(B)/share
$(B)/share/bash/%: $(B)/% scripts/gencompletion scripts/completion.bash
	@mkdir -p $(@D)
	$(Q)sh scripts/gencompletion bash $< > $@
$(B)/share/zsh/_%: $(B)/% scripts/gencompletion
	@mkdir -p $(@D)
	$(Q)sh scripts/gencompletion zsh $< > $@
$(B)/man/gt-ops.7: scripts/genman runtime/inst/ops.def $(HELP) $(PRELUDE)
	@mkdir -p $(@D)
	$(Q)sh scripts/genman > $@
##@ Install
PLACE     = $(foreach v,DESTDIR bindir datadir mandir docdir bashcompdir zshcompdir vimdir,$(v)='$($(v))') programs='$(notdir $(PROGRAMS))' sh scripts/install
install: all                                      ## install into $(DESTDIR)$(PREFIX)
	$(Q)$(PLACE) $(B)
uninstall:                                        ## remove what `make install` installed
	$(Q)$(PLACE) -u
deb:                                              ## build Debian packages of the last commit into build/deb
	$(Q)sh scripts/deb $(B)/deb
test-deb: deb                                     ## ... and test them: lintian, install, run, purge
	$(Q)sh scripts/deb -t $(B)/deb
repro:                                            ## build the last commit twice; the programs must have the same bits
	$(Q)sh scripts/repro $(B)
clean:                                            ## remove build/
	rm -rf build
help:                                             ## list these targets
	@awk -F':.*## ' '/^##@/ { printf "%s%s\n", n++ ? "\n" : "", substr($$0, 5) } /^[a-z].*:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
