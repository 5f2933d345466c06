//! A simple port for tests: queues and a link.

use crate::{Discipline, PortFacts};
use std::collections::VecDeque;
use units::{BitRate, Time};

/// Returns a port of 10 Gb/s with frames of 64 to 1522 B.
pub(crate) fn port(queues: u32) -> PortFacts {
    PortFacts { queues, ..PortFacts::ethernet(BitRate::from_gbps(10)) }
}

/// Serves a frame from `sent` to `completed` in one call.
pub(crate) trait Serve: Discipline {
    fn serve(&mut self, queue: u32, bytes: u32, next: Option<u32>, now: Time) {
        self.sent(queue, bytes, now);
        self.completed(queue, next, now);
    }
}
impl<D: Discipline> Serve for D {}

/// Returns the queues in the order in which they are served, for frames that are all present at time zero. Time does
/// not advance.
pub(crate) fn order_of(scheduler: &mut impl Discipline, queues: &[Vec<u32>]) -> Vec<u32> {
    let now = Time::ZERO;
    let mut left: Vec<VecDeque<u32>> = queues.iter().map(|queue| queue.iter().copied().collect()).collect();
    for (queue, frames) in (0..).zip(&left) {
        frames.iter().for_each(|&bytes| scheduler.arrive(queue, bytes, now));
        if let Some(&head) = frames.front() {
            scheduler.activate(queue, head, now);
        }
    }
    let mut order = Vec::new();
    while let Some(queue) = scheduler.pick(now) {
        let frames = &mut left[queue as usize];
        let bytes = frames.pop_front().expect("an empty queue was picked");
        scheduler.serve(queue, bytes, frames.front().copied(), now);
        order.push(queue);
    }
    assert!(left.iter().all(VecDeque::is_empty), "frames were left");
    order
}

/// Returns the number of frames that each queue sent until `end`. Queues with a frame size always have frames.
pub(crate) fn saturate<const N: usize>(
    scheduler: &mut impl Discipline,
    port: &PortFacts,
    sizes: &[u32; N],
    end: Time,
) -> [u64; N] {
    let mut sent = [0; N];
    let mut now = Time::ZERO;
    for (queue, &bytes) in (0..).zip(sizes) {
        if bytes > 0 {
            scheduler.deactivate(queue, now);
            scheduler.arrive(queue, bytes, now);
            scheduler.activate(queue, bytes, now);
        }
    }
    while now < end {
        let queue = scheduler.pick(now).expect("all are active");
        let bytes = sizes[queue as usize];
        scheduler.arrive(queue, bytes, now);
        scheduler.sent(queue, bytes, now);
        sent[queue as usize] += 1;
        now += port.wire_time(bytes);
        scheduler.completed(queue, Some(bytes), now);
    }
    sent
}

/// Returns the departure time of each frame's last bit, for arrivals (time, queue, bytes) in order of time.
pub(crate) fn finish_times(
    scheduler: &mut impl Discipline,
    port: &PortFacts,
    arrivals: &[(Time, u32, u32)],
) -> Vec<Time> {
    let mut finished = vec![Time::NEVER; arrivals.len()];
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); port.queues as usize];
    let (mut now, mut next, mut waiting) = (Time::ZERO, 0, 0);
    let mut in_service = None;
    loop {
        while next < arrivals.len() && arrivals[next].0 <= now {
            let (at, queue, bytes) = arrivals[next];
            scheduler.arrive(queue, bytes, at);
            queues[queue as usize].push_back(next);
            if queues[queue as usize].len() == 1 && in_service != Some(queue) {
                scheduler.activate(queue, bytes, at);
            }
            next += 1;
            waiting += 1;
        }
        if let Some(queue) = in_service.take() {
            let head = queues[queue as usize].front();
            scheduler.completed(queue, head.map(|&frame| arrivals[frame].2), now);
        }
        if let Some(queue) = scheduler.pick(now) {
            let frames = &mut queues[queue as usize];
            let frame = frames.pop_front().expect("an empty queue was picked");
            let bytes = arrivals[frame].2;
            scheduler.sent(queue, bytes, now);
            in_service = Some(queue);
            now += port.wire_time(bytes);
            finished[frame] = now;
            waiting -= 1;
            // Arrivals during the transmission are delivered at their own times.
            continue;
        }
        let arrival = arrivals.get(next).map(|arrival| arrival.0);
        if waiting == 0 {
            let Some(at) = arrival else { return finished };
            scheduler.idle(now);
            now = now.max(at);
        } else {
            let woken = scheduler.wake(now).expect("frames wait, but there is no wake-up time");
            assert!(woken > now, "the wake-up time {woken} is not after {now}");
            now = arrival.map_or(woken, |at| at.min(woken)).max(now);
        }
    }
}
