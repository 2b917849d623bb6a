#!/bin/sh
# A laboratory behind Slurm: three nodes on this machine. Needs root, and the packages of the section slurm. About ten minutes.
. tests/lib_evidence.sh
sh tests/install slurm
fleets=$work/ssh
leave() {
	sh machines/slurm-down "$work/slurm" >/dev/null 2>&1 || true
}
chmod 755 "$work" # munged is another user
sh machines/slurm-up "$work/slurm" >&2
export SLURM_CONF="$work/slurm/slurm.conf"
{
	evidence_head "Hosts behind Slurm"
	echo "Slurm $(sinfo --version | sed 's/.* //'), three nodes on this machine (\`machines/slurm-up\`), which share its processors."
	echo
	/usr/bin/python3 tests/bench/slurm_table.py "$assay" "$work" ${PARTS:-} # all, or some of: laboratory ends cost queue
} >"$work/page"
evidence_done
