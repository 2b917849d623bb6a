/* Options by which commands select hosts. */
#ifndef FLEET_CMD_FLEET_H
#define FLEET_CMD_FLEET_H

#include "base/command.h"
#include "fleet/engine/host_choice.h"

/* Rows for a command's table of options. `member` is a struct host_choice in `arguments`. */
#define CMD_FLEET_HOSTS(arguments, member)                                                                                                 \
	CLI_OPTION(                                                                                                                        \
	    PARSED, "hosts", "HOSTS", arguments, member.hosts,                                                                             \
	    "Use only these hosts: names, ranges, @groups, types, such as 'node[01-03],@big!node02,any 3 of type:rome' (default: all)",    \
	    .letter = 'w', .parse = host_choice_parse, .owned = true),                                                                     \
	    CLI_OPTION(PARSED, "exclude", "HOSTS", arguments, member.exclude, "Exclude these hosts", .letter = 'x',                        \
		       .parse = host_choice_parse, .owned = true)

#endif
