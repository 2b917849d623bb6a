/* Finds the build-id of a module. */
#include "runs/inside/record/record_writer.h"

#include <string.h>

static bool is_build_id(const Elf64_Nhdr *note, const unsigned char *name)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
	       2 * (size_t)note->n_descsz < RECORD_BUILD_ID_BYTES;
}

void record_build_id(const void *notes, size_t n, char out[RECORD_BUILD_ID_BYTES])
{
	const unsigned char *at = notes;
	Elf64_Nhdr note;

	*out = '\0';
	while (n >= sizeof(note)) {
		size_t name, content;

		memcpy(&note, at, sizeof(note));
		name = ((size_t)note.n_namesz + 3) / 4 * 4;
		content = ((size_t)note.n_descsz + 3) / 4 * 4;
		if (name > n - sizeof(note) || content > n - sizeof(note) - name)
			return;
		at += sizeof(note);
		if (is_build_id(&note, at)) {
			for (size_t i = 0; i < note.n_descsz; i++) {
				*out++ = "0123456789abcdef"[at[name + i] >> 4];
				*out++ = "0123456789abcdef"[at[name + i] & 15];
			}
			*out = '\0';
			return;
		}
		at += name + content;
		n -= sizeof(note) + name + content;
	}
}

/* Reports whether the note lies in the part of a readable segment that is loaded from the file. */
static bool is_loaded(const Elf64_Phdr *parts, size_t n, const Elf64_Phdr *note)
{
	for (size_t i = 0; i < n; i++) {
		const Elf64_Phdr *p = &parts[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_R && note->p_vaddr >= p->p_vaddr && note->p_vaddr - p->p_vaddr <= p->p_filesz &&
		    note->p_memsz <= p->p_filesz - (note->p_vaddr - p->p_vaddr))
			return true;
	}
	return false;
}

void record_module_id(uintptr_t base, const Elf64_Phdr *parts, size_t n, char out[RECORD_BUILD_ID_BYTES])
{
	*out = '\0';
	for (size_t i = 0; i < n && !*out; i++)
		if (parts[i].p_type == PT_NOTE && is_loaded(parts, n, &parts[i]))
			record_build_id((const void *)(base + parts[i].p_vaddr), parts[i].p_memsz, out);
}
