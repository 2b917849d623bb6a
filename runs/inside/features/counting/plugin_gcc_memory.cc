/* Counters in memory, for the gcc plugin: the unit's arrays, code that adds to counters, and loops that keep counters in registers. */
#include <gcc-plugin.h>

#include <tree.h>
#include <gimple.h>
#include <basic-block.h>
#include <gimple-iterator.h>
#include <cfgloop.h>
#include <cgraph.h>
#include <ssa.h>
#include <tree-ssanames.h>
#include <stringpool.h>
#include <alias.h>
#include <varasm.h>
#include <stor-layout.h>
#include <fold-const.h>

#include <string>
#include <vector>

#include "runs/inside/features/counting/format.h"
#include "runs/inside/features/counting/plugin_gcc.h"

/* Limits of a loop that keeps its counters in registers. With more counters there are too few registers, and every edge into and out of the
 * loop moves them all. */
#define HELD_EXITS_MAX 8u
#define HELD_MAX       4u

counters_unit made;

namespace
{

/* ---- arrays of the unit ---- */

tree names_decl()
{
	size_t n = made.counted.names.size();
	tree type = build_array_type(char_type_node, build_index_type(size_int(n - 1)));
	tree text = build_string(n, made.counted.names.data());

	TREE_TYPE(text) = type;
	return make_section_array("assay_features_text", "assay_features_names", type,
				  text); /* the linker joins the texts of several units */
}

void base_decl()
{
	tree decl = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier("assay_features_base"), ptr_type_node);

	TREE_STATIC(decl) = 1;
	TREE_USED(decl) = 1;
	DECL_ARTIFICIAL(decl) = 1;
	DECL_IGNORED_P(decl) = 1;
	DECL_PRESERVE_P(decl) = 1;
	set_decl_tls_model(decl, TLS_MODEL_INITIAL_EXEC);
	varpool_node::finalize_decl(decl);
}

/* ---- code ---- */

/* Sets %0 to the distance of the thread's counters from the section (thread_counts.c). A thread gets its counters in its first counted
 * function. The assembly has no effect that the compiler must know of, so the compiler may move or remove it. */
const char *const delta_assembly = "movq\tassay_features_delta@gottpoff(%%rip), %0\n\t"
				   "movq\t%%fs:(%0), %0\n\t"
				   "testq\t%0, %0\n\t"
				   "je\t771f\n"
				   "772:\n\t"
				   ".subsection\t1\n"
				   "771:\n\t"
				   "leaq\t-128(%%rsp), %%rsp\n\t"
				   "call\tassay_features_enter\n\t"
				   "leaq\t128(%%rsp), %%rsp\n\t"
				   "movq\tassay_features_delta@gottpoff(%%rip), %0\n\t"
				   "movq\t%%fs:(%0), %0\n\t"
				   "jmp\t772b\n\t"
				   ".previous";
const char *const add_assembly = "addq\t%2, %c1(%0)";
/* Sets %0, unlike delta_assembly, to the address of the thread's counters of the unit, which is kept in a thread-local variable: nothing
 * need be added. The variable is 0 until the thread has counters and was in the unit. Used only in programs: libraries that are loaded
 * later have little room for such variables. */
const char *const base_assembly = "movq\tassay_features_base@gottpoff(%%rip), %0\n\t"
				  "movq\t%%fs:(%0), %0\n\t"
				  "testq\t%0, %0\n\t"
				  "je\t771f\n"
				  "772:\n\t"
				  ".subsection\t1\n"
				  "771:\n\t"
				  "movq\tassay_features_delta@gottpoff(%%rip), %0\n\t"
				  "cmpq\t$0, %%fs:(%0)\n\t"
				  "jne\t773f\n\t"
				  "leaq\t-128(%%rsp), %%rsp\n\t"
				  "call\tassay_features_enter\n\t"
				  "leaq\t128(%%rsp), %%rsp\n\t"
				  "773:\n\t"
				  "movq\t%%fs:(%0), %0\n\t"
				  "testq\t%0, %0\n\t"
				  "je\t774f\n\t"
				  "leaq\t-128(%%rsp), %%rsp\n\t"
				  "pushq\t%0\n\t"
				  "leaq\tassay_features_counters(%%rip), %0\n\t"
				  "addq\t%0, (%%rsp)\n\t"
				  "movq\tassay_features_base@gottpoff(%%rip), %0\n\t"
				  "popq\t%%fs:(%0)\n\t"
				  "leaq\t128(%%rsp), %%rsp\n\t"
				  "movq\t%%fs:(%0), %0\n\t"
				  "jmp\t772b\n"
				  "774:\n\t"
				  "leaq\tassay_features_counters(%%rip), %0\n\t"
				  "jmp\t772b\n\t"
				  ".previous";

tree operand(const char *constraint, tree what)
{
	return build_tree_list(build_tree_list(NULL_TREE, build_string(strlen(constraint), constraint)), what);
}

/* Adds assembly whose writes to memory the compiler need not know, because no object of the program is there. */
gasm *assembly(gimple_seq *code, const char *text, vec<tree, va_gc> *inputs, tree output)
{
	vec<tree, va_gc> *outputs = NULL;
	gasm *out;

	if (output)
		vec_safe_push(outputs, operand("=r", output));
	out = gimple_build_asm_vec(text, inputs, outputs, NULL, NULL);
	gimple_asm_set_volatile(out, !output);
	gimple_asm_set_inline(out, true);
	if (output)
		SSA_NAME_DEF_STMT(output) = out;
	gimple_seq_add_stmt(code, out);
	return out;
}

bool is_assembly(const gimple *statement, const char *text)
{
	const gasm *one = dyn_cast<const gasm *>(statement);

	return one && !strcmp(gimple_asm_string(one), text);
}

/* ---- counters in registers ---- */

/* Reports whether the statement lets its loop end in order: it does not end the process, start another one, or wait for another thread. */
bool is_quiet(gimple *statement)
{
	if (gasm *text = dyn_cast<gasm *>(statement))
		return !gimple_asm_volatile_p(text);
	if (gcall *call = dyn_cast<gcall *>(statement))
		return gimple_call_builtin_p(call, BUILT_IN_NORMAL) &&
		       ((gimple_call_flags(call) & (ECF_CONST | ECF_PURE)) || gimple_call_builtin_p(call, BUILT_IN_MEMCPY) ||
			gimple_call_builtin_p(call, BUILT_IN_MEMSET));
	return !gimple_has_volatile_ops(statement);
}

bool is_quiet(basic_block block)
{
	edge way;
	edge_iterator i;

	FOR_EACH_EDGE(way, i, block->succs)
	if (way->flags & (EDGE_ABNORMAL | EDGE_EH))
		return false;
	FOR_EACH_EDGE(way, i, block->preds)
	if (way->flags & (EDGE_ABNORMAL | EDGE_EH))
		return false;
	for (gimple_stmt_iterator at = gsi_start_nondebug_bb(block); !gsi_end_p(at); gsi_next_nondebug(&at))
		if (!is_quiet(gsi_stmt(at)))
			return false;
	return true;
}

bool is_quiet(const class loop *loop)
{
	basic_block *blocks = get_loop_body(loop);
	bool quiet = true;

	for (unsigned i = 0; i < loop->num_nodes && quiet; i++)
		quiet = is_quiet(blocks[i]);
	free(blocks);
	return quiet;
}

register_loop held_loop_of(const class loop *loop)
{
	register_loop out;
	edge way;
	edge_iterator i;

	FOR_EACH_EDGE(way, i, loop->header->preds)
	if (!flow_bb_inside_loop_p(loop, way->src))
		out.entries.push_back(way);
	for (edge exit : get_loop_exit_edges(loop))
		out.exits.push_back(exit);
	return out;
}

} // namespace

tree make_section_array(const char *name, const char *section, tree type, tree value)
{
	tree decl = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier(name), type);

	TREE_STATIC(decl) = 1;
	TREE_READONLY(decl) = 1;
	TREE_USED(decl) = 1;
	DECL_ARTIFICIAL(decl) = 1;
	DECL_IGNORED_P(decl) = 1;
	DECL_PRESERVE_P(decl) = 1;
	DECL_INITIAL(decl) = value;
	SET_DECL_ALIGN(decl, 8);
	DECL_USER_ALIGN(decl) = 1;
	set_decl_section_name(decl, section);
	return decl;
}

tree section_array(const char *name, tree element, int n, unsigned align, const char *section)
{
	tree array = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier(name), build_array_type(element, build_index_type(size_int(n))));

	TREE_STATIC(array) = 1;
	TREE_ADDRESSABLE(array) = 1;
	TREE_USED(array) = 1;
	DECL_ARTIFICIAL(array) = 1;
	DECL_IGNORED_P(array) = 1;
	DECL_PRESERVE_P(array) = 1;
	SET_DECL_ALIGN(array, align);
	DECL_USER_ALIGN(array) = 1;
	set_decl_section_name(array, section);
	return array;
}

void unit_begin()
{
	if (made.array)
		return;
	made.counter = build_distinct_type_copy(long_long_unsigned_type_node);
	TYPE_ALIAS_SET(made.counter) = new_alias_set();
	made.array = section_array("assay_features_counters", made.counter, FEATURES_SLOTS_MAX, 64, "assay_features");
}

void unit_end()
{
	tree type;

	if (!made.counted.names.empty())
		varpool_node::finalize_decl(names_decl());
	if (!made.counted.slots)
		return;
	type = build_array_type(made.counter, build_index_type(size_int(made.counted.slots - 1)));
	TREE_TYPE(made.array) = type;
	DECL_SIZE(made.array) = NULL_TREE;
	DECL_SIZE_UNIT(made.array) = NULL_TREE;
	layout_decl(made.array, 0);
	varpool_node::finalize_decl(made.array);
	if (!flag_shlib)
		base_decl();
}

tree counters_base(gimple_seq *code)
{
	tree base = make_ssa_name(build_pointer_type(made.counter)), delta = flag_shlib ? make_ssa_name(sizetype) : base;

	assembly(code, flag_shlib ? delta_assembly : base_assembly, NULL, delta);
	if (flag_shlib)
		gimple_seq_add_stmt(
		    code, gimple_build_assign(base, POINTER_PLUS_EXPR, build_fold_addr_expr_with_type(made.array, TREE_TYPE(base)), delta));
	return base;
}

tree counter_at(tree base, unsigned HOST_WIDE_INT slot)
{
	return build2(MEM_REF, made.counter, base, build_int_cst(build_pointer_type(made.counter), (HOST_WIDE_INT)slot * 8));
}

gimple_seq counter_add(tree base, unsigned HOST_WIDE_INT slot, tree what)
{
	vec<tree, va_gc> *inputs = NULL;
	gimple_seq code = NULL;

	vec_safe_push(inputs, operand("r", base));
	vec_safe_push(inputs, operand("i", build_int_cst(long_integer_type_node, slot * 8)));
	vec_safe_push(inputs, operand("re", what));
	assembly(&code, add_assembly, inputs, NULL_TREE);
	return code;
}

bool is_base(const gimple *statement)
{
	return is_assembly(statement, flag_shlib ? delta_assembly : base_assembly);
}

bool is_counting(const gimple *statement)
{
	tree type = is_gimple_assign(statement) ? TREE_TYPE(gimple_assign_lhs(statement)) : NULL_TREE;

	return type ? (POINTER_TYPE_P(type) ? TREE_TYPE(type) : type) == made.counter
		    : is_base(statement) || is_assembly(statement, add_assembly);
}

class loop *find_innermost_loop(basic_block block, edge way)
{
	return block ? block->loop_father : find_common_loop(way->src->loop_father, way->dest->loop_father);
}

std::vector<register_loop> find_register_loops(const std::vector<class loop *> &where)
{
	std::vector<register_loop> out;

	for (auto loop : loops_list(cfun, LI_ONLY_INNERMOST)) {
		register_loop one = held_loop_of(loop);

		for (size_t i = 0; i < where.size(); i++)
			if (where[i] == loop)
				one.counters.push_back(i);
		if (!one.counters.empty() && one.counters.size() <= HELD_MAX && !one.exits.empty() && one.exits.size() <= HELD_EXITS_MAX &&
		    is_quiet(loop))
			out.push_back(one);
	}
	return out;
}
