//! Inferred losses, credits, and any keys under loss, marks, reordering and duplication.

use super::*;
use crate::uet::{EqdsKeys, NdpKeys};

#[test]
fn many_packets_out_of_order_show_a_loss() {
    // The window is 18,750 B. Losses are inferred from one and a half windows out of order, limited to as many bytes as
    // the window: 18 packets. Every fourth packet is acknowledged.
    let control = UetControlKeys::default();
    let ack_every = Or::Value(Bytes::new(4_000));
    let infers = UetKeys { loss_inference: Some(true), control, ack_every, ..keys() };
    let mut pipe = transfers(&infers, &[(0, 60_000)]);
    pipe.run(NEVER, losing(&[1]));
    let counts = pipe.near.context().counts;
    assert_eq!((counts.inferred, counts.retransmitted, counts.timeouts, counts.probes), (1, 1, 0, 0));
    let place = packets(&pipe).iter().rposition(|&psn| psn == 2).unwrap();
    // The retransmission follows the acknowledgement that reports at least 18 packets behind the gap.
    let again = pipe.sent_by(0)[place].0;
    let shown = acks(&pipe).iter().find(|ack| ack.1.out_of_order >= 18).unwrap().0;
    let arrives = shown + pipe.wire(90) + DELAY;
    assert!(again >= arrives && again < arrives + pipe.wire(1_102), "{again}, reported at {shown}");
    // Fewer packets out of order count as reordering; without a window, any number does.
    for (control, late) in [(infers.control.clone(), us(8)), (keys().control, us(45))] {
        let mut pipe = transfers(&UetKeys { control, ..infers.clone() }, &[(0, 60_000)]);
        let mut sent = 0;
        pipe.run(NEVER, |end, _| {
            sent += usize::from(end == 0);
            Outcome { extra: if end == 0 && sent == 2 { late } else { Time::ZERO }, ..Outcome::default() }
        });
        assert_eq!(
            (pipe.near.context().counts.inferred, pipe.far.context(0).unwrap().counts.duplicates),
            (0, 0),
            "{late}"
        );
        assert!(pipe.far.context(0).unwrap().counts.out_of_order > 5);
    }
}

#[test]
fn a_probe_finds_a_loss_at_the_end() {
    let mut pipe = transfers(&UetKeys { loss_inference: Some(true), ..keys() }, &[(0, 5_000)]);
    pipe.run(NEVER, losing(&[4]));
    let counts = pipe.near.context().counts;
    assert_eq!((counts.probes, counts.inferred, counts.timeouts), (1, 1, 0));
    // The probe is sent a base round-trip time and a delay target after the acknowledgement of the first packet, the
    // last event before it.
    let probed = pipe.wire(1_102) + pipe.wire(90) + DELAY * 2 + DELAY * 4;
    let sent = pipe.sent_by(0);
    assert_eq!((sent[5].0, header(&sent[5].1).packet, sent[5].1.bytes), (probed, UetPacket::Control(6), 64));
    assert_eq!(sent[6].0, probed + pipe.wire(64) + pipe.wire(90) + DELAY * 2);
    // There is a queue on the path: the answer to the probe does not indicate a loss, and another probe follows.
    let mut pipe = transfers(&UetKeys { loss_inference: Some(true), ..keys() }, &[(0, 1_000)]);
    pipe.run(NEVER, |end, it| {
        let late = end == 0 && (it.kind == FrameKind::Data || it.bytes == 64);
        Outcome { extra: if late { us(40) } else { Time::ZERO }, ..Outcome::default() }
    });
    let counts = pipe.near.context().counts;
    assert_eq!((counts.inferred, counts.retransmitted, counts.timeouts), (0, 0, 0));
    assert!(counts.probes >= 1);
}

fn rccc(nscc: bool) -> UetControlKeys {
    let nscc = nscc.then(NsccKeys::default);
    UetControlKeys::Rccc(RcccKeys { pull: Bytes::new(4 << 10), nscc, ..RcccKeys::default() })
}

#[test]
fn credits_give_the_line_rate() {
    for nscc in [false, true] {
        let own = UetKeys { control: rccc(nscc), ack_every: Or::word(), ..keys() };
        let mut pipe = transfers(&own, &[(0, 1_000_000)]);
        pipe.run_clean(NEVER);
        // Data packets carry a credit target of 4 B. The pacer grants 0.99 of the rate of the link.
        let ideal = pipe.wire(1_106) * 1_000 + DELAY;
        let took = delivered(&pipe, 0).unwrap();
        assert!(took >= ideal && took.ps() < ideal.ps() / 100 * 103, "{took} of {ideal}");
        let counts = pipe.near.context().counts;
        // The initial credit of 18,750 B is used, and the rest is granted in units of 4 KiB.
        let grants = (1_106_000 - 18_750) / 4_096;
        assert!(
            (grants..grants + 20).contains(&pipe.far.context(0).unwrap().counts.grants),
            "{}",
            pipe.far.context(0).unwrap().counts.grants
        );
        assert_eq!((counts.grants, counts.credit_requests), (pipe.far.context(0).unwrap().counts.grants, 0));
        assert_eq!((counts.retransmitted, counts.timeouts), (0, 0));
    }
}

#[test]
fn a_lost_grant_is_part_of_the_next_or_asked_for_again() {
    // The first grants are lost.
    let mut pipe = transfers(&UetKeys { control: rccc(false), retries: 255, ..keys() }, &[(0, 100_000)]);
    let mut lost = 0;
    pipe.run(NEVER, |end, it| {
        let is_grant = end == 1 && header(it).packet == UetPacket::Control(7) && lost < 30;
        lost += u32::from(is_grant);
        Outcome { lost: is_grant, ..Outcome::default() }
    });
    let counts = pipe.near.context().counts;
    assert!(counts.credit_requests > 0 && counts.grants < pipe.far.context(0).unwrap().counts.grants);
    assert_eq!((pipe.far.context(0).unwrap().counts.messages, pipe.near.context().failed()), (1, None));
    // If no grant arrives, the context fails.
    let mut pipe = transfers(&UetKeys { control: rccc(false), ..keys() }, &[(0, 100_000)]);
    pipe.run(NEVER, |end, it| Outcome {
        lost: end == 1 && header(it).packet == UetPacket::Control(7),
        ..Outcome::default()
    });
    assert!(pipe.near.context().failed().is_some() && !pipe.near.has_work());
}

#[test]
fn a_message_after_silence_requests_credit() {
    // The first acknowledgement ends the initial credit. Without grants in advance, nothing brings credit for the
    // second message.
    let control = UetControlKeys::Rccc(RcccKeys { slow_pulls: false, ..RcccKeys::default() });
    let mut pipe = transfers(&UetKeys { control, ..keys() }, &[(0, 1_000), (5_000, 1_000)]);
    pipe.run_clean(us(20_000));
    let done = delivered(&pipe, 1).expect("the message was not delivered: its context got no credit");
    assert_eq!(pipe.near.context().counts.credit_requests, 1);
    // A request, its grant, and the packet take three times the delay and less than 10 us of frames.
    let least = us(5_000) + DELAY * 3;
    assert!(done > least && done < least + us(10), "{done}");
}

#[test]
fn requests_for_credit_back_off_while_their_receiver_answers() {
    // A grant of 4 KiB takes 33 ms: the context waits for its turns, and each request is answered with the last grant.
    let control =
        UetControlKeys::Rccc(RcccKeys { pull: Bytes::new(4 << 10), share: 1e-4, ..RcccKeys::default() });
    let mut pipe = transfers(&UetKeys { control, retries: 2, ..keys() }, &[(0, 40_000)]);
    pipe.run_clean(us(2_000_000));
    let counts = pipe.near.context().counts;
    assert_eq!(
        (pipe.far.context(0).unwrap().counts.messages, counts.retransmitted, counts.timeouts),
        (1, 0, 0)
    );
    assert_eq!(pipe.near.context().failed(), None, "answers count, not grants");
    // Requests are sent after 0.5, 1, 2, 4, 8 and 16 ms. From then on, the wait is twice the time between turns.
    assert_eq!(counts.credit_requests, 6);
}

pub(super) fn any_keys() -> impl Strategy<Value = UetKeys> {
    let modes = prop::sample::select(vec![UetMode::Rud, UetMode::Rud, UetMode::Rod, UetMode::Rudi]);
    let controls = prop::sample::select(vec![
        rccc(true),
        rccc(false),
        UetControlKeys::default(),
        UetControlKeys::None(Default::default()),
        UetControlKeys::Eqds(EqdsKeys { pull: Bytes::new(1_024), ..EqdsKeys::default() }),
        UetControlKeys::Ndp(NdpKeys { window: 4, share: 0.9 }),
    ]);
    (controls, any::<[bool; 2]>(), 1u64..40_000, 3u64..40, modes).prop_map(
        |(control, [trimming, infers], every, range, mode)| UetKeys {
            trimming: Some(trimming && !matches!(control, UetControlKeys::None(_))),
            control,
            ack_every: Or::Value(Bytes::new(every)),
            loss_inference: (mode == UetMode::Rud).then_some(infers),
            psn_range: range,
            retries: 255,
            mode,
            ..keys()
        },
    )
}

proptest! {
    /// Tests that all messages are delivered once, whatever is lost, marked, reordered and duplicated.
    #[test]
    fn everything_is_delivered(
        keys in any_keys(),
        sizes in prop::collection::vec(1u64..30_000, 1..6),
        seed in any::<u64>(),
        percent in 0u64..30,
    ) {
        let rows: Vec<(u64, u64)> = (0..).map(|n| n * 20).zip(sizes.iter().copied()).collect();
        let mut pipe = transfers(&keys, &rows);
        let mut draw = draws(seed).0;
        pipe.run(us(60_000_000), |_, _| Outcome {
            lost: draw(100) < percent,
            marked: draw(4) == 0,
            trimmed: draw(15) == 0,
            twice: draw(20) == 0,
            extra: if draw(8) == 0 { us(draw(30)) } else { Time::ZERO },
        });
        let (near, far) = (&pipe.near, &pipe.far);
        prop_assert_eq!(far.context(0).unwrap().counts.messages, sizes.len() as u64);
        prop_assert_eq!(far.context(0).unwrap().counts.in_order, sizes.len() as u64);
        prop_assert_eq!(far.context(0).unwrap().counts.packets, sizes.iter().map(|bytes| bytes.div_ceil(1_000)).sum::<u64>());
        prop_assert_eq!(near.context().counts.bytes, sizes.iter().sum::<u64>());
        prop_assert_eq!((near.context().bytes_in_flight(), near.context().outstanding()), (0, 0));
        prop_assert!(near.poll_timeout().is_none() && !near.has_work());
        for (nth, outcome) in near.outcomes().iter().enumerate() {
            let arrived = delivered(&pipe, nth);
            prop_assert!(arrived.is_some_and(|at| at < outcome.acknowledged && outcome.missing == 0));
        }
    }

    /// Tests that numbers of 24 bits may wrap while packets are lost.
    #[test]
    fn numbers_wrap(seed in any::<u64>()) {
        let mut pipe = transfers(&keys(), &[(1, 300_000)]);
        let first = (1 << 24) - 150;
        pipe.near.start_at(first);
        pipe.far.start_at(first);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |_, _| Outcome { lost: draw(100) < 5, ..Outcome::default() });
        prop_assert_eq!((pipe.far.context(0).unwrap().counts.messages, pipe.far.context(0).unwrap().counts.packets), (1, 300));
        prop_assert!(packets(&pipe).contains(&((1 << 24) - 1)) && packets(&pipe).contains(&0));
    }

    /// Tests that ends that receive arbitrary frames at any time do not panic, and acknowledge nothing that was not
    /// sent.
    #[test]
    fn nonsense_is_survived(
        keys in any_keys(),
        steps in prop::collection::vec((0u32..8, any::<u32>(), any::<u16>(), any::<[u8; 4]>(), any::<u64>()), 1..200),
    ) {
        let spec = spec(&keys);
        let rows = due(&[(0, 9_000), (10, 9_000), (20, 9_000)]);
        let mut sender = UetSender::new(&spec, rows, spec.facts(RATE, DELAY + DELAY, false), Time::ZERO, None);
        let mut receiver = UetReceiver::new(&spec, 3, &spec.facts(RATE, DELAY + DELAY, false));
        let mut now = Time::ZERO;
        for (step, word, bytes, salt, sack) in steps {
            now += Time::from_ns(u64::from(bytes));
            let kinds = [FrameKind::Data, FrameKind::Ack, FrameKind::MarkedAck, FrameKind::Cnp];
            let control = UetPacket::Control(salt[1] % 10);
            let packets = [
                UetPacket::Request,
                UetPacket::Ack,
                if salt[2] > 128 { UetPacket::ProbeAck } else { control },
                UetPacket::Nack(salt[1] % 15),
            ];
            let small = word & 0x0700_001F;
            let header = UetHeader {
                word: if salt[2] > 20 { small } else { word },
                context: u32::from(salt[2] == 0),
                packet: packets[usize::from(salt[3] % 4)],
                retransmitted: salt[3] > 100,
                answers: word >> 8 & 0x1F,
                sack_base: word >> 13 & 0x1F,
                sack: sack & sack >> 7,
                received: word >> 18,
                service: Time::from_ns(u64::from(salt[1])),
                message: u32::from(salt[1] % 5),
                credit: word >> 3,
                ..UetHeader::default()
            };
            let frame = Received {
                kind: kinds[usize::from(salt[0] % 4)],
                word: small,
                header: (salt[0] > 100).then_some(Header::Uet(header)),
                bytes,
                congestion_experienced: salt[1] > 99,
                created: now,
                trim: [Trim::Whole, Trim::Trimmed, Trim::AtLastHop][usize::from(salt[3] % 3)],
                entropy: 0,
            };
            match step {
                0 | 1 => sender.handle_frame(now, &frame),
                2 | 3 => receiver.handle_frame(now, &frame),
                4 | 5 => {
                    sender.handle_timeout(now);
                    receiver.handle_timeout(now);
                }
                6 => while sender.poll_transmit(now).is_some() {},
                _ => while receiver.poll_transmit(now).is_some() {},
            }
            while sender.poll_record().is_some() {}
            prop_assert!(sender.outcomes().iter().all(|it| it.missing <= 9_000));
            prop_assert!(sender.context().counts.bytes <= 27_000);
        }
    }
}
