//! Schedulers in a fabric: shares on a saturated port, with and without pauses, on one thread and on several.

use crate::common::{Net, Outcome, gbps, greedy, host, pfc, pfc_at, switch, us};
use fabric::spec::{HostSpec, Queueing, SwitchSpec};
use flow_control::Control;
use frame::ClassMap;
use scheduling::{
    AccountedLength, DTableParams, DrrAwcParams, DrrParams, EtsClass, EtsParams, ScfqCaParams, ScfqParams,
    SchedulerSpec, Selection, VcTableParams, Wf2qPlusParams, WfqParams, WrrParams,
};
use units::Time;
use workload::FrameSizes;

/// Four queues; priorities above 3 share the last.
fn four() -> ClassMap {
    ClassMap::new([0, 1, 2, 3, 3, 3, 3, 3]).unwrap()
}

/// Frame size of each sender: multiples of 64 B, the unit of a deficit table.
const BYTES: [u16; 4] = [1472, 320, 64, 1024];

/// Schedulers that share bytes as 4 : 2 : 1 : 1, each with the line overhead that it accounts.
fn by_bytes() -> Vec<(SchedulerSpec, f64)> {
    let weights = || vec![4, 2, 1, 1].into();
    let accounted = AccountedLength::WIRE;
    let class = |queue, percent| EtsClass {
        queues: vec![queue],
        selection: Selection::Percent(percent),
        adaptive: None,
    };
    let ets = vec![class(0, 50), class(1, 24), class(2, 13), class(3, 13)];
    let entries = [0, 1, 0, 2, 0, 1, 0, 3].repeat(4);
    let wire = [
        SchedulerSpec::Drr(DrrParams::weighted(vec![4, 2, 1, 1], accounted)),
        SchedulerSpec::Wfq(WfqParams { weights: weights(), ..WfqParams::by(accounted) }),
        SchedulerSpec::Wf2qPlus(Wf2qPlusParams { weights: weights(), ..Wf2qPlusParams::by(accounted) }),
        SchedulerSpec::Scfq(ScfqParams { weights: weights(), ..ScfqParams::by(accounted) }),
        SchedulerSpec::ScfqCa(ScfqCaParams { weights: weights(), ..ScfqCaParams::by(accounted) }),
        SchedulerSpec::Ets(EtsParams::new(ets)),
    ];
    let table = SchedulerSpec::DTable(DTableParams::uniform(entries, 34));
    wire.into_iter().map(|scheduler| (scheduler, 20.0)).chain([(table, 0.0)]).collect()
}

fn expected(scheduler: &SchedulerSpec) -> [f64; 4] {
    if scheduler.name() == "ets" { [0.50, 0.24, 0.13, 0.13] } else { [0.5, 0.25, 0.125, 0.125] }
}

/// Four senders of different priority and frame size, each at line rate, to one receiver.
fn overload(scheduler: SchedulerSpec, control: Option<Control>, queueing: Queueing) -> Net {
    let mut net = Net::new(us(4000));
    let s = SwitchSpec { classes: four(), scheduler, flow_control: control.clone(), queueing, ..switch() };
    let sw = net.switch("sw", s);
    let h = || HostSpec { flow_control: control.clone(), ..host() };
    let sink = net.host("sink", h());
    net.link(sw, sink, gbps(10), us(1));
    for (priority, bytes) in (0..).zip(BYTES) {
        let sender = net.host(&format!("h{priority}"), h());
        net.link(sender, sw, gbps(10), us(1));
        net.flow(&format!("f{priority}"), sender, priority, greedy(sink, bytes, Time::ZERO));
    }
    net.0.warmup = us(200);
    net
}

/// Shares of bytes, counting `overhead` for each frame.
fn shares(net: &Net, overhead: f64) -> [f64; 4] {
    let outcome = net.run();
    let frames = |p: usize| outcome.delivered(&format!("f{p}")) as f64;
    let sent = [0, 1, 2, 3].map(|p| frames(p) * (f64::from(BYTES[p]) + overhead));
    let total: f64 = sent.iter().sum();
    sent.map(|share| share / total)
}

fn assert_close(what: &str, got: [f64; 4], expected: [f64; 4]) {
    let close = got.iter().zip(expected).all(|(got, expected)| (got / expected - 1.0).abs() < 0.02);
    assert!(close, "{what}: {got:?} for {expected:?}");
}

#[test]
fn a_saturated_port_shares_bytes_by_weight() {
    for (scheduler, overhead) in by_bytes() {
        for queueing in [Queueing::Output, Queueing::VirtualOutput] {
            let net = overload(scheduler.clone(), None, queueing);
            assert_close(scheduler.name(), shares(&net, overhead), expected(&scheduler));
        }
    }
}

#[test]
fn pauses_do_not_change_the_shares_and_nothing_is_lost() {
    for (scheduler, overhead) in by_bytes() {
        let net = overload(scheduler.clone(), Some(pfc(0x0F).into()), Queueing::Output);
        assert_close(scheduler.name(), shares(&net, overhead), expected(&scheduler));
        let outcome = net.run();
        assert_eq!(outcome.total("drops", "frames"), 0, "{}", scheduler.name());
        assert!(outcome.total("ports", "pauses_sent") > 100, "{}", scheduler.name());
    }
}

/// By class, the bytes that a port sent while these classes could send.
fn contended(outcome: &Outcome, port: &str, classes: &str) -> Vec<u64> {
    let rows = outcome.texts("contention", "port").iter().zip(outcome.texts("contention", "classes"));
    let rows = rows.zip(outcome.integers("contention", "bytes_sent"));
    rows.filter(|((of, set), _)| *of == port && *set == classes).map(|(_, bytes)| *bytes).collect()
}

#[test]
fn what_is_sent_in_contention_is_all_of_a_saturated_port() {
    for (scheduler, overhead) in by_bytes() {
        let outcome = overload(scheduler.clone(), None, Queueing::Output).run();
        let sent = contended(&outcome, "sw.0->sink", "0 1 2 3");
        assert_eq!(sent.iter().sum::<u64>(), outcome.count("ports", "sw.0->sink", "bytes_sent"));
        let on_wire = |class: usize| sent[class] as f64 * (1.0 + overhead / f64::from(BYTES[class]));
        let all: f64 = (0..4).map(on_wire).sum();
        assert_close(scheduler.name(), [0, 1, 2, 3].map(|class| on_wire(class) / all), expected(&scheduler));
    }
}

#[test]
fn a_class_that_is_paused_does_not_contend() {
    // Class 3 continues over a link of 1 Gb/s, whose pauses leave it a tenth of the port; while it may send, it gets
    // its 60 %.
    let class = |queues, percent| EtsClass { queues, selection: Selection::Percent(percent), adaptive: None };
    let classes = vec![class(vec![0, 1, 2, 4, 5, 6, 7], 40), class(vec![3], 60)];
    let scheduler = SchedulerSpec::Ets(EtsParams::new(classes));
    let control = || Some(pfc(0x08).into());
    let mut net = Net::new(us(20_000));
    let own = SwitchSpec { scheduler, flow_control: control(), ..switch() };
    let near = net.switch("near", own);
    // Far apart: ETS restarts each time that both may send.
    let marks = Some(pfc_at(0x08, 300, 20).into());
    let far = net.switch("far", SwitchSpec { flow_control: marks, ..switch() });
    let ends: Vec<_> = [("a", near, 10), ("b", near, 10), ("slow", far, 1), ("fast", far, 10)]
        .map(|(name, to, rate)| {
            let end = net.host(name, HostSpec { flow_control: control(), ..host() });
            net.link(end, to, gbps(rate), us(1));
            end
        })
        .into();
    net.link(near, far, gbps(10), us(1));
    net.flow("held", ends[0], 3, greedy(ends[2], 1000, Time::ZERO));
    net.flow("free", ends[1], 0, greedy(ends[3], 1000, Time::ZERO));
    let one = net.run();
    let sent = contended(&one, "near.2->far", "0 3");
    let share = sent[1] as f64 / sent.iter().sum::<u64>() as f64;
    assert!((share - 0.6).abs() < 0.02, "{share}");
    let all = one.count("ports", "near.2->far", "bytes_sent") as f64;
    let held = one.delivered("held") as f64 * 1000.0 / all;
    assert!(held < 0.12, "{held}");
    assert!(contended(&one, "far.1->fast", "0 3").is_empty(), "strict priority divides nothing");
    assert_eq!(contended(&net.run_on(3, 5_000), "near.2->far", "0 3"), sent);
}

#[test]
fn packet_schedulers_share_packets() {
    let wrr = SchedulerSpec::Wrr(WrrParams { weights: vec![1, 1, 1, 1].into(), interleaved: false });
    let entries = [0, 1, 2, 3].repeat(8);
    let table = SchedulerSpec::VcTable(VcTableParams { entries });
    let sum: f64 = BYTES.map(f64::from).iter().sum();
    let expected = BYTES.map(|bytes| f64::from(bytes) / sum);
    for scheduler in [wrr, table] {
        assert_close(
            scheduler.name(),
            shares(&overload(scheduler.clone(), None, Queueing::Output), 0.0),
            expected,
        );
    }
}

/// Keeps only the two senders of Hagen's chapter 6: 1522 B and 68 B.
fn large_and_small(net: &mut Net) {
    net.0.flows.retain(|flow| flow.priority.0 == 0 || flow.priority.0 == 2);
    for (flow, bytes) in net.0.flows.iter_mut().zip([1522, 68]) {
        flow.source.sizes = FrameSizes::Fixed(bytes);
    }
}

#[test]
fn drr_accounts_line_overhead_to_small_frames() {
    // Golden vector 7: 68 B against 1522 B, equal quanta, accounted with 20 B of line overhead, 10 Gb/s.
    let params = DrrParams::equal(AccountedLength::WIRE);
    let drr = SchedulerSpec::Drr(params);
    let mut net = overload(drr, None, Queueing::Output);
    large_and_small(&mut net);
    let outcome = net.run();
    for (flow, frames_per_s) in [("f2", 7_102_273.0), ("f0", 405_318.0)] {
        let got = outcome.delivered(flow) as f64 / 3.8e-3;
        assert!((got / frames_per_s - 1.0).abs() < 0.003, "{flow}: {got} for {frames_per_s}");
    }
}

#[test]
fn the_wire_that_is_accounted_is_that_of_the_ports_link() {
    for overhead in [0, 8] {
        let mut net =
            overload(SchedulerSpec::Drr(DrrParams::equal(AccountedLength::WIRE)), None, Queueing::Output);
        large_and_small(&mut net);
        net.0.links.iter_mut().for_each(|link| link.overhead = overhead);
        let outcome = net.run();
        let time = |flow: &str, bytes: u16| outcome.delivered(flow) as f64 * f64::from(bytes + overhead);
        let ratio = time("f2", 68) / time("f0", 1522);
        assert!((ratio - 1.0).abs() < 0.003, "{overhead} B: {ratio}");
    }
}

#[test]
fn adaptive_weights_even_out_payload() {
    let mut net = overload(SchedulerSpec::DrrAwc(DrrAwcParams::default()), None, Queueing::Output);
    large_and_small(&mut net);
    net.0.warmup = us(2200);
    let outcome = net.run();
    let payload = ["f0", "f2"].map(|flow| outcome.real("flows", flow, "goodput_bps"));
    let jain = measure::jain(&payload);
    assert!(jain > 0.999, "{payload:?}: {jain}");
}

#[test]
fn the_trajectory_is_the_same_on_threads() {
    for (scheduler, _) in by_bytes() {
        let mut net = overload(scheduler.clone(), Some(pfc(0x05).into()), Queueing::VirtualOutput);
        net.0.duration = us(300);
        let alone = net.run_on(1, u64::MAX).fingerprint;
        assert_eq!(alone, net.run_on(1, 777).fingerprint, "{}", scheduler.name());
        assert_eq!(alone, net.run_on(3, u64::MAX).fingerprint, "{}", scheduler.name());
    }
}
