/* Adds switches before the pieces of a program, or removes pieces (slices.h). A switch is a byte: 0, 1 (skip, always) or 2 (never). */
#include <gcc-plugin.h>

#include <tree.h>
#include <gimple.h>
#include <tree-pass.h>
#include <context.h>
#include <basic-block.h>
#include <gimple-iterator.h>
#include <cfgloop.h>
#include <cgraph.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <tree-dfa.h>
#include <tree-phinodes.h>
#include <stringpool.h>
#include <attribs.h>
#include <stor-layout.h>
#include <output.h>
#include <varasm.h>

#include <set>
#include <string>
#include <vector>

#include "runs/inside/features/counting/slices.h"
#include "runs/inside/features/counting/plugin_gcc.h"

namespace
{

std::set<std::string> excluded;
bool has_switches, excludes;

struct {
	tree array; /* switches of this translation unit; the size of the array is set at the end of the unit */
	std::string names;
	unsigned HOST_WIDE_INT n;
} pieces;

void array_begin()
{
	if (pieces.array)
		return;
	pieces.array = section_array("assay_features_switch", unsigned_char_type_node, 1 << 24, 8, "assay_features_switches");
}

/* Returns the value of the switch of a new piece. Adds code that reads the switch. */
tree switch_new(char kind, const std::string &name, gimple_seq *code)
{
	tree value = make_ssa_name(unsigned_char_type_node);

	array_begin();
	pieces.names += std::string(1, kind) + ' ' + name + '\n';
	gimple_seq_add_stmt(code, gimple_build_assign(value, build4(ARRAY_REF, unsigned_char_type_node, pieces.array, size_int(pieces.n++),
								    NULL_TREE, NULL_TREE)));
	return value;
}

bool is_excluded(const char *verb, const std::string &name)
{
	return excludes && excluded.count(std::string(verb) + ' ' + name);
}

/* Returns the condition on which a piece is skipped, and adds its code to `code`; NULL if the piece is never skipped. */
gcond *skip_condition(const std::string &name, gimple_seq *code)
{
	if (has_switches)
		return gimple_build_cond(NE_EXPR, switch_new(FEATURES_SKIP, name, code), build_zero_cst(unsigned_char_type_node), NULL_TREE,
					 NULL_TREE);
	return is_excluded("skip", name) ? gimple_build_cond(NE_EXPR, integer_one_node, integer_zero_node, NULL_TREE, NULL_TREE) : NULL;
}

/* ---- functions ---- */

tree nothing_returned()
{
	tree result = DECL_RESULT(current_function_decl);

	if (!result || VOID_TYPE_P(TREE_TYPE(result)))
		return NULL_TREE;
	if (DECL_BY_REFERENCE(result))
		return get_or_create_ssa_default_def(cfun, result);
	return is_gimple_reg_type(TREE_TYPE(result)) ? build_zero_cst(TREE_TYPE(result)) : result;
}

void skip_function(const std::string &name)
{
	gimple_seq code = NULL;
	gcond *condition = skip_condition(name, &code);
	basic_block test, end;
	gimple_stmt_iterator at;
	edge on, off;

	if (!condition)
		return;
	gimple_seq_add_stmt(&code, condition);
	test = split_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)));
	on = single_succ_edge(test);
	end = create_empty_bb(test);
	end->count = profile_count::zero();
	if (current_loops)
		add_bb_to_loop(end, current_loops->tree_root);
	on->flags = (on->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
	on->probability = profile_probability::very_likely();
	off = make_edge(test, end, EDGE_TRUE_VALUE);
	off->probability = on->probability.invert();
	make_single_succ_edge(end, EXIT_BLOCK_PTR_FOR_FN(cfun), 0);
	at = gsi_last_bb(test);
	gsi_insert_seq_after(&at, code, GSI_NEW_STMT);
	at = gsi_last_bb(end);
	gsi_insert_after(&at, gimple_build_return(nothing_returned()), GSI_NEW_STMT);
}

/* ---- calls of library functions ---- */

/* Reports whether the call is of a library function and can be skipped without breaking the program's control flow. */
bool is_library_call(gcall *call)
{
	tree callee = gimple_call_fndecl(call);

	return callee && DECL_NAME(callee) && !gimple_call_internal_p(call) && !gimple_has_body_p(callee) && DECL_EXTERNAL(callee) &&
	       !(gimple_call_flags(call) & (ECF_NORETURN | ECF_RETURNS_TWICE | ECF_CONST | ECF_PURE)) && !stmt_ends_bb_p(call) &&
	       slices_is_known(gimple_location(call)) && (!gimple_call_lhs(call) || TREE_CODE(gimple_call_lhs(call)) == SSA_NAME);
}

void skip_call(gcall *call)
{
	std::string name = printable(IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(call)))) + ' ' + slices_place(call);
	tree lhs = gimple_call_lhs(call), made;
	gimple_seq code = NULL;
	gcond *condition = skip_condition(name, &code);
	gimple_stmt_iterator at = gsi_for_stmt(call);
	basic_block before, with, behind;
	edge skip, in;

	if (!condition)
		return;
	gimple_seq_add_stmt(&code, condition);
	gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
	in = split_block(gimple_bb(condition), condition);
	before = in->src;
	with = in->dest;
	behind = split_block(with, call)->dest;
	in->flags = (in->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
	in->probability = profile_probability::very_likely();
	skip = make_edge(before, behind, EDGE_TRUE_VALUE);
	skip->probability = in->probability.invert();
	if (!lhs)
		return;
	made = make_ssa_name(TREE_TYPE(lhs));
	gimple_call_set_lhs(call, made);
	update_stmt(call);
	gphi *phi = create_phi_node(lhs, behind);
	add_phi_arg(phi, made, single_succ_edge(with), UNKNOWN_LOCATION);
	add_phi_arg(phi, build_zero_cst(TREE_TYPE(lhs)), skip, UNKNOWN_LOCATION);
}

/* ---- branches ---- */

/* Returns the kind of a branch: which of its two edges leaves the innermost loop, if exactly one does. */
char branch_kind(basic_block block)
{
	class loop *loop = block->loop_father;
	edge taken, other;
	bool in, also;

	if (!loop || loop_depth(loop) == 0)
		return FEATURES_BRANCH;
	extract_true_false_edges_from_block(block, &taken, &other);
	in = flow_bb_inside_loop_p(loop, taken->dest);
	also = flow_bb_inside_loop_p(loop, other->dest);
	return in == also ? FEATURES_BRANCH : in ? FEATURES_LOOP_NEVER : FEATURES_LOOP_ALWAYS;
}

/* Changes the condition: taken = (taken | switch) & ~(switch >> 1) & 1 */
void force_by_switch(gcond *condition, char kind, const std::string &name)
{
	tree byte = unsigned_char_type_node, taken = make_ssa_name(boolean_type_node), value, wide = make_ssa_name(byte),
	     always = make_ssa_name(byte), half = make_ssa_name(byte), kept = make_ssa_name(byte), both = make_ssa_name(byte),
	     last = make_ssa_name(byte);
	gimple_stmt_iterator at = gsi_for_stmt(condition);
	gimple_seq code = NULL;

	value = switch_new(kind, name, &code);
	gimple_seq_add_stmt(
	    &code, gimple_build_assign(taken, gimple_cond_code(condition), gimple_cond_lhs(condition), gimple_cond_rhs(condition)));
	gimple_seq_add_stmt(&code, gimple_build_assign(wide, NOP_EXPR, taken));
	gimple_seq_add_stmt(&code, gimple_build_assign(always, BIT_IOR_EXPR, wide, value));
	gimple_seq_add_stmt(&code, gimple_build_assign(half, RSHIFT_EXPR, value, integer_one_node));
	gimple_seq_add_stmt(&code, gimple_build_assign(kept, BIT_NOT_EXPR, half));
	gimple_seq_add_stmt(&code, gimple_build_assign(both, BIT_AND_EXPR, always, kept));
	gimple_seq_add_stmt(&code, gimple_build_assign(last, BIT_AND_EXPR, both, build_one_cst(byte)));
	gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
	gimple_cond_set_condition(condition, NE_EXPR, last, build_zero_cst(byte));
	update_stmt(condition);
}

void force_branch(gcond *condition)
{
	char kind = branch_kind(gimple_bb(condition));
	std::string name = slices_place(condition);

	if (has_switches)
		force_by_switch(condition, kind, name);
	else if (is_excluded("always", name) || (kind == FEATURES_LOOP_ALWAYS && is_excluded("end", name)))
		gimple_cond_make_true(condition);
	else if (is_excluded("never", name) || (kind == FEATURES_LOOP_NEVER && is_excluded("end", name)))
		gimple_cond_make_false(condition);
	else
		return;
	update_stmt(condition);
}

} // namespace

bool slices_are_wanted()
{
	return has_switches || excludes;
}

void slices_have_switches()
{
	has_switches = true;
}

bool slices_read(const char *path)
{
	excludes = read_lines(path, &excluded);
	return excludes;
}

void slices_enter()
{
	if (slices_are_wanted() && slices_is_known(DECL_SOURCE_LOCATION(current_function_decl)) &&
	    !TREE_THIS_VOLATILE(current_function_decl))
		skip_function(slices_function());
}

void slices_change()
{
	std::vector<gcond *> branches;
	std::vector<gcall *> calls;
	basic_block block;

	if (!slices_are_wanted())
		return;
	FOR_EACH_BB_FN(block, cfun)
	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
		gcond *condition = dyn_cast<gcond *>(gsi_stmt(at));
		gcall *call = dyn_cast<gcall *>(gsi_stmt(at));

		if (condition && slices_is_known(gimple_location(condition)))
			branches.push_back(condition);
		if (call && is_library_call(call))
			calls.push_back(call);
	}
	for (gcond *condition : branches)
		force_branch(condition);
	for (gcall *call : calls)
		skip_call(call);
}

void slices_end()
{
	tree type, begin;

	if (!slices_are_wanted())
		return;
	/* Links the code that limits such runs. */
	begin = build_fn_decl("assay_features_without", build_function_type_list(void_type_node, NULL_TREE));
	type = build_pointer_type(TREE_TYPE(begin));
	varpool_node::finalize_decl(
	    make_section_array("assay_features_limit", "assay_features_limits", type, build1(ADDR_EXPR, type, begin)));
	if (!pieces.n)
		return;
	type = build_array_type(unsigned_char_type_node, build_index_type(size_int(pieces.n - 1)));
	TREE_TYPE(pieces.array) = type;
	DECL_SIZE(pieces.array) = NULL_TREE;
	DECL_SIZE_UNIT(pieces.array) = NULL_TREE;
	layout_decl(pieces.array, 0);
	varpool_node::finalize_decl(pieces.array);
}

const std::string &slices_names()
{
	return pieces.names;
}
