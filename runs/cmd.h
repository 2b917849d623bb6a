/* Sub-commands of this folder, for the table in main.c. */
#ifndef RUNS_CMD_H
#define RUNS_CMD_H

struct command;
extern const struct command changes_command;
extern const struct command samples_command, samples_prune_command;
extern const struct command import_quiho_command;
extern const struct command run_command, runs_list_command, runs_show_command, runs_export_command;
int cmd_counters(int argc, char **argv, const char *directory);
int cmd_doctor(int argc, char **argv, const char *directory);
int cmd_probe(int argc, char **argv, const char *directory);
int cmd_emulate_build(int argc, char **argv, const char *directory);
int cmd_emulate_run(int argc, char **argv, const char *directory);

#endif
