// Two ranks of a ring over the back end for ASTRA-sim, and what other back ends get wrong.
#include "../astra_sim/network.hh"

#include <iostream>
#include <vector>

using penstock_astra::Error;
using penstock_astra::Fabric;
using penstock_astra::Network;

namespace {

int failures = 0;

void expect(bool holds, const char *what) {
    if (!holds) {
        std::cout << "not so: " << what << "\n";
        failures++;
    }
}

// A rank that sends in each step, and goes on when it has received.
struct Rank {
    Network network;
    int peer;
    uint64_t bytes;
    int steps;
    int sent = 0;

    Rank(Fabric &fabric, int own, int other, uint64_t size, int count)
        : network(fabric, own), peer(other), bytes(size), steps(count) {}

    void step() {
        if (steps-- == 0) {
            network.sim_notify_finished();
            return;
        }
        network.sim_recv(nullptr, bytes, 0, peer, steps, nullptr, [](void *own) { static_cast<Rank *>(own)->step(); }, this);
        network.sim_send(nullptr, bytes, 0, peer, steps, nullptr, [](void *own) { static_cast<Rank *>(own)->sent++; }, this);
    }
};

void ring() {
    Fabric fabric("fabric.toml");
    Rank first(fabric, 0, 1, 1000000, 6), second(fabric, 1, 0, 1000000, 6);
    first.network.sim_schedule({AstraSim::US, 3}, [](void *own) { static_cast<Rank *>(own)->step(); }, &first);
    second.step();
    fabric.run();
    expect(first.sent == 6 && second.sent == 6, "each rank sends six times");
    // 6 MB at 100 Gb/s, from 3 us on: 480 us, and 6 % of headers, and latencies.
    long double end = first.network.sim_get_time().time_val;
    expect(end > 509000 && end < 530000, "a ring of 6 MB takes the time of 6 MB");
    std::cout << "ring " << fabric.now_ps() << " ps\n";
}

void receives_of_one_key() {
    Fabric fabric("fabric.toml");
    Network sender(fabric, 0), receiver(fabric, 1);
    std::vector<int> order;
    using Note = std::pair<std::vector<int> *, int>;
    Note notes[3] = {{&order, 1}, {&order, 2}, {&order, 3}};
    auto note = [](void *own) {
        auto &[list, number] = *static_cast<Note *>(own);
        list->push_back(number);
    };
    // Two receives wait for one key; the third finds its bytes there. The first message carries more than the first receive.
    receiver.sim_recv(nullptr, 1000, 0, 0, 7, nullptr, note, &notes[0]);
    receiver.sim_recv(nullptr, 3000, 0, 0, 7, nullptr, note, &notes[1]);
    sender.sim_send(nullptr, 2500, 0, 1, 7, nullptr, nullptr, nullptr);
    sender.sim_send(nullptr, 2000, 0, 1, 7, nullptr, nullptr, nullptr);
    sender.sim_notify_finished();
    receiver.sim_notify_finished();
    fabric.run();
    expect(order == std::vector<int>({1, 2}), "receives of one key are served in the order of posting");
    receiver.sim_recv(nullptr, 500, 0, 0, 7, nullptr, note, &notes[2]);
    expect(order.size() == 3, "a receive takes what has arrived");
}

void more_than_two_gibibytes() {
    Fabric fabric("fast.toml");
    Network sender(fabric, 0), receiver(fabric, 1);
    const uint64_t bytes = (1ull << 31) + 5;
    bool received = false;
    receiver.sim_recv(nullptr, bytes, 0, 0, 1, nullptr, [](void *own) { *static_cast<bool *>(own) = true; }, &received);
    sender.sim_send(nullptr, bytes, 0, 1, 1, nullptr, nullptr, nullptr);
    sender.sim_notify_finished();
    receiver.sim_notify_finished();
    fabric.run();
    expect(received, "a message of more than 2 GiB arrives");
    // 8 bits a byte at 800 Gb/s are 10 ps.
    expect(fabric.now_ps() > bytes * 10, "it takes the time of its bytes");
}

void a_rank_that_waits_for_ever() {
    Fabric fabric("fabric.toml");
    Network sender(fabric, 0), receiver(fabric, 1);
    receiver.sim_recv(nullptr, 64, 0, 0, 9, nullptr, [](void *) {}, nullptr);
    sender.sim_notify_finished();
    try {
        fabric.run();
        expect(false, "a rank that waits for ever is an error");
    } catch (const Error &error) {
        std::cout << error.what() << "\n";
    }
}

} // namespace

int main() {
    ring();
    receives_of_one_key();
    more_than_two_gibibytes();
    a_rank_that_waits_for_ever();
    return failures;
}
