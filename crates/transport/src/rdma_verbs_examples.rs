//! SEND, WRITE and READ over a wire, and receivers that are not ready: examples computed by hand and closed-form
//! results.

use crate::pipe::{Outcome, losing, losing_of};
use crate::rdma::queue_pair::header_of;
use crate::rdma_examples::{NEVER, Wire, came, delivered, flow, keys, number, packets, transfers, us};
use crate::testbed::DELAY;
use crate::{Protocol, RdmaKeys, RdmaVerb, RdmaWord, Received, Segment};
use frame::FrameKind;
use units::{Bytes, Or};

fn read() -> RdmaKeys {
    RdmaKeys { verb: RdmaVerb::Read, ..keys() }
}
/// Returns the requests that the far end sent.
fn requests(pipe: &Wire) -> Vec<u32> {
    pipe.sent_by(1).iter().map(|(_, segment)| number(segment)).collect()
}
fn lengths(pipe: &Wire) -> Vec<u16> {
    pipe.sent_by(0).iter().map(|(_, segment)| segment.bytes).collect()
}
fn flags(segment: &Segment) -> [bool; 3] {
    RdmaWord::of(header_of(&Received::from(segment)).word).flags
}
#[test]
fn extended_headers_are_where_the_standard_has_them() {
    for (verb, expected) in [
        (RdmaVerb::Send, [1_058, 1_058, 558, 558]),
        (RdmaVerb::Write, [1_074, 1_058, 558, 574]),
        (RdmaVerb::Read, [1_062, 1_058, 562, 562]),
    ] {
        let mut pipe = transfers(&RdmaKeys { verb, ..keys() }, &[(0, 2_500), (0, 500)]);
        pipe.run_clean(NEVER);
        assert_eq!((lengths(&pipe), came(&pipe)), (expected.to_vec(), (2, 4)), "{verb:?}");
        let data = pipe.sent_by(0);
        let places: Vec<(bool, bool)> =
            data.iter().map(|(_, segment)| flags(segment)).map(|[last, _, first]| (first, last)).collect();
        assert_eq!(places, [(true, false), (false, false), (false, true), (true, true)]);
    }
}

#[test]
fn a_read_takes_a_request_and_its_data() {
    let mut pipe = transfers(&read(), &[(0, 400_000)]);
    pipe.run_clean(NEVER);
    let wire = |bytes: u64| pipe.wire(bytes);
    let data = wire(1_058) * 398 + wire(1_062) * 2;
    assert_eq!(delivered(&pipe, 0), Some(wire(74) + DELAY + data + DELAY));
    // There is one request and no acknowledgement.
    assert_eq!((requests(&pipe), pipe.near.counts().retransmitted), (vec![0], 0));
    let outcome = pipe.far.outcomes().unwrap()[0];
    assert_eq!((Some(outcome.acknowledged), outcome.missing), (delivered(&pipe, 0), 0));
    assert!(!pipe.near.has_work() && pipe.near.poll_timeout().is_none() && pipe.far.poll_timeout().is_none());
}

#[test]
fn reads_fill_the_link_if_enough_are_under_way() {
    // Ten READs of 10 kB. A READ takes 8.5 us on the wire and a round trip of 10 us.
    let ends = |max_reads: u64| {
        let due = [(0, 10_000); 10];
        let mut pipe = transfers(&RdmaKeys { max_reads, ..read() }, &due);
        pipe.run_clean(NEVER);
        let each = pipe.wire(1_058) * 8 + pipe.wire(1_062) * 2;
        (delivered(&pipe, 9).unwrap(), each, pipe.wire(74))
    };
    let (one, each, request) = ends(1);
    assert_eq!(one, (request + DELAY + each + DELAY) * 10);
    let (many, each, request) = ends(16);
    assert_eq!(many, request + DELAY + each * 10 + DELAY);
}

#[test]
fn a_flow_reads_at_the_rate_of_the_link() {
    let million = RdmaKeys { message: Or::Value(Bytes::new(1_000_000)), ..read() };
    let mut pipe = flow(&million, None, Some(us(4_000)));
    pipe.run_clean(us(4_000));
    // The first data arrives two delays after the first request, which is sent at 3 us.
    let rest = us(4_000) - us(3) - DELAY * 2;
    let most = rest.ps() / pipe.wire(1_058).ps();
    let (_, packets) = came(&pipe);
    assert!(packets + 3 > most && packets <= most, "{packets} of {most}");
}

#[test]
fn what_is_lost_is_asked_for_again() {
    // Packet 5 of 40 is lost. Packet 6 causes a request for 5, and all packets in flight by then are sent twice.
    let mut pipe = transfers(&read(), &[(0, 40_000)]);
    pipe.run(NEVER, losing(&[5]));
    assert_eq!((requests(&pipe), came(&pipe)), (vec![0, 5], (1, 40)));
    let sent = packets(&pipe);
    let again = sent.iter().rposition(|&packet| packet == 5).unwrap();
    assert_eq!(sent[..again], (0..again as u32).collect::<Vec<_>>());
    assert_eq!(sent[again..], (5..40).collect::<Vec<_>>());
    let (pair, first, many) = pipe.far.place_of(0).unwrap();
    assert_eq!(u64::from(pipe.near.served_again(pair, first, many)), pipe.near.counts().retransmitted);
    // The first request or the last packet is lost; only the timer detects this loss.
    for lost in [0, 39] {
        let mut pipe = transfers(&read(), &[(0, 40_000)]);
        if lost == 0 {
            pipe.run(NEVER, losing_of(1, &[0]))
        } else {
            pipe.run(NEVER, losing(&[lost]))
        }
        assert_eq!((requests(&pipe), came(&pipe)), (vec![0, lost as u32], (1, 40)));
        assert_eq!(pipe.far.read_counts(0).unwrap().timeouts, 1);
        assert_eq!(pipe.far.outcomes().unwrap()[0].timeouts, 1);
    }
}

#[test]
fn a_request_behind_a_lost_one_is_answered_with_a_nak() {
    let mut pipe = transfers(&read(), &[(0, 3_000), (0, 3_000), (0, 3_000)]);
    pipe.run(NEVER, losing_of(1, &[1]));
    assert_eq!(requests(&pipe), [0, 3, 6, 3, 6]);
    assert_eq!((came(&pipe), pipe.far.read_counts(0).unwrap().timeouts), ((3, 9), 0));
    let naks = pipe.sent_by(0).iter().filter(|(_, it)| it.kind == FrameKind::Ack).count();
    assert_eq!(naks, 1);
}

#[test]
fn a_requester_that_nobody_answers_is_in_error() {
    let mut pipe = transfers(&RdmaKeys { retries: 2, ..read() }, &[(0, 3_000), (9_000, 10)]);
    pipe.run(NEVER, |end, _| Outcome { lost: end == 0, ..Outcome::default() });
    let counts = pipe.far.read_counts(0).unwrap();
    // The request is sent at once, so the third timeout of 500 us is at 1.5 ms.
    assert_eq!((counts.timeouts, counts.failed), (3, Some(us(1_500))));
    let missing: Vec<u64> = pipe.far.outcomes().unwrap().iter().map(|it| it.missing).collect();
    assert_eq!(missing, [3_000, 10]);
    assert!(!pipe.far.has_work() && pipe.far.poll_timeout().is_none());
}

#[test]
fn a_receiver_that_is_not_ready_is_asked_again_after_the_timer() {
    // The receiver is ready for one message at a time, which takes the application this long. After an RNR NAK the
    // sender waits for the RNR timer.
    for (timer, takes) in [(us(2), us(5)), (us(20), us(5)), (us(7), us(60)), (us(640), us(1))] {
        let own = RdmaKeys { receive_queue: Some(1), receive_time: takes, rnr_timer: timer, ..keys() };
        let mut pipe = transfers(&own, &[(0, 1_000); 20]);
        pipe.run_clean(NEVER);
        let (packet, nak) = (pipe.wire(1_058), pipe.wire(64));
        let (mut arrives, mut refused) = (packet + DELAY, 0);
        let mut done = arrives + takes;
        for nth in 1..20 {
            arrives += packet;
            while arrives < done {
                refused += 1;
                arrives = arrives + nak + DELAY + timer + packet + DELAY;
            }
            done = arrives + takes;
            assert_eq!(delivered(&pipe, nth), Some(arrives), "{timer} {takes} {nth}");
        }
        assert_eq!(pipe.far.received_by_all().not_ready, refused);
        assert_eq!((pipe.near.counts().not_ready, pipe.near.counts().timeouts), (refused as u32, 0));
        assert_eq!(came(&pipe), (20, 20));
    }
}

#[test]
fn a_sender_gives_up_after_its_retries() {
    for (rnr_retries, failed) in [(2, true), (7, false)] {
        let own = RdmaKeys {
            receive_queue: Some(1),
            receive_time: us(1_000),
            rnr_timer: us(10),
            rnr_retries,
            ..keys()
        };
        let mut pipe = transfers(&own, &[(0, 1_000), (0, 1_000)]);
        pipe.run_clean(NEVER);
        let pair = pipe.near.queue_pairs().next().unwrap();
        assert_eq!(pair.failed().is_some(), failed);
        assert_eq!(pair.counts.messages, if failed { 1 } else { 2 });
        assert_eq!(pipe.near.outcomes()[1].missing, if failed { 1_000 } else { 0 });
        assert!(failed == (pair.counts.not_ready == 3));
    }
    // With more entries in the receive queue, several messages fit.
    let room = RdmaKeys { receive_queue: Some(4), receive_time: us(1_000), rnr_timer: us(10), ..keys() };
    let mut pipe = transfers(&room, &[(0, 1_000); 4]);
    pipe.run_clean(NEVER);
    assert_eq!((came(&pipe), pipe.far.received_by_all().not_ready), ((4, 4), 0));
}

#[test]
fn what_of_a_receive_queue_cannot_be_meant_is_refused() {
    let selective = RdmaKeys { receive_queue: Some(1), recovery: crate::RdmaRecovery::Selective, ..keys() };
    assert!(selective.carrier(None, 1_522).unwrap_err()[0].to_string().contains("keeps packets"));
    let write = RdmaKeys { verb: RdmaVerb::Write, receive_queue: Some(1), ..keys() };
    let (spec, warnings) = write.carrier(None, 1_522).unwrap();
    assert!(spec.receive_queue.is_none() && warnings[0].to_string().contains("receive_queue"));
    let tight = RdmaKeys { verb: RdmaVerb::Write, mtu: Or::Value(Bytes::new(1_000)), ..keys() };
    assert!(tight.carrier(None, 1_073).is_err() && tight.carrier(None, 1_074).is_ok());
}
