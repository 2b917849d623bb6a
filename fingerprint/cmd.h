/* Sub-commands of this folder, for the table in main.c. */
#ifndef FINGERPRINT_CMD_H
#define FINGERPRINT_CMD_H

struct command;
extern const struct command catalog_list_command;

int cmd_catalog_show(int argc, char **argv, const char *directory);
int cmd_catalog_check(int argc, char **argv, const char *directory);
int cmd_catalog_types(int argc, char **argv, const char *directory);
int cmd_catalog_drift(int argc, char **argv, const char *directory);
int cmd_catalog_accept_drift(int argc, char **argv, const char *directory);
int cmd_catalog_retire(int argc, char **argv, const char *directory);
int cmd_catalog_rename(int argc, char **argv, const char *directory);
int cmd_fingerprint_show(int argc, char **argv, const char *directory);
int cmd_fingerprint_diff(int argc, char **argv, const char *directory);
int cmd_fingerprint_run(int argc, char **argv, const char *directory);

#endif
