/* Sub-commands of this folder, for the table in main.c. */
#ifndef GATE_CMD_H
#define GATE_CMD_H

struct command;
extern const struct command detect_command, model_train_command, model_show_command;
int cmd_profile(int argc, char **argv, const char *directory);
int cmd_predict(int argc, char **argv, const char *directory);
int cmd_catalog_suggest(int argc, char **argv, const char *directory);
int cmd_gate(int argc, char **argv, const char *directory);
int cmd_compare(int argc, char **argv, const char *directory);
int cmd_evaluate(int argc, char **argv, const char *directory);
int cmd_explore(int argc, char **argv, const char *directory);
int cmd_report(int argc, char **argv, const char *directory);

#endif
