//! Headroom that a PHY adds, for links of lossless classes whose scenario states neither a PHY nor a delay.

use crate::build::headroom::pause_needs;
use crate::spec::Spec;
use flow_control::headroom::response_time_of;
use flow_control::phy::Phy;
use std::collections::BTreeMap;
use units::{BitRate, Time};

/// Links of one rate and cable without a PHY, and their headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithoutPhy {
    /// Rate of data.
    pub rate: BitRate,
    /// One-way delay of the cable.
    pub cable: Time,
    /// Number of links with a lossless class.
    pub links: u64,
    /// Largest headroom of one port and priority as the scenario stands, in bytes.
    pub headroom: u64,
    /// The PHY of the rate with the longest delay.
    pub phy: &'static Phy,
    /// Largest headroom with that PHY, in bytes.
    pub headroom_with_phy: u64,
}

/// Returns the links of lossless classes among `without_phy`, numbers of links whose rate has a known PHY, by rate and cable.
pub fn without_phy(spec: &Spec, without_phy: &[usize]) -> Vec<WithoutPhy> {
    let mut with_phy = spec.clone();
    let mut phys: BTreeMap<usize, &'static Phy> = BTreeMap::new();
    for &number in without_phy {
        let link = &mut with_phy.links[number];
        // A PHY has one rate.
        let [rate, back] = link.rates;
        let Some(phy) = Phy::slowest_at(rate).filter(|_| rate == back) else { continue };
        link.delay = link.delay.saturating_add(phy.interface_delay());
        link.response_time = response_time_of(phy);
        phys.insert(number, phy);
    }
    if phys.is_empty() {
        return Vec::new();
    }
    let needs = pause_needs(spec);
    if needs.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<(BitRate, Time), WithoutPhy> = BTreeMap::new();
    let mut last = None;
    let mut links: Vec<_> = needs.iter().zip(pause_needs(&with_phy)).collect();
    links.sort_by_key(|(need, _)| need.link);
    for (need, with) in links {
        let Some(&phy) = phys.get(&need.link) else { continue };
        let link = &spec.links[need.link];
        let row = found.entry((link.rates[0], link.cable)).or_insert(WithoutPhy {
            rate: link.rates[0],
            cable: link.cable,
            links: 0,
            headroom: 0,
            phy,
            headroom_with_phy: 0,
        });
        row.links += u64::from(last != Some(need.link));
        last = Some(need.link);
        row.headroom = row.headroom.max(need.room.get());
        row.headroom_with_phy = row.headroom_with_phy.max(with.room.get());
    }
    found.into_values().collect()
}
