#include "network.hh"

#include <cmath>

namespace penstock_astra {

namespace {

int32_t checked(int32_t code, const char *call) {
    if (code < 0)
        throw Error(std::string(call) + ": " + penstock_last_error());
    return code;
}

// Converts a time of ASTRA-sim to picoseconds, rounded to nearest.
uint64_t picoseconds(AstraSim::timespec_t time) {
    long double unit = 0;
    switch (time.time_res) {
    case AstraSim::SE:
        unit = 1e12L;
        break;
    case AstraSim::MS:
        unit = 1e9L;
        break;
    case AstraSim::US:
        unit = 1e6L;
        break;
    case AstraSim::NS:
        unit = 1e3L;
        break;
    case AstraSim::FS:
        unit = 1e-3L;
        break;
    }
    if (!(unit > 0 && time.time_val >= 0 && time.time_val * unit < 9e18L))
        throw Error("a delay of " + std::to_string(time.time_val) + ": expected at least 0, and less than 104 days");
    return static_cast<uint64_t>(std::llround(time.time_val * unit));
}

} // namespace

Fabric::Fabric(const std::string &scenario) {
    if (penstock_abi_version() != PENSTOCK_ABI_VERSION)
        throw Error("libpenstock has interface version " + std::to_string(penstock_abi_version()) + ": expected " +
                    std::to_string(PENSTOCK_ABI_VERSION));
    session.reset(penstock_open(scenario.c_str(), nullptr));
    if (!session)
        throw Error(penstock_last_error());
}

uint32_t Fabric::ranks() const { return penstock_ranks(session.get()); }

uint64_t Fabric::now_ps() const { return penstock_now(session.get()); }

void Fabric::send(uint32_t from, uint32_t to, uint64_t bytes, int tag, Call sent) {
    uint64_t id = 0;
    checked(penstock_send(session.get(), from, to, bytes, PENSTOCK_NOW, &id), "sim_send");
    messages[id] = Message{tag, sent};
}

void Fabric::receive(uint32_t from, uint32_t to, uint64_t bytes, int tag, Call done) {
    if (from >= ranks())
        throw Error("sim_recv: rank " + std::to_string(from) + " of " + std::to_string(ranks()));
    Key key(from, to, tag);
    inboxes[key].waiting.push_back(Receive{bytes, bytes, done});
    match(key, 0);
}

void Fabric::schedule(uint64_t delay_ps, Call due) {
    uint64_t id = 0;
    checked(penstock_timer(session.get(), now_ps() + delay_ps, &id), "sim_schedule");
    timers[id] = due;
}

// Passes arrived bytes to receives, in order of posting. A handler may post another receive with the same key.
void Fabric::match(const Key &key, uint64_t bytes) {
    inboxes[key].arrived += bytes;
    for (;;) {
        Inbox &inbox = inboxes[key];
        if (inbox.waiting.empty())
            break;
        Receive &first = inbox.waiting.front();
        uint64_t taken = first.left < inbox.arrived ? first.left : inbox.arrived;
        first.left -= taken;
        inbox.arrived -= taken;
        if (first.left > 0)
            return;
        Call done = first.done;
        inbox.waiting.pop_front();
        done.handler(done.argument);
    }
    auto place = inboxes.find(key);
    if (place != inboxes.end() && place->second.waiting.empty() && place->second.arrived == 0)
        inboxes.erase(place);
}

void Fabric::take(const penstock_event &event) {
    if (event.kind == PENSTOCK_TIMER) {
        auto place = timers.find(event.id);
        Call due = place->second;
        timers.erase(place);
        due.handler(due.argument);
        return;
    }
    auto place = messages.find(event.id);
    if (place == messages.end())
        return;
    if (event.kind == PENSTOCK_DELIVERED) {
        match(Key(event.from, event.to, place->second.tag), event.bytes);
    } else if (event.kind == PENSTOCK_SENT) {
        Call sent = place->second.sent;
        messages.erase(place);
        if (sent.handler)
            sent.handler(sent.argument);
    }
}

void Fabric::run() {
    int32_t end;
    while ((end = checked(penstock_run(session.get(), PENSTOCK_NEVER), "run")) == PENSTOCK_EVENTS) {
        penstock_event event;
        while (penstock_take_events(session.get(), &event, 1) == 1)
            take(event);
    }
    if (unfinished > 0)
        throw Error(std::to_string(unfinished) + " ranks have not finished, and nothing is under way at " +
                    std::to_string(now_ps()) + " ps" + waits());
}

std::string Fabric::waits() const {
    std::string text;
    for (const auto &[key, inbox] : inboxes) {
        const auto &[from, to, tag] = key;
        if (!inbox.waiting.empty()) {
            const Receive &first = inbox.waiting.front();
            text += "\n  rank " + std::to_string(to) + " waits for " + std::to_string(first.left) + " of " +
                    std::to_string(first.bytes) + " B with tag " + std::to_string(tag) + " of rank " + std::to_string(from);
        } else {
            text += "\n  rank " + std::to_string(to) + " has not received " + std::to_string(inbox.arrived) + " B with tag " +
                    std::to_string(tag) + " of rank " + std::to_string(from);
        }
    }
    return text;
}

uint64_t Fabric::finish(const std::string &directory) {
    uint64_t fingerprint = 0;
    checked(penstock_finish(session.get(), directory.c_str(), &fingerprint), "finish");
    return fingerprint;
}

Network::Network(Fabric &own, int rank) : AstraNetworkAPI(rank), fabric(own) {
    if (rank < 0 || static_cast<uint32_t>(rank) >= fabric.ranks())
        throw Error("rank " + std::to_string(rank) + ": the session has " + std::to_string(fabric.ranks()) + " hosts");
    fabric.unfinished++;
}

int Network::sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *, void (*msg_handler)(void *),
                      void *fun_arg) {
    fabric.send(static_cast<uint32_t>(rank), static_cast<uint32_t>(dst), count, tag, {msg_handler, fun_arg});
    return 0;
}

int Network::sim_recv(void *, uint64_t count, int, int src, int tag, AstraSim::sim_request *, void (*msg_handler)(void *),
                      void *fun_arg) {
    fabric.receive(static_cast<uint32_t>(src), static_cast<uint32_t>(rank), count, tag, {msg_handler, fun_arg});
    return 0;
}

void Network::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void *), void *fun_arg) {
    fabric.schedule(picoseconds(delta), {fun_ptr, fun_arg});
}

AstraSim::timespec_t Network::sim_get_time() {
    return {AstraSim::NS, static_cast<long double>(fabric.now_ps()) / 1000};
}

void Network::sim_notify_finished() {
    if (!finished)
        fabric.unfinished--;
    finished = true;
}

} // namespace penstock_astra
