//! Whose frames stand in the queues that pauses begin at.
//!
//! A queue that no pause holds back and that fills a counter up to its watermark is a root (`blame`, `pausing`); of a host
//! that reads too slowly it is the receive buffer. From the decision to send XOFF until XON is due, its frames are counted
//! by flow, each once: those that stand there when the first of its pauses begins, and those that come until the last of
//! them is over. What went through the queue at other times has nothing to do with these pauses.
//!
//! Not modelled: a pause that another queue prolongs belongs to the first at the port that it stops. Where stations send no
//! XON, the second queue may so be a root with culprits and without a pause of its own at that time.
//!
//! Nothing is counted while no pause is in force: then a port does not have the hook `BLAMED`.

use crate::run::index::{PortIx, QueueIx};
use crate::run::pool::Waiting;
use crate::run::port::Hooks;
use crate::run::world::Fabric;
use flow_control::credit::channel_of_count;
use frame::{Frame, TrafficClass};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// Entries of a log before they are added up.
const LOG: usize = 1024;
/// Bits of a priority, or of the number of a channel.
const PRIORITY_BITS: u32 = 5;

/// Where pauses begin. Where all parts come together, queues and ports have the numbers of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RootPlace<Queue = QueueIx, Port = PortIx> {
    /// An egress queue; `down`: its link was, when the pause was sent.
    Queue { queue: Queue, down: bool },
    /// What a host has not read: the port it came in through, and the group of priorities.
    Receiver { port: Port, group: u8 },
}

/// What stood at a root while pauses because of it were in force.
#[derive(Debug, Default)]
struct Root {
    /// Pauses in force.
    pauses: u32,
    /// When the last of them was over.
    over: Time,
    /// Flow and priority of frames that are not added up yet.
    log: Vec<u64>,
    /// Frames by flow and priority.
    frames: Vec<(u64, u64)>,
}

/// All roots of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Culprits {
    /// By path.
    flows: Arc<[u32]>,
    roots: BTreeMap<RootPlace, Root>,
    /// Pauses in force that begin at a root, sorted: the port that they were sent through, group of priorities or class,
    /// root.
    blames: Vec<(PortIx, u8, RootPlace)>,
    /// Scratch: roots without any pause now.
    free: Vec<RootPlace>,
}

impl Root {
    fn count(&mut self, flow: u32, priority: u8) {
        if self.log.len() == LOG {
            self.add_up();
        }
        self.log.push(u64::from(flow) << PRIORITY_BITS | u64::from(priority));
    }

    /// Empties the log.
    fn add_up(&mut self) {
        self.log.sort_unstable();
        for one in self.log.chunk_by(|a, b| a == b) {
            match self.frames.binary_search_by_key(&one[0], |entry| entry.0) {
                Ok(at) => self.frames[at].1 += one.len() as u64,
                Err(at) => self.frames.insert(at, (one[0], one.len() as u64)),
            }
        }
        self.log.clear();
    }
}

impl Culprits {
    /// Nothing is blamed yet; `flows` has the flow of each path.
    pub fn new(flows: Arc<[u32]>) -> Culprits {
        Culprits { flows, ..Culprits::default() }
    }

    /// Counts a frame that has come to a root, if it is one now.
    fn entered(&mut self, place: RootPlace, frame: &Frame) {
        if let Some(root) = self.roots.get_mut(&place).filter(|root| root.pauses > 0) {
            root.count(self.flows[frame.path.at()], frame.priority.0);
        }
    }

    /// Counts those that stand at a root and have come since it was one last.
    fn stand<'a>(&mut self, place: RootPlace, waiting: impl Iterator<Item = &'a Waiting>) {
        let Some(root) = self.roots.get_mut(&place) else { return };
        let over = root.over;
        for one in waiting.filter(|one| one.since >= over) {
            root.count(self.flows[one.frame.path.at()], one.frame.priority.0);
        }
    }

    /// One more pause of a root. True: its first.
    fn begin(&mut self, port: PortIx, group: u8, place: RootPlace) -> bool {
        let Err(at) = self.blames.binary_search(&(port, group, place)) else { return false };
        self.blames.insert(at, (port, group, place));
        let root = self.roots.entry(place).or_default();
        root.pauses += 1;
        root.pauses == 1
    }

    /// The pauses sent through a port for a group or class are over, `of` one queue or of all: `free` are the roots
    /// without any now.
    fn end(&mut self, port: PortIx, group: u8, of: Option<QueueIx>, now: Time) {
        self.free.clear();
        let mut at = self.blames.partition_point(|blame| (blame.0, blame.1) < (port, group));
        while let Some(&(of_port, of_group, place)) = self.blames.get(at)
            && (of_port, of_group) == (port, group)
        {
            if let (RootPlace::Queue { queue, .. }, Some(of)) = (place, of)
                && queue != of
            {
                at += 1;
                continue;
            }
            self.blames.remove(at);
            let Some(root) = self.roots.get_mut(&place) else { continue };
            root.pauses -= 1;
            if root.pauses == 0 {
                root.over = now;
                self.free.push(place);
            }
        }
    }

    /// Whether pauses of a root are in force.
    fn in_force(&self, place: RootPlace) -> bool {
        self.roots.get(&place).is_some_and(|root| root.pauses > 0)
    }

    /// Frames at a root by flow and priority.
    pub fn frames(&self, place: RootPlace) -> BTreeMap<(u32, u8), u64> {
        let mut frames = BTreeMap::new();
        let Some(root) = self.roots.get(&place) else { return frames };
        let logged = root.log.iter().map(|&one| (one, 1));
        for (key, more) in root.frames.iter().copied().chain(logged) {
            *frames
                .entry(((key >> PRIORITY_BITS) as u32, key as u8 & ((1 << PRIORITY_BITS) - 1)))
                .or_default() += more;
        }
        frames
    }

    /// Bytes of all roots.
    pub fn memory_bytes(&self) -> usize {
        let of = |root: &Root| {
            size_of::<(RootPlace, Root)>()
                + root.log.capacity() * size_of::<u64>()
                + root.frames.capacity() * size_of::<(u64, u64)>()
        };
        self.roots.values().map(of).sum::<usize>()
            + self.blames.capacity() * size_of::<(PortIx, u8, RootPlace)>()
    }
}

impl Fabric {
    /// XOFF is sent through a port because of a queue that nothing holds back (`None`: of what a host has not read):
    /// from now on its frames are counted.
    #[inline(never)]
    pub fn root_begins(&mut self, port: PortIx, group: u8, queue: Option<QueueIx>) {
        let Some(mut culprits) = self.probes.culprits.take() else { return };
        let place = if let Some(queue) = queue {
            let at = self.links.place_of_queue(queue).0;
            let hooks = &mut self.links.ports[at].hooks;
            hooks.set(Hooks::BLAMED, true);
            RootPlace::Queue { queue, down: hooks.has(Hooks::DOWN) }
        } else {
            // With credits the group is a count of them, of which a channel may have two.
            let credits = self.links.cold[port].control.credits().is_some();
            let group = if credits { channel_of_count(group.into()) as u8 } else { group };
            RootPlace::Receiver { port, group }
        };
        if culprits.begin(port, group, place) {
            self.stand_at(place, &mut culprits);
        }
        self.probes.culprits = Some(culprits);
    }

    /// Counts those that stand at a root now.
    fn stand_at(&self, place: RootPlace, culprits: &mut Culprits) {
        match place {
            RootPlace::Queue { queue, .. } => culprits.stand(place, self.frames_for(queue)),
            RootPlace::Receiver { port, group } => {
                let receiving = self.hosts.receiving.get(port).and_then(Option::as_deref);
                let Some(receiving) = receiving else { return };
                let of_group = |one: &&Waiting| receiving.group(one.frame.priority) == usize::from(group);
                culprits.stand(place, receiving.arrived(&self.buffers.pool).filter(of_group));
            }
        }
    }

    /// The pauses sent through a port for a group or class are over; of one queue only, if told.
    #[inline(never)]
    pub fn root_ends(&mut self, port: PortIx, group: u8, of: Option<QueueIx>, now: Time) {
        let Some(culprits) = &mut self.probes.culprits else { return };
        culprits.end(port, group, of, now);
        for free in &culprits.free {
            let &RootPlace::Queue { queue, .. } = free else { continue };
            let at = self.links.place_of_queue(queue).0;
            let still = self.links.ports[at]
                .queues()
                .flat_map(|queue| [false, true].map(|down| RootPlace::Queue { queue, down }))
                .any(|place| culprits.in_force(place));
            self.links.ports[at].hooks.set(Hooks::BLAMED, still);
        }
    }

    /// A frame comes to a port with a queue that is a root now.
    #[cold]
    #[inline(never)]
    pub fn enters_root(&mut self, egress: PortIx, class: TrafficClass, frame: &Frame) {
        let queue = self.links.ports[egress].queue(class);
        let Some(culprits) = &mut self.probes.culprits else { return };
        for down in [false, true] {
            culprits.entered(RootPlace::Queue { queue, down }, frame);
        }
    }

    /// A frame comes to a receive buffer, perhaps a root.
    pub fn tell_receiver(&mut self, port: PortIx, group: usize, frame: &Frame) {
        if let Some(culprits) = &mut self.probes.culprits {
            culprits.entered(RootPlace::Receiver { port, group: group as u8 }, frame);
        }
    }

    /// Begins measuring: what stands at a root now has been there in measured time.
    pub fn restart_culprits(&mut self) {
        let Some(mut culprits) = self.probes.culprits.take() else { return };
        let places: Vec<RootPlace> = culprits.roots.keys().copied().collect();
        for place in places {
            let Some(root) = culprits.roots.get_mut(&place) else { continue };
            root.log.clear();
            root.frames.clear();
            root.over = Time::ZERO;
            if root.pauses > 0 {
                self.stand_at(place, &mut culprits);
            }
        }
        self.probes.culprits = Some(culprits);
    }
}
