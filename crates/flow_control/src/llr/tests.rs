use super::*;
use std::collections::VecDeque;

fn spec() -> LlrSpec {
    LlrSettings::default().spec()
}

/// Sends frames `1..=count` over a link that damages the transmissions with the listed indices. Every frame is sent
/// before the first response arrives. Returns the frames delivered in order, the NACKs, and the number of duplicates.
fn go_back_n(count: u32, damaged: &[usize], first: u32) -> (Vec<u32>, Vec<u32>, usize) {
    let mut sender = Transmitter::numbering_from(spec(), first);
    let mut receiver = Receiver::expecting(first);
    let (mut delivered, mut nacks, mut duplicates) = (Vec::new(), Vec::new(), 0);
    let mut link: VecDeque<(u32, u32)> =
        (1..=count).map(|frame| (sender.send(1000, frame, Time::ZERO), frame)).collect();
    let mut transmission = 0;
    while !link.is_empty() {
        let mut answers = Vec::new();
        for (sequence, frame) in link.drain(..) {
            let good = !damaged.contains(&transmission);
            transmission += 1;
            let (arrival, nack) = receiver.receive(sequence, good);
            delivered.extend((arrival == Arrival::Expected).then_some(frame));
            duplicates += usize::from(arrival == Arrival::Duplicate);
            answers.extend(nack);
        }
        for nack in answers {
            nacks.push(distance(first, nack + 1));
            assert_eq!(sender.refuse(nack, Time::ZERO), Some(Outcome::Replay));
        }
        while let Some((sequence, entry)) = sender.next_replay(Time::ZERO) {
            link.push_back((sequence, entry.item));
        }
    }
    if receiver.ack_due(Time::ZERO, Time::ZERO).is_some() {
        let ack = receiver.acknowledge(Time::ZERO);
        assert!(sender.acknowledge(ack, Time::ZERO).is_some());
    }
    assert_eq!(sender.outstanding().len(), 0, "all frames are acknowledged at the end");
    (delivered, nacks, duplicates)
}

#[test]
fn golden_vector_11() {
    // Frames 1 to 6, the third of which is damaged: 1 and 2 are delivered, then 3 to 6 after the replay; one NACK(2),
    // no duplicates.
    assert_eq!(go_back_n(6, &[2], 0), (vec![1, 2, 3, 4, 5, 6], vec![2], 0));
    // The sequence numbers wrap in the middle.
    assert_eq!(go_back_n(6, &[2], SEQUENCES - 2), (vec![1, 2, 3, 4, 5, 6], vec![2], 0));
    // The first frame of the replay is damaged, too: NACK(2) again.
    assert_eq!(go_back_n(6, &[2, 6], 0), (vec![1, 2, 3, 4, 5, 6], vec![2, 2], 0));
    // Only the last frame is damaged; and two frames of one window, the second of which is discarded in any case.
    assert_eq!(go_back_n(6, &[5], 0), (vec![1, 2, 3, 4, 5, 6], vec![5], 0));
    assert_eq!(go_back_n(6, &[1, 3], 0), (vec![1, 2, 3, 4, 5, 6], vec![1], 0));
    // The second frame of the replay is damaged.
    assert_eq!(go_back_n(4, &[0, 5], 0), (vec![1, 2, 3, 4], vec![0, 1], 0));
}

#[test]
fn a_lost_nack_and_a_lost_ack_are_repaired_by_the_timer() {
    let us = Time::from_us;
    let (mut sender, mut receiver) = (Transmitter::new(spec()), Receiver::default());
    let first = sender.send(1000, 'a', us(1));
    assert_eq!(sender.timer(), Some(us(11)));
    // The NACK of this frame is lost.
    assert_eq!(receiver.receive(first, false), (Arrival::Damaged, Some(SEQUENCES - 1)));
    assert_eq!(sender.expire(us(10)), Outcome::Nothing);
    assert_eq!(sender.expire(us(11)), Outcome::Replay);
    assert!(sender.is_blocked() && sender.timer().is_none());
    let (sequence, entry) = sender.next_replay(us(12)).unwrap();
    assert_eq!((sequence, entry.item, entry.sent), (0, 'a', us(1)));
    assert!(sender.next_replay(us(12)).is_none());
    // The ACK of this frame is lost; its duplicate is acknowledged again.
    assert_eq!(receiver.receive(0, true), (Arrival::Expected, None));
    receiver.acknowledge(us(13));
    assert_eq!(sender.expire(us(22)), Outcome::Replay);
    sender.next_replay(us(22));
    assert_eq!(receiver.receive(0, true), (Arrival::Duplicate, None));
    assert_eq!(receiver.ack_due(us(5), us(14)), Some(us(18)), "acknowledgements keep the spacing");
    let ack = receiver.acknowledge(us(23));
    assert_eq!((sender.acknowledge(ack, us(24)), sender.timer()), (Some(1), None));
}

#[test]
fn limits_of_outstanding_frames_and_bytes_block() {
    let spec = LlrSpec { outstanding_frames_max: 2, outstanding_bytes_max: 2500, ..spec() };
    let mut sender = Transmitter::new(spec);
    sender.send(1000, (), Time::ZERO);
    assert!(!sender.is_blocked());
    sender.send(1000, (), Time::ZERO);
    assert!(sender.is_full() && sender.is_blocked());
    assert_eq!(sender.acknowledge(0, Time::ZERO), Some(1));
    assert_eq!(sender.acknowledge(0, Time::ZERO), Some(0), "an old ACK frees nothing");
    assert_eq!(sender.acknowledge(2, Time::ZERO), None, "a number that was never sent");
    sender.send(1500, (), Time::ZERO);
    assert_eq!((sender.acknowledge(1, Time::ZERO), sender.is_blocked()), (Some(1), false));
    sender.send(1000, (), Time::ZERO);
    assert!(sender.is_full(), "2500 B are outstanding");
}

#[test]
fn too_many_replays_and_too_old_frames_flush() {
    let spec = LlrSpec { replay_count_max: 1, data_age_timeout: Time::from_us(50), ..spec() };
    let mut sender = Transmitter::new(spec);
    for at in 0..3 {
        sender.send(1000, at, Time::ZERO);
    }
    assert_eq!(sender.refuse(SEQUENCES - 1, Time::from_us(1)), Some(Outcome::Replay));
    assert_eq!(
        sender.refuse(0, Time::from_us(2)),
        Some(Outcome::Replay),
        "a frame was acknowledged in between"
    );
    assert_eq!(sender.refuse(0, Time::from_us(3)), Some(Outcome::Flush));
    assert_eq!(sender.flush().map(|entry| entry.item).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(sender.action(), Some(FrameAction::BestEffort));
    sender.initialise();
    assert!(sender.is_initialising());
    sender.initialised();
    assert_eq!(sender.send(1000, 9, Time::from_us(10)), 0, "sequence numbers restart at 0");
    assert_eq!(sender.timer(), Some(Time::from_us(20)));
    while sender.next_replay(Time::from_us(20)).is_some() {}
    let endless = LlrSpec { replay_count_max: ENDLESS, replay_timer_max: Time::ZERO, ..spec };
    let mut sender = Transmitter::new(endless);
    sender.send(1000, 0, Time::ZERO);
    for at in 1..1000 {
        assert_eq!(sender.refuse(SEQUENCES - 1, Time::from_ns(at)), Some(Outcome::Replay));
    }
    assert_eq!(sender.timer(), Some(Time::from_us(50)));
    assert_eq!(sender.expire(Time::from_us(50)), Outcome::Flush);
}

#[test]
fn an_ack_during_a_replay_skips_what_it_frees() {
    let mut sender = Transmitter::new(spec());
    for at in 0..5 {
        sender.send(1000, at, Time::ZERO);
    }
    assert_eq!(sender.refuse(0, Time::ZERO), Some(Outcome::Replay));
    assert_eq!(sender.next_replay(Time::ZERO).map(|(sequence, _)| sequence), Some(1));
    assert_eq!(sender.acknowledge(3, Time::ZERO), Some(3));
    assert_eq!(sender.next_replay(Time::ZERO).map(|(sequence, _)| sequence), Some(4));
    assert!(!sender.is_replaying());
    // All frames to repeat are acknowledged.
    assert_eq!(sender.refuse(3, Time::ZERO), Some(Outcome::Replay));
    assert_eq!((sender.acknowledge(4, Time::ZERO), sender.is_replaying()), (Some(1), false));
}

#[test]
fn values_out_of_range_are_refused() {
    let wrong = |keys: LlrSettings| Llr::On(keys).spec().unwrap_err()[0].message.clone();
    let none = LlrSettings::default;
    assert_eq!(Llr::On(none()).spec(), Ok(Some(spec())));
    assert_eq!(
        wrong(LlrSettings { outstanding_frames_max: Some(524_289), ..none() }),
        "outstanding_frames_max is 524289"
    );
    assert_eq!(wrong(LlrSettings { replay_count_max: Some(256), ..none() }), "replay_count_max is 256");
    assert_eq!(
        wrong(LlrSettings { ctlos_target_spacing: Some(Bytes::new(399)), ..none() }),
        "ctlos_target_spacing is 399 B"
    );
    assert_eq!(wrong(LlrSettings { priorities: Some(vec![1, 8]), ..none() }), "priorities is 8");
    assert_eq!(wrong(LlrSettings { priorities: Some(Vec::new()), ..none() }), "priorities is empty");
    let mut filled = Llr::On(LlrSettings { replay_count_max: Some(3), ..none() });
    filled.fill();
    assert_eq!(filled.spec().map(|spec| spec.map(|it| it.replay_count_max)), Ok(Some(3)));
    let again = filled.clone();
    filled.fill();
    assert_eq!(filled, again, "filling in is idempotent");
}
