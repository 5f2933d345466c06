//! A memory that the queues of a switch share by dynamic thresholds (`queueing::SharedMemory`).
//!
//! A lossy frame is charged to its egress queue, a lossless one to the port and priority that it came in through. The
//! watermarks of a lossless counter are then the threshold, which moves with what is free, and the pool of headroom
//! takes the place of the room above XOFF. Where pauses are counted at the egress, every frame is charged there, and so
//! is, whatever its priority, one that began its way at the switch: no pause could hold it back.

use crate::run::pool::NIL;
use crate::run::world::Fabric;
use flow_control::pfc::Levels;
use frame::{Frame, PRIORITIES, TrafficClass};
use queueing::{Holding, SharedMemory};
use units::{Amount, Time};

/// The shared memory of a switch.
#[derive(Debug)]
pub(crate) struct Sharing {
    pub memory: SharedMemory,
    first_port: u32,
    /// By port, priorities whose frames are charged to where they came in, and whether all of a port together: PAUSE.
    lossless: Vec<u8>,
    together: bool,
    /// By port and traffic class: lossy frames.
    egress: Vec<Holding>,
    /// By port and group of priorities: lossless frames.
    ingress: Vec<Holding>,
}

impl Sharing {
    pub fn new(memory: SharedMemory, first_port: u32, lossless: Vec<u8>, together: bool) -> Sharing {
        let none = vec![Holding::default(); lossless.len() * PRIORITIES];
        Sharing { memory, first_port, lossless, together, egress: none.clone(), ingress: none }
    }

    fn is_lossless(&self, frame: &Frame, ingress: u32) -> bool {
        ingress != NIL && self.lossless[(ingress - self.first_port) as usize] >> frame.priority.0 & 1 != 0
    }

    /// The watermarks of a lossless counter as they are now: reached, or out of reach.
    pub fn levels(&self, local: usize, group: usize) -> Levels {
        let holding = &self.ingress[local * PRIORITIES + group];
        let never = Amount::Bytes(u64::MAX);
        let xoff = if self.memory.must_pause(holding) { Amount::Bytes(0) } else { never };
        // A counter that may not resume is not empty.
        let xon = if self.memory.may_resume(holding) { never } else { Amount::Bytes(0) };
        Levels { xoff, xon, capacity: never }
    }

    /// What a lossless frame without room would have joined, and the most that this may be: the headroom that all share,
    /// or where nothing is charged to where it came in, its queue. And where XOFF is now.
    pub fn limits(&self, egress: u32, class: TrafficClass, frame: &Frame, ingress: u32) -> (u64, u64, u64) {
        let lossless = self.is_lossless(frame, ingress);
        let memory = &self.memory;
        let most = memory.spec().minimum + memory.threshold();
        if lossless {
            return (memory.headroom_used(), memory.spec().headroom, most);
        }
        let queue = (egress - self.first_port) as usize * PRIORITIES + class.at();
        (self.egress[queue].own, most, most)
    }

    fn holding(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        ingress: u32,
    ) -> (&mut Holding, &mut SharedMemory, bool) {
        let lossless = self.is_lossless(frame, ingress);
        let holding = if lossless {
            let group = if self.together { 0 } else { frame.priority.at() };
            &mut self.ingress[(ingress - self.first_port) as usize * PRIORITIES + group]
        } else {
            &mut self.egress[(egress - self.first_port) as usize * PRIORITIES + class.at()]
        };
        (holding, &mut self.memory, lossless)
    }

    /// Takes a frame in; false if the memory has no room for it.
    #[must_use]
    fn add(&mut self, egress: u32, class: TrafficClass, frame: &Frame, ingress: u32) -> bool {
        let (holding, memory, lossless) = self.holding(egress, class, frame, ingress);
        let part = memory.admit(holding, frame.bytes, lossless);
        part.is_some_and(|part| {
            memory.add(holding, frame.bytes, part);
            true
        })
    }

    fn remove(&mut self, egress: u32, class: TrafficClass, frame: &Frame, ingress: u32) {
        let (holding, memory, _) = self.holding(egress, class, frame, ingress);
        let was_there = memory.remove(holding, frame.bytes);
        assert!(
            was_there,
            "a shared memory was to give back more than it holds: this is a fault of the simulator"
        );
    }
}

impl Fabric {
    /// A frame is about to wait: charges it to the memory that its switch shares. False: there is no room.
    #[must_use]
    pub fn share_in(
        &mut self,
        node: u32,
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        ingress: u32,
        now: Time,
    ) -> bool {
        let Some(sharing) = &mut self.nodes[node as usize].memory_mut().sharing else { return true };
        let is_in = sharing.add(egress, class, frame, ingress);
        self.tally_memory(node, now);
        is_in
    }

    /// A frame has left its queue.
    pub fn share_out(
        &mut self,
        node: u32,
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        ingress: u32,
        now: Time,
    ) {
        if let Some(sharing) = &mut self.nodes[node as usize].memory_mut().sharing {
            sharing.remove(egress, class, frame, ingress);
            self.tally_memory(node, now);
        }
    }

    /// What is in use of a memory that queues share may have changed.
    fn tally_memory(&mut self, node: u32, now: Time) {
        if let Some(tallies) = &mut self.probes.tallies
            && let Some(sharing) = &self.nodes[node as usize].memory().sharing
        {
            let memory = &sharing.memory;
            tallies.memory_changes(node, now, [memory.shared_used(), memory.headroom_used()]);
        }
    }
}
