/* Counters as memory, for clang's plugin: what the compiler may know of them, and that they are in registers while inner loops last. */
#include "runs/inside/features/counting/plugin_clang.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

using namespace llvm;
using namespace counted;

static bool is_cxx(const Module &m)
{
	for (const DICompileUnit *unit : m.debug_compile_units())
		return dwarf::isCPlusPlus(dwarf::SourceLanguage(unit->getSourceLanguage()));
	return false;
}

/* A sibling of all types that accesses of the language have. */
MDNode *counted::counter_kind(Module *m)
{
	MDBuilder builder(m->getContext());
	MDNode *root = builder.createTBAARoot(is_cxx(*m) ? "Simple C++ TBAA" : "Simple C/C++ TBAA");
	MDNode *type = builder.createTBAAScalarTypeNode("assay counter", root);

	return builder.createTBAAStructTagNode(type, type, 0);
}

LoadInst *counted::counter_load(IRBuilder<> *code, MDNode *kind, Value *at)
{
	LoadInst *load = code->CreateAlignedLoad(code->getInt64Ty(), at, Align(8));

	load->setMetadata(LLVMContext::MD_tbaa, kind);
	return load;
}

void counted::counter_store(IRBuilder<> *code, MDNode *kind, Value *at, Value *what)
{
	code->CreateAlignedStore(what, at, Align(8))->setMetadata(LLVMContext::MD_tbaa, kind);
}

namespace
{

using place_in_memory = std::pair<Value *, int64_t>; /* a counter: what its address is computed from, and how far it is from there */

/* Nothing in it may look at counters but what this plugin has put there. */
bool is_quiet(const Loop *loop)
{
	for (BasicBlock *block : loop->blocks())
		for (Instruction &i : *block) {
			CallBase *call = dyn_cast<CallBase>(&i);

			if (call && !isa<IntrinsicInst>(call) && !call->doesNotAccessMemory())
				return false;
		}
	return true;
}

/* Those of the loop that have one place; accesses by place. */
std::map<place_in_memory, std::vector<Instruction *>> counters_in(const Loop *loop, const MDNode *kind)
{
	std::map<place_in_memory, std::vector<Instruction *>> out;

	for (BasicBlock *block : loop->blocks())
		for (Instruction &i : *block)
			if (i.getMetadata(LLVMContext::MD_tbaa) == kind) {
				int64_t offset = 0;
				Value *base = GetPointerBaseWithConstantOffset(getLoadStorePointerOperand(&i), offset,
									       i.getModule()->getDataLayout());

				if (loop->isLoopInvariant(base))
					out[{ base, offset }].push_back(&i);
			}
	return out;
}

Value *address_of(IRBuilder<> *code, const place_in_memory &at)
{
	Value *bytes =
	    code->CreateGEP(code->getInt8Ty(), code->CreatePointerCast(at.first, code->getInt8PtrTy()), code->getInt64(at.second));

	return code->CreatePointerCast(bytes, code->getInt64Ty()->getPointerTo());
}

/* The counter is a variable of the function while the loop lasts. */
AllocaInst *hold_counter(Loop *loop, const SmallVectorImpl<BasicBlock *> &exits, MDNode *kind, const place_in_memory &at,
			 const std::vector<Instruction *> &accesses)
{
	IRBuilder<> entry(&*loop->getHeader()->getParent()->getEntryBlock().getFirstInsertionPt()),
	    before(loop->getLoopPreheader()->getTerminator());
	AllocaInst *local = entry.CreateAlloca(entry.getInt64Ty());

	before.CreateStore(counter_load(&before, kind, address_of(&before, at)), local);
	for (Instruction *access : accesses) {
		access->setOperand(isa<StoreInst>(access) ? StoreInst::getPointerOperandIndex() : LoadInst::getPointerOperandIndex(),
				   local);
		access->setMetadata(LLVMContext::MD_tbaa, NULL);
	}
	for (BasicBlock *exit : exits) {
		IRBuilder<> code(&*exit->getFirstInsertionPt());

		counter_store(&code, kind, address_of(&code, at), code.CreateLoad(code.getInt64Ty(), local));
	}
	return local;
}

bool has_few_exits(const Loop *loop)
{
	SmallVector<BasicBlock *, 8> exits;

	loop->getUniqueExitBlocks(exits);
	return loop->isLoopSimplifyForm() && exits.size() <= HELD_EXITS_MAX && none_of(exits, [](BasicBlock *exit) { return exit->isEHPad(); });
}

void hold_counters(Loop *loop, MDNode *kind, std::vector<AllocaInst *> *locals)
{
	SmallVector<BasicBlock *, 8> exits;
	auto counters = counters_in(loop, kind);

	loop->getUniqueExitBlocks(exits);
	if (counters.size() <= HELD_MAX)
		for (const auto &one : counters)
			locals->push_back(hold_counter(loop, exits, kind, one.first, one.second));
}

} // namespace

bool counted::counters_to_registers(Function *f, LoopInfo *loops, DominatorTree *dominators)
{
	std::vector<AllocaInst *> locals;

	for (Loop *loop : loops->getLoopsInPreorder())
		if (loop->isInnermost() && is_quiet(loop) && has_few_exits(loop))
			hold_counters(loop, counter_kind(f->getParent()), &locals);
	if (!locals.empty())
		PromoteMemToReg(locals, *dominators);
	return !locals.empty();
}
