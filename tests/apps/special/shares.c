/* Maps 8192 bytes and a 4096-byte segment that other processes may share. With an argument: only private memory and a read-only file. */
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int own = argc > 1, file = open("/proc/self/exe", O_RDONLY), segment;
	volatile char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, (own ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
	const volatile char *read_only = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);

	at[0] = read_only[0];
	if (!own) {
		segment = shmget(IPC_PRIVATE, 4096, 0600);
		at = shmat(segment, NULL, 0);
		shmctl(segment, IPC_RMID, NULL);
		at[0] = 1;
	}
	return 0;
}
