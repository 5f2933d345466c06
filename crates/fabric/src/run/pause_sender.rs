//! The part of a node that sends pauses: its watermarks, its counters, and the note that says why a pause was sent.

use engine::{Stream, Timer};
use flow_control::pfc::Levels;
use flow_control::tpfc::EgressCounter;
use flow_control::{Accounting, PauseKind, PauseSpec};
use units::{Amount, Time};

/// The part of a switch that sends pauses.
#[derive(Debug)]
pub(crate) struct PauseSender {
    pub spec: PauseSpec,
    pub first_port: u32,
    /// Watermarks of each port.
    pub levels: Vec<Levels>,
    /// For each port, when a pause sent through it has to be renewed.
    pub timing: Vec<PauseTiming>,
    /// By port and class; empty with ingress accounting.
    pub egress: Vec<EgressCounter>,
    /// With egress accounting, by port and class: how many queues keep that port paused.
    pub pause_counts: Vec<u32>,
    /// By port: when the next pause has to be renewed.
    pub renewals: Vec<Timer>,
    /// Draws for random sampling.
    pub random: Stream,
    /// Scratch.
    pub ports: Vec<u32>,
}

/// See [`PauseSender::timing`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PauseTiming {
    pub renew_after: Time,
}

/// Why a pause was sent, packed into the pause frame's 64-bit note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseCause {
    /// The target watermark, not the high one.
    pub targeted: bool,
    /// The queue's own port has been paused while the counter rose from its low watermark: the pause is a
    /// consequence of that one.
    pub inherited: bool,
    /// The link of the queue was down.
    pub down: bool,
    /// The egress queue that the frame was for which crossed the watermark;
    /// [`NIL`](crate::run::pool::NIL) for a renewal with ingress accounting, which no single frame caused.
    pub queue: u32,
    /// Occupancy at that moment, in the unit of the watermark.
    pub occupancy: u64,
}

impl PauseCause {
    const OCCUPANCY_BITS: u32 = 29;

    pub fn pack(self) -> u64 {
        let occupancy = self.occupancy.min((1 << Self::OCCUPANCY_BITS) - 1);
        let flags =
            u64::from(self.targeted) << 63 | u64::from(self.inherited) << 62 | u64::from(self.down) << 61;
        flags | u64::from(self.queue) << Self::OCCUPANCY_BITS | occupancy
    }
    pub fn unpack(note: u64) -> PauseCause {
        PauseCause {
            targeted: note >> 63 != 0,
            inherited: note >> 62 & 1 != 0,
            down: note >> 61 & 1 != 0,
            queue: (note >> Self::OCCUPANCY_BITS) as u32,
            occupancy: note & ((1 << Self::OCCUPANCY_BITS) - 1),
        }
    }
}

impl PauseSender {
    /// The counter of a priority: PAUSE has one for all, PFC one each; `None` if it is not controlled.
    pub fn group(&self, priority: u8) -> Option<usize> {
        self.spec.kind.group(priority)
    }
    /// The priorities that a counter pauses.
    pub fn bits(&self, group: usize) -> u8 {
        match self.spec.kind {
            PauseKind::Link => 0xFF,
            PauseKind::Priorities(_) => 1 << group,
        }
    }
    /// The priorities that pausing is enabled for.
    pub fn controlled(&self) -> u8 {
        self.spec.kind.priorities()
    }
    /// Its number at the node.
    pub fn local(&self, port: u32) -> usize {
        (port - self.first_port) as usize
    }
    /// Whether what came in through ports is counted, not what waits in queues.
    pub fn by_ingress(&self) -> bool {
        self.spec.accounting == Accounting::Ingress
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        let egress = self.egress.iter().map(|counter| size_of::<EgressCounter>() + counter.memory_bytes());
        size_of::<PauseSender>()
            + self.levels.len() * (size_of::<Levels>() + size_of::<PauseTiming>() + size_of::<Timer>())
            + egress.sum::<usize>()
            + (self.pause_counts.len() + self.ports.capacity()) * size_of::<u32>()
    }
}

/// The levels that a watermark is drawn at, for reports.
pub(crate) fn unit_of(mark: Amount) -> (&'static str, u64) {
    match mark {
        Amount::Bytes(bytes) => ("B", bytes),
        Amount::Frames(frames) => ("frames", frames),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::pool::NIL;

    #[test]
    fn a_cause_survives_its_note() {
        for flags in 0..8 {
            let [targeted, inherited, down] = [1, 2, 4].map(|bit| flags & bit != 0);
            for (queue, occupancy) in [(u32::MAX - 5, (1 << 29) - 1), (NIL, 0), (0, 7)] {
                let cause = PauseCause { targeted, inherited, down, queue, occupancy };
                assert_eq!(PauseCause::unpack(cause.pack()), cause);
            }
        }
    }
}
