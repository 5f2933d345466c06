// A network back end for ASTRA-sim 2.x that uses a session of Penstock.
//
//     penstock_astra::Fabric fabric("fabric.toml");
//     std::vector<std::unique_ptr<penstock_astra::Network>> networks;   // one per rank, passed to its Sys
//     ... start the workloads ...
//     fabric.run();
//
// Rank i is the i-th host of the session. All sizes have 64 bits. A GB/s of ASTRA-sim is 2^30 B/s, a Gb/s of Penstock
// 10^9 b/s.
#pragma once

#include <astra-sim/common/AstraNetworkAPI.hh>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <penstock.h>
#include <stdexcept>
#include <string>
#include <tuple>

namespace penstock_astra {

// An error of the session, or a deadlock of ranks.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The session shared by all ranks, with their sends, receives and timers.
class Fabric {
public:
    using Handler = void (*)(void *);

    explicit Fabric(const std::string &scenario);

    // Runs until all messages and timers have ended. Throws Error if a rank with a Network has not finished by then;
    // the text lists the pending receives.
    void run();
    // Ends the session and writes its tables as CSV. Returns the fingerprint of the run.
    uint64_t finish(const std::string &directory);

    uint32_t ranks() const;
    uint64_t now_ps() const;

private:
    friend class Network;

    struct Call {
        Handler handler;
        void *argument;
    };
    struct Message {
        int tag;
        Call sent;
    };
    struct Receive {
        uint64_t left;
        uint64_t bytes;
        Call done;
    };
    // Pending receives, in order of posting, and bytes that no receive has taken.
    struct Inbox {
        std::deque<Receive> waiting;
        uint64_t arrived = 0;
    };
    using Key = std::tuple<uint32_t, uint32_t, int>; // sender, receiver, tag

    void send(uint32_t from, uint32_t to, uint64_t bytes, int tag, Call sent);
    void receive(uint32_t from, uint32_t to, uint64_t bytes, int tag, Call done);
    void schedule(uint64_t delay_ps, Call due);
    void match(const Key &key, uint64_t bytes);
    void take(const penstock_event &event);
    std::string waits() const;

    struct Close {
        void operator()(penstock_session *session) const { penstock_close(session); }
    };
    std::unique_ptr<penstock_session, Close> session;
    std::map<uint64_t, Message> messages;
    std::map<uint64_t, Call> timers;
    std::map<Key, Inbox> inboxes;
    uint32_t unfinished = 0;
};

// The network of one rank.
class Network : public AstraSim::AstraNetworkAPI {
public:
    Network(Fabric &fabric, int rank);

    int sim_send(void *buffer, uint64_t count, int type, int dst, int tag, AstraSim::sim_request *request,
                 void (*msg_handler)(void *), void *fun_arg) override;
    int sim_recv(void *buffer, uint64_t count, int type, int src, int tag, AstraSim::sim_request *request,
                 void (*msg_handler)(void *), void *fun_arg) override;
    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void *), void *fun_arg) override;
    AstraSim::timespec_t sim_get_time() override;
    void sim_notify_finished() override;

private:
    Fabric &fabric;
    bool finished = false;
};

} // namespace penstock_astra
