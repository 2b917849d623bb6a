/* The sub-commands in this directory, for the table in main.c. */
#ifndef GATE_COMMANDS_H
#define GATE_COMMANDS_H

#include "base/command.h"

extern const struct command stat_command, profile_command, predict_command, suggest_command, gate_command, diff_command, detect_command,
    report_command, host_list_command, baseline_accept_command, baseline_list_command, nightly_run_command, nightly_show_command,
    nightly_pages_command, explain_command, verify_command, history_command, bisect_command, calibrate_command, cost_train_command,
    cost_explain_command, timeline_command;
enum assay_status predict_machine(struct lab *lab, const char *selector, const char *machine, struct document *d, struct assay_error *err);
enum assay_status explore_show(struct lab *lab, struct document *d, struct assay_error *err);

#endif
