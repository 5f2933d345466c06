//! The watchdog: connects its state machine (`flow_control::watchdog`) to the queues of a port.

use engine::Timer;
use flow_control::watchdog::{QueueWatch, WatchdogSpec};
use frame::{PRIORITIES, TrafficClass};
use units::Time;

/// The watchdog of a switch port.
#[derive(Debug)]
pub(crate) struct PortWatch {
    pub spec: WatchdogSpec,
    pub(in crate::run) queues: [QueueWatch; PRIORITIES],
    /// Timer of the next check of any queue.
    pub(in crate::run) look: Timer,
    /// Classes whose frames are dropped, bit n for class n. `forwarding` holds those whose pauses are ignored.
    pub(in crate::run) dropping: u32,
    pub(in crate::run) forwarding: u32,
    pub storms: Vec<Storm>,
}

/// A storm that was detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm {
    pub class: u8,
    pub began: Time,
    pub detected: Time,
    pub over: Option<Time>,
    pub frames_dropped: u64,
    pub bytes_dropped: u64,
}

impl PortWatch {
    pub fn new(spec: WatchdogSpec) -> PortWatch {
        PortWatch {
            spec,
            queues: [QueueWatch::default(); PRIORITIES],
            look: Timer::IDLE,
            dropping: 0,
            forwarding: 0,
            storms: Vec::new(),
        }
    }
    /// Returns the classes that count as stopped, if pauses stop `paused`. A queue whose frames are dropped is empty
    /// and does not accept frames.
    pub fn stopped(&self, paused: u32) -> u32 {
        (paused | self.dropping) & !self.forwarding
    }
    /// Records that these classes are not paused now.
    pub fn free(&mut self, classes: u32) {
        for (class, queue) in self.queues.iter_mut().enumerate() {
            if classes >> class & 1 != 0 {
                queue.free();
            }
        }
    }
    pub fn drops(&self, class: TrafficClass) -> bool {
        self.dropping >> class.0 & 1 != 0
    }
    /// Counts a frame that is dropped because of a storm.
    pub(in crate::run) fn count(&mut self, class: TrafficClass, bytes: u16) {
        if let Some(storm) = self.storms.iter_mut().rev().find(|storm| storm.class == class.0) {
            storm.frames_dropped += 1;
            storm.bytes_dropped += u64::from(bytes);
        }
    }
    /// Arms the timer of checks for this time. Returns true if an event has to be scheduled, because none is pending
    /// that early.
    pub(in crate::run) fn arm(&mut self, at: Time) -> bool {
        at < self.look.due() && self.look.arm(at)
    }
}
