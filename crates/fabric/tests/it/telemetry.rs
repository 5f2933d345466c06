//! In-band telemetry in a fabric: controls that use it converge to their closed forms, even if packets are lost.

use crate::common::consistent::{check_tables, same};
use crate::common::*;
use crate::rdma::{column, incast, keys};
use fabric::spec::{FaultSpec, SwitchSpec};
use proptest::prelude::*;
use transport::{HpccKeys, HpccPintKeys, PowerTcpKeys, RdmaControlKeys, RdmaKeys, RdmaRecovery};
use units::{Amount, BitRate, Bytes, Or, Time};

/// Lengths of a packet of 1000 B of data: DA to FCS, and on the wire.
fn packet(telemetry: f64) -> [f64; 2] {
    let frame = 1_000.0 + 66.0 + telemetry;
    [frame, frame + 20.0]
}

/// A single sender: its frame rate at the end in bit/s.
fn lone(control: RdmaControlKeys) -> f64 {
    let outcome = incast(1, 1 << 40, &keys(control), switch(), us(20_000)).run();
    outcome.reals("queue_pairs", "rate_bps")[0]
}

#[test]
fn one_sender_alone_comes_to_rest_below_the_rate_of_its_link() {
    let (line, increase) = (10e9, 40e6);
    let ai_rate = Or::Value(BitRate::from_bps(40_000_000));
    // The utilisation is that of the wire; rates are those of frames.
    for eta in [0.5, 0.8, 0.95] {
        let hpcc = lone(RdmaControlKeys::Hpcc(HpccKeys { eta, ai_rate, ..HpccKeys::default() }));
        let [frame, wire] = packet(42.0);
        let rests = eta * line * frame / wire + increase;
        assert!((hpcc / rests - 1.0).abs() < 2e-3, "{eta}: {hpcc} {rests}");
        // Another size of the stamp field changes the length of packets.
        let one = HpccKeys { eta, ai_rate, int_bytes: Bytes::new(10), ..HpccKeys::default() };
        let [frame, wire] = packet(10.0);
        let rests = eta * line * frame / wire + increase;
        assert!((lone(RdmaControlKeys::Hpcc(one)) / rests - 1.0).abs() < 2e-3);
        let pint = HpccPintKeys { eta, ai_rate, base: 1.001, ..HpccPintKeys::default() };
        let [frame, wire] = packet(1.0);
        let rests = eta * line * frame / wire + increase;
        let pint = lone(RdmaControlKeys::HpccPint(pint));
        assert!((pint / rests - 1.0).abs() < 5e-3, "{eta}: {pint} {rests}");
        let power = PowerTcpKeys { eta, ai_rate, ..PowerTcpKeys::default() };
        let [frame, wire] = packet(42.0);
        let rests = eta * line * frame / wire + increase;
        let power = lone(RdmaControlKeys::PowerTcp(power));
        // A current rate below half of the link rate counts as half.
        let expected = rests.min(line);
        assert!((power / expected - 1.0).abs() < 0.02, "{eta}: {power} {expected}");
    }
}

#[test]
fn packets_are_longer_by_what_telemetry_takes() {
    let bytes = |control| {
        let outcome = incast(1, 1_000_000, &keys(control), switch(), us(20_000)).run();
        outcome.integers("flows", "bytes_sent")[0]
    };
    let plain = bytes(RdmaControlKeys::None(Default::default()));
    for (control, more) in [
        (RdmaControlKeys::Hpcc(Default::default()), 42),
        (RdmaControlKeys::HpccPint(Default::default()), 1),
        (RdmaControlKeys::PowerTcp(Default::default()), 42),
        (RdmaControlKeys::ThetaPowerTcp(Default::default()), 0),
    ] {
        assert_eq!(bytes(control), plain + 1_000 * more);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    /// With any losses, each run ends with exactly one header for each frame that has one, which the engine asserts, on
    /// any number of threads.
    #[test]
    fn no_stamp_outlives_its_packet(
        which in 0usize..3,
        rate in prop::sample::select(vec![0.0, 1e-7, 1e-5]),
        down in prop::option::of(50u64..400),
        queue in prop::option::of(5u64..60),
        selective in any::<bool>(),
        senders in 2usize..6,
        room in 10u64..67,
    ) {
        let int_bytes = Bytes::new(room);
        let control = match which {
            0 => RdmaControlKeys::Hpcc(HpccKeys { int_bytes, ..HpccKeys::default() }),
            1 => RdmaControlKeys::HpccPint(HpccPintKeys { int_bytes, ..HpccPintKeys::default() }),
            _ => RdmaControlKeys::PowerTcp(PowerTcpKeys { int_bytes, ..PowerTcpKeys::default() }),
        };
        let recovery = if selective { RdmaRecovery::Selective } else { RdmaRecovery::GoBackN };
        let keys = RdmaKeys { recovery, retries: 255, ..keys(control) };
        let mut sw = SwitchSpec::clone(&switch());
        sw.buffer.queue = queue.map(Amount::Frames);
        let mut net = incast(senders, 200_000, &keys, sw, us(2_000));
        let mut faults = Vec::new();
        if rate > 0.0 {
            let (from, until) = (Time::ZERO, us(1_000));
            faults.push(FaultSpec::BitErrors { link: senders as u32, from, until, rate });
        }
        if let Some(at) = down {
            let reaction = fabric::spec::Reaction { keep: false, reroute: None };
            faults.push(FaultSpec::LinkDown { link: 0, at: us(at), reaction });
        }
        net.0.faults = faults;
        let outcome = net.run_on(1, u64::MAX);
        check_tables(&net.0, &outcome)?;
        for threads in [2, 3] {
            same(&outcome, &net.run_on(threads, u64::MAX))?;
        }
        prop_assert!(column(&outcome, "packets_delivered") > 0);
    }
}
