//! Who is on the link, and what each has said last.

use crate::before_standard::{of_cin, of_fcoe, table_of};
use serde::Serialize;
use units::Time;
use wire::Mac;
use wire::baseline::{Baseline, BaselineApplication, BaselinePfc, Control, Feature, Groups, SubTlv, Version};
use wire::ieee::{Application, EtsTable, PfcTlv};
use wire::lldp::{Id, Lldpdu};
use wire::tlv::Tlv;

/// Neighbours that an agent remembers. With more than one that speaks DCBX none counts, so that those beyond change
/// nothing.
pub const NEIGHBOURS_MOST: usize = 8;

/// A station on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its chassis.
    pub chassis: Id,
    /// Its port.
    pub port: Id,
    /// The address that its frames come from.
    pub mac: Mac,
    /// Until when what it said holds.
    pub until: Time,
    /// What it said of DCBX.
    pub remote: Remote,
}

/// What a station said of DCBX in its last LLDPDU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Remote {
    /// What it recommends for ETS.
    pub recommendation: Option<EtsTable>,
    /// What it does with ETS, and whether it is willing.
    pub ets: Option<wire::ieee::EtsConfiguration>,
    /// What it does with PFC.
    pub pfc: Option<PfcTlv>,
    /// Its priorities of applications.
    pub applications: Vec<Application>,
    /// What it said in version 1.01 or 1.00, before the standard.
    pub older: Option<Older>,
    standard: bool,
    before: bool,
}

/// What a station said in a version of DCBX before the standard, as version 1.01 would say it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Older {
    /// The version.
    pub version: Version,
    /// Its sequence numbers.
    pub control: Control,
    /// Its priority groups.
    pub groups: Option<Feature<Groups>>,
    /// Its PFC.
    pub pfc: Option<Feature<BaselinePfc>>,
    /// Its applications.
    pub applications: Option<Feature<Vec<BaselineApplication>>>,
}

impl Older {
    /// Its priority groups as a table; none if they are none.
    pub fn ets(&self) -> Option<EtsTable> {
        self.groups.as_ref().and_then(|groups| table_of(&groups.value))
    }
    /// None without sequence numbers.
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

    /// Whether it speaks DCBX of the standard.
    pub fn is_standard(&self) -> bool {
        self.standard
    }
    /// Whether it speaks DCBX before the standard.
    pub fn is_before_standard(&self) -> bool {
        self.before
    }
    pub(crate) fn speaks_dcbx(&self) -> bool {
        self.standard || self.before
    }
}

/// Takes what a station said. It goes at once if it says so; one beyond the most is not remembered.
pub(crate) fn hear(neighbours: &mut Vec<Neighbour>, mac: Mac, pdu: &Lldpdu, now: Time) {
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
