/* Between the parts of clang's plugin (plugin_clang.cc). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_CLANG_H
#define RUNS_FEATURES_COUNTING_PLUGIN_CLANG_H

#include "runs/inside/features/counting/plugin_shared.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace llvm
{
class DominatorTree;
class LoopInfo;
} // namespace llvm

namespace counted
{

/* What is asked for, and what is known of the unit that is compiled. */
struct compilation {
	wishes wished;
	bool strip;
	std::vector<std::string> system; /* directories whose headers are left out, each with a slash at its end */
	std::map<const llvm::DISubprogram *, std::string> functions;
	std::set<llvm::GlobalValue *> held; /* see struct hold */
};

bool is_known(const compilation &c, const llvm::DILocation *where);
source_place place(const llvm::DILocation *where);

/* ---- values (plugin_clang_values.cc) ---- */

/* Marks assignments of the source before anything is simplified. */
void mark_values(const compilation &c, llvm::Function *f);
bool is_mark(const llvm::Instruction &i);

struct marked_value {
	llvm::Value *what; /* NULL: it is known no more, or of no number */
	std::string name;
	bool is_unsigned;
};

marked_value value_of(llvm::DbgValueInst *mark, const llvm::DominatorTree &dominators);

/* ---- memory (plugin_clang_memory.cc) ---- */

/* Counters are of a kind of memory that no object of the program is of: what is stored there changes nothing else. */
llvm::MDNode *counter_kind(llvm::Module *m);
llvm::LoadInst *counter_load(llvm::IRBuilder<> *code, llvm::MDNode *kind, llvm::Value *at);
void counter_store(llvm::IRBuilder<> *code, llvm::MDNode *kind, llvm::Value *at, llvm::Value *what);
/* The few of an innermost loop that calls nothing are in registers until it ends. True: something has changed. */
bool counters_to_registers(llvm::Function *f, llvm::LoopInfo *loops, llvm::DominatorTree *dominators);

} // namespace counted

#endif
