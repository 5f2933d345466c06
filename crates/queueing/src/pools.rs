//! Buffer pools and profiles: the memory of a switch as its configuration partitions it.
//!
//! Memory is partitioned into ingress pools and egress pools. A buffer profile defines how much memory a queue may use
//! from its pool. It is attached to ingress priority groups (the buffered frames of some priorities that arrived
//! through one port) or to egress queues. A frame is charged to its priority group and to its queue, and needs room in
//! both. Priority groups of lossless priorities send PAUSE or PFC frames according to their limit, XON level and
//! headroom. Lossless egress queues need limits that are never reached, because an egress limit drops frames without
//! pausing the sender. A group or queue without a profile is unlimited.
//!
//! The limit of a dynamic profile is α times the free memory of the pool. The limit of a static profile is a number of
//! bytes. Both apply in addition to the reserved memory. The size of a pool is its shared memory; reserved memory and
//! headroom are not part of it.
//!
//! The groups of a pool share its headroom. Each may use up to the headroom of its profile, and the sum of these may
//! exceed the headroom of the pool (oversubscription). In a pool without headroom of its own, each group has dedicated
//! headroom.
//!
//! XOFF is sent at reserved + limit. XON is sent at `xon`, or at `xon_offset` below XOFF if that level is higher.
//!
//! A group sends XON only when one of its own frames leaves. If its limit rises because other frames left, the new
//! limit takes effect at that time.
//!
//! Source: the Switch Abstraction Interface of the Open Compute Project (buffer pools and profiles), and the values
//! that SONiC configures; memory is charged in the order of `dynamic_threshold`.
//!
//! Not modelled: memory cells (a frame occupies exactly its own length), the memory of a frame in transmission, a
//! priority group with several lossless priorities, colors.

use crate::dynamic_threshold::Alpha;
use crate::port_selector::{Claim, PortFacts, PortSelector, PortSet, precedence};
use crate::shared_memory::{Limit, Pool, Rules, SharedMemory};
use crate::trimming::DiscardAction;
use frame::PRIORITIES;
use keys::{Remark, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Length};

/// Pools of the memory of a switch, and the limits of groups and queues in them. They take the place of `total` and `dynamic_threshold`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryKeys {
    /// Pools by name. Required.
    pub pools: BTreeMap<String, PoolKeys>,
    /// Profiles by name. Required.
    pub profiles: BTreeMap<String, ProfileKeys>,
    /// Attachments of profiles to the priority groups and queues of ports. If several match, the most specific one applies: it has all conditions of the others and at least one more. If none is the most specific, it is an error. Required.
    pub attach: Vec<Attachment>,
    /// The priority group of each priority: eight numbers, 0 to 7. A lossless priority needs its own group. Default: its own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = [0, 1, 2, 3, 4, 5, 6, 7]))]
    pub groups: Option<Vec<u32>>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolKeys {
    /// Side on which the pool counts frames: by the port through which they arrived ("ingress") or through which they leave ("egress"). Required.
    pub side: Side,
    /// Memory shared by the queues of the pool, excluding headroom and reserved memory. A size in bytes. Required.
    pub size: Bytes,
    /// Limit of profiles with neither `alpha` nor `threshold`: "dynamic" (alpha of 1) or "static" (the size of the pool). Default: "dynamic".
    #[serde(default)]
    pub mode: PoolMode,
    /// Headroom that all groups of an ingress pool share. A size in bytes. Default: none (each group has the headroom of its profile for itself).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
}

/// Side on which a pool counts frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// By the port through which they arrived.
    Ingress,
    /// By the port through which they leave.
    Egress,
}

impl Side {
    /// Returns the name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Side::Ingress => "ingress",
            Side::Egress => "egress",
        }
    }
}

/// Limit of the profiles of a pool that do not set one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolMode {
    /// A multiple of the free memory (alpha of 1).
    #[default]
    Dynamic,
    /// The size of the pool.
    Static,
}

/// A profile.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileKeys {
    /// The pool of the profile. A name. Required.
    pub pool: String,
    /// Memory reserved for each group or queue with this profile. A size in bytes. Default: "0 B".
    #[serde(default = "nothing")]
    pub reserved: Bytes,
    /// Limit of shared memory, as a multiple of the free memory of the pool. A number, 1/1024 to 1024, in steps of 1/1024. Default: by the mode of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Alpha>,
    /// The limit in bytes, in place of `alpha`. A size. Default: by the mode of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Headroom: memory of a group above its limit, for frames that arrive after XOFF. A size in bytes. Default: "0 B" (it is not lossless).
    #[serde(default = "nothing")]
    pub headroom: Bytes,
    /// Lowest XON level: a paused group sends XON when its occupancy is at or below this level, or the level of `xon_offset` if that is higher. A size in bytes. Default: its reserved memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// Distance of the XON level below XOFF, if that level is above `xon`. A size in bytes. Default: "0 B" (XON at the XOFF level); without effect if only `xon` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon_offset: Option<Bytes>,
    /// Action on frames for which a queue with this egress profile has no room: "drop", or "trim", as `trimming` of the switch defines. Default: "drop".
    #[serde(default, skip_serializing_if = "is_drop")]
    pub discard_action: DiscardAction,
}

fn is_drop(action: &DiscardAction) -> bool {
    *action == DiscardAction::Drop
}

fn nothing() -> Bytes {
    Bytes::new(0)
}

/// Assignment of a profile to groups or queues.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Attached profile. A name. Required.
    pub profile: String,
    /// Priority groups, for an ingress profile. A list of numbers, 0 to 7. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<u32>>,
    /// Queues, for an egress profile. A list of traffic classes, 0 to 7. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<u32>>,
    /// Only at these ports: "up" (away from the hosts), "down" (towards the hosts), "hosts" or "switches" (by the neighbour), or a list of names, like "leaf0.4->spine0", "*->spine0", or "leaf0" for all of a switch. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortSet>,
    /// Only at ports to these hosts and switches. A list of names. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<String>>,
    /// Only at ports of this rate; on a link with a `line_code` it is the rate on the wire, as in the topology. A rate. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Only at ports whose cable is at most this long; a cable given by its `delay` counts one metre per 5 ns. A length. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
}

/// A pool with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// Name of the pool.
    pub name: String,
    /// Side at which the pool is accounted.
    pub side: Side,
    /// Shared memory in bytes.
    pub size: u64,
    /// Headroom in bytes that all groups share; `None` if each group has its own.
    pub headroom: Option<u64>,
}

/// A profile with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSpec {
    /// Name of the profile.
    pub name: String,
    /// Rules of each group or queue with this profile.
    pub rules: Rules,
    /// True if frames for which there is no room are trimmed.
    pub trims: bool,
}

/// The ports that have a profile, and the groups or queues there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentSpec {
    /// Index of the profile.
    pub profile: usize,
    /// Groups or queues, bit n for number n.
    pub members: u8,
    /// True if the groups or queues are listed.
    pub is_listed: bool,
    /// Ports to which the profile is attached.
    pub ports: PortSelector,
}

/// The memory of a switch, divided into pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolsSpec {
    /// The pools.
    pub pools: Vec<PoolSpec>,
    /// The profiles.
    pub profiles: Vec<ProfileSpec>,
    /// Attachments of profiles to ports.
    pub attachments: Vec<AttachmentSpec>,
    /// Priority group of each priority.
    pub groups: [u8; PRIORITIES],
}

/// The profiles of a port, by priority group and by egress queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortProfiles {
    /// Index of the profile by priority group.
    pub ingress: [Option<usize>; PRIORITIES],
    /// Index of the profile by traffic class.
    pub egress: [Option<usize>; PRIORITIES],
}

impl MemoryKeys {
    /// Converts the keys to a specification.
    ///
    /// # Errors
    /// One remark per invalid value.
    pub fn spec(&self) -> Result<PoolsSpec, Vec<Remark>> {
        let mut wrong = Vec::new();
        let pools: Vec<PoolSpec> =
            self.pools.iter().map(|(name, keys)| keys.spec(name, &mut wrong)).collect();
        if pools.len() > 200 {
            let message = format!("{} pools", pools.len());
            wrong.push(Remark::about("pools", message, "expected at most 200"));
        }
        let mut profiles = Vec::new();
        for (name, keys) in &self.profiles {
            let within = |why: Remark| why.within(name).within("profiles");
            let Some(at) = pools.iter().position(|pool| pool.name == keys.pool) else {
                wrong.push(within(unknown("pool", &keys.pool, self.pools.keys())));
                continue;
            };
            wrong.extend(keys.check(&pools[at]).map(within));
            let rules = keys.rules(at as u8, self.pools[&keys.pool].mode, pools[at].size);
            let trims = keys.discard_action == DiscardAction::Trim;
            profiles.push(ProfileSpec { name: name.clone(), rules, trims });
        }
        let mut attachments = Vec::new();
        for (index, keys) in self.attach.iter().enumerate() {
            let found = profiles.iter().position(|one| one.name == keys.profile);
            match found.map(|at| keys.spec(at, pools[usize::from(profiles[at].rules.pool)].side)) {
                Some(Ok(spec)) => attachments.push(spec),
                Some(Err(why)) => wrong.push(why.within_entry(index).within("attach")),
                None if self.profiles.contains_key(&keys.profile) => {}
                None => {
                    let why = unknown("profile", &keys.profile, self.profiles.keys());
                    wrong.push(why.within_entry(index).within("attach"));
                }
            }
        }
        let mut groups = [0, 1, 2, 3, 4, 5, 6, 7];
        if let Some(list) = &self.groups {
            match <[u32; PRIORITIES]>::try_from(list.as_slice()) {
                Ok(list) if list.iter().all(|&group| group < PRIORITIES as u32) => {
                    groups = list.map(|group| group as u8);
                }
                _ => {
                    let help = "expected eight numbers, 0 to 7: the group of each priority";
                    wrong.push(Remark::about("groups", format!("priority groups {list:?}"), help));
                }
            }
        }
        if wrong.is_empty() { Ok(PoolsSpec { pools, profiles, attachments, groups }) } else { Err(wrong) }
    }
    /// Returns warnings about unused pools and profiles.
    pub fn idle(&self) -> Vec<Remark> {
        let help = "it has no effect";
        let profiles =
            self.profiles.keys().filter(|&name| self.attach.iter().all(|one| one.profile != *name));
        let profiles = profiles.map(|name| {
            Remark::about(name, format!("profile \"{name}\" is attached to nothing"), help).within("profiles")
        });
        let pools = self.pools.keys().filter(|&name| self.profiles.values().all(|one| one.pool != *name));
        let pools = pools.map(|name| {
            Remark::about(name, format!("no profile takes memory of pool \"{name}\""), help).within("pools")
        });
        profiles.chain(pools).collect()
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String> + Clone) -> Remark {
    let names: Vec<&str> = known.map(String::as_str).collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if names.is_empty() => format!("there is no {what}"),
        None => format!("expected one of {}", names.join(", ")),
    };
    Remark::about(if what == "pool" { "pool" } else { "profile" }, format!("unknown {what} \"{name}\""), help)
}

impl PoolKeys {
    fn spec(&self, name: &str, wrong: &mut Vec<Remark>) -> PoolSpec {
        if self.side == Side::Egress && self.headroom.is_some() {
            let help =
                "headroom is for what is on its way to a port after XOFF: expected it in an ingress pool";
            let why = Remark::about("headroom", "headroom of an egress pool", help);
            wrong.push(why.within(name).within("pools"));
        }
        let headroom = self.headroom.map(Bytes::get);
        PoolSpec { name: name.to_string(), side: self.side, size: self.size.get(), headroom }
    }
}

impl ProfileKeys {
    fn check(&self, pool: &PoolSpec) -> Option<Remark> {
        if pool.side == Side::Ingress && self.discard_action == DiscardAction::Trim {
            let message = format!("discard_action = \"trim\" of an ingress profile (pool \"{}\")", pool.name);
            let help =
                "frames are trimmed where they leave: expected it in an egress profile, attached to queues";
            return Some(Remark::about("discard_action", message, help));
        }
        if self.alpha.is_some() && self.threshold.is_some() {
            let help = "expected one of them: a multiple of what is free, or bytes";
            return Some(Remark::about("threshold", "both alpha and threshold", help));
        }
        let of_pauses = [
            ("headroom", self.headroom.get() > 0),
            ("xon", self.xon.is_some()),
            ("xon_offset", self.xon_offset.is_some()),
        ];
        let (key, _) = of_pauses.into_iter().find(|&(_, is_said)| pool.side == Side::Egress && is_said)?;
        let message = format!("{key} of an egress profile (pool \"{}\")", pool.name);
        Some(Remark::about(key, message, "pauses are decided where frames come in: expected an ingress pool"))
    }
    fn rules(&self, pool: u8, mode: PoolMode, size: u64) -> Rules {
        let limit = match (self.alpha, self.threshold, mode) {
            (Some(alpha), ..) => Limit::Dynamic(alpha),
            (None, Some(bytes), _) => Limit::Static(bytes.get()),
            (None, None, PoolMode::Dynamic) => Limit::Dynamic(Alpha::ONE),
            (None, None, PoolMode::Static) => Limit::Static(size),
        };
        let offset = match (self.xon, self.xon_offset) {
            (_, Some(offset)) => offset.get(),
            (Some(_), None) => u64::MAX,
            (None, None) => 0,
        };
        let xon = self.xon.unwrap_or(self.reserved).get();
        Rules {
            pool,
            reserved: self.reserved.get(),
            limit,
            headroom: self.headroom.get(),
            xon,
            xon_offset: offset,
        }
    }
}

impl Attachment {
    fn spec(&self, profile: usize, side: Side) -> Result<AttachmentSpec, Remark> {
        let (key, list, other) = match side {
            Side::Ingress => ("groups", &self.groups, ("queues", &self.queues)),
            Side::Egress => ("queues", &self.queues, ("groups", &self.groups)),
        };
        if other.1.is_some() {
            let message = format!("{} of the {} profile \"{}\"", other.0, side.name(), self.profile);
            return Err(Remark::about(other.0, message, format!("expected {key}")));
        }
        let mut members = 0;
        for (place, &number) in list.iter().flatten().enumerate() {
            let bit = u32::try_from(PRIORITIES).ok().filter(|&most| number < most).map(|_| 1u8 << number);
            let Some(bit) = bit else {
                return Err(Remark::about(key, format!("number {number}"), "expected 0 to 7").entry(place));
            };
            members |= bit;
        }
        if list.is_none() {
            members = u8::MAX;
        }
        let empty = [
            (key, members == 0),
            ("to", self.to.as_ref().is_some_and(Vec::is_empty)),
            ("ports", self.ports == Some(PortSet::Named(Vec::new()))),
        ];
        if let Some((key, _)) = empty.into_iter().find(|(_, is_empty)| *is_empty) {
            return Err(Remark::about(key, "an empty list", "expected an entry, or no key for all"));
        }
        Ok(AttachmentSpec {
            profile,
            members,
            is_listed: list.is_some(),
            ports: PortSelector {
                ports: self.ports.clone(),
                to: self.to.clone().unwrap_or_default(),
                rate: self.rate,
                delay: self.length.map(Length::fibre_delay),
            },
        })
    }
}

impl PoolsSpec {
    /// A limit that no queue reaches.
    const UNBOUNDED: u64 = u64::MAX / 4;

    /// Returns the pool of a profile.
    pub fn pool_of(&self, profile: usize) -> &PoolSpec {
        &self.pools[usize::from(self.profiles[profile].rules.pool)]
    }
    /// Returns the profiles of a port. If two attachments claim a group or queue, the first applies.
    pub fn of_port(&self, port: &PortFacts<'_>) -> PortProfiles {
        let profile = |found: Result<Option<usize>, [usize; 2]>| {
            let entry = found.unwrap_or_else(|[first, _]| Some(first));
            entry.map(|entry| self.attachments[entry].profile)
        };
        let of_side = |side| std::array::from_fn(|number| profile(self.claimed(port, side, number)));
        PortProfiles { ingress: of_side(Side::Ingress), egress: of_side(Side::Egress) }
    }
    /// Returns the attachment of a group or queue of a port.
    ///
    /// # Errors
    /// Two attachments that both claim it.
    pub fn claimed(
        &self,
        port: &PortFacts<'_>,
        side: Side,
        number: usize,
    ) -> Result<Option<usize>, [usize; 2]> {
        let is_for = |own: &AttachmentSpec| {
            own.members >> number & 1 != 0 && self.pool_of(own.profile).side == side && own.ports.fits(port)
        };
        let claims: Vec<Claim<'_>> = self
            .attachments
            .iter()
            .enumerate()
            .filter(|(_, own)| is_for(own))
            .map(|(entry, own)| Claim { entry, selector: &own.ports, is_listed: own.is_listed })
            .collect();
        precedence(&claims)
    }
    /// Returns the traffic classes of a port whose frames are trimmed, bit n for class n.
    pub fn trimmed(&self, port: &PortProfiles) -> u8 {
        let trims = |class: &usize| port.egress[*class].is_some_and(|profile| self.profiles[profile].trims);
        (0..PRIORITIES).filter(trims).fold(0, |set, class| set | 1 << class)
    }
    /// Returns the headroom in bytes, by pool, that the profiles of these ports reserve.
    pub fn reserved(&self, ports: &[PortProfiles]) -> Vec<u64> {
        let mut reserved = vec![0u64; self.pools.len()];
        for profile in ports.iter().flat_map(|port| port.ingress).flatten() {
            let rules = &self.profiles[profile].rules;
            let of_pool = &mut reserved[usize::from(rules.pool)];
            *of_pool = of_pool.saturating_add(rules.headroom);
        }
        reserved
    }
    /// Creates the empty memory of a switch with these ports. Rules are numbered like profiles, followed by the rules
    /// of groups and queues without a profile.
    pub fn memory(&self, ports: &[PortProfiles]) -> SharedMemory {
        let reserved = self.reserved(ports);
        let pools = self.pools.iter().zip(reserved);
        let mut pools: Vec<Pool> =
            pools.map(|(pool, sum)| Pool::new(pool.size, pool.headroom.unwrap_or(sum))).collect();
        let mut rules: Vec<Rules> = self.profiles.iter().map(|profile| profile.rules).collect();
        rules.push(Rules {
            pool: pools.len() as u8,
            reserved: 0,
            limit: Limit::Static(PoolsSpec::UNBOUNDED),
            headroom: 0,
            xon: 0,
            xon_offset: 0,
        });
        pools.push(Pool::new(PoolsSpec::UNBOUNDED, 0));
        SharedMemory::new(pools, rules)
    }
    /// Returns XOFF of a profile, and the XON that belongs to it, when `busy` groups or queues with that profile fill
    /// the pool.
    pub fn levels(&self, profile: usize, busy: u64) -> (u64, u64) {
        let rules = &self.profiles[profile].rules;
        let limit = match rules.limit {
            Limit::Static(bytes) => bytes,
            Limit::Dynamic(alpha) => alpha.share(self.pool_of(profile).size, busy),
        };
        let xoff = rules.reserved.saturating_add(limit);
        (xoff, rules.xon.max(xoff.saturating_sub(rules.xon_offset)))
    }
}
