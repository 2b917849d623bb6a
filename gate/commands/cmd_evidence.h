/* Loads the data that commands about versions need, and defines options that several of these commands have. */
#ifndef GATE_CMD_EVIDENCE_H
#define GATE_CMD_EVIDENCE_H

#include "base/command.h"
#include "runs/running/evidence.h"

struct cmd_evidence {
	struct run_set runs[2]; /* [2] runs of selectors[0] and selectors[1] */
	struct evidence evidence;
};

/* Loads the evidence and the runs of selectors[n], n <= 2, which have the form APP[@VERSION]. If `remark` is true, keeps only results of
 * one architecture and reports on standard error which results do not count. Otherwise keeps all; verdicts then compare within each
 * architecture. The caller calls cmd_evidence_release(), also after an error. */
enum assay_status cmd_evidence_load(struct lab *lab, const char *const *selectors, size_t n, bool remark, struct cmd_evidence *out,
				    struct assay_error *err);
void cmd_evidence_release(struct cmd_evidence *evidence);

/* Parses an option with a time in seconds into the double *to. "off" gives 0. */
enum assay_status cmd_parse_time_budget(const char *text, void *to, struct assay_error *err);

/* Converts the values of --fail-on to a bit set of enum night_failure (gate/nightly/night_describe.h). */
enum assay_status cmd_parse_fail_on(const struct cli_list *words, unsigned *out, struct assay_error *err);

/* clang-format off */
#define CMD_FAIL_ON(arguments, member) \
	CLI_NAMES("fail-on", "WORDS", arguments, member, \
		  "Decisions that give an exit status other than 0: regression, nothing_measured, environment, inconclusive, latent; for " \
		  "nights also hosts; or nothing")
/* the value 0 means not given; the laboratory's value is then used */
#define CMD_MIN_EFFECT(arguments, member) \
	CLI_REAL("min-effect", "FRACTION", arguments, member, 1e-6, 1, \
		 "Smallest slowdown that matters, 0.05 is 5 % (default: that of lab.yaml, else 0.03)")
#define CMD_RESAMPLES(arguments, member, help) \
	CLI_INTEGER("resamples", "N", arguments, member, 1, 100000, help)
#define CMD_SEED(arguments, member) \
	CLI_INTEGER("seed", "N", arguments, member, 0, INT64_MAX, "Seed of the resampling")
#define CMD_TOP(arguments, member, help) \
	CLI_INTEGER("top", "N", arguments, member, 1, 10000, help)
/* clang-format on */

#endif
