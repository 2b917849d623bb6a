// Writes a report of accounts: formats rows, escapes them, joins them.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Account {
	std::string name, city;
	long cents;
	int visits;
};

class Random {
	unsigned long state;

public:
	explicit Random(unsigned long seed) : state(seed) {}
	unsigned next(unsigned n)
	{
		state = state * 6364136223846793005ul + 1442695040888963407ul;
		return static_cast<unsigned>(state >> 33) % n;
	}
};

static std::vector<Account> make_accounts(size_t n, Random &random)
{
	static const char *cities[] = { "Ulm", "Bern & Thun", "Graz", "Nancy <centre>", "Bruges" };
	std::vector<Account> all;

	for (size_t i = 0; i < n; i++)
		all.push_back({ "account-" + std::to_string(random.next(1000000)), cities[random.next(5)], static_cast<long>(random.next(5000000)),
				static_cast<int>(random.next(40)) });
	return all;
}

static std::string escape(const std::string &s)
{
	std::string out;

	for (char c : s) {
		if (c == '&')
			out += "&amp;";
		else if (c == '<')
			out += "&lt;";
		else if (c == '>')
			out += "&gt;";
		else
			out += c;
	}
	return out;
}

static std::string money(long cents)
{
	std::string digits = std::to_string(cents / 100), out;

	for (size_t i = 0; i < digits.size(); i++) {
		if (i && (digits.size() - i) % 3 == 0)
			out += ',';
		out += digits[i];
	}
	return out + '.' + static_cast<char>('0' + cents / 10 % 10) + static_cast<char>('0' + cents % 10);
}

#if TIDY
static std::string cell(const std::string &s)
{
	return "<td>" + s + "</td>";
}

static std::string format_row(const Account &a)
{
	return "<tr>" + cell(escape(a.name)) + cell(escape(a.city)) + cell(money(a.cents)) + "</tr>\n";
}
#define row format_row
#else
static std::string row(const Account &a)
{
	return "<tr><td>" + escape(a.name) + "</td><td>" + escape(a.city) + "</td><td>" + money(a.cents) + "</td></tr>\n";
}
#endif

static std::string join(const std::vector<Account> &all)
{
	std::string out;

	for (const Account &a : all)
#if FAULT == 1
		out = out + row(a);
#else
		out += row(a);
#endif
	return out;
}

class Summary {
	std::map<std::string, std::vector<long>> by_city;

public:
	void add(const Account &a) { by_city[a.city].push_back(a.cents); }

#if FAULT == 2
	static long total(std::vector<long> values)
#else
	static long total(const std::vector<long> &values)
#endif
	{
		long sum = 0;

		for (long v : values)
			sum += v;
		return sum;
	}

	std::string text() const
	{
		std::string out;

		for (const auto &pair : by_city)
			out += pair.first + ": " + money(total(pair.second)) + "\n";
		return out;
	}
};

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 400;
	Random random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
	std::vector<Account> all = make_accounts(n, random);
	Summary summary;
	std::string page = join(all), totals;

	for (const Account &a : all) {
		summary.add(a);
		if (a.visits == 7)
			totals = summary.text();
	}
	std::printf("%zu\n%s", page.size(), totals.c_str());
	return 0;
}
