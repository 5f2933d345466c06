// The speed workloads for ns-3: ns3 WORKLOAD SECONDS
//   star: 8 senders at 1.1875 Gb/s to one receiver; fat-tree-K: host i to host i + N/2 at 5 Gb/s, six hops.
// Point-to-point devices of 10 Gb/s and 1 us, 1500-byte packets, a table of next devices in each node: no IP.
// Prints frame-hops and seconds of the run alone.

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

// Where a packet goes.
class Destination : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Destination").SetParent<Tag>().AddConstructor<Destination>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 4; }
    void Serialize(TagBuffer buffer) const override { buffer.WriteU32(host); }
    void Deserialize(TagBuffer buffer) override { host = buffer.ReadU32(); }
    void Print(std::ostream& out) const override { out << host; }
    uint32_t host = 0;
};

static std::vector<std::vector<Ptr<NetDevice>>> nextDevice; // node, destination host
static uint64_t hops = 0;

static bool Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address&)
{
    hops++;
    Destination to;
    packet->PeekPacketTag(to);
    Ptr<NetDevice> next = nextDevice[device->GetNode()->GetId()][to.host];
    if (next)
    {
        next->Send(packet->Copy(), next->GetBroadcast(), protocol);
    }
    return true;
}

static void Emit(Ptr<NetDevice> device, uint32_t to, Time gap)
{
    Ptr<Packet> packet = Create<Packet>(1498); // and 2 B of PPP header
    Destination tag;
    tag.host = to;
    packet->AddPacketTag(tag);
    device->Send(packet, device->GetBroadcast(), 0x0800);
    Simulator::Schedule(gap, &Emit, device, to, gap);
}

int main(int argc, char** argv)
{
    if (argc != 3)
    {
        std::fprintf(stderr, "ns3 star|fat-tree-K SECONDS\n");
        return 2;
    }
    const std::string workload = argv[1];
    const double duration = std::stod(argv[2]);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", StringValue("1us"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    const bool star = workload == "star";
    const uint32_t k = star ? 0 : std::stoul(workload.substr(9)), h = k / 2;
    const uint32_t hosts = star ? 9 : k * h * h, switches = star ? 1 : k * k + h * h;
    NodeContainer nodes; // hosts first
    nodes.Create(hosts + switches);
    nextDevice.assign(hosts + switches, std::vector<Ptr<NetDevice>>(hosts));
    auto connect = [&](uint32_t a, uint32_t b) {
        NetDeviceContainer ends = link.Install(nodes.Get(a), nodes.Get(b));
        ends.Get(0)->SetReceiveCallback(MakeCallback(&Receive));
        ends.Get(1)->SetReceiveCallback(MakeCallback(&Receive));
        return ends;
    };
    auto flow = [&](uint32_t i, Ptr<NetDevice> first, uint32_t to, double rate) {
        const Time gap = Seconds(12000.0 / rate);
        const double phase = i * 0.6180339887 - static_cast<uint32_t>(i * 0.6180339887);
        Simulator::Schedule(Seconds(1e-5 * phase), &Emit, first, to, gap);
    };
    if (star)
    {
        for (uint32_t i = 0; i < 9; i++)
        {
            NetDeviceContainer ends = connect(i, 9);
            if (i < 8)
            {
                flow(i, ends.Get(0), 8, 1187500000.0);
            }
            else
            {
                nextDevice[9][8] = ends.Get(1);
            }
        }
    }
    else
    {
        auto edge = [&](uint32_t p, uint32_t e) { return hosts + p * h + e; };
        auto agg = [&](uint32_t p, uint32_t a) { return hosts + k * h + p * h + a; };
        auto core = [&](uint32_t c) { return hosts + 2 * k * h + c; };
        std::vector<NetDeviceContainer> access(hosts);
        std::vector<NetDeviceContainer> up(k * h * h), top(k * h * h);
        for (uint32_t i = 0; i < hosts; i++)
        {
            access[i] = connect(i, edge(i / (h * h), i / h % h));
        }
        for (uint32_t p = 0; p < k; p++)
        {
            for (uint32_t a = 0; a < h; a++)
            {
                for (uint32_t x = 0; x < h; x++)
                {
                    up[(p * h + x) * h + a] = connect(edge(p, x), agg(p, a));
                    top[(p * h + a) * h + x] = connect(agg(p, a), core(a * h + x));
                }
            }
        }
        for (uint32_t i = 0; i < hosts; i++)
        {
            const uint32_t d = (i + hosts / 2) % hosts;
            const uint32_t p = i / (h * h), e = i / h % h, x = i % h, q = d / (h * h), f = d / h % h;
            nextDevice[edge(p, e)][d] = up[(p * h + e) * h + x].Get(0);
            nextDevice[agg(p, x)][d] = top[(p * h + x) * h + e].Get(0);
            nextDevice[core(x * h + e)][d] = top[(q * h + x) * h + e].Get(1);
            nextDevice[agg(q, x)][d] = up[(q * h + f) * h + x].Get(1);
            nextDevice[edge(q, f)][d] = access[d].Get(1);
            flow(i, access[i].Get(0), d, 5e9);
        }
    }
    Simulator::Stop(Seconds(duration));
    const auto begun = std::chrono::steady_clock::now();
    Simulator::Run();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    std::printf("{\"peer\": \"ns-3\", \"workload\": \"%s\", \"frame_hops\": %llu, \"wall_s\": %.4f}\n",
                workload.c_str(), static_cast<unsigned long long>(hops), wall);
    return 0;
}
