/* The plugin's other way to count (argument `statements`): how many statements a thread has executed, in one variable of the thread
 * (statements.c), for `assay variance build`. It works on functions as they are after inlining and before loops are optimised, so that what
 * a loop adds is one sum where its length is known.
 *
 * A function collects in a variable of its own, which the compiler holds in a register, and adds that to the thread's before it calls
 * something and where it returns: so the thread's is right whenever something outside looks at it. Functions that may be entered a second
 * time (setjmp), and all where nothing is optimised, add each block at once. */
#include <gcc-plugin.h>

#include <tree.h>
#include <gimple.h>
#include <tree-pass.h>
#include <context.h>
#include <basic-block.h>
#include <gimple-iterator.h>
#include <cgraph.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <tree-into-ssa.h>
#include <stringpool.h>
#include <attribs.h>

#include <vector>

#include "runs/inside/features/counting/statements.h"

namespace
{

const char *const add_text = "movq\tassay_statements@gottpoff(%%rip), %0\n\taddq\t%1, %%fs:(%0)";

/* The compiler may neither remove it nor move it over a call. */
gimple *add_to_thread(tree amount)
{
	vec<tree, va_gc> *inputs = NULL, *outputs = NULL;
	tree address = create_tmp_reg(long_unsigned_type_node);
	gasm *text;

	vec_safe_push(outputs, build_tree_list(build_tree_list(NULL_TREE, build_string(4, "=&r")), make_ssa_name(address)));
	vec_safe_push(inputs, build_tree_list(build_tree_list(NULL_TREE, build_string(3, "re")), amount));
	text = gimple_build_asm_vec(add_text, inputs, outputs, NULL, NULL);
	gimple_asm_set_volatile(text, true);
	gimple_asm_set_inline(text, true);
	SSA_NAME_DEF_STMT(TREE_VALUE((*outputs)[0])) = text;
	return text;
}

bool is_work(gimple *statement)
{
	return !is_gimple_debug(statement) && !gimple_clobber_p(statement) && gimple_code(statement) != GIMPLE_LABEL &&
	       gimple_code(statement) != GIMPLE_PREDICT && gimple_code(statement) != GIMPLE_NOP && gimple_code(statement) != GIMPLE_RETURN;
}

/* May something behind it look at the thread's variable? */
bool leaves_function(gimple *statement)
{
	gcall *call = dyn_cast<gcall *>(statement);

	return call && !gimple_call_internal_p(call) && !gimple_call_builtin_p(call, BUILT_IN_NORMAL) &&
	       !gimple_call_builtin_p(call, BUILT_IN_MD);
}

struct block_work {
	unsigned statements;
	bool leaves; /* the function, by a call: nothing is collected at its end */
};

block_work work_of(basic_block block)
{
	block_work work = { 0, false };

	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
		work.statements += is_work(gsi_stmt(at));
		work.leaves |= leaves_function(gsi_stmt(at));
	}
	return work;
}

tree constant(unsigned n)
{
	return build_int_cst(long_unsigned_type_node, n);
}

/* ---- at once ---- */

void count_at_once()
{
	basic_block block;

	FOR_EACH_BB_FN(block, cfun)
	{
		unsigned n = work_of(block).statements;
		gimple_stmt_iterator at = gsi_after_labels(block);

		if (n)
			gsi_insert_before(&at, add_to_thread(constant(n)), GSI_NEW_STMT);
	}
}

/* ---- collected ---- */

void collect(tree sum, basic_block block, unsigned n)
{
	gimple_stmt_iterator at = gsi_after_labels(block);

	gsi_insert_before(&at, gimple_build_assign(sum, PLUS_EXPR, sum, constant(n)), GSI_NEW_STMT);
}

void add_before(tree sum, gimple_stmt_iterator *at)
{
	gsi_insert_before(at, add_to_thread(sum), GSI_SAME_STMT);
	gsi_insert_before(at, gimple_build_assign(sum, constant(0)), GSI_SAME_STMT);
}

void add_before_calls(tree sum, basic_block block)
{
	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
		if (leaves_function(gsi_stmt(at)))
			add_before(sum, &at);
}

/* Is nothing but the way out of the function in it? A call before it may become a jump, if nothing stands in between. */
bool only_returns(basic_block block, const std::vector<block_work> &work)
{
	return !work[block->index].statements && single_succ_p(block) && single_succ(block) == EXIT_BLOCK_PTR_FOR_FN(cfun);
}

void add_at_returns(tree sum, const std::vector<block_work> &work)
{
	edge out, in;
	edge_iterator i, k;

	FOR_EACH_EDGE(out, i, EXIT_BLOCK_PTR_FOR_FN(cfun)->preds)
	{
		gimple_stmt_iterator last = gsi_last_bb(out->src);

		if (!only_returns(out->src, work)) {
			if (!work[out->src->index].leaves && !gsi_end_p(last))
				add_before(sum, &last);
			continue;
		}
		FOR_EACH_EDGE(in, k, out->src->preds)
		if (in->src != ENTRY_BLOCK_PTR_FOR_FN(cfun) && !work[in->src->index].leaves && !(in->flags & EDGE_COMPLEX))
			gsi_insert_on_edge(in, add_to_thread(sum));
	}
}

void count_collected()
{
	tree sum = create_tmp_reg(long_unsigned_type_node, "assay_statements");
	std::vector<block_work> work(last_basic_block_for_fn(cfun));
	basic_block block;

	FOR_EACH_BB_FN(block, cfun)
	work[block->index] = work_of(block);
	add_at_returns(sum, work);
	FOR_EACH_BB_FN(block, cfun)
	{
		add_before_calls(sum, block);
		if (work[block->index].statements)
			collect(sum, block, work[block->index].statements);
	}
	gsi_insert_on_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)), gimple_build_assign(sum, constant(0)));
	gsi_commit_edge_inserts();
}

/* ---- the passes ---- */

bool has_abnormal_ways()
{
	basic_block block;
	edge way;
	edge_iterator i;

	FOR_EACH_BB_FN(block, cfun)
	FOR_EACH_EDGE(way, i, block->succs)
	if (way->flags & EDGE_ABNORMAL)
		return true;
	return false;
}

const pass_data statements_data = {
	GIMPLE_PASS, "assay_statements", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa
};

class statements : public gimple_opt_pass
{
      public:
	bool optimized;

	explicit statements(bool with) : gimple_opt_pass(statements_data, g), optimized(with)
	{
	}

	bool gate(function *f) final override
	{
		return optimized == !!optimize && !lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(f->decl)) &&
		       !lookup_attribute("no_profile_instrument_function", DECL_ATTRIBUTES(f->decl)) &&
		       !lookup_attribute("naked", DECL_ATTRIBUTES(f->decl));
	}

	unsigned execute(function *) final override
	{
		if (!optimize || has_abnormal_ways())
			count_at_once();
		else
			count_collected();
		return 0;
	}
};

} // namespace

void statements_register(const char *plugin)
{
	struct register_pass_info with = { new statements(true), "sancov", 1, PASS_POS_INSERT_AFTER };
	struct register_pass_info without = { new statements(false), "sancov_O0", 1, PASS_POS_INSERT_AFTER };

	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &with);
	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &without);
}
