//! Stations on the link, and their last announcements.

use crate::before_standard::{of_cin, of_fcoe, table_of};
use serde::Serialize;
use units::Time;
use wire::Mac;
use wire::baseline::{Baseline, BaselineApplication, BaselinePfc, Control, Feature, Groups, SubTlv, Version};
use wire::ieee::{Application, EtsTable, PfcTlv};
use wire::lldp::{Id, Lldpdu};
use wire::tlv::Tlv;

/// Maximum number of neighbours that an agent stores. If more than one speaks DCBX, none of them is used, so that
/// further ones make no difference.
pub const NEIGHBOURS_MOST: usize = 8;

/// A station on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Chassis ID.
    pub chassis: Id,
    /// Port ID.
    pub port: Id,
    /// Source address of its frames.
    pub mac: Mac,
    /// Expiry time of its information.
    pub until: Time,
    /// Last DCBX announcement of the station.
    pub remote: Remote,
}

/// DCBX announcement in a station's last LLDPDU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Remote {
    /// ETS table that the station recommends.
    pub recommendation: Option<EtsTable>,
    /// ETS table that the station uses, and its willing bit.
    pub ets: Option<wire::ieee::EtsConfiguration>,
    /// PFC priorities that the station uses.
    pub pfc: Option<PfcTlv>,
    /// Application priorities of the station.
    pub applications: Vec<Application>,
    /// Announcement of the station in version 1.01 or 1.00.
    pub older: Option<Older>,
    standard: bool,
    before: bool,
}

/// Announcement in a version of DCBX before the standard, converted to version 1.01.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Older {
    /// Version of the announcement.
    pub version: Version,
    /// Sequence numbers of the station.
    pub control: Control,
    /// Priority groups.
    pub groups: Option<Feature<Groups>>,
    /// PFC.
    pub pfc: Option<Feature<BaselinePfc>>,
    /// Application priorities.
    pub applications: Option<Feature<Vec<BaselineApplication>>>,
}

impl Older {
    /// Returns the priority groups as an ETS table; `None` without priority groups.
    pub fn ets(&self) -> Option<EtsTable> {
        self.groups.as_ref().and_then(|groups| table_of(&groups.value))
    }
    /// Converts an announcement; `None` if it has no sequence numbers.
    fn of(baseline: &Baseline) -> Option<Older> {
        let (mut control, mut groups, mut pfc, mut applications) = (None, None, None, None);
        for one in baseline.sub_tlvs() {
            match one {
                SubTlv::Control(found) => control = Some(*found),
                SubTlv::Groups(found) => groups = Some(found.clone()),
                SubTlv::CinGroups(found) => groups = of_cin(found),
                SubTlv::Pfc(found) => pfc = Some(found.clone()),
                SubTlv::Applications(found) => applications = Some(found.clone()),
                SubTlv::CinApplication(found) if found.subtype == 0 => applications = Some(of_fcoe(found)),
                SubTlv::CinApplication(_) | SubTlv::LogicalLink(_) | SubTlv::Other { .. } => {}
            }
        }
        Some(Older { version: baseline.version(), control: control?, groups, pfc, applications })
    }
}

impl Remote {
    pub(crate) fn of(pdu: &Lldpdu) -> Remote {
        let mut remote = Remote::default();
        for tlv in pdu.tlvs() {
            match tlv {
                Tlv::EtsRecommendation(table) => remote.recommendation = Some(*table),
                Tlv::EtsConfiguration(configuration) => remote.ets = Some(*configuration),
                Tlv::Pfc(pfc) => remote.pfc = Some(*pfc),
                Tlv::Applications(list) => remote.applications = list.entries().to_vec(),
                Tlv::Baseline(baseline) => {
                    remote.before = true;
                    remote.older = Older::of(baseline);
                    continue;
                }
                _ => continue,
            }
            remote.standard = true;
        }
        remote
    }

    /// Returns true if the station speaks the standard version of DCBX.
    pub fn is_standard(&self) -> bool {
        self.standard
    }
    /// Returns true if the station speaks a version of DCBX before the standard.
    pub fn is_before_standard(&self) -> bool {
        self.before
    }
    pub(crate) fn speaks_dcbx(&self) -> bool {
        self.standard || self.before
    }
}

/// Stores a station's announcement. A TTL of 0 removes the station at once. Stations beyond the maximum number are not
/// stored.
pub(crate) fn receive(neighbours: &mut Vec<Neighbour>, mac: Mac, pdu: &Lldpdu, now: Time) {
    let place = neighbours.iter().position(|one| (&one.chassis, &one.port) == (&pdu.chassis, &pdu.port));
    let until = now.saturating_add(Time::from_ms(1_000) * u64::from(pdu.ttl_s));
    let (chassis, port) = (pdu.chassis.clone(), pdu.port.clone());
    let new = Neighbour { chassis, port, mac, until, remote: Remote::of(pdu) };
    match place {
        Some(place) if pdu.ttl_s == 0 => drop(neighbours.remove(place)),
        Some(place) => neighbours[place] = new,
        None if pdu.ttl_s > 0 && neighbours.len() < NEIGHBOURS_MOST => neighbours.push(new),
        None => {}
    }
}
