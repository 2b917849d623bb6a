/* Data that commands on versions need, and options that several of them share. */
#ifndef GATE_CMD_EVIDENCE_H
#define GATE_CMD_EVIDENCE_H

#include "base/command.h"
#include "runs/running/evidence.h"

struct cmd_evidence {
	struct run_set runs[2]; /* runs of selectors[0] and selectors[1] */
	struct evidence evidence;
};

/* Loads the runs of selectors[n], APP[@VERSION], n <= 2, and the evidence. With `remark`, keeps only results of one architecture, and
 * standard error names results that do not count. Without, verdicts compare within each architecture. The caller must
 * cmd_evidence_release() *out even after an error. */
enum assay_status cmd_evidence_load(struct lab *lab, const char *const *selectors, size_t n, bool remark, struct cmd_evidence *out,
				    struct assay_error *err);
void cmd_evidence_release(struct cmd_evidence *evidence);

/* Parses an option in seconds into a double; "off" gives 0. */
enum assay_status cmd_why_span(const char *text, void *to, struct assay_error *err);

/* Converts the values of --fail-on to bits of enum night_failure (gate/nightly/night_answer.h). */
enum assay_status cmd_fail_on(const struct cli_list *words, unsigned *out, struct assay_error *err);

/* clang-format off */
#define CMD_FAIL_ON(arguments, member) \
	CLI_NAMES("fail-on", "WORDS", arguments, member, \
		  "Decisions that give an exit status other than 0: regression, nothing_measured, environment, inconclusive, latent; for " \
		  "nights also hosts; or nothing")
/* 0 if not given: the laboratory's value applies */
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
