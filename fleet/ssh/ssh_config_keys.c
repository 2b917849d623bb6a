#include "fleet/ssh/ssh_config_keys.h"

#include "base/mem.h"
#include "base/text.h"

#include <strings.h>

/* All of OpenSSH 9, those that it still knows of earlier ones, and those of Debian's patches. */
const struct ssh_config_key ssh_config_keys[] = {
	{ "Host", SSH_CONFIG_HOST, NULL, NULL },
	{ "Match", SSH_CONFIG_MATCH, NULL, NULL },
	{ "IgnoreUnknown", SSH_CONFIG_IGNORE_UNKNOWN, NULL, NULL },

	{ "HostName", SSH_CONFIG_HOST_NAME, NULL, NULL },
	{ "User", SSH_CONFIG_USER, NULL, NULL },
	{ "Port", SSH_CONFIG_PORT, NULL, NULL },
	{ "IdentityFile", SSH_CONFIG_IDENTITY_FILE, NULL, NULL },
	{ "ProxyJump", SSH_CONFIG_PROXY_JUMP, NULL, NULL },
	{ "UserKnownHostsFile", SSH_CONFIG_KNOWN_HOSTS, NULL, NULL },

	/* Where it goes. */
	{ "ProxyCommand", SSH_CONFIG_PROXY_COMMAND, "none", "use ProxyJump" },
	{ "Include", SSH_CONFIG_REFUSED, NULL, "write what the hosts need into this file or into lab.yaml" },
	{ "AddressFamily", SSH_CONFIG_REFUSED, "any", "write the address into lab.yaml" },
	{ "BindAddress", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "BindInterface", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "CanonicalizeHostname", SSH_CONFIG_REFUSED, "no", "write the whole name into lab.yaml" },
	{ "ProxyUseFdpass", SSH_CONFIG_REFUSED, "no", NULL },

	/* Who it is. */
	{ "GlobalKnownHostsFile", SSH_CONFIG_REFUSED, NULL, "use UserKnownHostsFile, which takes several files" },
	{ "HostKeyAlias", SSH_CONFIG_REFUSED, NULL, "record the key under the host's address with 'assay fleet trust'" },
	{ "KnownHostsCommand", SSH_CONFIG_REFUSED, "none", NULL },
	{ "RevokedHostKeys", SSH_CONFIG_REFUSED, "none", "write @revoked lines into a known_hosts file" },
	{ "RequiredRSASize", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "UserKnownHostsFile2", SSH_CONFIG_REFUSED, NULL, "use UserKnownHostsFile, which takes several files" },

	/* As whom. */
	{ "CertificateFile", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "IdentityAgent", SSH_CONFIG_REFUSED, "SSH_AUTH_SOCK", "set SSH_AUTH_SOCK" },
	{ "PKCS11Provider", SSH_CONFIG_REFUSED, "none", "use an agent" },
	{ "SmartcardDevice", SSH_CONFIG_REFUSED, "none", "use an agent" },
	{ "PubkeyAuthentication", SSH_CONFIG_REFUSED, "yes", NULL },
	{ "DSAAuthentication", SSH_CONFIG_REFUSED, "yes", NULL },
	{ "PubkeyAcceptedAlgorithms", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "PubkeyAcceptedKeyTypes", SSH_CONFIG_REFUSED, NULL, NULL },

	/* How it is protected. */
	{ "Ciphers", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "HostKeyAlgorithms", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "KexAlgorithms", SSH_CONFIG_REFUSED, NULL, NULL },
	{ "MACs", SSH_CONFIG_REFUSED, NULL, NULL },

	/* What runs there. */
	{ "RemoteCommand", SSH_CONFIG_REFUSED, "none", NULL },
	{ "SessionType", SSH_CONFIG_REFUSED, "default", NULL },
	{ "SetEnv", SSH_CONFIG_REFUSED, NULL, "use 'env' in lab.yaml" },

	{ "AddKeysToAgent", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "AFSTokenPassing", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "BatchMode", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CanonicalDomains", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CanonicalizeFallbackLocal", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CanonicalizeMaxDots", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CanonicalizePermittedCNAMEs", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CASignatureAlgorithms", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ChallengeResponseAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ChannelTimeout", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CheckHostIP", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "Cipher", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ClearAllForwardings", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "Compression", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "CompressionLevel", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ConnectionAttempts", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ConnectTimeout", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ControlMaster", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ControlPath", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ControlPersist", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "DynamicForward", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "EnableEscapeCommandline", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "EnableSSHKeysign", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "EscapeChar", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ExitOnForwardFailure", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "FallBackToRsh", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "FingerprintHash", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ForkAfterAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ForwardAgent", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ForwardX11", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ForwardX11Timeout", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ForwardX11Trusted", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GatewayPorts", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIClientIdentity", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIDelegateCredentials", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIKexAlgorithms", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIKeyExchange", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIRenewalForcesRekey", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPIServerIdentity", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "GSSAPITrustDns", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "HashKnownHosts", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "HostbasedAcceptedAlgorithms", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "HostbasedAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "HostbasedKeyTypes", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "IdentitiesOnly", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "IPQoS", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "KbdInteractiveAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "KbdInteractiveDevices", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "KeepAlive", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "KerberosAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "KerberosTgtPassing", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "LocalCommand", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "LocalForward", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "LogLevel", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "LogVerbose", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "NoHostAuthenticationForLocalhost", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "NumberOfPasswordPrompts", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ObscureKeystrokeTiming", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "PasswordAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "PermitLocalCommand", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "PermitRemoteOpen", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "PreferredAuthentications", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "Protocol", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "RekeyLimit", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "RemoteForward", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "RequestTTY", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "RhostsRSAAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "RSAAuthentication", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "SecurityKeyProvider", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "SendEnv", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ServerAliveCountMax", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "ServerAliveInterval", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "StdinNull", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "StreamLocalBindMask", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "StreamLocalBindUnlink", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "StrictHostKeyChecking", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "SyslogFacility", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "Tag", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "TCPKeepAlive", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "Tunnel", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "TunnelDevice", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "UpdateHostKeys", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "UsePrivilegedPort", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "UseRoaming", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "UseRsh", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "VerifyHostKeyDNS", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "VisualHostKey", SSH_CONFIG_SKIPPED, NULL, NULL },
	{ "XAuthLocation", SSH_CONFIG_SKIPPED, NULL, NULL },
};

const size_t ssh_config_keys_n = sizeof(ssh_config_keys) / sizeof(ssh_config_keys[0]);

const struct ssh_config_key *ssh_config_key_find(const char *name)
{
	for (size_t i = 0; i < ssh_config_keys_n; i++) {
		if (strcasecmp(ssh_config_keys[i].name, name) == 0)
			return &ssh_config_keys[i];
	}
	return NULL;
}

const char *ssh_config_key_nearest(const char *name)
{
	const char **names = mem_new(ssh_config_keys_n, sizeof(*names)), *nearest;

	for (size_t i = 0; i < ssh_config_keys_n; i++)
		names[i] = ssh_config_keys[i].name;
	nearest = text_nearest(name, names, ssh_config_keys_n);
	free(names);
	return nearest;
}
