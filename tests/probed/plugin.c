__attribute__((noinline)) int plugin_inner(int x);
__attribute__((noinline)) int plugin_inner(int x)
{
	__asm__ volatile("");
	return x * 2;
}

int plugin(int x);
int plugin(int x)
{
	return plugin_inner(x) + 1;
}
