//! Ideal duration of a transfer over TCP on a path without other traffic, to the picosecond.
//!
//! The two ends of a fresh connection run over the idle path and the idle return path, including handshake and slow
//! start, but without the random delay of `send_jitter`. A connection that has carried transfers before, and keeps its
//! path state, has no handshake and at best a window that limits nothing: such a transfer is compared with this case.
//! Once the sender has had data for the NIC at every instant of a whole round trip, it has data until the end: without
//! losses its window does not shrink, and the rest follows back to back. (A timeout shorter than the round trip is a
//! loss to the sender: the connection is then simulated to its end.)
//!
//! Not modelled: the exceptions of the idle path; marks.

use super::idle::IdlePath;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use transport::{Protocol, Received, TcpReceiver, TcpSender, TcpSpec, TransferSpec};
use units::Time;
use workload::Framing;

/// A connection without other traffic on its path.
pub(super) struct IdleConnection {
    spec: TcpSpec,
    there: IdlePath,
    back: IdlePath,
    /// Known durations, by bytes and by reuse of the connection.
    known: BTreeMap<(u64, bool), Time>,
}

/// One end of the connection.
struct End<P> {
    endpoint: P,
    way_out: IdlePath,
    /// Frames in flight to this end, with their arrival times.
    arriving: VecDeque<(Time, Received)>,
}

impl<P: Protocol> End<P> {
    /// Time of the next event at this end.
    fn next(&self, now: Time) -> Time {
        let arrives = self.arriving.front().map(|&(at, _)| at);
        let leaves = self.endpoint.has_work().then(|| now.max(self.way_out.began()));
        [arrives, self.endpoint.poll_timeout(), leaves].into_iter().flatten().min().unwrap_or(Time::NEVER)
    }

    /// Handles arrivals and timeouts due at this time, without sending.
    fn handle(&mut self, now: Time) {
        while let Some(&(at, received)) = self.arriving.front()
            && at <= now
        {
            self.arriving.pop_front();
            self.endpoint.handle_frame(now, &received);
        }
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        while self.endpoint.poll_record().is_some() {}
    }

    /// Sends a frame now, if one can leave, and returns its arrival: a NIC accepts a frame when the previous one starts
    /// to leave.
    fn leave(&mut self, now: Time) -> Option<(Time, Received)> {
        if self.way_out.began() > now {
            return None;
        }
        let segment = self.endpoint.poll_transmit(now)?;
        Some((self.way_out.send(now, segment.bytes), Received { created: now, ..Received::from(&segment) }))
    }
}

impl IdleConnection {
    pub fn new(spec: &TcpSpec, there: IdlePath, back: IdlePath) -> IdleConnection {
        let spec = TcpSpec { jitter: Time::ZERO, ..spec.clone() };
        IdleConnection { spec, there, back, known: BTreeMap::new() }
    }

    /// Time of a transfer of `bytes` until its last byte is delivered, over a new connection or a reused one.
    pub fn time(&mut self, framing: Framing, bytes: u64, reused: bool) -> Time {
        if let Some(&known) = self.known.get(&(bytes, reused)) {
            return known;
        }
        let time = self.run(framing, bytes, reused);
        self.known.insert((bytes, reused), time);
        time
    }

    fn run(&self, framing: Framing, bytes: u64, reused: bool) -> Time {
        let transfers = TransferSpec { size: None, total: Some(bytes), ..self.spec.transfers };
        let mut spec = TcpSpec { transfers, ..self.spec.clone() };
        if reused {
            (spec.handshake, spec.controller) = (false, spec.controller.grown());
        }
        let spec = Arc::new(spec);
        // The stream is not used for any draw.
        let rng: Xoshiro256PlusPlus = engine::stream(0, "");
        let mut near = End {
            endpoint: TcpSender::new(&spec, Time::ZERO, None, rng),
            way_out: self.there.clone(),
            arriving: VecDeque::new(),
        };
        let mut far =
            End { endpoint: TcpReceiver::new(&spec), way_out: self.back.clone(), arriving: VecDeque::new() };
        let mut now = Time::ZERO;
        // Bytes that had been sent when the NIC last had to wait.
        let mut waited = 0;
        while far.endpoint.delivered() < bytes {
            now = near.next(now).min(far.next(now));
            // In the order of a port: departures first, then arrivals, then the departures that these trigger.
            exchange(&mut near, &mut far, now);
            near.handle(now);
            far.handle(now);
            if near.way_out.began() < now {
                waited = near.endpoint.sent();
            }
            if near.endpoint.acknowledged() > waited
                && near.endpoint.has_work()
                && near.endpoint.timeouts() == 0
            {
                return near.way_out.follow(framing, bytes - near.endpoint.sent());
            }
            exchange(&mut near, &mut far, now);
        }
        now
    }
}

/// Sends the frames that can leave now at both ends.
fn exchange(near: &mut End<TcpSender>, far: &mut End<TcpReceiver>, now: Time) {
    far.arriving.extend(std::iter::from_fn(|| near.leave(now)));
    near.arriving.extend(std::iter::from_fn(|| far.leave(now)));
}
