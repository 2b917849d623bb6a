/* Makes counting leave inlining unchanged: hides the cost of counting code from gcc's inlining decisions. Also lets an inlined function use
 * the base of counters that its host has already found, because the thread is the same. */
#include <gcc-plugin.h>

#include <tree.h>
#include <gimple.h>
#include <tree-pass.h>
#include <context.h>
#include <basic-block.h>
#include <gimple-iterator.h>
#include <cfganal.h>
#include <cgraph.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <tree-inline.h>
#include <alloc-pool.h>
#include <symbol-summary.h>
#include <sreal.h>
#include <ipa-prop.h>
#include <ipa-fnsummary.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runs/inside/features/counting/plugin_gcc.h"

namespace
{

/* ---- cost of functions ---- */

struct price {
	int size;
	sreal time;
};

price price_of_counting(function *f)
{
	price all = { 0, 0 };
	basic_block block;

	FOR_EACH_BB_FN (block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
			if (is_counting(gsi_stmt(at))) {
				all.size += estimate_num_insns(gsi_stmt(at), &eni_size_weights) * ipa_fn_summary::size_scale;
				all.time += block->count.to_sreal_scale(ENTRY_BLOCK_PTR_FOR_FN(f)->count) *
					    estimate_num_insns(gsi_stmt(at), &eni_time_weights);
			}
	return all;
}

/* Subtracts the cost of counting from a function's summary: first from its first part, which always applies. No part becomes negative. */
void make_cheaper(cgraph_node *node)
{
	ipa_fn_summary *all = ipa_fn_summaries->get(node);
	ipa_size_summary *size = ipa_size_summaries->get(node);
	price p;

	if (!all || !size || all->size_time_table.is_empty())
		return;
	p = price_of_counting(DECL_STRUCT_FUNCTION(node->decl));
	size->self_size -= p.size / ipa_fn_summary::size_scale;
	for (size_time_entry &part : all->size_time_table) {
		int less = std::min(p.size, part.size);
		sreal sooner = std::min(p.time, part.time);

		part.size -= less;
		part.time -= sooner;
		p.size -= less;
		p.time -= sooner;
	}
	ipa_update_overall_fn_summary(node);
}

const pass_data pricing_data = { IPA_PASS, "assay_features_price", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0 };

class pricing : public ipa_opt_pass_d
{
      public:
	pricing() : ipa_opt_pass_d(pricing_data, g, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL)
	{
	}

	unsigned execute(function *) final override
	{
		cgraph_node *node;

		if (ipa_fn_summaries && ipa_size_summaries)
			FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
				make_cheaper(node);
		return 0;
	}
};

/* ---- shared bases of counters ---- */

tree output_of(gimple *base)
{
	return TREE_VALUE(gimple_asm_output_op(as_a<gasm *>(base), 0));
}

/* Returns a kept base that dominates `base`, so that every path to `base` has computed it; NULL if there is none. */
gimple *earlier(const std::vector<gimple *> &kept, gimple *base)
{
	for (gimple *one : kept)
		if (dominated_by_p(CDI_DOMINATORS, gimple_bb(base), gimple_bb(one)))
			return one;
	return NULL;
}

void share_bases(basic_block block, std::vector<gimple *> *kept)
{
	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at);) {
		gimple *statement = gsi_stmt(at), *one;

		if (is_base(statement)) {
			one = earlier(*kept, statement);
			if (one) {
				replace_uses_by(output_of(statement), output_of(one));
				gsi_remove(&at, true);
				continue;
			}
			kept->push_back(statement);
		}
		gsi_next(&at);
	}
}

const pass_data sharing_data = { GIMPLE_PASS, "assay_features_share", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0 };

class sharing : public gimple_opt_pass
{
      public:
	sharing() : gimple_opt_pass(sharing_data, g)
	{
	}

	unsigned execute(function *f) final override
	{
		std::vector<int> order(n_basic_blocks_for_fn(f));
		int n = pre_and_rev_post_order_compute(NULL, order.data(), false);
		std::vector<gimple *> kept;

		calculate_dominance_info(CDI_DOMINATORS);
		for (int i = 0; i < n; i++)
			share_bases(BASIC_BLOCK_FOR_FN(f, order[i]), &kept);
		return 0;
	}
};

} // namespace

void inlined_register(const char *plugin)
{
	struct register_pass_info prices = { new pricing(), "cp", 1, PASS_POS_INSERT_BEFORE };
	struct register_pass_info shares = { new sharing(), "adjust_alignment", 1, PASS_POS_INSERT_AFTER };

	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &prices);
	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &shares);
}
