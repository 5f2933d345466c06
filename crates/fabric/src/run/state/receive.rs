//! Hosts that take time to process received and sent frames, and send pauses when their buffers fill.
//!
//! A port of such a host has a buffer for each priority, or a single one if PAUSE stops all priorities together:
//! priorities that share a pause share the memory that it protects. Cores remove the frames, each core those of its
//! flows in order of arrival, regardless of priority; each takes `time_per_frame + bytes / rate`. A hash of the flow
//! selects the core. A frame occupies the buffer until its processing ends, and its latency includes this time. With
//! PAUSE or PFC, the NIC sends XOFF and XON by the ingress counters of a switch: XOFF at the buffer less the headroom
//! of the link, XON at half of XOFF. Otherwise, a frame that does not fit is lost.
//!
//! A host can also take time for sent frames (`send`): before a frame enters the NIC, the core of its flow processes
//! it, in turn with the frames that this core receives. Cores and NIC together hold at most as many frames of endpoints
//! per class as there are cores. A source that blocks counts frames in the cores as queued in the NIC. Cores that a
//! script stops do not send either. A script of `send` changes the cost of frames started from then on.
//!
//! A core without work sleeps. An interrupt wakes it when the first frame has waited for `interrupt_delay`, or when
//! `interrupt_frames` are queued. The interrupt takes `interrupt_time`; the core then processes frames until none is
//! left. A frame to be sent wakes the core immediately, without an interrupt.
//!
//! A host with limiters of path rate control by "messages" (method 2 of McAlpine 2005) is also a congestion point: a
//! frame that arrives at a filled receive buffer, or does not fit, may cause a message to its source, as at a queue of
//! a switch.
//!
//! Source: Hagen 2012 §5.3 to 5.5 (a slow receiver, and pauses of its NIC); J. C. Mogul and K. K. Ramakrishnan,
//! "Eliminating Receive Livelock in an Interrupt-Driven Kernel", ACM TOCS 15(3), 1997 (interrupts that only start
//! polling). The hash replaces that of receive-side scaling.
//!
//! Not modelled: copies through several buffers, other work of the cores, a core that several ports share; a budget of
//! frames after which a polling core does other work; a flow that moves to an idle core. The ideal time of a transfer
//! assumes no interrupts, and one core for each direction.

use crate::run::state::pool::{List, Pool, Waiting};
use crate::spec::routing::{mix_in, scale};
use crate::spec::{CoreChange, InterruptSpec, ReceiveSpec, SendSpec};
use engine::Stream;
use flow_control::pfc::Levels;
use frame::{CHANNELS, ClassMap, Frame, NodeId, Occupancy, PathId, PointId, Priority, TrafficClass};
use queueing::PathPoint;
use units::{Amount, BitRate, Time, WireClock};

/// Frames that have arrived at a port of a host and are not processed yet, and frames to be sent that are not processed
/// yet.
#[derive(Debug)]
pub(crate) struct Receiving {
    time_per_frame: Time,
    /// Processing time of a frame that is sent; `None`: sending takes no time.
    pub(in crate::run) time_per_sent: Option<Time>,
    pub(in crate::run) interrupt: InterruptSpec,
    pub(in crate::run) buffer: Option<u64>,
    pub(in crate::run) reading: bool,
    pub(in crate::run) cores: Box<[Core]>,
    /// Occupancy by group of priorities that share a buffer.
    pub(in crate::run) occupancy: [Occupancy; CHANNELS],
    /// Occupancy by traffic class of frames on their way to the NIC.
    pub(in crate::run) prepared: [Occupancy; CHANNELS],
    /// Groups of priorities that share a buffer: all priorities with PAUSE, those of a channel with credits.
    groups: ClassMap,
    /// Congestion point of the receive buffer, if the host sends messages about it.
    pub point: Option<Box<ReceiverPoint>>,
}

/// Congestion point of a receive buffer.
#[derive(Debug)]
pub(crate) struct ReceiverPoint {
    pub manager: PathPoint,
    pub random: Stream,
    /// Its identifier in messages.
    pub point: PointId,
    /// Priorities whose frames may cause messages, bit n for priority n. `message_priority` is the priority of the
    /// messages.
    pub priorities: u8,
    pub message_priority: Priority,
}

/// A core that processes frames. Sent frames have no ingress port.
#[derive(Debug)]
pub(in crate::run) struct Core {
    clock: Option<WireClock>,
    sends_at: Option<WireClock>,
    pub(in crate::run) busy_until: Time,
    /// Processing time of the current frame.
    pub(in crate::run) takes: Time,
    /// The frame being processed.
    pub(in crate::run) serving: Option<Waiting>,
    pub(in crate::run) waiting: List,
    /// Number of frames in that list.
    pub(in crate::run) count: u32,
    /// Time of the interrupt that ends its sleep; [`Time::NEVER`] if none is due; `None` if the core is awake.
    pub(in crate::run) sleeps_until: Option<Time>,
}

impl Core {
    fn new(rate: Option<BitRate>, sends_at: Option<BitRate>) -> Core {
        Core {
            clock: rate.map(WireClock::new),
            sends_at: sends_at.map(WireClock::new),
            busy_until: Time::ZERO,
            takes: Time::ZERO,
            serving: None,
            waiting: List::EMPTY,
            count: 0,
            sleeps_until: Some(Time::NEVER),
        }
    }

    /// Returns the duration of the interrupt that wakes this core now; zero if it is awake. Otherwise the error holds
    /// the time of the interrupt, if that is newly scheduled.
    pub(in crate::run) fn wake(
        &mut self,
        now: Time,
        interrupt: &InterruptSpec,
    ) -> Result<Time, Option<Time>> {
        let Some(until) = self.sleeps_until else { return Ok(Time::ZERO) };
        let enough = interrupt.frames.is_some_and(|frames| self.count >= frames);
        let due = if until == Time::NEVER { now.saturating_add(interrupt.delay) } else { until };
        if enough || due <= now {
            self.sleeps_until = None;
            return Ok(interrupt.time);
        }
        self.sleeps_until = Some(due);
        Err((until == Time::NEVER).then_some(due))
    }

    /// Starts processing the next frame. Returns the end of the processing.
    pub(in crate::run) fn begin(
        &mut self,
        waiting: Waiting,
        after: Time,
        per_frame: Time,
        now: Time,
    ) -> Time {
        self.count -= 1;
        let clock = if is_sent(&waiting) { &mut self.sends_at } else { &mut self.clock };
        let for_bytes = clock.as_mut().map_or(Time::ZERO, |clock| {
            if self.busy_until < now {
                clock.restart();
            }
            clock.advance(u64::from(waiting.frame.bytes))
        });
        self.takes = after + per_frame + for_bytes;
        self.busy_until = now + self.takes;
        self.serving = Some(waiting);
        self.busy_until
    }
}

pub(in crate::run) fn is_sent(waiting: &Waiting) -> bool {
    waiting.across.is_none()
}

/// Returns the watermarks of a NIC with this buffer if its link needs `headroom`.
pub(crate) fn levels(buffer: u64, headroom: u64) -> Levels {
    let xoff = buffer.saturating_sub(headroom).max(1);
    Levels { xoff: Amount::Bytes(xoff), xon: Amount::Bytes(xoff / 2), capacity: Amount::Bytes(buffer) }
}

impl Receiving {
    /// Creates the state of a port. `groups` maps priorities to buffers.
    pub fn new(spec: &ReceiveSpec, send: Option<&SendSpec>, groups: ClassMap) -> Receiving {
        let sends_at = send.and_then(|send| send.rate);
        Receiving {
            time_per_frame: spec.time_per_frame,
            time_per_sent: send.map(|send| send.time_per_frame),
            interrupt: spec.interrupt,
            buffer: spec.buffer,
            reading: true,
            cores: (0..spec.cores).map(|_| Core::new(spec.rate, sends_at)).collect(),
            occupancy: [Occupancy::default(); CHANNELS],
            prepared: [Occupancy::default(); CHANNELS],
            groups,
            point: None,
        }
    }

    /// The buffer of a priority.
    pub fn group(&self, priority: Priority) -> usize {
        self.groups.class(priority).at()
    }

    /// The core of the flow on this path.
    pub(in crate::run) fn core_of(&self, path: PathId) -> usize {
        scale(mix_in(u64::from(path.0), NodeId(0)), self.cores.len())
    }

    /// Returns the per-frame part of the processing time.
    pub(in crate::run) fn time_for(&self, waiting: &Waiting) -> Time {
        if is_sent(waiting) { self.time_per_sent.unwrap_or_default() } else { self.time_per_frame }
    }

    pub(in crate::run) fn all<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Waiting> {
        self.cores.iter().flat_map(|core| core.serving.iter().chain(pool.iter(&core.waiting)))
    }

    /// The frames that cores hold on their way to the NIC.
    pub fn preparing<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> {
        self.all(pool).filter(|waiting| is_sent(waiting)).map(|waiting| &waiting.frame)
    }

    /// The frames in the buffer, including those being processed.
    pub fn arrived<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Waiting> {
        self.all(pool).filter(|waiting| !is_sent(waiting))
    }

    /// Occupancy of the frames that cores hold on their way to a class of the NIC.
    pub fn prepared(&self, class: TrafficClass) -> Occupancy {
        self.prepared[class.at()]
    }

    /// Number of frames held by the cores, in either direction.
    pub fn frames(&self) -> u64 {
        self.occupancy.iter().chain(&self.prepared).map(|occupancy| occupancy.frames).sum()
    }

    /// Returns the frames that `frames` counts.
    pub fn all_frames<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> {
        self.all(pool).map(|waiting| &waiting.frame)
    }

    /// Returns the number of those frames that are in the pool.
    pub fn frames_in_pool(&self) -> u64 {
        self.cores.iter().map(|core| u64::from(core.count)).sum()
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.cores)
    }

    pub(in crate::run) fn change(&mut self, change: CoreChange) {
        match change {
            CoreChange::Stop => self.reading = false,
            CoreChange::Start { time_per_frame, rate } => {
                self.reading = true;
                self.time_per_frame = time_per_frame.unwrap_or(self.time_per_frame);
                for core in &mut self.cores {
                    core.clock = rate.map(WireClock::new).or(core.clock);
                }
            }
            CoreChange::Send { time_per_frame, rate } => {
                self.time_per_sent = time_per_frame.or(self.time_per_sent);
                for core in &mut self.cores {
                    core.sends_at = rate.map(WireClock::new).or(core.sends_at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoff_leaves_the_headroom_and_xon_is_half_of_it() {
        let levels = levels(256 * 1024, 10_000);
        assert_eq!(levels.xoff, Amount::Bytes(252_144));
        assert_eq!(levels.xon, Amount::Bytes(126_072));
        assert_eq!(levels.capacity, Amount::Bytes(262_144));
    }
}
