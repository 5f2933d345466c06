//! `maps` of switches: from DSCP to traffic class, and from the priorities of pauses to queues and priority groups.

use super::Model;
use frame::PRIORITIES;
use queueing::{Color, TrimmingKeys};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::array::from_fn;
use std::collections::{BTreeMap, BTreeSet};

/// Number of DSCPs (RFC 2474).
pub const CODE_POINTS: usize = 64;

/// QoS maps of a switch. `queues` maps traffic classes to queues, and `buffer.memory.groups` maps them to priority groups.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MapKeys {
    /// Map from DSCP to traffic class: a table of DSCPs, 0 to 63, each with a class, 0 to 7, like `{ 26 = 3, 48 = 6, other = 1 }`. `other` is the class of all DSCPs that are not listed, 0 if omitted. Frames without DSCP have the class of their priority. Default: DSCP / 8 (class selectors, RFC 2474).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp_to_tc: Option<BTreeMap<String, u64>>,
    /// Map from DSCP to color (drop precedence): a table of DSCPs, 0 to 63, each with "green", "yellow" or "red", like `{ 10 = "green", 12 = "yellow", 14 = "red" }`. `other` is the color of all DSCPs that are not listed, "green" if omitted. All switches must agree on the DSCPs of flows. Default: all are "green".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp_to_color: Option<BTreeMap<String, Color>>,
    /// Map from PFC priority to queue: the queue that a received pause of each priority stops. Eight numbers, 0 to 7. For a lossless priority, it must be the queue of its frames. Default: the queue of the traffic class of the same number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc_to_queue: Option<Vec<u64>>,
    /// Map from PFC priority to priority group: the group whose occupancy triggers pauses of each priority. Eight numbers, 0 to 7. For a lossless priority, it must be the group of its frames. Default: the group of the traffic class of the same number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc_to_group: Option<Vec<u64>>,
    /// DSCP rewriting of frames to some neighbours, as at tunnel endpoints: a list of tables of `to` and `dscp`. If several tables list a neighbour, the first one applies. Default: none (frames keep their DSCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remap: Option<Vec<RemapKeys>>,
}

/// DSCP rewriting of frames to some neighbours.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemapKeys {
    /// Neighbours: a list of names, ranges or patterns of hosts and switches. Required.
    pub to: Vec<String>,
    /// Map from old to new DSCP: a table of numbers, 0 to 63, like `{ 3 = 2, 4 = 6 }`; DSCPs that are not listed are unchanged. A frame occupies the priority group of its old DSCP, waits in the queue of its new DSCP, and keeps its color. Required.
    pub dscp: BTreeMap<String, u64>,
}

impl MapKeys {
    /// Returns these maps, with missing ones taken from `others`.
    pub fn or(&self, others: &MapKeys) -> MapKeys {
        MapKeys {
            dscp_to_tc: self.dscp_to_tc.clone().or_else(|| others.dscp_to_tc.clone()),
            dscp_to_color: self.dscp_to_color.clone().or_else(|| others.dscp_to_color.clone()),
            pfc_to_queue: self.pfc_to_queue.clone().or_else(|| others.pfc_to_queue.clone()),
            pfc_to_group: self.pfc_to_group.clone().or_else(|| others.pfc_to_group.clone()),
            remap: self.remap.clone().or_else(|| others.remap.clone()),
        }
    }
    /// Returns the traffic class of each DSCP. Invalid classes are reported elsewhere.
    pub fn traffic_classes(&self) -> [u8; CODE_POINTS] {
        let Some(keys) = &self.dscp_to_tc else { return from_fn(|dscp| (dscp / 8) as u8) };
        let class = |key: &str| keys.get(key).and_then(|&class| u8::try_from(class).ok()).filter(|&c| c < 8);
        let other = class("other").unwrap_or(0);
        from_fn(|dscp| class(&dscp.to_string()).unwrap_or(other))
    }
    /// Returns the color of a DSCP.
    pub fn color(&self, dscp: u64) -> Color {
        let keys = self.dscp_to_color.as_ref();
        let color = |key: &str| keys.and_then(|keys| keys.get(key)).copied();
        color(&dscp.to_string()).or_else(|| color("other")).unwrap_or_default()
    }
}

impl RemapKeys {
    /// Returns the DSCP that replaces `old`. Invalid values are reported elsewhere.
    pub fn new_dscp(&self, old: u8) -> u8 {
        let new = self.dscp.get(&old.to_string()).and_then(|&new| u8::try_from(new).ok());
        new.filter(|&new| usize::from(new) < CODE_POINTS).unwrap_or(old)
    }
}

/// DSCPs of the frames of each priority, and the priorities of frames without a DSCP.
pub struct CodePoints {
    /// DSCPs by priority.
    pub dscps: [BTreeSet<u8>; PRIORITIES],
    plain: u8,
}

impl CodePoints {
    /// Collects the DSCPs of all flows and transfers, and those to which switches rewrite them.
    pub fn of(model: &Model) -> CodePoints {
        let priority_of = model.switch.maps.clone().unwrap_or_default().traffic_classes();
        let mut used = CodePoints { dscps: Default::default(), plain: 0 };
        let flows = model.flows.iter().map(|flow| (flow.dscp, flow.priority));
        let transfers = model.transfers.iter().map(|entry| (entry.dscp, entry.priority));
        let jobs = model.jobs.iter().map(|job| (job.dscp, job.priority));
        for (dscp, priority) in flows.chain(transfers).chain(jobs) {
            match dscp.and_then(|dscp| u8::try_from(dscp).ok()).filter(|&dscp| dscp < CODE_POINTS as u8) {
                Some(dscp) => used.add(dscp, &priority_of),
                None => used.plain |= 1u8.checked_shl(priority as u32).unwrap_or(0),
            }
        }
        let trimming = model.switches.values().chain([&model.switch]).filter_map(|own| own.trimming.as_ref());
        for dscp in trimming.flat_map(TrimmingKeys::dscps).filter_map(|dscp| u8::try_from(dscp).ok()) {
            if usize::from(dscp) < CODE_POINTS {
                used.add(dscp, &priority_of);
            }
        }
        let maps = model.switches.values().chain([&model.switch]).filter_map(|own| own.maps.as_ref());
        let entries: Vec<&RemapKeys> = maps.flat_map(|maps| maps.remap.iter().flatten()).collect();
        loop {
            let old: Vec<u8> = used.dscps.iter().flatten().copied().collect();
            for entry in &entries {
                old.iter().for_each(|&dscp| used.add(entry.new_dscp(dscp), &priority_of));
            }
            if used.dscps.iter().map(BTreeSet::len).sum::<usize>() == old.len() {
                return used;
            }
        }
    }
    fn add(&mut self, dscp: u8, priority_of: &[u8; CODE_POINTS]) {
        self.dscps[usize::from(priority_of[usize::from(dscp)])].insert(dscp);
    }
    /// Returns the result of a mapping for all frames of a priority: the common value, or an example of each of two
    /// different ones.
    pub fn all_become(&self, priority: usize, of: impl Fn(u8) -> u8) -> Result<u8, [(String, u8); 2]> {
        let mut found: BTreeMap<u8, String> = BTreeMap::new();
        for &dscp in &self.dscps[priority] {
            found.entry(of(dscp)).or_insert_with(|| format!("DSCP {dscp}"));
        }
        if self.plain >> priority & 1 != 0 {
            found.entry(priority as u8).or_insert_with(|| format!("priority {priority} without DSCP"));
        }
        let mut found = found.into_iter().map(|(value, whose)| (whose, value));
        match (found.next(), found.next()) {
            (None, _) => Ok(priority as u8),
            (Some((_, only)), None) => Ok(only),
            (Some(first), Some(second)) => Err([first, second]),
        }
    }
    /// Returns the priorities of frames as a bit set.
    pub fn priorities(&self) -> u8 {
        let used = self.dscps.iter().enumerate().filter(|(_, dscps)| !dscps.is_empty());
        used.fold(self.plain, |set, (priority, _)| set | 1 << priority)
    }
    /// Describes the frames of a priority.
    pub fn name(&self, priority: usize) -> String {
        let dscps: Vec<String> = self.dscps[priority].iter().map(u8::to_string).collect();
        match dscps.as_slice() {
            [] => format!("frames of priority {priority}"),
            dscps => format!("frames of DSCP {}", dscps.join(", ")),
        }
    }
}
