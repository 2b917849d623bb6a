/* A static function. Two source files define one with this name. */
static __attribute__((noinline)) int same(int x)
{
	__asm__ volatile("");
	return x + OFFSET;
}

int NAME(int x);
int NAME(int x)
{
	return same(x) + same(x + 1);
}
#ifdef MAIN
int other(int x);
int main(void)
{
	return NAME(1) + other(1) == 0;
}
#endif
