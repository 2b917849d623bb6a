/* The plugin's other way to count (argument `statements`): the number of statements that a thread has executed, in one thread-local
 * variable (statements.c), for `assay build --for work`. It works on functions after inlining and before loop optimization, so that a loop
 * adds one sum if its length is known.
 *
 * At each place of a function it is known how much the variable lacks there, and frequent paths add nothing (potentials.cc). The variable
 * lacks nothing where code outside may read it: where the function returns, and at calls. Exempt are calls of functions that were compiled
 * before and call no such code. Loops without such calls collect in a register. Functions that may be entered a second time (setjmp), and
 * all functions without optimization, add each block at once. */
#include <gcc-plugin.h>

#include <tree.h>
#include <gimple.h>
#include <tree-pass.h>
#include <context.h>
#include <basic-block.h>
#include <cfgloop.h>
#include <varasm.h>
#include <gimple-iterator.h>
#include <cgraph.h>
#include <ssa.h>
#include <sreal.h>
#include <tree-cfg.h>
#include <tree-eh.h>
#include <tree-into-ssa.h>
#include <stringpool.h>
#include <attribs.h>

#include <set>
#include <vector>

#include "runs/inside/features/counting/plugin_gcc.h"
#include "runs/inside/features/counting/potentials.h"

namespace
{

bool of_library, plainly; /* set by statements_register() */

/* Libraries find the thread-local variable through the global offset table. */
const char *const add_text = "addq\t%0, %%fs:assay_statements@tpoff";
const char *const add_text_of_library = "movq\tassay_statements@gottpoff(%%rip), %0\n\taddq\t%1, %%fs:(%0)";

/* Returns a statement that adds to the thread's variable. The compiler may neither remove it nor move it over a call. */
gimple *add_to_thread(tree amount)
{
	vec<tree, va_gc> *inputs = NULL, *outputs = NULL;
	gasm *text;

	vec_safe_push(inputs, build_tree_list(build_tree_list(NULL_TREE, build_string(3, "re")), amount));
	if (of_library)
		vec_safe_push(outputs, build_tree_list(build_tree_list(NULL_TREE, build_string(4, "=&r")),
						       make_ssa_name(create_tmp_reg(long_unsigned_type_node))));
	text = gimple_build_asm_vec(of_library ? add_text_of_library : add_text, inputs, outputs, NULL, NULL);
	gimple_asm_set_volatile(text, true);
	gimple_asm_set_inline(text, true);
	if (of_library)
		SSA_NAME_DEF_STMT(TREE_VALUE((*outputs)[0])) = text;
	return text;
}

bool is_work(gimple *statement)
{
	return !is_gimple_debug(statement) && !gimple_clobber_p(statement) && gimple_code(statement) != GIMPLE_LABEL &&
	       gimple_code(statement) != GIMPLE_PREDICT && gimple_code(statement) != GIMPLE_NOP && gimple_code(statement) != GIMPLE_RETURN;
}

/* ---- blocks ---- */

/* DECL_UIDs of functions that were compiled before and call nothing that reads the thread's variable. */
std::set<unsigned> stays;

/* Reports whether a built-in function may call other code (fwrite(), fork()) or does not return. Marks of unreachable code do not count. */
bool built_in_leaves(gcall *call)
{
	int flags = gimple_call_flags(call);

	return !(flags & ECF_LEAF) || (flags & (ECF_NORETURN | ECF_CONST)) == ECF_NORETURN;
}

/* Reports whether code reached by the statement may read the thread's variable. */
bool leaves_function(gimple *statement)
{
	gcall *call = dyn_cast<gcall *>(statement);
	tree callee;

	if (!call)
		return stmt_can_throw_external(cfun, statement);
	if (gimple_call_builtin_p(call, BUILT_IN_NORMAL))
		return built_in_leaves(call);
	if (gimple_call_internal_p(call) || gimple_call_builtin_p(call, BUILT_IN_MD))
		return false;
	callee = gimple_call_fndecl(call);
	return !callee || !stays.count(DECL_UID(callee)) || !decl_binds_to_current_def_p(callee);
}

struct block_work {
	long statements;
	gimple *leaves; /* first call that leaves the function, NULL if none; after this call the variable is complete */
};

block_work work_of(basic_block block)
{
	block_work work = { 0, NULL };

	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
		work.statements += is_work(gsi_stmt(at));
		if (!work.leaves && leaves_function(gsi_stmt(at)))
			work.leaves = gsi_stmt(at);
	}
	return work;
}

tree constant(long n)
{
	return build_int_cst(long_unsigned_type_node, n);
}

/* ---- additions in each block ---- */

void count_at_once()
{
	basic_block block;

	FOR_EACH_BB_FN(block, cfun)
	{
		long n = work_of(block).statements;
		gimple_stmt_iterator at = gsi_after_labels(block);

		if (n)
			gsi_insert_before(&at, add_to_thread(constant(n)), GSI_NEW_STMT);
	}
}

/* ---- additions at rare places ---- */

/* Frequency of edges that get an addition only if there is no other place. */
#define ALWAYS 1e18

const size_t ground = 0; /* the node at which the variable lacks nothing */

double often(profile_count count)
{
	profile_count entry = ENTRY_BLOCK_PTR_FOR_FN(cfun)->count;

	return count.initialized_p() && entry.initialized_p() ? count.to_sreal_scale(entry).to_double() : 1;
}

bool is_end(basic_block block)
{
	return block->index < NUM_FIXED_BLOCKS;
}

/* Place where something may be added: in a block, before the call that leaves it or else at its start; or on an edge. */
struct place {
	basic_block block; /* NULL for an edge */
	edge way;
};

class plan
{
	std::vector<block_work> work;	/* [block index] */
	std::vector<class loop *> held; /* [block index] the loop whose register has the sum; NULL if none */
	std::vector<tree> sum;		/* [loop number] register with the loop's sum */
	std::vector<potential_edge> ways;
	std::vector<place> places;

	size_t before(basic_block block) const;
	size_t behind(basic_block block) const;
	bool only_returns(basic_block block) const;
	void hold_sums();
	double often_on(edge way) const;
	void add_block(basic_block block);
	void add_way(edge way);
	void insert_in(basic_block block, long n);
	void insert_on(edge way, long n);

      public:
	void make();
	bool leaves() const;
};

size_t plan::before(basic_block block) const
{
	return is_end(block) ? ground : 1 + 2 * (size_t)block->index;
}

size_t plan::behind(basic_block block) const
{
	return is_end(block) || work[block->index].leaves ? ground : 2 + 2 * (size_t)block->index;
}

bool plan::leaves() const
{
	for (const block_work &w : work)
		if (w.leaves)
			return true;
	return false;
}

/* Reports whether the block only returns. A call before it may become a jump if nothing is inserted between them. */
bool plan::only_returns(basic_block block) const
{
	return !work[block->index].statements && single_succ_p(block) && single_succ(block) == EXIT_BLOCK_PTR_FOR_FN(cfun);
}

/* Reports whether a block is left by a call, or by an edge on which nothing can be added. */
bool is_left(basic_block block, const block_work &work)
{
	edge way;
	edge_iterator i;

	FOR_EACH_EDGE(way, i, block->preds)
	if (way->flags & (EDGE_EH | EDGE_ABNORMAL))
		return true;
	FOR_EACH_EDGE(way, i, block->succs)
	if (way->flags & (EDGE_EH | EDGE_ABNORMAL))
		return true;
	return work.leaves;
}

/* Gives a register to each outermost loop that is_left() excludes nowhere. */
void plan::hold_sums()
{
	std::vector<bool> left(number_of_loops(cfun), false);
	basic_block block;

	left[0] = true; /* loop 0 is the function itself */
	FOR_EACH_BB_FN(block, cfun)
	if (is_left(block, work[block->index]))
		for (class loop *loop = block->loop_father; loop; loop = loop_outer(loop))
			left[loop->num] = true;
	FOR_EACH_BB_FN(block, cfun)
	{
		class loop *loop = block->loop_father;

		if (left[loop->num])
			continue;
		while (!left[loop_outer(loop)->num])
			loop = loop_outer(loop);
		held[block->index] = loop;
		if (!sum[loop->num])
			sum[loop->num] = create_tmp_reg(long_unsigned_type_node, "assay_statements");
	}
}

/* Returns the cost of adding on an edge. Adding is nearly free where a register starts or stops to hold the sum. Between two blocks one of
 * which has no other neighbor, the addition moves into that block. Elsewhere it takes a block of its own, and a jump. */
double plan::often_on(edge way) const
{
	double n = often(way->count());

	if (held[way->src->index] != held[way->dest->index])
		return held[way->src->index] ? n / 10 : n / 20;
	if (way->flags & EDGE_EH || is_end(way->dest) || single_pred_p(way->dest))
		return ALWAYS;
	if (single_succ_p(way->src))
		return behind(way->src) == ground ? n : ALWAYS;
	return 2 * n;
}

void plan::add_block(basic_block block)
{
	ways.push_back({ before(block), behind(block), work[block->index].statements, only_returns(block) ? ALWAYS : often(block->count) });
	places.push_back({ block, NULL });
}

void plan::add_way(edge way)
{
	ways.push_back({ behind(way->src), before(way->dest), 0, often_on(way) });
	places.push_back({ NULL, way });
}

void plan::insert_in(basic_block block, long n)
{
	gimple *call = work[block->index].leaves;
	gimple_stmt_iterator at = call ? gsi_for_stmt(call) : gsi_after_labels(block);
	tree held_in = held[block->index] ? sum[held[block->index]->num] : NULL_TREE;

	if (n)
		gsi_insert_before(&at, held_in ? gimple_build_assign(held_in, PLUS_EXPR, held_in, constant(n)) : add_to_thread(constant(n)),
				  GSI_SAME_STMT);
}

void plan::insert_on(edge way, long n)
{
	class loop *from = held[way->src->index], *to = held[way->dest->index];
	tree amount = constant(n);

	if (from && n) {
		amount = from == to ? sum[from->num] : make_ssa_name(long_unsigned_type_node);
		gsi_insert_on_edge(way, gimple_build_assign(amount, PLUS_EXPR, sum[from->num], constant(n)));
	} else if (from) {
		amount = sum[from->num];
	}
	if (from == to && (from || !n))
		return;
	gsi_insert_on_edge(way, to ? gimple_build_assign(sum[to->num], amount) : add_to_thread(amount));
}

void plan::make()
{
	std::vector<long> owed;
	basic_block block;
	edge way;
	edge_iterator i;

	work.resize(last_basic_block_for_fn(cfun));
	held.resize(work.size());
	sum.resize(number_of_loops(cfun));
	FOR_EACH_BB_FN(block, cfun)
	work[block->index] = work_of(block);
	hold_sums();
	add_way(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)));
	FOR_EACH_BB_FN(block, cfun)
	{
		add_block(block);
		FOR_EACH_EDGE(way, i, block->succs)
		add_way(way);
	}
	owed = compute_potentials(1 + 2 * work.size(), ways);
	for (size_t k = 0; k < ways.size(); k++) {
		long n = owed[ways[k].from] + ways[k].counted - owed[ways[k].to];

		if (places[k].block)
			insert_in(places[k].block, n);
		else
			insert_on(places[k].way, n);
	}
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

	opt_pass *clone() final override
	{
		return new statements(optimized);
	}

	bool gate(function *f) final override
	{
		return optimized == !!optimize && !lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(f->decl)) &&
		       !lookup_attribute("no_profile_instrument_function", DECL_ATTRIBUTES(f->decl)) &&
		       !lookup_attribute("naked", DECL_ATTRIBUTES(f->decl));
	}

	unsigned execute(function *) final override
	{
		plan p;

		if (!optimize || plainly || has_abnormal_ways()) {
			count_at_once();
			return 0;
		}
		loop_optimizer_init(AVOID_CFG_MODIFICATIONS);
		p.make();
		loop_optimizer_finalize();
		if (!p.leaves())
			stays.insert(DECL_UID(current_function_decl));
		return 0;
	}
};

} // namespace

void statements_register(const char *plugin, const char *how)
{
	struct register_pass_info with = { new statements(true), "sancov", 0, PASS_POS_INSERT_AFTER }; /* -Og has this pass, too */
	struct register_pass_info without = { new statements(false), "sancov_O0", 1, PASS_POS_INSERT_AFTER };

	plainly = strcmp(how, "plainly") == 0;
	of_library = flag_shlib || strcmp(how, "library") == 0;
	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &with);
	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &without);
}
