//! Credit-based flow control of Ultra Ethernet: credits lost by bit errors are restored, and so are lost updates.

use crate::common::*;
use fabric::spec::{FaultSpec, HostSpec, SwitchSpec};
use flow_control::{CreditPreset, CreditSettings, CreditSpec, Llr, LlrSettings};
use frame::NodeId;
use proptest::prelude::*;
use units::{Bytes, Time};
use workload::SourceSpec;

/// The preset with a buffer of this many credits, and messages of the sending end every 10 us.
fn cbfc(credits: u64) -> CreditSpec {
    let keys = CreditSettings {
        preset: Some(CreditPreset::Cbfc),
        buffer: Some(Bytes::new(256 * credits)),
        cf_min_spacing: Some(Bytes::new(800)),
        cc_message_timer: Some(us(10)),
        ..CreditSettings::default()
    };
    assert_eq!(keys.check(), Ok(()));
    keys.spec()
}

/// a - sw - b at 10 Gb/s and 1 us, with credits.
fn line(spec: &CreditSpec, duration: Time) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(duration);
    let own = HostSpec { flow_control: Some(spec.clone().into()), ..host() };
    let (a, b) = (net.host("a", own.clone()), net.host("b", own));
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(spec.clone().into()), ..switch() });
    net.link(a, sw, gbps(10), us(1));
    net.link(sw, b, gbps(10), us(1));
    (net, a, b)
}

/// `count` frames of 1230 B, of 1 us and five credits each.
fn burst(to: NodeId, count: u64) -> SourceSpec {
    SourceSpec { limit: Some(Bytes::new(1230 * count)), ..greedy(to, 1230, Time::ZERO) }
}

#[test]
fn credits_of_a_damaged_frame_come_back_with_the_next_message() {
    let (mut net, a, b) = line(&cbfc(5), us(60));
    net.flow("f", a, 0, burst(b, 2));
    net.0.faults = vec![FaultSpec::BitErrors { link: 0, from: Time::ZERO, until: ns(1), rate: 1.0 }];
    let outcome = net.run_on_threads();
    // The first frame takes all five credits with it. The message of 10 us arrives 84 B and 1 us later. The update that
    // it triggers takes 8 B, 1 us and 10 ns: then the second frame is sent, which arrives at `b` 4 us later.
    let goes = us(10) + ps(67_200) + us(1) + ps(6_400) + us(1) + ns(10);
    assert_eq!((outcome.delivered("f"), outcome.total("drops", "frames")), (1, 1));
    // It was created when the first frame started to leave.
    assert_eq!(outcome.only_latency("f"), goes + us(4));
    let at_a = outcome.texts("credits", "port").iter().position(|port| port == "a.0->sw").unwrap();
    assert_eq!(
        (outcome.integers("credits", "leaked")[at_a], outcome.integers("credits", "restored")[at_a]),
        (5, 5)
    );
}

#[test]
fn a_lost_update_is_repeated_after_the_longest_distance() {
    let with = |cf_max_spacing: u32| {
        let spec = CreditSpec { cf_max_spacing, ..cbfc(5) };
        let (mut net, a, b) = line(&spec, us(400));
        net.flow("f", a, 0, burst(b, 2));
        // The first frame leaves `sw` at 2 us, together with the update of its credits.
        net.0.faults = vec![FaultSpec::PauseLoss { link: 0, from: us(1), until: us(3), probability: 1.0 }];
        let outcome = net.run_on_threads();
        (outcome.delivered("f"), outcome.latency("f").1)
    };
    assert_eq!(with(0).0, 1, "nothing comes any more");
    // 12,500 B are 10 us.
    let goes = us(2) + ps(6_400) + us(10) + ps(6_400) + us(1) + ns(10);
    let (delivered, latency) = with(12_500);
    assert_eq!(delivered, 2);
    assert!(latency >= goes + us(4) - ps(6_400) && latency <= goes + us(4), "{latency} {}", goes + us(4));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), ..ProptestConfig::default() })]

    /// With bit errors, no channel stops for good, and credits are conserved, which each run checks. With link-level
    /// retry, no credits are lost.
    #[test]
    fn no_channel_stops_for_good(
        credits in 5u64..60,
        rate in prop::sample::select(vec![1e-6, 1e-5, 1e-4]),
        retry in any::<bool>(),
        sizes in [64u16..1230, 64u16..1230],
        shared in any::<bool>(),
    ) {
        let (mut net, a, b) = line(&CreditSpec { cf_max_spacing: 12_500, ..cbfc(credits) }, us(8_000));
        if retry {
            let llr = Llr::On(LlrSettings::default()).spec().unwrap();
            net.0.links.iter_mut().for_each(|link| link.llr = llr);
        }
        for (at, (bytes, priority)) in sizes.into_iter().zip([0, if shared { 0 } else { 5 }]).enumerate() {
            let source = SourceSpec { limit: Some(Bytes::new(40 * u64::from(bytes))), ..greedy(b, bytes, us(0)) };
            net.flow(&format!("f{at}"), a, priority, source);
        }
        let until = net.0.duration;
        net.0.faults = (0..2).map(|link| FaultSpec::BitErrors { link, from: Time::ZERO, until, rate }).collect();
        let outcome = net.run_on_threads();
        let lost = outcome.total("drops", "frames");
        prop_assert_eq!(outcome.delivered("f0") + outcome.delivered("f1") + lost, 80);
        prop_assert_eq!(outcome.total("credits", "leaked"), outcome.total("credits", "restored"));
        if retry {
            prop_assert_eq!((lost, outcome.total("credits", "leaked")), (0, 0));
        }
    }
}
