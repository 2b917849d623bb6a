/* A gcc plugin that makes programs count loops, branches, calls and exceptions by name (../run_features.h), and if requested keeps first
 * values of variables. It works on each function after early optimization and before inlining, where gcc's own profiling works too. There,
 * small functions of the source have become parts of larger ones, and loops are still as written.
 *
 * A translation unit gets an array of counters in the section assay_features, and their names in the same order in assay_features_names
 * (format.h). The array only gives the counters their addresses. Each thread counts in its own block, whose distance from the section is in
 * the thread-local variable assay_features_delta (thread_counts.c). Events with the same count share a counter with several names.
 *
 * Arguments: only=FILE (wanted names, one per line), values, until=FUNCTION (where a run may stop), pieces, without=FILE (slices.h). Or
 * only `statements`: another way to count (statements.cc). */
#include <gcc-plugin.h>
#include <plugin-version.h>

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
#include <tree-eh.h>
#include <tree-into-ssa.h>
#include <tree-ssanames.h>
#include <langhooks.h>
#include <diagnostic-core.h>
#include <stringpool.h>
#include <attribs.h>
#include <calls.h>
#include <alias.h>
#include <output.h>
#include <varasm.h>
#include <stor-layout.h>
#include <tree-dfa.h>
#include <fold-const.h>
#include <gimple-fold.h>

#include <set>
#include <string>
#include <vector>

#include "runs/inside/features/counting/format.h"
#include "runs/inside/features/counting/plugin_gcc.h"

int plugin_is_GPL_compatible;

namespace
{

feature_selection wished;

/* ---- names ---- */

std::string function_name(tree function)
{
	return printable(lang_hooks.decl_printable_name(function, 1));
}

bool is_known(location_t where)
{
	return LOCATION_LOCUS(where) > BUILTINS_LOCATION && !in_system_header_at(where) && expand_location(where).file;
}

source_place place(location_t where)
{
	expanded_location at = expand_location(where);

	return { lbasename(at.file), (unsigned)at.line, (unsigned)at.column };
}

/* Returns the function of the source that contains a statement: one that was inlined here, or the current one. */
tree function_of(gimple *statement)
{
	for (tree block = gimple_block(statement); block && TREE_CODE(block) == BLOCK; block = BLOCK_SUPERCONTEXT(block)) {
		tree origin = inlined_function_outer_scope_p(block) ? block_ultimate_origin(block) : NULL_TREE;

		if (origin && TREE_CODE(origin) == FUNCTION_DECL)
			return origin;
	}
	return current_function_decl;
}

/* ---- counters of a function ---- */

/* Place of a counter: the start of a block, or an edge. */
struct anchor {
	basic_block block;
	edge way;
	std::vector<std::string> names;
	unsigned HOST_WIDE_INT slot;
	tree held; /* register in which a loop keeps its count while it runs; NULL: the counter is only in memory */
};

struct value {
	gimple *behind; /* statement after which the value is kept; NULL: at the function's entry */
	tree what;
	unsigned HOST_WIDE_INT slot;
	bool real;
};

struct plan {
	std::vector<anchor> anchors;
	std::vector<value> values;
	std::vector<register_loop> held;
};

/* Reports whether code can be put at the start of a block. It cannot be put before a call that returns twice. */
bool begins_well(basic_block block)
{
	gimple_stmt_iterator at = gsi_start_nondebug_after_labels_bb(block);
	gcall *call = gsi_end_p(at) ? NULL : dyn_cast<gcall *>(gsi_stmt(at));

	return !call || !(gimple_call_flags(call) & ECF_RETURNS_TWICE);
}

void count(plan *p, basic_block block, edge way, const std::string &name)
{
	if (!feature_selection_has_count(wished, name))
		return;
	if (way && single_pred_p(way->dest) && way->dest != EXIT_BLOCK_PTR_FOR_FN(cfun) && begins_well(way->dest)) {
		block = way->dest;
		way = NULL;
	} else if (way && single_succ_p(way->src) && way->src != ENTRY_BLOCK_PTR_FOR_FN(cfun)) {
		block = way->src;
		way = NULL;
	}
	if (way ? way->flags & (EDGE_ABNORMAL | EDGE_EH) : !begins_well(block))
		return;
	for (anchor &a : p->anchors)
		if (way ? a.way == way : !a.way && a.block == block) {
			a.names.push_back(name);
			return;
		}
	p->anchors.push_back({ block, way, { name }, 0, NULL_TREE });
}

location_t first_location(basic_block block)
{
	for (gimple_stmt_iterator at = gsi_start_nondebug_after_labels_bb(block); !gsi_end_p(at); gsi_next_nondebug(&at))
		if (is_known(gimple_location(gsi_stmt(at))))
			return gimple_location(gsi_stmt(at));
	return UNKNOWN_LOCATION;
}

gcond *condition_of(basic_block block)
{
	gimple *last = last_stmt(block);

	return last ? dyn_cast<gcond *>(last) : NULL;
}

/* Returns the edge from a loop's head into its body if the loop ends by a test at its head; otherwise NULL. If nothing follows the test,
 * the code before it is the body. */
edge way_in(const class loop *loop)
{
	edge way, inside = NULL;
	edge_iterator i;
	bool leaves = false;

	if (!condition_of(loop->header))
		return NULL;
	FOR_EACH_EDGE(way, i, loop->header->succs)
	if (!flow_bb_inside_loop_p(loop, way->dest))
		leaves = true;
	else if (way->dest != loop->header && !(way->dest == loop->latch && empty_block_p(way->dest)))
		inside = way;
	return leaves ? inside : NULL;
}

void count_loops(plan *p)
{
	for (auto loop : loops_list(cfun, 0)) {
		edge in = way_in(loop);
		gimple *at = in ? last_stmt(loop->header) : NULL;
		location_t where = at ? gimple_location(at) : UNKNOWN_LOCATION;

		if (!is_known(where))
			where = first_location(loop->header);
		if (!is_known(where) && in)
			where = first_location(in->dest);
		if (!at)
			at = last_stmt(loop->header);
		if (is_known(where))
			count(p, in ? NULL : loop->header, in,
			      loop_name(place(where), function_name(at ? function_of(at) : current_function_decl)));
	}
}

bool is_loop_test(basic_block block)
{
	const class loop *loop = block->loop_father;

	return loop && loop_depth(loop) > 0 && loop->header == block && way_in(loop);
}

void count_condition(plan *p, gcond *condition, basic_block block)
{
	edge taken, other;
	bool rather_other;

	if (is_loop_test(block) || !is_known(gimple_location(condition)))
		return;
	extract_true_false_edges_from_block(block, &taken, &other);
	rather_other = other->probability.initialized_p() && taken->probability.initialized_p() && other->probability < taken->probability;
	count(p, NULL, rather_other ? other : taken,
	      branch_name(place(gimple_location(condition)), function_name(function_of(condition)), rather_other ? "not taken" : "taken"));
}

std::string case_name(tree label)
{
	if (!CASE_LOW(label))
		return "default";
	return tree_fits_shwi_p(CASE_LOW(label)) ? "case " + std::to_string(tree_to_shwi(CASE_LOW(label))) : "case ?";
}

void count_switch(plan *p, gswitch *choice)
{
	std::set<edge> done;

	if (!is_known(gimple_location(choice)))
		return;
	for (unsigned i = 0; i < gimple_switch_num_labels(choice); i++) {
		edge way = gimple_switch_edge(cfun, choice, i);

		if (done.insert(way).second)
			count(p, NULL, way,
			      branch_name(place(gimple_location(choice)), function_name(function_of(choice)),
					  case_name(gimple_switch_label(choice, i))));
	}
}

void count_exception(plan *p, gcall *call, basic_block block)
{
	tree callee = gimple_call_fndecl(call);
	const char *what = callee && DECL_NAME(callee) ? exception_event(IDENTIFIER_POINTER(DECL_NAME(callee))) : NULL;
	location_t where = gimple_location(call);

	if (what && !is_known(where))
		where = first_location(block);
	if (what && is_known(where))
		count(p, block, NULL, exception_name(place(where), function_name(function_of(call)), what));
}

/* ---- values ---- */

std::string expression_name(tree what)
{
	switch (TREE_CODE(what)) {
	case SSA_NAME:
		return SSA_NAME_VAR(what) ? expression_name(SSA_NAME_VAR(what)) : "";
	case VAR_DECL:
	case PARM_DECL:
	case FIELD_DECL:
		return DECL_NAME(what) && !DECL_ARTIFICIAL(what) ? printable(IDENTIFIER_POINTER(DECL_NAME(what))) : "";
	case COMPONENT_REF: {
		std::string of = expression_name(TREE_OPERAND(what, 0)), field = expression_name(TREE_OPERAND(what, 1));

		return of.empty() ? field : field.empty() ? of : of + '.' + field;
	}
	case MEM_REF:
		return expression_name(TREE_OPERAND(what, 0));
	default:
		return "";
	}
}

bool is_scalar(tree type)
{
	return (INTEGRAL_TYPE_P(type) && TYPE_PRECISION(type) <= 64) || (SCALAR_FLOAT_TYPE_P(type) && TYPE_PRECISION(type) <= 64);
}

void keep_value(plan *p, gimple *behind, tree what, const std::string &of, location_t where, tree function)
{
	bool real = SCALAR_FLOAT_TYPE_P(TREE_TYPE(what));
	std::string name = value_name(place(where), function_name(function), of);

	if (feature_selection_has_value(wished, name))
		p->values.push_back({ behind, what, value_new(&made.counted, name, real), real });
}

void keep_parameters(plan *p)
{
	if (!is_known(DECL_SOURCE_LOCATION(current_function_decl)))
		return;
	for (tree parameter = DECL_ARGUMENTS(current_function_decl); parameter; parameter = DECL_CHAIN(parameter)) {
		tree name = is_gimple_reg(parameter) ? ssa_default_def(cfun, parameter) : NULL_TREE;
		std::string of = expression_name(parameter);

		if (name && is_scalar(TREE_TYPE(name)) && !has_zero_uses(name) && !of.empty())
			keep_value(p, NULL, name, of, DECL_SOURCE_LOCATION(current_function_decl), current_function_decl);
	}
}

void keep_assigned(plan *p, gimple *statement)
{
	tree to = gimple_get_lhs(statement), what = to;
	std::string of = to ? expression_name(to) : "";

	if (of.empty() || stmt_ends_bb_p(statement) || !is_known(gimple_location(statement)))
		return;
	if (TREE_CODE(to) != SSA_NAME) /* a store: keep the stored value */
		what = gimple_assign_single_p(statement) ? gimple_assign_rhs1(statement) : NULL_TREE;
	if (what && is_gimple_val(what) && is_scalar(TREE_TYPE(what)) &&
	    !(TREE_CODE(what) == SSA_NAME && SSA_NAME_OCCURS_IN_ABNORMAL_PHI(what)))
		keep_value(p, statement, what, of, gimple_location(statement), function_of(statement));
}

/* ---- the whole plan ---- */

void plan_block(plan *p, basic_block block)
{
	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
		gimple *statement = gsi_stmt(at);

		if (gcall *call = dyn_cast<gcall *>(statement))
			count_exception(p, call, block);
		if (gcond *condition = dyn_cast<gcond *>(statement))
			count_condition(p, condition, block);
		if (gswitch *choice = dyn_cast<gswitch *>(statement))
			count_switch(p, choice);
		if (wished.values && (is_gimple_assign(statement) || is_gimple_call(statement)))
			keep_assigned(p, statement);
	}
}

void hold_counters(plan *p)
{
	std::vector<class loop *> where;

	for (const anchor &a : p->anchors)
		where.push_back(find_innermost_loop(a.block, a.way));
	p->held = find_register_loops(where);
	for (const register_loop &loop : p->held)
		for (size_t i : loop.counters)
			p->anchors[i].held = create_tmp_reg(made.counter, "counted");
}

void plan_function(plan *p)
{
	location_t where = DECL_SOURCE_LOCATION(current_function_decl);
	basic_block block;

	if (is_known(where))
		count(p, NULL, single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)),
		      call_name(place(where), function_name(current_function_decl)));
	if (wished.values)
		keep_parameters(p);
	count_loops(p);
	FOR_EACH_BB_FN(block, cfun)
	plan_block(p, block);
	for (anchor &a : p->anchors)
		a.slot = counter_new(&made.counted, a.names);
	if (optimize)
		hold_counters(p);
}

/* ---- changes to a function ---- */

gimple_seq increment(tree base, const anchor &a)
{
	tree one = build_int_cst(made.counter, 1);
	gimple_seq code = NULL;

	if (!a.held)
		return counter_add(base, a.slot, one);
	gimple_seq_add_stmt(&code, gimple_build_assign(a.held, PLUS_EXPR, a.held, one));
	return code;
}

/* Sets the loop's register to 0 where the loop is entered, and adds it to the counter in memory where the loop is left. */
void hold(tree base, const register_loop &loop, const anchor &a)
{
	for (edge way : loop.entries)
		gsi_insert_on_edge(way, gimple_build_assign(a.held, build_zero_cst(made.counter)));
	for (edge way : loop.exits)
		gsi_insert_seq_on_edge(way, counter_add(base, a.slot, a.held));
}

/* Returns the value as a word, converted. Adds the conversion to *code. */
tree word_of(gimple_seq *code, const value &v)
{
	tree type = v.real ? double_type_node : long_long_integer_type_node;
	tree wide = gimple_convert(code, type, v.what), word = make_ssa_name(made.counter);

	gimple_seq_add_stmt(code, v.real ? gimple_build_assign(word, VIEW_CONVERT_EXPR, build1(VIEW_CONVERT_EXPR, made.counter, wide))
					 : gimple_build_assign(word, NOP_EXPR, wide));
	return word;
}

/* Returns a new block after the statement that is rarely executed: if (condition) { block }. `test` ends with the condition. */
basic_block seldom_behind(gimple *statement, gimple_seq test)
{
	basic_block before = gimple_bb(statement), seldom;
	edge past = split_block(before, statement), way;
	gimple_stmt_iterator end = gsi_last_bb(before);

	gsi_insert_seq_after(&end, test, GSI_NEW_STMT);
	seldom = create_empty_bb(before);
	if (current_loops) {
		add_bb_to_loop(seldom, before->loop_father);
		loops_state_set(LOOPS_NEED_FIXUP);
	}
	way = make_edge(before, seldom, EDGE_TRUE_VALUE);
	way->probability = profile_probability::very_unlikely();
	past->flags = EDGE_FALSE_VALUE;
	past->probability = way->probability.invert();
	seldom->count = way->count();
	make_single_succ_edge(seldom, past->dest, EDGE_FALLTHRU);
	return seldom;
}

/* Adds: if (slots[0] < 5) slots[++slots[0]] = value. Nearly always this is one comparison, and no store. */
void store_value(tree base, const value &v)
{
	gimple_seq test = NULL, code = NULL;
	tree n = make_ssa_name(made.counter), more = make_ssa_name(made.counter), bytes = make_ssa_name(made.counter);
	tree at = make_ssa_name(TREE_TYPE(base)), offset;
	gimple_stmt_iterator into;

	gimple_seq_add_stmt(&test, gimple_build_assign(n, counter_at(base, v.slot)));
	gimple_seq_add_stmt(&test, gimple_build_cond(LT_EXPR, n, build_int_cst(made.counter, FEATURES_VALUES), NULL_TREE, NULL_TREE));
	gimple_seq_add_stmt(&code, gimple_build_assign(more, PLUS_EXPR, n, build_int_cst(made.counter, 1)));
	gimple_seq_add_stmt(&code, gimple_build_assign(bytes, MULT_EXPR, more, build_int_cst(made.counter, 8)));
	offset = gimple_convert(&code, sizetype, bytes);
	gimple_seq_add_stmt(&code, gimple_build_assign(at, POINTER_PLUS_EXPR, base, offset));
	gimple_seq_add_stmt(&code, gimple_build_assign(counter_at(at, v.slot), word_of(&code, v)));
	gimple_seq_add_stmt(&code, gimple_build_assign(counter_at(base, v.slot), more));
	into = gsi_start_bb(seldom_behind(v.behind ? v.behind : SSA_NAME_DEF_STMT(base), test));
	gsi_insert_seq_before(&into, code, GSI_NEW_STMT);
}

gimple_seq stop_here()
{
	tree type = build_function_type_list(void_type_node, NULL_TREE);
	tree stop = build_fn_decl("assay_features_until", type);
	gimple_seq code = NULL;

	gimple_seq_add_stmt(&code, gimple_build_call(stop, 0));
	return code;
}

void insert_before(basic_block block, gimple_seq code)
{
	gimple_stmt_iterator at = gsi_after_labels(block);

	gsi_insert_seq_before(&at, code, GSI_NEW_STMT);
}

/* Inserts the plan's code. Code at the entry is inserted last, to be first; values, which split blocks, come after that. */
void change_function(const plan &p, bool stops)
{
	edge entry = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
	gimple_seq first = NULL;
	tree base = p.anchors.empty() && p.values.empty() ? NULL_TREE : counters_base(&first);

	for (const anchor &a : p.anchors)
		if (a.way == entry)
			gimple_seq_add_seq(&first, increment(base, a));
		else if (a.way)
			gsi_insert_seq_on_edge(a.way, increment(base, a));
		else if (entry->dest != a.block || !single_pred_p(a.block))
			insert_before(a.block, increment(base, a));
		else
			gimple_seq_add_seq(&first, increment(base, a));
	for (const register_loop &loop : p.held)
		for (size_t i : loop.counters)
			hold(base, loop, p.anchors[i]);
	if (stops)
		gimple_seq_add_seq(&first, stop_here());
	gsi_insert_seq_on_edge(entry, first);
	gsi_commit_edge_inserts();
	for (const value &v : p.values)
		store_value(base, v);
}

bool is_stop()
{
	return !wished.until.empty() && wished.until == function_name(current_function_decl);
}

void count_function(cgraph_node *node)
{
	plan p;
	bool stops;

	push_cfun(DECL_STRUCT_FUNCTION(node->decl));
	slices_enter();
	loop_optimizer_init(AVOID_CFG_MODIFICATIONS);
	plan_function(&p);
	loop_optimizer_finalize();
	free_dominance_info(CDI_DOMINATORS);
	stops = is_stop();
	if (!p.anchors.empty() || !p.values.empty() || stops)
		change_function(p, stops);
	slices_change();
	if (!p.anchors.empty() || !p.values.empty() || stops || slices_are_wanted()) {
		update_ssa(TODO_update_ssa);
		node->set_const_flag(false, false);
		node->set_pure_flag(false, false);
		cgraph_edge::rebuild_edges();
	}
	pop_cfun();
}

/* ---- selection of functions ---- */

/* Returns the names of IFUNC resolvers. They run before a program has its thread-local variables, so they cannot count. */
std::set<std::string> resolvers()
{
	std::set<std::string> out;
	cgraph_node *node;

	FOR_EACH_FUNCTION(node)
	{
		tree attribute = lookup_attribute("ifunc", DECL_ATTRIBUTES(node->decl));

		if (attribute && TREE_VALUE(attribute))
			out.insert(TREE_STRING_POINTER(TREE_VALUE(TREE_VALUE(attribute))));
	}
	return out;
}

bool is_counted(cgraph_node *node, const std::set<std::string> &chosen_by)
{
	tree function = node->decl, attributes = DECL_ATTRIBUTES(function);

	return gimple_has_body_p(function) && !node->thunk && !node->clone_of && DECL_SOURCE_LOCATION(function) > BUILTINS_LOCATION &&
	       !in_system_header_at(DECL_SOURCE_LOCATION(function)) && !lookup_attribute("naked", attributes) &&
	       !lookup_attribute("no_profile_instrument_function", attributes) && !lookup_attribute("no_instrument_function", attributes) &&
	       !chosen_by.count(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function)));
}

/* Updates the calls in a function, because some callees now have side effects. */
void update_calls(cgraph_node *node)
{
	basic_block block;

	push_cfun(DECL_STRUCT_FUNCTION(node->decl));
	FOR_EACH_BB_FN(block, cfun)
	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
		if (is_gimple_call(gsi_stmt(at)))
			update_stmt(gsi_stmt(at));
	update_ssa(TODO_update_ssa);
	cgraph_edge::rebuild_edges();
	pop_cfun();
}

const pass_data counting_data = { SIMPLE_IPA_PASS, "assay_features", OPTGROUP_NONE, TV_NONE, PROP_gimple_any, 0, 0, 0, 0 };

class counting : public simple_ipa_opt_pass
{
      public:
	counting() : simple_ipa_opt_pass(counting_data, g)
	{
	}

	unsigned execute(function *) final override
	{
		std::set<std::string> chosen_by = resolvers();
		cgraph_node *node;

		if (seen_error())
			return 0;
		unit_begin();
		FOR_EACH_DEFINED_FUNCTION(node)
		if (is_counted(node, chosen_by))
			count_function(node);
		FOR_EACH_DEFINED_FUNCTION(node)
		if (gimple_has_body_p(node->decl) && !node->thunk && !node->clone_of)
			update_calls(node);
		made.counted.names += slices_names();
		unit_end();
		slices_end();
		return 0;
	}
};

} // namespace

bool slices_is_known(location_t where)
{
	return is_known(where);
}

std::string slices_place(gimple *statement)
{
	return place_column(place(gimple_location(statement))) + ' ' + function_name(function_of(statement));
}

std::string slices_function()
{
	return function_name(current_function_decl) + ' ' + place_line(place(DECL_SOURCE_LOCATION(current_function_decl)));
}

int plugin_init(struct plugin_name_args *info, struct plugin_gcc_version *version)
{
	struct register_pass_info place = { NULL, "profile", 1, PASS_POS_INSERT_AFTER };

	if (!plugin_default_version_check(version, &gcc_version)) {
		error("the plugin that counts features was built for gcc %s, but this is gcc %s", gcc_version.basever, version->basever);
		return 1;
	}
	for (int i = 0; i < info->argc; i++) {
		const char *key = info->argv[i].key, *text = info->argv[i].value;

		if (strcmp(key, "statements") == 0) {
			statements_register(info->base_name, text ? text : "");
			return 0;
		}
		if (strcmp(key, "pieces") == 0)
			slices_have_switches();
		if (strcmp(key, "without") == 0 && text && !slices_read(text)) {
			error("cannot read the list of pieces %qs", text);
			return 1;
		}
		if (!feature_selection_set(&wished, key, text)) {
			error("cannot read the list of features %qs", text);
			return 1;
		}
	}
	place.pass = new counting();
	register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &place);
	inlined_register(info->base_name);
	return 0;
}
