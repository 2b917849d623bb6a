// C++: threads, virtual functions, exceptions, containers.
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
	virtual ~Base() = default;
	virtual long step(long x)
	{
		return x + 1;
	}
};

struct Derived : Base {
	std::string text = "a text that does not fit into the string itself";

	long step(long x) override
	{
		if (x % 100 == 0)
			throw std::runtime_error(text);
		return x + 2;
	}
};

__attribute__((noinline)) long steps(Base &object, long n)
{
	long sum = 0;

	for (long i = 1; i <= n; i++) {
		try {
			sum += object.step(i);
		} catch (const std::exception &) {
			sum--;
		}
	}
	return sum;
}

int main()
{
	std::vector<std::thread> threads;
	std::map<int, std::string> map;
	std::mutex lock;
	long total = 0;

	for (int k = 0; k < 4; k++) {
		threads.emplace_back([&] {
			auto object = std::make_unique<Derived>();
			long sum = steps(*object, 2000);

			for (int i = 0; i < 200; i++) {
				std::lock_guard<std::mutex> guard(lock);
				map[i] += std::to_string(i);
				total++;
			}
			std::lock_guard<std::mutex> guard(lock);
			total += sum;
		});
	}
	for (auto &thread : threads)
		thread.join();
	std::cout << total << " " << map.size() << " " << map[7] << std::endl;
}
