//! Tests with frames from other encoders: real agents, and a separate Python program.

use etherparse::{Ipv4Header, UdpHeader};
use frame::PRIORITIES;
use std::net::Ipv4Addr;
use wire::baseline::{Baseline, BaselineApplication, BaselinePfc, Control, Feature, Groups, SubTlv, Version};
use wire::congestion::Cnm;
use wire::ethernet::{VlanTag, ether_type};
use wire::fecn::Fecn;
use wire::ieee::{
    Algorithm, Application, Applications, CongestionTlv, EtsConfiguration, EtsTable, PfcTlv, Selector,
};
use wire::ip::{Transport, Way};
use wire::l2ci::{L2ci, L2ciKind};
use wire::lldp::{Id, Lldpdu};
use wire::mac_control::{MacControl, Pfc};
use wire::roce::Roce;
use wire::tlv::Tlv;
use wire::{Contents, Error, Frame, Mac, Pcp, PrioritySet};

const A: Mac = Mac([2, 0, 0, 0, 0, 0x0A]);
const B: Mac = Mac([2, 0, 0, 0, 0, 0x0B]);
const POINT: Mac = Mac([2, 0, 0, 0, 0, 0xCC]);

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn golden(name: &str) -> Vec<u8> {
    let line = include_str!("golden.txt").lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    unhex(line.unwrap_or_else(|| panic!("no frame {name}")))
}

fn pcp(value: u8) -> Pcp {
    Pcp::new(value).unwrap()
}

fn tagged(priority: u8, frame: Frame) -> Frame {
    Frame { vlan: Some(VlanTag::new(pcp(priority), 100).unwrap()), ..frame }
}

fn pfc(enabled: u8, quanta: [u16; PRIORITIES]) -> Frame {
    Frame::control(A, MacControl::Pfc(Pfc { enabled: PrioritySet(enabled), quanta }))
}

fn announcement(tlvs: Vec<Tlv>) -> Frame {
    Frame::lldp(A, Lldpdu::new(Id::chassis(A), Id::port(A), 120, tlvs).unwrap())
}

/// Returns a table with priority 3 in class 1, priority 7 in class 2, and the others in class 0; two classes use ETS.
fn ets(percent: [u8; PRIORITIES], ets: usize) -> EtsTable {
    let algorithms =
        std::array::from_fn(|class| if class < ets { Algorithm::Ets } else { Algorithm::Strict });
    EtsTable::new([0, 0, 0, 1, 0, 0, 0, 2], percent, algorithms).unwrap()
}

fn both_ways(name: &str, frame: &Frame) {
    assert_eq!(Frame::decode(&golden(name)).as_ref(), Ok(frame), "{name}");
    assert_eq!(frame.to_bytes(), golden(name), "{name}");
}

#[test]
fn pauses() {
    both_ways("pause", &Frame::control(A, MacControl::Pause { quanta: 0xFFFF }));
    both_ways("pause0", &Frame::control(A, MacControl::Pause { quanta: 0 }));
    both_ways("pfc_p3", &pfc(8, [0, 0, 0, 0xFFFF, 0, 0, 0, 0]));
    both_ways("pfc_all", &pfc(0xFF, [1, 2, 3, 4, 5, 6, 7, 8]));
    both_ways("pfc_resume_p3", &pfc(8, [0; 8]));
    // The reserved octet of the vector is ignored.
    assert_eq!(Frame::decode(&golden("pfc_badvec")), Ok(pfc(8, [10; 8])));
}

#[test]
fn messages_and_tags_of_congestion() {
    let mut message = Cnm::new(37, &std::array::from_fn::<u8, 64, _>(|i| i as u8)).unwrap();
    message.congestion_point = 0x0200_0000_00CC_0103;
    (message.offset, message.delta) = (-120, 15);
    (message.priority, message.destination) = (pcp(3), B);
    let frame = tagged(6, Frame::new(A, POINT, Contents::Cnm(message)));
    both_ways("cnm_notag", &frame);
    both_ways("cnm", &Frame { flow: Some(7), ..frame });

    let payload = golden("vlan_cntag")[22..].to_vec();
    let other = Contents::Other { ether_type: ether_type::FECN, payload };
    both_ways("vlan_cntag", &Frame { flow: Some(7), ..tagged(3, Frame::new(B, A, other)) });

    let payload = golden("fecn")[28..].to_vec();
    let tag = Fecn { returning: false, queue: 9, rate_kbps: 2_500_000, next: ether_type::IPV4, payload };
    both_ways("fecn", &tagged(3, Frame::new(B, A, Contents::Fecn(tag.clone()))));
    let back = Fecn { returning: true, next: 0, payload: Vec::new(), ..tag };
    both_ways("fecn_ret", &tagged(6, Frame::new(A, B, Contents::Fecn(back))));

    let message = L2ci {
        kind: L2ciKind::Feedback,
        sequence: 77,
        congestion_permille: 835,
        hops: 3,
        priority: pcp(3),
        slowest_mbps: 10_000,
        stamp_ns: 123_456_789,
        path: B,
    };
    both_ways("l2ci", &Frame::new(A, POINT, Contents::L2ci(message)));
}

#[test]
fn announcements_of_the_standard() {
    use Selector::{DatagramPort, Dscp, EtherType, Port, StreamPort};
    let entries = [
        (3, EtherType, 0x8906),
        (3, EtherType, 0x8914),
        (4, StreamPort, 3260),
        (5, DatagramPort, 4791),
        (6, Port, 860),
        (3, Dscp, 26),
    ];
    let applications = entries.map(|(priority, selector, protocol)| Application {
        selector,
        protocol,
        priority: pcp(priority),
    });
    let frame = announcement(vec![
        Tlv::EtsConfiguration(EtsConfiguration::new(true, 3, ets([50, 30, 20, 0, 0, 0, 0, 0], 2)).unwrap()),
        Tlv::EtsRecommendation(ets([40, 60, 0, 0, 0, 0, 0, 0], 2)),
        Tlv::Pfc(PfcTlv::new(true, 8, PrioritySet(8)).unwrap()),
        Tlv::Applications(Applications::new(applications.to_vec()).unwrap()),
    ]);
    both_ways("lldp_ieee", &frame);
}

#[test]
fn before_the_standard() {
    let percent = [60, 40, 0, 0, 0, 0, 0, 0];
    let groups = Groups::new([0, 0, 0, 1, 0, 0, 0, 2], percent, 3).unwrap();
    let application =
        |protocol, port, priority: u8| BaselineApplication::new(protocol, port, PrioritySet(1 << priority));
    let cee = vec![
        SubTlv::Control(Control { sequence: 5, acknowledged: 4, ..Control::default() }),
        SubTlv::Groups(Feature::new(true, groups)),
        SubTlv::Pfc(Feature::new(true, BaselinePfc { priorities: PrioritySet(8), traffic_classes: Some(8) })),
        SubTlv::Applications(Feature::new(
            true,
            vec![application(0x8906, false, 3), application(0x8914, false, 3), application(3260, true, 4)],
        )),
    ];
    let tlv = |version, sub_tlvs: &[SubTlv]| Baseline::new(version, sub_tlvs.to_vec());
    both_ways("lldp_cee", &announcement(vec![Tlv::Baseline(tlv(Version::Cee, &cee).unwrap())]));
    // Sub-TLVs of the other version are rejected, not converted.
    assert!(matches!(tlv(Version::Cin, &cee), Err(Error::Value { .. } | Error::Length { .. })));

    let cin = Frame::decode(&golden("lldp_cin")).unwrap();
    assert_eq!(cin.to_bytes(), golden("lldp_cin"));
    let Contents::Lldp(pdu) = &cin.contents else { panic!("{cin:?}") };
    let [Tlv::Baseline(found)] = pdu.tlvs() else { panic!("{pdu:?}") };
    assert_eq!(found.version(), Version::Cin);
    assert!(matches!(
        found.sub_tlvs(),
        [
            SubTlv::Control(Control { sequence: 1, acknowledged: 1, .. }),
            SubTlv::CinGroups(_),
            SubTlv::Pfc(Feature {
                value: BaselinePfc { priorities: PrioritySet(8), traffic_classes: None },
                ..
            }),
            SubTlv::CinApplication(Feature { value: PrioritySet(8), subtype: 0, .. }),
            SubTlv::LogicalLink(Feature { value: true, .. }),
        ]
    ));
}

#[test]
fn the_published_example_of_a_real_agent() {
    let bytes = unhex(concat!(
        "0180c200000e02000000000a88cc02070402000000000a04070302000000000a06020078",
        "fe190080c209800001010150140000000000000202000000000000",
        "fe190080c20a000001010014500000000000000202000000000000",
        "fe060080c20b8820fe080080c20c00820cbc0000"
    ));
    let algorithms = std::array::from_fn(|class| if class < 2 { Algorithm::Ets } else { Algorithm::Strict });
    let table = |classes, percent| EtsTable::new(classes, percent, algorithms).unwrap();
    let iscsi = Application { selector: Selector::StreamPort, protocol: 3260, priority: pcp(4) };
    let frame = announcement(vec![
        Tlv::EtsConfiguration(
            EtsConfiguration::new(true, 8, table([0, 0, 0, 1, 0, 1, 0, 1], [80, 20, 0, 0, 0, 0, 0, 0]))
                .unwrap(),
        ),
        Tlv::EtsRecommendation(table([0, 0, 0, 1, 0, 1, 0, 0], [20, 80, 0, 0, 0, 0, 0, 0])),
        Tlv::Pfc(PfcTlv::new(true, 8, PrioritySet(0x20)).unwrap()),
        Tlv::Applications(Applications::new(vec![iscsi]).unwrap()),
    ]);
    assert_eq!(Frame::decode(&bytes).as_ref(), Ok(&frame));
    assert_eq!(frame.to_bytes(), bytes);
}

#[test]
fn faults_are_told_and_left_out() {
    let faults = |name: &str| {
        let bytes = golden(name);
        let received = Lldpdu::receive(&bytes[14..]).unwrap();
        assert_eq!(Frame::decode(&bytes), Err(received.faults[0].clone()));
        assert!(received.pdu.tlvs().is_empty(), "{name}: {:?}", received.pdu);
        received.faults
    };
    assert!(matches!(faults("lldp_ets_short")[..], [Error::Short { needed: 21, got: 10, .. }]));
    assert!(matches!(faults("lldp_pfc_short")[..], [Error::Short { needed: 2, got: 1, .. }]));
    assert!(matches!(faults("lldp_app_odd")[..], [Error::Length { got: 5, .. }]));
    assert!(matches!(faults("lldp_dup_pfc")[..], [Error::Twice { what: "the PFC TLV" }]));
    assert!(matches!(Frame::decode(&golden("control_unknown")), Err(Error::Value { got: 0x0102, .. })));
    assert!(matches!(Frame::decode(&golden("pfc_unicast")), Err(Error::Destination { got: B, .. })));
    let shutdown = Frame::decode(&golden("lldp_shutdown")).unwrap();
    assert!(matches!(shutdown.contents, Contents::Lldp(Lldpdu { ttl_s: 0, .. })));
    let mut tagged = golden("pfc_p3");
    tagged.splice(12..12, [0x81, 0, 0x60, 0]);
    assert!(matches!(Frame::decode(&tagged), Err(Error::Tagged { .. })));
}

#[test]
fn an_announcement_out_of_order_is_refused_as_a_whole() {
    let legal = golden("lldp_cn");
    let whole = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = legal.clone();
        change(&mut bytes);
        Lldpdu::receive(&bytes[14..]).unwrap_err()
    };
    // Port before chassis; a second chassis; no time to live; a TLV beyond the end of the frame.
    assert!(matches!(whole(&|bytes| bytes[14] = 4), Error::Order { place: 1, got: 2, .. }));
    assert!(matches!(whole(&|bytes| bytes[36] = 2), Error::Order { place: 4, got: 1, .. }));
    assert!(matches!(whole(&|bytes| drop(bytes.drain(32..36))), Error::Order { place: 3, got: 127, .. }));
    assert!(matches!(whole(&|bytes| bytes[37] = 200), Error::Short { needed: 200, .. }));
    let Contents::Lldp(pdu) = Frame::decode(&legal).unwrap().contents else { panic!() };
    let eight = PrioritySet(8);
    assert_eq!(pdu.tlvs(), [Tlv::CongestionNotification(CongestionTlv { controlled: eight, ready: eight })]);
}

const WAY: Way = Way {
    source: Ipv4Addr::new(10, 0, 0, 1),
    destination: Ipv4Addr::new(10, 0, 0, 2),
    source_port: 49_152,
    destination_port: 4_791,
    traffic_class: 0x6A,
};

#[test]
fn headers_of_the_internet_are_those_of_another_encoder() {
    let datagram = Way { destination_port: 9, ..WAY }.udp(vec![7; 100]).unwrap();
    let frame = Frame::new(B, A, Contents::Ipv4(datagram));
    let mut by_builder = Vec::new();
    let builder = etherparse::PacketBuilder::ethernet2(A.0, B.0)
        .ip(etherparse::IpHeaders::Ipv4(
            Ipv4Header {
                dscp: 0x1A.try_into().unwrap(),
                ecn: 2.try_into().unwrap(),
                ..Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap()
            },
            etherparse::Ipv4Extensions::default(),
        ))
        .udp(49_152, 9);
    builder.write(&mut by_builder, &[7; 100]).unwrap();
    assert_eq!(frame.to_bytes(), by_builder);
    assert_eq!(Frame::decode(&by_builder), Ok(frame));

    let tcp = etherparse::TcpHeader {
        ack: true,
        acknowledgment_number: 2_000,
        ..etherparse::TcpHeader::new(0, 0, 1_000, 65_535)
    };
    let frame = Frame::new(
        B,
        A,
        Contents::Ipv4(Way { destination_port: 5001, ..WAY }.tcp(with_stamps(tcp), vec![b'x'; 30]).unwrap()),
    );
    let bytes = golden("scapy_tcp");
    assert_eq!(Frame::decode(&bytes).unwrap().to_bytes(), bytes);
    // Equal except for "do not fragment" and the header checksum.
    assert_eq!(frame.to_bytes()[26..], bytes[26..]);

    let mut wrong = by_builder.clone();
    wrong[24] ^= 1;
    assert!(matches!(Frame::decode(&wrong), Err(Error::Checksum { .. })));
    let mut short = by_builder;
    short.truncate(80);
    assert!(matches!(Frame::decode(&short), Err(Error::Short { needed: 108, got: 46, .. })));
}

fn with_stamps(mut tcp: etherparse::TcpHeader) -> etherparse::TcpHeader {
    use etherparse::TcpOptionElement::{Noop, Timestamp};
    tcp.set_options(&[Timestamp(1, 2), Noop, Noop]).unwrap();
    tcp
}

/// Frame created by scapy 2.8.0, with its invariant CRC:
/// `Ether(...)/IP(tos=0x6a, id=0)/UDP(chksum=0)/BTH(opcode=0x81, dqpn=0x1234, becn=1, pkey=0xffff)/CNPPadding()`.
#[test]
fn a_congestion_notification_packet() {
    let frame = Frame::new(B, A, Contents::Ipv4(WAY.roce(Roce::cnp(0x1234).unwrap()).unwrap()));
    let bytes = golden("scapy_cnp");
    // scapy allows fragmentation; this encoder sets "do not fragment".
    let mut ours = frame.to_bytes();
    (ours[20], ours[24]) = (bytes[20], bytes[24]);
    assert_ne!(ours, bytes, "the CRC covers the bit");
    let read = Frame::decode(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    let Contents::Ipv4(datagram) = &read.contents else { panic!() };
    assert!(
        matches!(datagram.transport(), Transport::Roce(_, packet) if *packet == Roce::cnp(0x1234).unwrap())
    );

    let bytes = frame.to_bytes();
    assert_eq!(Frame::decode(&bytes).as_ref(), Ok(&frame));
    // The CRC does not cover the fields that a switch may change; it covers all others.
    let mut marked = bytes.clone();
    marked[46] |= 0x80;
    let Contents::Ipv4(datagram) = Frame::decode(&marked).unwrap().contents else { panic!() };
    assert!(matches!(datagram.transport(), Transport::Roce(_, Roce { forward_congestion: true, .. })));
    let mut changed = bytes;
    changed[49] ^= 1;
    let error = Frame::decode(&changed).unwrap_err();
    assert!(matches!(error, Error::Checksum { what: "the invariant CRC", .. }), "{error}");
    let udp = UdpHeader { source_port: 1, destination_port: 4791, length: 10, checksum: 0 };
    let ip = Ipv4Header::default();
    assert!(matches!(Roce::decode(&ip, &udp, &[0; 15]), Err(Error::Short { needed: 16, got: 15, .. })));
}

/// Frames of lldpad and lldpd: with DCBX of the standard, of both versions before it, and without DCBX.
#[test]
fn frames_of_real_agents_come_back_as_they_were() {
    let file = &include_bytes!("real_dcbx_frames.pcapng")[..];
    let mut reader = pcap_file::pcapng::PcapNgReader::new(file).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
            found.push(packet.data.to_vec());
        }
    }
    assert_eq!(found.len(), 12);
    for bytes in found {
        let frame = Frame::decode(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
        assert!(matches!(frame.contents, Contents::Lldp(_)));
        assert_eq!(frame.to_bytes(), bytes, "{frame:?}");
    }
}
