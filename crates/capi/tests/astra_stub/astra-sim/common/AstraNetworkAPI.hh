// A stand-in for the header of ASTRA-sim 2.x of this name, for tests: the names and signatures that a network back end needs, and nothing else.
#pragma once

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE = 0, MS, US, NS, FS };

struct timespec_t {
    time_type_e time_res;
    long double time_val;
};

struct sim_request {};

class AstraNetworkAPI {
public:
    enum class BackendType { NotSpecified };
    using Handler = void (*)(void *);

    explicit AstraNetworkAPI(int own) : rank(own) {}
    virtual ~AstraNetworkAPI() = default;

    virtual int sim_send(void *, uint64_t bytes, int type, int to, int tag, sim_request *, Handler, void *argument) = 0;
    virtual int sim_recv(void *, uint64_t bytes, int type, int from, int tag, sim_request *, Handler, void *argument) = 0;
    virtual void sim_schedule(timespec_t after, Handler, void *argument) = 0;
    virtual timespec_t sim_get_time() = 0;
    virtual BackendType get_backend_type() { return BackendType::NotSpecified; }
    virtual double get_BW_at_dimension(int) { return -1; }
    virtual void sim_notify_finished() {}
    virtual int sim_comm_get_rank() { return rank; }

    int rank;
};

} // namespace AstraSim
