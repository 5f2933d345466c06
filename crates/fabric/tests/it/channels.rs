//! All twenty channels at once: none uses the credits, the queue or the turn of another.

use crate::common::credits::{small_bmin, with_channels, with_credits};
use crate::common::*;
use fabric::spec::{Queueing, ReceiveSpec, Role};
use flow_control::{ChannelList, CreditSpec};
use frame::CHANNELS;
use proptest::prelude::*;
use std::sync::Arc;

/// Names of all twenty channels, in the order of their numbers.
fn names() -> Vec<String> {
    let of_kind = |kind: char, count: u32| (0..count).map(move |number| format!("{kind}{number}"));
    of_kind('B', 8).chain(of_kind('O', 8)).chain(of_kind('M', 4)).collect()
}

fn all(count: u64) -> CreditSpec {
    with_channels(count, &ChannelList::All)
}

fn crossbar() -> Queueing {
    Queueing::Crossbar(queueing::CrossbarKeys::default())
}

#[test]
fn twenty_channels_share_a_link_equally_and_have_their_names() {
    for queueing in [Queueing::Output, crossbar()] {
        let (mut net, h) = small_bmin(queueing, 2_000);
        for (number, name) in (0..).zip(names()) {
            net.flow(&name, h[0], number, greedy(h[2], 1_000, us(0)));
        }
        let outcome = with_credits(net, &all(320)).run();
        let frames = outcome.integers("flows", "frames_delivered");
        // 2,500 frames in 2 ms, apart from those in flight.
        let (least, most) = (frames.iter().min().unwrap(), frames.iter().max().unwrap());
        assert!(*least >= 120 && *most <= 126 && most - least <= 2, "{frames:?}");
        let ports = outcome.texts("credits", "port");
        for port in ["h0.0->s0", "s1.0->h2"] {
            let channels = outcome.texts("credits", "channel").iter().zip(ports);
            let here: Vec<String> = channels.filter(|row| row.1 == port).map(|row| row.0.clone()).collect();
            assert_eq!(here, names(), "{port}");
        }
        let of_port = outcome.texts("queues", "port").iter().zip(outcome.integers("queues", "bytes"));
        let sent: Vec<u64> = of_port.filter(|row| row.0 == "s1.0->h2").map(|row| *row.1).collect();
        assert_eq!((sent.len(), outcome.integers("classes", "class").len()), (CHANNELS, CHANNELS));
        assert_eq!(sent.iter().sum::<u64>(), outcome.count("ports", "s1.0->h2", "bytes_sent"));
    }
}

#[test]
fn a_channel_that_nobody_reads_stops_no_other() {
    // h2 processes 1 Gb/s; h3 processes all frames.
    for stopped in [3, 12, 19] {
        let (mut net, h) = small_bmin(crossbar(), 3_000);
        if let Role::Host(host) = &mut net.0.nodes[h[2].at()].role {
            Arc::make_mut(host).receive = Some(ReceiveSpec { rate: Some(gbps(1)), ..ReceiveSpec::default() });
        }
        for (number, name) in (0..).zip(names()) {
            let to = if number == stopped { h[2] } else { h[3] };
            net.flow(&name, h[usize::from(number == stopped)], number, greedy(to, 1_000, us(0)));
        }
        let outcome = with_credits(net, &all(160)).run();
        let frames = outcome.integers("flows", "frames_delivered");
        let slow = frames[usize::from(stopped)] as f64 * 8_000.0 / 3e-3;
        assert!((slow - 1e9).abs() < 0.05e9, "{slow}");
        let others: u64 = frames.iter().sum::<u64>() - frames[usize::from(stopped)];
        assert!(others as f64 * 8_000.0 / 3e-3 > 9.8e9, "{others}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), ..ProptestConfig::default() })]

    /// For all traffic of the channels: credits are conserved (every run ends with that check), and all frames arrive
    /// in order.
    #[test]
    fn credits_of_twenty_channels_are_conserved(
        room in 24u64..100, after in 1u32..24, within in 0u64..3_000, update_bytes in prop::sample::select(vec![0u16, 84]),
        carried in prop::option::of(0u16..100), sizes in prop::collection::vec(64u16..1_522, CHANNELS),
        ways in prop::collection::vec((0usize..2, 2usize..4), CHANNELS), bypassable: [bool; 8], slow in prop::option::of(2usize..4),
    ) {
        let (mut net, h) = small_bmin(Queueing::Output, 4_000);
        if let Some(slow) = slow && let Role::Host(host) = &mut net.0.nodes[h[slow].at()].role {
            Arc::make_mut(host).receive = Some(ReceiveSpec { rate: Some(gbps(2)), ..ReceiveSpec::default() });
        }
        for (nth, (&bytes, &(from, to))) in sizes.iter().zip(&ways).enumerate() {
            let flow = net.flow(&nth.to_string(), h[from], nth as u8, burst(h[to], bytes, 20, us(nth as u64)));
            flow.bypassable = bypassable.get(nth).is_some_and(|&it| it);
        }
        let spec = CreditSpec { update_after: after, update_within: ns(within), update_bytes, piggyback: carried, ..all(room) };
        let net = with_credits(net, &spec);
        let (alone, several) = (net.run(), net.run_on(3, 5_000));
        prop_assert_eq!(several.fingerprint, alone.fingerprint);
        prop_assert_eq!(alone.integers("flows", "frames_delivered"), vec![20; CHANNELS]);
        prop_assert_eq!(alone.reals("flows", "frames_reordered"), vec![0.0; CHANNELS]);
    }
}
