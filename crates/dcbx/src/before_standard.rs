//! Representation of settings in versions 1.01 (CEE) and 1.00 (CIN) of DCBX: ETS as priority groups, applications as
//! sets of priorities.
//!
//! Version 1.00 has one application, FCoE; its groups list the share of each priority within its group.
//!
//! Source: `DCB Capability Exchange Protocol Base Specification` 1.01 and 1.00, in the layout of the open agent lldpad.
//!
//! Not modelled: DSCPs as applications, which neither version supports; states of logical links; different shares
//! within a group.

use wire::baseline::{BaselineApplication, CinGroups, CinPriority, Feature, Groups, NO_LIMIT};
use wire::ieee::{Algorithm, Application, EtsTable, Selector};
use wire::{Pcp, PrioritySet};

/// EtherType of FCoE, the only application of version 1.00.
const FCOE: u16 = 0x8906;
const STRICT_OF_LINK: u8 = 1;

/// Converts an ETS table to priority groups: group n is traffic class n, and strict classes have no limit. Returns
/// `None` if these versions cannot express how a class is served.
pub(crate) fn groups_of(table: &EtsTable, classes: u8) -> Option<Groups> {
    let algorithms = table.algorithms();
    let strict = |class: u8| algorithms[usize::from(class)] == Algorithm::Strict;
    if algorithms.iter().any(|one| !matches!(one, Algorithm::Strict | Algorithm::Ets)) {
        return None;
    }
    let groups = table.classes().map(|class| if strict(class) { NO_LIMIT } else { class });
    let percent = std::array::from_fn(|class| if strict(class as u8) { 0 } else { table.percent()[class] });
    Groups::new(groups, percent, classes).ok()
}

/// Converts priority groups to an ETS table. Priorities without a limit are assigned to the highest class that no group
/// uses. Returns `None` if there is no such class, or no shares.
pub(crate) fn table_of(groups: &Groups) -> Option<EtsTable> {
    let (of, percent) = (groups.groups(), groups.percent());
    let needed = |class: u8| of.contains(&class) || percent[usize::from(class)] > 0;
    let strict = (0..8).rev().find(|&class| !needed(class));
    let mut classes = of;
    for class in &mut classes {
        if *class == NO_LIMIT {
            *class = strict?;
        }
    }
    let algorithms =
        std::array::from_fn(|class| if needed(class as u8) { Algorithm::Ets } else { Algorithm::Strict });
    EtsTable::new(classes, percent, algorithms).ok()
}

/// Converts priority groups of version 1.00 to version 1.01.
pub(crate) fn of_cin(feature: &Feature<CinGroups>) -> Option<Feature<Groups>> {
    let of = feature.value.priorities();
    let group = |one: CinPriority| if one.is_strict_of_link() { NO_LIMIT } else { one.group() };
    let groups = Groups::new(of.map(group), feature.value.percent(), 8).ok()?;
    Some(with(feature, groups))
}

/// Converts priority groups of version 1.01 to version 1.00. The priorities of a group have equal shares; the first
/// also has the remainder.
pub(crate) fn to_cin(feature: &Feature<Groups>) -> Option<Feature<CinGroups>> {
    let groups = feature.value.groups();
    let mut priorities = [CinPriority::default(); 8];
    for (priority, one) in priorities.iter_mut().enumerate() {
        let group = groups[priority];
        let members = groups.iter().filter(|&&other| other == group).count() as u8;
        let is_first = groups.iter().position(|&other| other == group) == Some(priority);
        let part = 100 / members + if is_first { 100 % members } else { 0 };
        *one = match group {
            NO_LIMIT => CinPriority::new(0, STRICT_OF_LINK, 0).ok()?,
            group => CinPriority::new(group, 0, part).ok()?,
        };
    }
    Some(with(feature, CinGroups::new(feature.value.percent(), priorities).ok()?))
}

/// Converts applications to version 1.01, with one entry per protocol.
pub(crate) fn entries_of(applications: &[Application]) -> Vec<BaselineApplication> {
    let mut entries: Vec<BaselineApplication> = Vec::new();
    for one in applications {
        let port = match one.selector {
            Selector::EtherType => false,
            Selector::StreamPort | Selector::DatagramPort | Selector::Port => true,
            Selector::Dscp => continue,
        };
        let priority = 1 << one.priority.get();
        match entries.iter_mut().find(|entry| (entry.protocol, entry.port) == (one.protocol, port)) {
            Some(entry) => entry.priorities.0 |= priority,
            None => entries.push(BaselineApplication::new(one.protocol, port, PrioritySet(priority))),
        }
    }
    entries
}

/// Converts entries of version 1.01 to applications: one per priority of an entry, for any transport.
pub(crate) fn applications_of(entries: &[BaselineApplication]) -> Vec<Application> {
    let priorities = |entry: &BaselineApplication| {
        let set = entry.priorities;
        (0..8).filter_map(|priority| Pcp::new(priority).ok()).filter(move |&priority| set.has(priority))
    };
    let of_entry = |entry: &BaselineApplication| {
        let (protocol, port) = (entry.protocol, entry.port);
        let selector = if port { Selector::Port } else { Selector::EtherType };
        priorities(entry)
            .map(move |priority| Application { selector, protocol, priority })
            .collect::<Vec<_>>()
    };
    entries.iter().flat_map(of_entry).collect()
}

/// Converts the priorities of FCoE to an entry of version 1.01; an empty list if there are none.
pub(crate) fn of_fcoe(feature: &Feature<PrioritySet>) -> Feature<Vec<BaselineApplication>> {
    let entry = (!feature.value.is_empty()).then(|| BaselineApplication::new(FCOE, false, feature.value));
    with(feature, entry.into_iter().collect())
}

/// Converts an entry of version 1.01 to the priorities of FCoE.
pub(crate) fn to_fcoe(feature: &Feature<Vec<BaselineApplication>>) -> Feature<PrioritySet> {
    let fcoe = feature.value.iter().find(|entry| (entry.protocol, entry.port) == (FCOE, false));
    with(feature, fcoe.map_or_else(PrioritySet::default, |entry| entry.priorities))
}

/// Returns the feature with another value.
fn with<A, B>(feature: &Feature<A>, value: B) -> Feature<B> {
    let Feature { operating_version, max_version, enabled, willing, error, subtype, .. } = *feature;
    Feature { operating_version, max_version, enabled, willing, error, subtype, value }
}
