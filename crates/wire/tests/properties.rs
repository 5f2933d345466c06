//! Properties of all frames, and of arbitrary octets.

#[path = "../../../fuzz/src/frames.rs"]
mod frames;

use proptest::collection::vec;
use proptest::prelude::*;
use wire::baseline::{Baseline, BaselineApplication, BaselinePfc, CinGroups, CinPriority, Control, Feature};
use wire::baseline::{Groups, SubTlv, Version};
use wire::congestion::Cnm;
use wire::ethernet::VlanTag;
use wire::fecn::Fecn;
use wire::ieee::{
    Algorithm, Application, Applications, CongestionTlv, EtsConfiguration, EtsTable, PfcTlv, Selector,
};
use wire::ip::Way;
use wire::l2ci::{L2ci, L2ciKind};
use wire::lldp::{Id, Lldpdu};
use wire::mac_control::{MacControl, Pfc};
use wire::roce::Roce;
use wire::tlv::{Organisational, Plain, Tlv};
use wire::{Contents, Frame, Mac, Pcp, PrioritySet};

fn pcp() -> impl Strategy<Value = Pcp> {
    (0u8..8).prop_map(|value| Pcp::new(value).unwrap())
}

fn mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

fn shares() -> impl Strategy<Value = [u8; 8]> {
    (0u8..=100, 0usize..8, 0usize..8).prop_map(|(share, one, other)| {
        let mut percent = [0; 8];
        percent[one] = share;
        percent[other] += 100 - share;
        percent
    })
}

fn ets_table() -> impl Strategy<Value = EtsTable> {
    let algorithm = prop::sample::select(vec![
        Algorithm::Strict,
        Algorithm::CreditBasedShaper,
        Algorithm::Ets,
        Algorithm::Vendor,
    ]);
    let algorithms = vec(algorithm, 8).prop_map(|list| <[Algorithm; 8]>::try_from(list).unwrap());
    (prop::array::uniform8(0u8..8), shares(), algorithms)
        .prop_map(|(classes, percent, algorithms)| EtsTable::new(classes, percent, algorithms).unwrap())
}

fn pfc_tlv() -> impl Strategy<Value = PfcTlv> {
    (any::<bool>(), 0u8..=8, any::<u8>(), any::<bool>()).prop_filter_map(
        "more than it can",
        |(willing, capability, enabled, bypass)| {
            let mut tlv = PfcTlv::new(willing, capability, PrioritySet(enabled)).ok()?;
            tlv.macsec_bypass = bypass;
            Some(tlv)
        },
    )
}

fn applications() -> impl Strategy<Value = Applications> {
    use Selector::{DatagramPort, Dscp, EtherType, Port, StreamPort};
    let selector = prop::sample::select(vec![EtherType, StreamPort, DatagramPort, Port, Dscp]);
    let entry = (selector, any::<u16>(), pcp()).prop_map(|(selector, protocol, priority)| Application {
        selector,
        protocol,
        priority,
    });
    vec(entry, 0..40).prop_map(|entries| Applications::new(entries).unwrap())
}

fn feature<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Feature<T>> {
    (value, any::<[u8; 2]>(), any::<[bool; 3]>(), any::<u8>()).prop_map(|(value, versions, bits, subtype)| {
        Feature {
            operating_version: versions[0],
            max_version: versions[1],
            enabled: bits[0],
            error: bits[1],
            subtype,
            ..Feature::new(bits[2], value)
        }
    })
}

fn control() -> impl Strategy<Value = SubTlv> {
    (any::<[u8; 2]>(), any::<[u32; 2]>()).prop_map(|(versions, numbers)| {
        SubTlv::Control(Control {
            operating_version: versions[0],
            max_version: versions[1],
            sequence: numbers[0],
            acknowledged: numbers[1],
        })
    })
}

fn cee() -> impl Strategy<Value = Baseline> {
    let group = prop::sample::select(vec![0u8, 1, 2, 3, 4, 5, 6, 7, 15]);
    let groups = (prop::array::uniform8(group), shares(), any::<u8>())
        .prop_map(|(groups, percent, classes)| Groups::new(groups, percent, classes).unwrap());
    let pfc = any::<(u8, u8)>().prop_map(|(priorities, classes)| BaselinePfc {
        priorities: PrioritySet(priorities),
        traffic_classes: Some(classes),
    });
    let application = any::<(u16, bool, u8)>().prop_map(|(protocol, port, priorities)| {
        BaselineApplication::new(protocol, port, PrioritySet(priorities))
    });
    (control(), feature(groups), feature(pfc), feature(vec(application, 0..20))).prop_map(
        |(control, groups, pfc, applications)| {
            let all =
                vec![control, SubTlv::Groups(groups), SubTlv::Pfc(pfc), SubTlv::Applications(applications)];
            Baseline::new(Version::Cee, all).unwrap()
        },
    )
}

fn cin() -> impl Strategy<Value = Baseline> {
    let priority = (0u8..8, 0u8..3, any::<u8>())
        .prop_map(|(group, strict, percent)| CinPriority::new(group, strict, percent).unwrap());
    let priorities = vec(priority, 8).prop_map(|list| <[CinPriority; 8]>::try_from(list).unwrap());
    let groups =
        (shares(), priorities).prop_map(|(percent, priorities)| CinGroups::new(percent, priorities).unwrap());
    let pfc = any::<u8>().prop_map(|set| BaselinePfc { priorities: PrioritySet(set), traffic_classes: None });
    let application = feature(any::<u8>().prop_map(PrioritySet));
    (control(), feature(groups), feature(pfc), application, feature(any::<bool>())).prop_map(
        |(control, groups, pfc, application, link)| {
            let all = vec![
                control,
                SubTlv::CinGroups(groups),
                SubTlv::Pfc(pfc),
                SubTlv::CinApplication(application),
                SubTlv::LogicalLink(link),
                SubTlv::Other { kind: 99, value: vec![1, 2, 3] },
            ];
            Baseline::new(Version::Cin, all).unwrap()
        },
    )
}

fn id() -> impl Strategy<Value = Id> {
    (1u8..=7, vec(any::<u8>(), 1..255)).prop_map(|(subtype, value)| Id::new(subtype, &value).unwrap())
}

fn lldpdu() -> impl Strategy<Value = Lldpdu> {
    let configuration = (any::<[bool; 2]>(), 1u8..=8, ets_table()).prop_map(|(bits, classes, table)| {
        let mut configuration = EtsConfiguration::new(bits[0], classes, table).unwrap();
        configuration.credit_based_shaper = bits[1];
        Tlv::EtsConfiguration(configuration)
    });
    let congestion = any::<(u8, u8)>().prop_map(|(controlled, ready)| {
        Tlv::CongestionNotification(CongestionTlv {
            controlled: PrioritySet(controlled),
            ready: PrioritySet(ready),
        })
    });
    let before = prop_oneof![cee(), cin()].prop_map(Tlv::Baseline);
    let foreign = (4u8..127, vec(any::<u8>(), 0..100)).prop_flat_map(|(kind, value)| {
        prop_oneof![
            Just(Tlv::Plain(Plain::new(kind, value.clone()).unwrap())),
            Just(Tlv::Organisational(Organisational::new([0, 1, 0x42], kind, value).unwrap())),
        ]
    });
    let some = (
        prop::option::of(configuration),
        prop::option::of(ets_table().prop_map(Tlv::EtsRecommendation)),
        prop::option::of(pfc_tlv().prop_map(Tlv::Pfc)),
        prop::option::of(applications().prop_map(Tlv::Applications)),
        prop::option::of(congestion),
        prop::option::of(before),
        prop::option::of(foreign),
    );
    let order = Just((0..7).collect::<Vec<usize>>()).prop_shuffle();
    (id(), id(), any::<u16>(), some, order).prop_map(|(chassis, port, ttl_s, some, order)| {
        let all = [some.0, some.1, some.2, some.3, some.4, some.5, some.6];
        let tlvs = order.into_iter().filter_map(|n| all[n].clone()).collect();
        Lldpdu::new(chassis, port, ttl_s, tlvs).unwrap()
    })
}

fn datagram() -> impl Strategy<Value = Contents> {
    let way =
        any::<([u8; 4], [u8; 4], u16, u16, u8)>().prop_map(|(from, to, source_port, port, class)| Way {
            source: from.into(),
            destination: to.into(),
            source_port,
            destination_port: port,
            traffic_class: class,
        });
    (way, vec(any::<u8>(), 0..200), 0u8..4, any::<u8>()).prop_map(|(way, payload, kind, opcode)| {
        let plain = Way { destination_port: way.destination_port & 0xFFF, ..way };
        let made = match kind {
            0 => plain.udp(payload),
            1 => way.roce(Roce::new(opcode, 77, 0xFF_FFFF, payload).unwrap()),
            2 => way.roce(Roce::cnp(0xAB_CDEF).unwrap()),
            _ => plain.tcp(etherparse::TcpHeader::new(0, 0, 1_000, 65_535), payload),
        };
        Contents::Ipv4(made.unwrap())
    })
}

/// Generates contents with arbitrary destination and tags.
fn contents() -> impl Strategy<Value = Contents> {
    let cnm = (0u8..64, vec(any::<u8>(), 0..=64), any::<(u64, i16, i16)>(), pcp(), mac()).prop_map(
        |(feedback, msdu, (point, offset, delta), priority, destination)| {
            let mut message = Cnm::new(feedback, &msdu).unwrap();
            message.congestion_point = point;
            (message.offset, message.delta) = (offset, delta);
            (message.priority, message.destination) = (priority, destination);
            Contents::Cnm(message)
        },
    );
    let fecn = (any::<(bool, u16, u32)>(), vec(any::<u8>(), 50..200)).prop_map(
        |((returning, queue, rate_kbps), payload)| {
            Contents::Fecn(Fecn { returning, queue, rate_kbps, next: 0x0800, payload })
        },
    );
    let kinds = [
        L2ciKind::Discover,
        L2ciKind::DiscoverEcho,
        L2ciKind::Feedback,
        L2ciKind::Probe,
        L2ciKind::ProbeEcho,
    ];
    let l2ci = (prop::sample::select(kinds.to_vec()), any::<(u16, u16, u8, u32, u64)>(), pcp(), mac())
        .prop_map(|(kind, (sequence, congestion_permille, hops, slowest_mbps, stamp_ns), priority, path)| {
            Contents::L2ci(L2ci {
                kind,
                sequence,
                congestion_permille,
                hops,
                priority,
                slowest_mbps,
                stamp_ns,
                path,
            })
        });
    let other = vec(any::<u8>(), 46..300).prop_map(|payload| Contents::Other { ether_type: 0x8906, payload });
    prop_oneof![lldpdu().prop_map(Contents::Lldp), cnm, fecn, l2ci, datagram(), other]
}

fn frame() -> impl Strategy<Value = Frame> {
    let tag = || {
        (pcp(), any::<bool>(), 0u16..4095).prop_map(|(priority, drop_eligible, vlan)| {
            let mut tag = VlanTag::new(priority, vlan).unwrap();
            tag.drop_eligible = drop_eligible;
            tag
        })
    };
    let tagged = (
        mac(),
        mac(),
        prop::option::of(tag()),
        prop::option::of(tag()),
        prop::option::of(any::<u16>()),
        contents(),
    )
        .prop_map(|(destination, source, service, vlan, flow, contents)| Frame {
            service,
            vlan,
            flow,
            ..Frame::new(destination, source, contents)
        });
    let pause = any::<u16>().prop_map(|quanta| MacControl::Pause { quanta });
    let pfc = any::<(u8, [u16; 8])>()
        .prop_map(|(enabled, quanta)| MacControl::Pfc(Pfc { enabled: PrioritySet(enabled), quanta }));
    let control = (mac(), prop_oneof![pause, pfc]).prop_map(|(source, one)| Frame::control(source, one));
    prop_oneof![1 => control, 4 => tagged]
}

/// Runs 1000 cases, or `PROPTEST_CASES` if that is more. Failing cases are not stored in files; they are to become
/// tests.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(1_000), failure_persistence: None, ..usual }
}

fn holds_together(bytes: &[u8]) -> Result<(), TestCaseError> {
    frames::check(bytes).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_is_written_is_read(frame in frame()) {
        let bytes = frame.to_bytes();
        prop_assert!(bytes.len() >= wire::ethernet::LEAST);
        prop_assert_eq!(Frame::decode(&bytes), Ok(frame));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        holds_together(&bytes)?;
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        frame in frame(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = frame.to_bytes();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        holds_together(&bytes)?;
        bytes.truncate(cut.index(bytes.len()));
        holds_together(&bytes)?;
    }
}
