//! Tests losses of control packets alone: one packet of each kind, and random ones.

use super::recovery::any_keys;
use super::*;
use crate::uet::{MrcKeys, UetControl, UetFacts};

/// Kinds of packets other than whole data packets.
const KINDS: [&str; 8] = ["ack", "nack", "grant", "request", "probe", "answer", "trimmed", "none"];

/// Returns the kind of a packet.
fn kind(segment: &Segment, trimmed: bool) -> &'static str {
    if segment.kind == FrameKind::Data {
        return if trimmed { "trimmed" } else { "data" };
    }
    match header(segment).packet {
        UetPacket::Ack => "ack",
        UetPacket::Nack(_) => "nack",
        UetPacket::ProbeAck => "answer",
        UetPacket::Control(7) => "grant",
        UetPacket::Control(8) => "request",
        UetPacket::Control(6) => "probe",
        UetPacket::Control(_) | UetPacket::Request => "other",
    }
}

/// Generates the keys of [`any_keys`], or Multipath Reliable Connection.
fn any_spec() -> impl Strategy<Value = Arc<UetSpec>> {
    let mrc = (any::<bool>(), prop::sample::select(vec![0u64, 200, 4_000, 16_000])).prop_map(
        |(trimming, every)| {
            let ack_every = if every > 0 { Or::Value(Bytes::new(every)) } else { Or::word() };
            let payload = Or::Value(Bytes::new(1_000));
            let keys = MrcKeys { trimming: Some(trimming), ack_every, payload, ..MrcKeys::default() };
            keys.carrier(1_522).unwrap().0
        },
    );
    prop_oneof![3 => any_keys().prop_map(|keys| spec(&keys)), 1 => mrc]
}

/// Runs transfers. Some data packets arrive trimmed at their first transmission. For every other packet, `loses`
/// decides by its kind and its number among packets of the kind whether it is lost. Returns the wire and the number of
/// lost packets.
fn run(
    spec: &Arc<UetSpec>,
    rows: &[(u64, u64)],
    trims: u64,
    mut loses: impl FnMut(&'static str, usize) -> bool,
) -> (Wire, u64) {
    let facts = facts_of(spec, trims);
    let receiver = UetReceiver::new(spec, rows.len(), &facts);
    let sender = UetSender::new(spec, due(rows), facts, Time::ZERO, None).seeded(trims);
    let mut pipe = Pipe::new(sender, receiver, RATE, DELAY);
    let mut seen = [0; KINDS.len()];
    let mut lost = 0;
    let may_trim = spec.mode != UetMode::Uud;
    pipe.run(us(60_000_000), |_, segment| {
        let packet = header(segment);
        let number = RdmaWord::of(packet.word).number;
        let trimmed = segment.kind == FrameKind::Data
            && !packet.retransmitted
            && trims > 0
            && may_trim
            && draws(u64::from(number) ^ trims).0(8) == 0;
        let kind = kind(segment, trimmed);
        let place = KINDS.iter().position(|&known| known == kind);
        let hit = place.is_some_and(|place| {
            seen[place] += 1;
            loses(kind, seen[place] - 1)
        });
        lost += u64::from(hit);
        Outcome { lost: hit, trimmed, ..Outcome::default() }
    });
    (pipe, lost)
}

fn facts_of(spec: &UetSpec, trims: u64) -> UetFacts {
    spec.facts(RATE, DELAY + DELAY, trims > 0)
}

/// Returns the time at which the last message was delivered.
fn end(pipe: &Wire, transfers: usize) -> Option<Time> {
    (0..transfers).map(|nth| delivered(pipe, nth)).collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn check(pipe: &Wire, rows: &[(u64, u64)]) -> Result<(), TestCaseError> {
    let counts = pipe.near.context().counts;
    let bytes: u64 = rows.iter().map(|row| row.1).sum();
    prop_assert_eq!(pipe.near.context().failed(), None);
    prop_assert_eq!((pipe.far.context(0).unwrap().counts.messages, counts.bytes), (rows.len() as u64, bytes));
    prop_assert_eq!(
        pipe.far.context(0).unwrap().counts.packets,
        rows.iter().map(|row| row.1.div_ceil(1_000)).sum::<u64>()
    );
    prop_assert_eq!((pipe.near.context().bytes_in_flight(), pipe.near.context().outstanding()), (0, 0));
    prop_assert!(pipe.near.poll_timeout().is_none() && !pipe.near.has_work() && !pipe.far.has_work());
    Ok(())
}

proptest! {
    /// Tests the loss of one packet of a kind: messages arrive at most three timeouts later (NDP also loses pulls while
    /// the range of sequence numbers is full), and no more packets expire than were in flight.
    #[test]
    fn one_lost_packet_costs_three_timeouts(
        spec in any_spec(),
        mut rows in prop::collection::vec((0u64..300, 1u64..60_000), 1..4),
        trims in prop::sample::select(vec![0u64, 1, 2, 3, 4, 5]),
        (which, nth) in (prop::sample::select(KINDS.to_vec()), 0usize..20),
    ) {
        rows.sort_unstable();
        let (clean, _) = run(&spec, &rows, trims, |_, _| false);
        check(&clean, &rows)?;
        let (pipe, lost) = run(&spec, &rows, trims, |kind, number| kind == which && number == nth);
        check(&pipe, &rows)?;
        let timeout = spec.timeout_of(&facts_of(&spec, trims));
        let (before, after) = (end(&clean, rows.len()).unwrap(), end(&pipe, rows.len()).unwrap());
        // A window may shrink to one packet, with which each packet takes a round trip.
        let packets = if spec.start(&facts_of(&spec, trims)).window() < u64::MAX { pipe.far.context(0).unwrap().counts.packets } else { 4 };
        let limit = before + timeout * 3 + us(12) * packets;
        prop_assert!(after <= limit, "{after} with the loss, {before} without");
        let (usual, timeouts) = (clean.near.context().counts.timeouts, pipe.near.context().counts.timeouts);
        prop_assert!(timeouts <= usual + 20 * lost, "{timeouts} timeouts with the loss, {usual} without");
    }

    /// Tests that packets of some kinds are lost at random.
    #[test]
    fn all_arrives_whatever_control_packets_are_lost(
        spec in any_spec(),
        mut rows in prop::collection::vec((0u64..300, 1u64..60_000), 1..4),
        trims in prop::sample::select(vec![0u64, 1, 2, 3, 4, 5]),
        (kinds, percent, seed) in (prop::sample::subsequence(KINDS.to_vec(), 1..=7), 1u64..70, any::<u64>()),
    ) {
        rows.sort_unstable();
        let mut draw = draws(seed).0;
        let (pipe, lost) = run(&spec, &rows, trims, |kind, _| kinds.contains(&kind) && draw(100) < percent);
        check(&pipe, &rows)?;
        let (clean, _) = run(&spec, &rows, trims, |_, _| false);
        let (usual, counts) = (clean.near.context().counts.timeouts, pipe.near.context().counts);
        prop_assert!(counts.timeouts <= usual + 20 * lost, "{} timeouts, {lost} lost", counts.timeouts);
    }
}
