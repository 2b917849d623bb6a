/* Work in a library: so many steps, of a nanosecond or so. */
unsigned elsewhere_work(unsigned steps);
