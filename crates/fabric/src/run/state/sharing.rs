//! A memory that the queues of a switch share (`queueing::SharedMemory`).
//!
//! A frame is charged to the priority group of its ingress port, to its egress queue, or to both. In a memory with one
//! pool (`dynamic_threshold`), a lossless frame is charged at ingress, any other to its egress queue; with pauses by
//! egress queue, every frame is charged at egress. With several pools, each frame is charged to the accounts that have
//! a profile. A frame that originates at the switch has no ingress port.
//!
//! The threshold, which may move with the free memory, serves as the watermark of a lossless counter. The headroom of
//! the memory takes the place of the space above XOFF.

use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use flow_control::pfc::Levels;
use frame::{Frame, PRIORITIES, TrafficClass};
use queueing::{Holding, PoolsSpec, PortProfiles, Refused, SharedMemory, Side};
use recurrence::Recurs;
use units::Amount;

/// Bytes held by a priority group or an egress queue, and its rules.
#[derive(Clone, Copy, Debug, Recurs)]
pub(in crate::run) struct Account {
    holding: Holding,
    #[recurs(constant)]
    rules: u16,
}

impl Account {
    fn new(rules: u16) -> Account {
        Account { holding: Holding::default(), rules }
    }
}

/// The shared memory of a switch.
#[derive(Debug, Recurs)]
pub(crate) struct Sharing {
    pub memory: SharedMemory,
    #[recurs(constant)]
    first_port: PortIx,
    /// By port, priorities whose frames are charged at ingress, bit n for priority n.
    #[recurs(constant)]
    charged: Vec<u8>,
    /// The group of each priority.
    #[recurs(constant)]
    groups: [u8; PRIORITIES],
    /// True if a frame that is charged at ingress is also charged to its egress queue.
    #[recurs(constant)]
    both: bool,
    /// Accounts by port and traffic class.
    pub(in crate::run) egress: Vec<Account>,
    /// Accounts by port and priority group.
    pub(in crate::run) ingress: Vec<Account>,
    /// Side of each pool; empty if the memory has one pool.
    #[recurs(constant)]
    sides: Vec<Side>,
}

/// Occupancy that counts against the limit that refused a frame, the limit, and the current XOFF.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusal {
    pub used: u64,
    pub limit: u64,
    pub xoff: u64,
}

impl Sharing {
    /// Creates a memory with one pool. `lossless`: by port, priorities whose frames are charged at ingress; `together`:
    /// all priorities of a port share an account, as with PAUSE.
    pub fn of_one_pool(
        memory: SharedMemory,
        first_port: PortIx,
        lossless: Vec<u8>,
        together: bool,
    ) -> Sharing {
        let of_ports = |rules: u16| vec![Account::new(rules); lossless.len() * PRIORITIES];
        Sharing {
            memory,
            first_port,
            groups: if together { [0; PRIORITIES] } else { [0, 1, 2, 3, 4, 5, 6, 7] },
            both: false,
            egress: of_ports(SharedMemory::LOSSY),
            ingress: of_ports(SharedMemory::LOSSLESS),
            charged: lossless,
            sides: Vec::new(),
        }
    }

    /// Creates a memory with several pools, for ports with these profiles.
    pub fn of_pools(spec: &PoolsSpec, ports: &[PortProfiles], first_port: PortIx) -> Sharing {
        let unbounded = spec.profiles.len();
        let of = |profile: Option<usize>| Account::new(profile.unwrap_or(unbounded) as u16);
        let charged = |port: &PortProfiles| {
            let has = |priority: &usize| port.ingress[usize::from(spec.groups[*priority])].is_some();
            (0..PRIORITIES).filter(has).fold(0, |set, priority| set | 1 << priority)
        };
        Sharing {
            memory: spec.memory(ports),
            first_port,
            charged: ports.iter().map(charged).collect(),
            groups: spec.groups,
            both: true,
            egress: ports.iter().flat_map(|port| port.egress).map(of).collect(),
            ingress: ports.iter().flat_map(|port| port.ingress).map(of).collect(),
            sides: spec.pools.iter().map(|pool| pool.side).collect(),
        }
    }

    /// The ingress account of a frame, if it has one.
    #[inline]
    fn way_in(&self, frame: &Frame, ingress: Option<PortIx>) -> Option<usize> {
        let local = ingress?.since(self.first_port) as usize;
        (self.charged[local] >> frame.priority().0 & 1 != 0)
            .then(|| local * PRIORITIES + usize::from(self.groups[frame.priority().at() % PRIORITIES]))
    }
    /// The egress account of a frame, if it has one.
    #[inline]
    fn way_out(&self, egress: PortIx, class: TrafficClass, way_in: Option<usize>) -> Option<usize> {
        (self.both || way_in.is_none())
            .then(|| egress.since(self.first_port) as usize * PRIORITIES + class.at())
    }

    /// The current watermarks of a lossless counter: either reached or out of reach.
    pub fn levels(&self, local: usize, group: usize) -> Levels {
        let Account { holding, rules } = &self.ingress[local * PRIORITIES + usize::from(self.groups[group])];
        let never = Amount::Bytes(u64::MAX);
        let xoff = if self.memory.must_pause(*rules, holding) { Amount::Bytes(0) } else { never };
        // A counter that may not send XON is not empty.
        let xon = if self.memory.may_resume(*rules, holding) { never } else { Amount::Bytes(0) };
        Levels { xoff, xon, capacity: never }
    }

    /// Returns the occupancy of the account that refused a frame, its limit, and the current XOFF.
    pub fn limits(
        &self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        cause: Cause,
    ) -> Refusal {
        let way_in = self.way_in(frame, ingress);
        let of_egress = matches!(cause, Cause::Pool { limit: PoolLimit::Egress, .. });
        let account = match way_in {
            Some(at) if !of_egress => &self.ingress[at],
            _ => &self.egress[egress.since(self.first_port) as usize * PRIORITIES + class.at()],
        };
        let xoff = self.memory.threshold(way_in.map_or(account.rules, |at| self.ingress[at].rules));
        let (rules, pool) = self.memory.of(account.rules);
        let (headroom, headroom_used) = pool.headroom();
        match cause {
            Cause::Pool { limit: PoolLimit::Headroom, .. } => {
                Refusal { used: account.holding.headroom, limit: rules.headroom, xoff }
            }
            Cause::Pool { limit: PoolLimit::SharedHeadroom, .. } => {
                Refusal { used: headroom_used, limit: headroom, xoff }
            }
            // All groups share the headroom, and no other limit applies to a lossless frame.
            Cause::SharedMemory if way_in.is_some() => Refusal { used: headroom_used, limit: headroom, xoff },
            _ => Refusal { used: account.holding.own, limit: self.memory.threshold(account.rules), xoff },
        }
    }

    /// Charges a frame, or returns the limit that refuses it.
    pub(in crate::run) fn add(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
    ) -> Result<(), Cause> {
        let way_in = self.way_in(frame, ingress);
        let way_out = self.way_out(egress, class, way_in);
        let mut parts = [None; 2];
        for (part, account) in
            parts.iter_mut().zip([way_in.map(|at| &self.ingress[at]), way_out.map(|at| &self.egress[at])])
        {
            let Some(account) = account else { continue };
            let admitted = self.memory.admit(account.rules, &account.holding, frame.bytes);
            *part = Some(admitted.map_err(|refused| self.cause(account.rules, refused))?);
        }
        if let (Some(at), Some(part)) = (way_in, parts[0]) {
            let account = &mut self.ingress[at];
            self.memory.add(account.rules, &mut account.holding, frame.bytes, part);
        }
        if let (Some(at), Some(part)) = (way_out, parts[1]) {
            let account = &mut self.egress[at];
            self.memory.add(account.rules, &mut account.holding, frame.bytes, part);
        }
        Ok(())
    }

    /// Returns the cause of loss for a frame that a queue with these rules refuses.
    #[cold]
    fn cause(&self, rules: u16, refused: Refused) -> Cause {
        let pool = self.memory.of(rules).0.pool;
        let Some(side) = self.sides.get(usize::from(pool)) else { return Cause::SharedMemory };
        let limit = match (refused, side) {
            (Refused::Limit, Side::Ingress) => PoolLimit::Ingress,
            (Refused::Limit, Side::Egress) => PoolLimit::Egress,
            (Refused::Headroom, _) => PoolLimit::Headroom,
            (Refused::SharedHeadroom, _) => PoolLimit::SharedHeadroom,
        };
        Cause::Pool { pool, limit }
    }

    pub(in crate::run) fn remove(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
    ) {
        let way_in = self.way_in(frame, ingress);
        let way_out = self.way_out(egress, class, way_in);
        let mut was_there = true;
        if let Some(account) = way_in.map(|at| &mut self.ingress[at]) {
            was_there &= self.memory.remove(account.rules, &mut account.holding, frame.bytes);
        }
        if let Some(account) = way_out.map(|at| &mut self.egress[at]) {
            was_there &= self.memory.remove(account.rules, &mut account.holding, frame.bytes);
        }
        assert!(
            was_there,
            "a shared memory was to give back more than it holds: this is a bug in the simulator"
        );
    }

    /// Bytes in use of shared memory and of headroom: in the ingress pools, or in the only pool.
    pub(in crate::run) fn in_use(&self) -> [u64; 2] {
        let counts = |at: usize| self.sides.is_empty() || self.sides.get(at) == Some(&Side::Ingress);
        let pools = self.memory.pools().iter().enumerate().filter(|&(at, _)| counts(at));
        pools.fold([0, 0], |[used, headroom], (_, pool)| [used + pool.used(), headroom + pool.headroom().1])
    }
}

/// The limit of a pool that refused a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PoolLimit {
    /// Limit of the frame's ingress priority group, or free memory.
    Ingress,
    /// Limit of the frame's egress queue, or free memory.
    Egress,
    /// The headroom of its group.
    Headroom,
    /// The headroom that groups share.
    SharedHeadroom,
}

impl PoolLimit {
    pub fn name(self) -> &'static str {
        match self {
            PoolLimit::Ingress => "ingress_limit",
            PoolLimit::Egress => "egress_limit",
            PoolLimit::Headroom => "headroom_violation",
            PoolLimit::SharedHeadroom => "shared_headroom_exhausted",
        }
    }
}
