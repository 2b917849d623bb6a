/* The same as plugin_gcc.cc for clang: a plugin for LLVM's passes. It looks at functions where clang's own profiling does: after the first
 * simplification, and after small functions of the source have become parts of their callers, which it asks for itself; loops are still as
 * written. Where they are is known by debug information, which is stripped again where nobody else wanted it.
 *
 * Values are those of assignments of the source, which are found before anything is simplified and marked as debug information of
 * variables, of our own: compilers keep those right and decide nothing by them.
 *
 * What is asked for stands in a file beside the plugin (its name and .wishes), an argument a line, KEY or KEY=VALUE: those of
 * plugin_shared.h, and strip. Directories of the system are those that the compiler's own process was given (/proc/self/cmdline). */
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/InlineCost.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Inliner.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <cstdio>
#include <dlfcn.h>
#include <memory>

#include "runs/inside/features/counting/format.h"
#include "runs/inside/features/counting/plugin_clang.h"

using namespace llvm;
using namespace counted;

namespace
{

#define SMALL	      75u  /* cost of a function that becomes a part of its callers: that of clang's own profiling */
#define SMALL_IF_SAID 325u /* one that is declared inline, the same */

/* ---- what is asked for, and by whom ---- */

/* What a file has, divided at `mark`. */
std::vector<std::string> words_of(const char *path, int mark)
{
	FILE *file = fopen(path, "r");
	std::vector<std::string> out;
	char *word = NULL;
	size_t room = 0;
	ssize_t n;

	while (file && (n = getdelim(&word, &room, mark, file)) >= 0)
		out.push_back(std::string(word, n && word[n - 1] == mark ? n - 1 : n));
	free(word);
	if (file)
		fclose(file);
	return out;
}

bool read_wishes(compilation *c)
{
	Dl_info self;

	if (!dladdr((void *)read_wishes, &self))
		return false;
	for (const std::string &line : words_of((std::string(self.dli_fname) + ".wishes").c_str(), '\n')) {
		size_t n = line.find('=');
		std::string key = line.substr(0, n), value = n == std::string::npos ? "" : line.substr(n + 1);

		c->strip |= key == "strip";
		if (!wishes_take(&c->wished, key.c_str(), value.c_str())) {
			errs() << "error: cannot read the list of features '" << value << "'\n";
			return false;
		}
	}
	return true;
}

void read_system(compilation *c)
{
	std::vector<std::string> words = words_of("/proc/self/cmdline", '\0');
	SmallString<256> directory;

	for (size_t i = 0; i + 1 < words.size(); i++)
		if (StringRef(words[i]).endswith("isystem") || words[i] == "-idirafter") {
			directory = words[i + 1];
			sys::fs::make_absolute(directory);
			c->system.push_back(directory.str().str() + '/');
		}
}

bool is_system(const compilation &c, const DIFile *file)
{
	SmallString<256> path = file->getFilename();

	if (sys::path::is_relative(path)) {
		path = file->getDirectory();
		sys::path::append(path, file->getFilename());
	}
	return any_of(c.system, [&](const std::string &directory) { return path.startswith(directory); });
}

/* ---- names ---- */

std::string function_name(const Function &f)
{
	ItaniumPartialDemangler demangler;
	std::string symbol = f.getName().take_until([](char c) { return c == '.'; }).str(), out;
	char *name = demangler.partialDemangle(symbol.c_str()) || !demangler.isFunction() ? NULL : demangler.getFunctionName(NULL, NULL);

	out = printable(name ? name : f.getSubprogram()->getName().str().c_str());
	free(name);
	return out;
}

/* The function of the source that something stands in: one that was inlined, or this one. */
std::string name_at(const compilation &c, const DILocation *where)
{
	auto found = c.functions.find(where->getScope()->getSubprogram());

	return found == c.functions.end() ? printable(where->getScope()->getSubprogram()->getName().str().c_str()) : found->second;
}

} // namespace

bool counted::is_known(const compilation &c, const DILocation *where)
{
	return where && where->getLine() && !is_system(c, where->getFile());
}

source_place counted::place(const DILocation *where)
{
	return { sys::path::filename(where->getFilename()).str(), where->getLine(), where->getColumn() };
}

namespace
{

/* ---- what a function counts ---- */

bool is_of_source(const compilation &c, const Function &f)
{
	const DISubprogram *s = f.getSubprogram();

	return !f.isDeclaration() && s && !s->isArtificial() && !s->isThunk() && s->getLine() && !is_system(c, s->getFile());
}

/* Where a counter is: before an instruction, at the beginning of a block, or on the way from one block to another. */
struct anchor {
	Instruction *before;
	BasicBlock *block, *to;
	std::vector<std::string> names;
	uint64_t slot;
};

struct value {
	Instruction *mark;
	marked_value of;
	uint64_t slot;
	bool real;
};

struct plan {
	const compilation *of;
	Function *function;
	std::vector<anchor> anchors;
	std::vector<value> values;
};

void count(plan *p, Instruction *before, BasicBlock *block, BasicBlock *to, const std::string &name)
{
	if (!wishes_count(p->of->wished, name))
		return;
	if (to && to->getUniquePredecessor()) {
		block = to;
		to = NULL;
	} else if (to && block->getUniqueSuccessor()) {
		to = NULL;
	}
	for (anchor &a : p->anchors)
		if (a.before == before && a.block == block && a.to == to) {
			a.names.push_back(name);
			return;
		}
	p->anchors.push_back({ before, block, to, { name }, 0 });
}

const DILocation *first_location(const compilation &c, const BasicBlock *block)
{
	for (const Instruction &i : block->instructionsWithoutDebug())
		if (is_known(c, i.getDebugLoc().get()))
			return i.getDebugLoc().get();
	return NULL;
}

/* The block behind a loop's head that is in its body, where the loop ends by a test at its head; else NULL. Where nothing follows the test,
 * what is before it is the body. */
BasicBlock *way_in(const Loop *loop)
{
	BasicBlock *inside = NULL;
	BranchInst *test = dyn_cast<BranchInst>(loop->getHeader()->getTerminator());
	bool leaves = false;

	if (!test || !test->isConditional())
		return NULL;
	for (BasicBlock *next : test->successors())
		if (!loop->contains(next))
			leaves = true;
		else if (next != loop->getHeader() && !(next == loop->getLoopLatch() && next->sizeWithoutDebug() == 1))
			inside = next;
	return leaves ? inside : NULL;
}

void count_loops(plan *p, const LoopInfo &loops)
{
	for (const Loop *loop : loops.getLoopsInPreorder()) {
		BasicBlock *head = loop->getHeader(), *in = way_in(loop);
		const DILocation *where = loop->getStartLoc().get();

		if (!is_known(*p->of, where))
			where = head->getTerminator()->getDebugLoc().get();
		if (!is_known(*p->of, where))
			where = first_location(*p->of, head);
		if (!is_known(*p->of, where) && in)
			where = first_location(*p->of, in);
		if (is_known(*p->of, where))
			count(p, NULL, head, in, loop_name(place(where), name_at(*p->of, where)));
	}
}

void count_condition(plan *p, BranchInst *test, const LoopInfo &loops, const BranchProbabilityInfo &chances)
{
	BasicBlock *block = test->getParent();
	const Loop *loop = loops.getLoopFor(block);
	const DILocation *where = test->getDebugLoc().get();
	bool other;

	if (!is_known(*p->of, where) || (loop && loop->getHeader() == block && way_in(loop)) ||
	    test->getSuccessor(0) == test->getSuccessor(1))
		return;
	other = chances.getEdgeProbability(block, 1u) < chances.getEdgeProbability(block, 0u);
	count(p, NULL, block, test->getSuccessor(other), branch_name(place(where), name_at(*p->of, where), other ? "not taken" : "taken"));
}

void count_switch(plan *p, SwitchInst *choice)
{
	const DILocation *where = choice->getDebugLoc().get();
	std::set<BasicBlock *> done;

	if (!is_known(*p->of, where))
		return;
	if (!isa<UnreachableInst>(choice->getDefaultDest()->getFirstNonPHIOrDbg()) && done.insert(choice->getDefaultDest()).second)
		count(p, NULL, choice->getParent(), choice->getDefaultDest(), branch_name(place(where), name_at(*p->of, where), "default"));
	for (const auto &one : choice->cases())
		if (done.insert(one.getCaseSuccessor()).second) {
			SmallString<32> number;

			one.getCaseValue()->getValue().toStringSigned(number);
			count(p, NULL, choice->getParent(), one.getCaseSuccessor(),
			      branch_name(place(where), name_at(*p->of, where), "case " + number.str().str()));
		}
}

void count_exception(plan *p, CallBase *call)
{
	const Function *callee = call->getCalledFunction();
	const char *what = callee ? exception_of(callee->getName().str().c_str()) : NULL;
	const DILocation *where = call->getDebugLoc().get();

	if (what && !is_known(*p->of, where))
		where = first_location(*p->of, call->getParent());
	if (what && is_known(*p->of, where))
		count(p, call, call->getParent(), NULL, exception_name(place(where), name_at(*p->of, where), what));
}

/* What decides whether a coroutine goes on is no branch of the source, and what stands behind it must be what divides coroutines knows. */
bool is_of_coroutine(const Value *condition)
{
	if (const CmpInst *comparison = dyn_cast<CmpInst>(condition))
		condition = comparison->getOperand(0);
	if (const IntrinsicInst *intrinsic = dyn_cast<IntrinsicInst>(condition))
		return intrinsic->getCalledFunction()->getName().startswith("llvm.coro.");
	return false;
}

void plan_block(plan *p, BasicBlock *block, const LoopInfo &loops, const BranchProbabilityInfo &chances)
{
	for (Instruction &i : *block)
		if (CallBase *call = dyn_cast<CallBase>(&i))
			count_exception(p, call);
		else if (SwitchInst *choice = dyn_cast<SwitchInst>(&i); choice && !is_of_coroutine(choice->getCondition()))
			count_switch(p, choice);
		else if (BranchInst *test = dyn_cast<BranchInst>(&i))
			if (test->isConditional() && !is_of_coroutine(test->getCondition()))
				count_condition(p, test, loops, chances);
}

void plan_function(plan *p, counted_unit *unit, FunctionAnalysisManager *analyses)
{
	const LoopInfo &loops = analyses->getResult<LoopAnalysis>(*p->function);
	const DominatorTree &dominators = analyses->getResult<DominatorTreeAnalysis>(*p->function);
	const BranchProbabilityInfo &chances = analyses->getResult<BranchProbabilityAnalysis>(*p->function);
	const DISubprogram *function = p->function->getSubprogram();
	source_place at = { sys::path::filename(function->getFilename()).str(), function->getLine(), 0 };

	if (is_of_source(*p->of, *p->function))
		count(p, NULL, &p->function->getEntryBlock(), NULL, call_name(at, p->of->functions.at(function)));
	count_loops(p, loops);
	for (BasicBlock &block : *p->function)
		plan_block(p, &block, loops, chances);
	for (anchor &a : p->anchors)
		a.slot = counter_new(unit, a.names);
	for (Instruction &i : instructions(p->function))
		if (is_mark(i)) {
			marked_value v = value_of(cast<DbgValueInst>(&i), dominators);
			bool real = v.what && !v.what->getType()->isIntegerTy();

			if (v.what)
				p->values.push_back({ &i, v, value_new(unit, v.name, real), real });
		}
}

/* ---- the changes ---- */

struct counters {
	GlobalVariable *array; /* its type is none until all are known */
	MDNode *kind;	       /* of memory: no object of the program is of it */
	InlineAsm *delta;
};

/* As LLVM writes it: $0 for %0, and % once. */
InlineAsm *delta_of(Type *word)
{
	std::string text;

	for (const char *c = delta_assembly; *c; c++)
		if (*c != '%')
			text += *c;
		else if (*++c == '%')
			text += '%';
		else
			text += std::string("$") + *c;
	return InlineAsm::get(FunctionType::get(word, false), text, "=r,~{dirflag},~{fpsr},~{flags}", false);
}

/* Code behind `code`'s place, of a thread's counters from `base` on. */
Value *slot_at(IRBuilder<> *code, Value *base, Value *slot)
{
	return code->CreateInBoundsGEP(code->getInt64Ty(), base, slot);
}

void increment(IRBuilder<> *code, const counters &c, Value *base, uint64_t slot)
{
	Value *at = slot_at(code, base, code->getInt64(slot));

	counter_store(code, c.kind, at, code->CreateAdd(counter_load(code, c.kind, at), code->getInt64(1)));
}

/* if (slots[0] < 5) slots[++slots[0]] = value: nearly always that is a comparison, and no store. */
void store_value(const counters &c, Value *base, const value &v)
{
	IRBuilder<> test(v.mark);
	Value *what = v.of.what, *first = slot_at(&test, base, test.getInt64(v.slot)), *n = counter_load(&test, c.kind, first);
	MDNode *seldom = MDBuilder(v.mark->getContext()).createBranchWeights(1, 1u << 20);
	IRBuilder<> code(
	    SplitBlockAndInsertIfThen(test.CreateICmpULT(n, test.getInt64(FEATURES_VALUES)), v.mark, false, seldom));

	if (v.real)
		what = code.CreateBitCast(code.CreateFPExt(what, code.getDoubleTy()), code.getInt64Ty());
	else
		what = code.CreateIntCast(what, code.getInt64Ty(), !v.of.is_unsigned);
	n = code.CreateAdd(n, code.getInt64(1));
	counter_store(&code, c.kind, slot_at(&code, first, n), what);
	counter_store(&code, c.kind, first, n);
}

/* Where the thread's counters of this unit begin. */
Value *base_at(IRBuilder<> *code, const counters &c)
{
	CallInst *delta = code->CreateCall(c.delta->getFunctionType(), c.delta);
	Value *array = code->CreatePointerCast(c.array, code->getInt8PtrTy());

	delta->setDoesNotAccessMemory();
	delta->setDoesNotThrow();
	return code->CreatePointerCast(code->CreateGEP(code->getInt8Ty(), array, delta), code->getInt64Ty()->getPointerTo());
}

Instruction *begin_of(BasicBlock *block)
{
	BasicBlock::iterator at = block->getFirstInsertionPt();

	while (block->isEntryBlock() && isa<AllocaInst>(*at))
		at++;
	return &*at;
}

/* A block of its own on the way. */
BasicBlock *between(BasicBlock *from, BasicBlock *to)
{
	Instruction *end = from->getTerminator();

	return SplitCriticalEdge(end, GetSuccessorNumber(from, to), CriticalEdgeSplittingOptions().setMergeIdenticalEdges());
}

void stop_at(IRBuilder<> *code, Module *m)
{
	FunctionCallee stop = m->getOrInsertFunction("assay_features_until", FunctionType::get(code->getVoidTy(), false));

	cast<Function>(stop.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
	code->CreateCall(stop);
}

/* Neither a function nor its calls are free of effects any more. */
void now_writes(Function *f)
{
	for (Attribute::AttrKind kind : { Attribute::ReadNone, Attribute::ReadOnly, Attribute::InaccessibleMemOnly, Attribute::ArgMemOnly,
					  Attribute::InaccessibleMemOrArgMemOnly }) {
		f->removeFnAttr(kind);
		for (User *user : f->users())
			if (CallBase *call = dyn_cast<CallBase>(user))
				call->removeFnAttr(kind);
	}
}

/* What is at the entry comes last, to be first. */
void change_function(const plan &p, const counters &c, bool stops)
{
	BasicBlock *entry = &p.function->getEntryBlock();
	IRBuilder<> first(begin_of(entry));
	Value *base = base_at(&first, c);

	first.SetCurrentDebugLocation(DebugLoc());
	for (const anchor &a : p.anchors) {
		bool at_entry = a.block == entry && !a.before && !a.to;
		BasicBlock *block = a.to ? between(a.block, a.to) : a.block;

		if (at_entry) {
			increment(&first, c, base, a.slot);
		} else if (block) {
			IRBuilder<> code(a.before ? a.before : begin_of(block));

			increment(&code, c, base, a.slot);
		}
	}
	if (stops)
		stop_at(&first, p.function->getParent());
	for (const value &v : p.values) /* last: that divides blocks */
		store_value(c, base, v);
	now_writes(p.function);
}

/* ---- the unit ---- */

/* Those that choose another one run before a program has its variables of threads. */
std::set<const Function *> resolvers(const Module &m)
{
	std::set<const Function *> out;

	for (const GlobalIFunc &one : m.ifuncs())
		out.insert(one.getResolverFunction());
	return out;
}

/* Other functions may have those of the source in them. */
bool is_counted(const Function &f)
{
	return !f.isDeclaration() && f.getSubprogram() && !f.hasFnAttribute(Attribute::Naked) && !f.hasFnAttribute(Attribute::NoProfile);
}

GlobalVariable *section(Module *m, Constant *what, const char *name, bool constant)
{
	GlobalVariable *g = new GlobalVariable(*m, what->getType(), constant, GlobalValue::PrivateLinkage, what, "assay_features");

	g->setSection(name);
	g->setAlignment(Align(constant ? 1 : 8));
	appendToUsed(*m, { g });
	return g;
}

void unit_end(Module *m, const counters &c, const counted_unit &unit)
{
	Type *all = ArrayType::get(Type::getInt64Ty(m->getContext()), unit.slots);

	if (unit.slots) {
		GlobalVariable *array = section(m, Constant::getNullValue(all), "assay_features", false);

		c.array->replaceAllUsesWith(ConstantExpr::getPointerCast(array, c.array->getType()));
		section(m, ConstantDataArray::getString(m->getContext(), unit.names, false), FEATURES_SECTION, true);
	}
	c.array->eraseFromParent();
}

/* ---- passes ---- */

using shared_compilation = std::shared_ptr<compilation>;

/* Before anything is changed. */
struct look : PassInfoMixin<look> {
	shared_compilation c;

	explicit look(shared_compilation of) : c(std::move(of))
	{
	}
	static bool isRequired()
	{
		return true;
	}
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		for (Function &f : m)
			if (!f.isDeclaration() && f.getSubprogram())
				c->functions[f.getSubprogram()] = function_name(f);
		for (Function &f : m)
			if (c->wished.values && is_of_source(*c, f))
				mark_values(*c, &f);
		return PreservedAnalyses::none();
	}
};

void remove_marks(Function *f)
{
	for (Instruction &i : make_early_inc_range(instructions(f)))
		if (is_mark(i))
			i.eraseFromParent();
}

struct counting : PassInfoMixin<counting> {
	shared_compilation c;

	explicit counting(shared_compilation of) : c(std::move(of))
	{
	}
	static bool isRequired()
	{
		return true;
	}
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &analyses)
	{
		FunctionAnalysisManager &of_functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
		Type *word = Type::getInt64Ty(m.getContext());
		GlobalVariable *array = new GlobalVariable(m, word, false, GlobalValue::ExternalLinkage, NULL, "assay_features_counters");
		const counters all = { array, counter_kind(&m), delta_of(word) };
		std::set<const Function *> chosen_by = resolvers(m);
		counted_unit unit = { "", 0 };

		for (Function &f : m) {
			plan p = { c.get(), &f, {}, {} };
			bool stops = false;

			if (is_counted(f) && !chosen_by.count(&f)) {
				plan_function(&p, &unit, &of_functions);
				stops = !c->wished.until.empty() && c->wished.until == c->functions[f.getSubprogram()];
			}
			if (!p.anchors.empty() || !p.values.empty() || stops)
				change_function(p, all, stops);
			remove_marks(&f);
		}
		unit_end(&m, all, unit);
		return PreservedAnalyses::none();
	}
};

struct in_registers : PassInfoMixin<in_registers> {
	PreservedAnalyses run(Function &f, FunctionAnalysisManager &analyses)
	{
		bool changed =
		    counters_to_registers(&f, &analyses.getResult<LoopAnalysis>(f), &analyses.getResult<DominatorTreeAnalysis>(f));

		return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
	}
};

struct strip : PassInfoMixin<strip> {
	static bool isRequired()
	{
		return true;
	}
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		StripDebugInfo(m);
		return PreservedAnalyses::none();
	}
};

/* While they are held, functions that are called once have a second use: they are no cheaper to inline than others. */
struct hold : PassInfoMixin<hold> {
	shared_compilation c;
	bool begins;

	hold(shared_compilation of, bool first) : c(std::move(of)), begins(first)
	{
	}
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		SmallVector<GlobalValue *, 16> used, held;
		GlobalVariable *list = collectUsedGlobalVariables(m, used, true);

		for (Function &f : m)
			if (begins && !f.isDeclaration() && f.hasLocalLinkage() && !is_contained(used, &f))
				c->held.insert(&f);
		if (!begins && list)
			list->eraseFromParent();
		copy_if(begins ? SmallVector<GlobalValue *, 16>(c->held.begin(), c->held.end()) : used, std::back_inserter(held),
			[&](GlobalValue *one) { return c->held.count(one) == begins; });
		appendToCompilerUsed(m, held);
		return PreservedAnalyses::none();
	}
};

/* As clang does before its own profiling. */
void inline_small(ModulePassManager *passes, shared_compilation c, OptimizationLevel level)
{
	InlineParams how;
	FunctionPassManager cleaning;

	how.DefaultThreshold = SMALL;
	how.HintThreshold = level.isOptimizingForSize() ? SMALL : SMALL_IF_SAID;
	ModuleInlinerWrapperPass inliner(how);
	cleaning.addPass(SROAPass());
	cleaning.addPass(EarlyCSEPass());
	cleaning.addPass(SimplifyCFGPass());
	inliner.getPM().addPass(createCGSCCToFunctionPassAdaptor(std::move(cleaning)));
	passes->addPass(hold(c, true));
	passes->addPass(std::move(inliner));
	passes->addPass(hold(c, false));
	passes->addPass(GlobalDCEPass());
}

void register_passes(PassBuilder &builder)
{
	shared_compilation c = std::make_shared<compilation>();

	if (!read_wishes(c.get()))
		exit(1);
	read_system(c.get());
	builder.registerPipelineStartEPCallback([c](ModulePassManager &passes, OptimizationLevel) { passes.addPass(look(c)); });
	builder.registerPipelineEarlySimplificationEPCallback([c](ModulePassManager &passes, OptimizationLevel level) {
		if (level != OptimizationLevel::O0)
			inline_small(&passes, c, level);
		passes.addPass(counting(c));
	});
	builder.registerPeepholeEPCallback([](FunctionPassManager &passes, OptimizationLevel) {
		passes.addPass(LoopSimplifyPass());
		passes.addPass(in_registers());
	});
	if (c->strip)
		builder.registerOptimizerLastEPCallback([](ModulePassManager &passes, OptimizationLevel) { passes.addPass(strip()); });
}

} // namespace

extern "C" PassPluginLibraryInfo llvmGetPassPluginInfo();

PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return { LLVM_PLUGIN_API_VERSION, "assay_features", LLVM_VERSION_STRING, register_passes };
}
