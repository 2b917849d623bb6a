/* Inline functions and a template that several source files contain. gcc puts its lists for the later copies into discarded sections. */
struct shape {
	virtual ~shape();
	virtual int area() const { return 21; }
};
template <class T> struct square : shape {
	T side;
	explicit square(T s) : side(s) {}
	int area() const override { return side * side; }
};
shape *make(int side);
