/* Reads the output of `ssh -G`. Checks that it gives complete settings or an error of one line, and that refused settings are absent. */
#include "base/mem.h"
#include "fleet/engine/ssh_target.c"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char defaults[] = "hostname any\nport 22\nuser me\nidentityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519\n"
			       "ciphers aes128-ctr\naddressfamily any\npubkeyauthentication true\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct ssh_settings s;
	struct assay_error err = { .text = "" };

	setenv("ASSAY_FUZZ", "x", 1);
	if (ssh_settings_parse(text, defaults, "node01", "me", "/home/me", &s, &err)) {
		ASSAY_BUG_IF(!*err.text || strchr(err.text, '\n') || s.identity_files || s.host_name || s.known_hosts_files);
	} else {
		ASSAY_BUG_IF(!s.host_name || s.port < 1 || s.port > 65535);
		for (size_t i = 0; i < s.n_identity_files; i++)
			ASSAY_BUG_IF(!s.identity_files[i]);
		ASSAY_BUG_IF(strstr(text, "\nproxycommand x\n"));
		ssh_settings_release(&s);
	}
	free(text);
	return 0;
}
