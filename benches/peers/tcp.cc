// ns-3's TCP over one bottleneck: tcp HALVES QUEUE WARMUP END START...
//   HALVES is pipe, as ns-3 has it, or flight, as RFC 6675 has it; QUEUE is drop, red or ecn, times are in seconds, one START a connection. As tcp.tcl: all send over links of 1 Gb/s to a
// router, whose link of 50 Mb/s to the receiver has the queue; each takes 5 ms. NewReno with selective acknowledgements (without
// them, ns-3.37 does not repair what it should), proportional rate reduction. Prints bits, drops and marks of that link and
// its mean queue in packets, all of the time from WARMUP to END.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <string>

using namespace ns3;

// What waits, and for how long: packets times seconds.
static double area = 0, since = 0;
static uint32_t waiting = 0;

static void Count()
{
    double now = Simulator::Now().GetSeconds();
    area += waiting * (now - since);
    since = now;
}

// One queue waits, or two behind each other.
static void Changes(uint32_t before, uint32_t now)
{
    Count();
    waiting += now - before;
}

struct Counts
{
    double bits, drops, marks, area;
};

static uint64_t bytes = 0, drops = 0, marks = 0;

static Counts SoFar()
{
    Count();
    return {8.0 * bytes, double(drops), double(marks), area};
}

// After a loss, half of all that is not acknowledged (RFC 5681 equation 4, RFC 6675 section 5 step 4.2), but for what limited
// transmit has let go beyond the window (RFC 3042 section 2). What ns-3 passes as in flight leaves out what has arrived or is
// lost.
class HalvesFlight : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id =
            TypeId("HalvesFlight").SetParent<TcpNewReno>().AddConstructor<HalvesFlight>();
        return id;
    }
    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        uint32_t flight = state->m_highTxMark.Get() - state->m_lastAckedSeq;
        return std::max(2 * state->m_segmentSize, std::min(flight, state->m_cWnd.Get()) / 2);
    }
    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<HalvesFlight>(this);
    }
};
NS_OBJECT_ENSURE_REGISTERED(HalvesFlight);

int main(int argc, char** argv)
{
    bool flight = std::string(argv[1]) == "flight";
    std::string kind = argv[2];
    double warmup = std::stod(argv[3]), end = std::stod(argv[4]);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(flight ? "HalvesFlight" : "ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(0.2)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(kind == "ecn" ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    NodeContainer ends(2); // the router, the receiver
    InternetStackHelper stack;
    stack.Install(ends);
    PointToPointHelper narrow;
    narrow.SetDeviceAttribute("DataRate", StringValue("50Mbps"));
    narrow.SetChannelAttribute("Delay", StringValue("5ms"));
    // Beside the packet that is being sent.
    narrow.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(kind == "drop" ? "100p" : "1p"));
    NetDeviceContainer link = narrow.Install(ends);
    Ptr<PointToPointNetDevice> port = DynamicCast<PointToPointNetDevice>(link.Get(0));
    if (kind != "drop")
    {
        // The device keeps one packet more, which RED does not see: thresholds are 10 and 60 without it.
        TrafficControlHelper red;
        red.SetRootQueueDisc("ns3::RedQueueDisc",
                             "MaxSize", StringValue("1000p"), "MinTh", DoubleValue(9), "MaxTh", DoubleValue(59),
                             "QW", DoubleValue(0.002), "LInterm", DoubleValue(20), "Gentle", BooleanValue(true), "Wait", BooleanValue(false),
                             "MeanPktSize", UintegerValue(1500), "LinkBandwidth", StringValue("50Mbps"),
                             "LinkDelay", StringValue("5ms"), "UseHardDrop", BooleanValue(false),
                             "UseEcn", BooleanValue(kind == "ecn"));
        Ptr<QueueDisc> disc = red.Install(link.Get(0)).Get(0);
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Changes));
        disc->TraceConnectWithoutContext(
            "Drop", Callback<void, Ptr<const QueueDiscItem>>([](Ptr<const QueueDiscItem>) { drops++; }));
        disc->TraceConnectWithoutContext(
            "Mark",
            Callback<void, Ptr<const QueueDiscItem>, const char*>([](Ptr<const QueueDiscItem>, const char*) { marks++; }));
    }
    port->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Changes));
    // A full device queue drops in the layer above it.
    ends.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
        "TcDrop", Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) { drops++; }));
    port->TraceConnectWithoutContext(
        "PhyTxEnd", Callback<void, Ptr<const Packet>>([](Ptr<const Packet> packet) { bytes += packet->GetSize() - 2; }));

    Ipv4AddressHelper addresses("10.255.0.0", "255.255.255.0");
    Ipv4InterfaceContainer narrowed = addresses.Assign(link);
    PointToPointHelper wide;
    wide.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    wide.SetChannelAttribute("Delay", StringValue("5ms"));
    wide.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 1));
    sink.Install(ends.Get(1)).Start(Seconds(0));
    for (int n = 5; n < argc; n++)
    {
        Ptr<Node> sender = CreateObject<Node>();
        stack.Install(sender);
        NetDeviceContainer own = wide.Install(sender, ends.Get(0));
        std::string net = "10.1." + std::to_string(n) + ".0";
        addresses.SetBase(net.c_str(), "255.255.255.0");
        addresses.Assign(own);
        TrafficControlHelper none;
        none.Uninstall(own);
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(narrowed.GetAddress(1), 1));
        bulk.Install(sender).Start(Seconds(std::stod(argv[n])));
    }
    if (kind == "drop")
    {
        TrafficControlHelper none;
        none.Uninstall(link);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(warmup));
    Simulator::Run();
    Counts before = SoFar();
    Simulator::Stop(Seconds(end - warmup));
    Simulator::Run();
    Counts after = SoFar();
    double span = end - warmup;
    std::printf("{\"bps\": %g, \"drops\": %g, \"marks\": %g, \"queue\": %g}\n", (after.bits - before.bits) / span,
                after.drops - before.drops, after.marks - before.marks, (after.area - before.area) / span);
    return 0;
}
