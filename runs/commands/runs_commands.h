/* Sub-commands of this folder, for the table in main.c. */
#ifndef RUNS_COMMANDS_H
#define RUNS_COMMANDS_H

struct command;
extern const struct command changes_command, build_command;
extern const struct command doctor_command, counters_command, probe_command, emulate_run_command;
extern const struct command features_run_command, features_show_command;
extern const struct command variance_record_command;
extern const struct command samples_command, prune_command;
extern const struct command import_machines_command, import_results_command;
extern const struct command run_command, runs_list_command, runs_show_command, runs_export_command;

/* Executes the compiler in whose place the program was called (runs/inside/variants/compiler_wrapper.h), for main(). Returns the exit
 * status if that cannot be. */
int build_as_compiler(int argc, char **argv);

#endif
