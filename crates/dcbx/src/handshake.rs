//! DCBX before the standard, version 1.01 (CEE): sequence numbers synchronise both ends; what they tell is compared
//! once they are.
//!
//! Each change of what an end tells counts its sequence number up; the other end acknowledges the last number that it
//! has heard. Values are those of the administrator, not those in force. An end that is willing adopts from one that
//! is not. If both are alike willing and do not have the same, both say so, and the feature is off.
//!
//! Source: `DCB Capability Exchange Protocol Base Specification` 1.01 (control and feature state machines).
//!
//! Not modelled: applications, logical links, and version 1.00 (CIN). ETS that is off is that of the administrator: a port
//! serves its classes somehow.

use crate::agent::Operational;
use crate::neighbours::Older;
use crate::rules::{Administered, Because, Condition, Origin};
use wire::baseline::{Baseline, BaselinePfc, Control, Feature, Groups, NO_LIMIT, SubTlv, Version};
use wire::ieee::{Algorithm, EtsTable};
use wire::{Error, PrioritySet};

/// One end of the handshake.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    control: Control,
    told: Features,
    settled: Option<(Settled<Groups>, Settled<BaselinePfc>)>,
}

/// What an end tells. A feature that is not part of the exchange is none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Features {
    groups: Option<Feature<Groups>>,
    pfc: Option<Feature<BaselinePfc>>,
}

/// What came of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled<T> {
    /// The administrator's holds.
    Ours(Because),
    /// The peer's holds.
    Theirs(T),
    /// The feature is off.
    Off(Because),
}

impl Handshake {
    /// Before anything was heard.
    pub fn new(admin: &Administered) -> Handshake {
        let control = Control { sequence: 1, ..Control::default() };
        Handshake { control, told: Features::of(admin), settled: None }
    }

    /// Hears what the peer has said last: whether there is something to tell it.
    pub fn hear(&mut self, admin: &Administered, theirs: &Older) -> bool {
        let mut own = Features::of(admin);
        let groups = settle(own.groups.as_mut(), theirs.groups.as_ref(), |a, b| {
            (a.groups(), a.percent()) == (b.groups(), b.percent())
        });
        let pfc = settle(own.pfc.as_mut(), theirs.pfc.as_ref(), |a, b| a.priorities == b.priorities);
        let owed = self.control.acknowledged != theirs.control.sequence;
        self.control.acknowledged = theirs.control.sequence;
        let changed = self.tell(own);
        if theirs.control.acknowledged == self.control.sequence {
            self.settled = Some((groups, pfc));
        }
        owed || changed
    }

    /// Nobody is there who speaks this dialect.
    pub fn forget(&mut self, admin: &Administered) {
        self.control.acknowledged = 0;
        self.settled = None;
        self.tell(Features::of(admin));
    }

    /// The TLV to send.
    pub fn tlv(&self) -> Result<Baseline, Error> {
        let mut sub_tlvs = vec![SubTlv::Control(self.control)];
        sub_tlvs.extend(self.told.groups.clone().map(SubTlv::Groups));
        sub_tlvs.extend(self.told.pfc.clone().map(SubTlv::Pfc));
        Baseline::new(Version::Cee, sub_tlvs)
    }

    /// What is in force.
    pub fn operational(&self, admin: &Administered, theirs: &Older) -> Operational {
        let waiting = (Settled::Ours(Because::NotSynchronised), Settled::Ours(Because::NotSynchronised));
        let (groups, pfc) = self.settled.unwrap_or(waiting);
        let ours = |why| (admin.ets, Origin::Administered(why));
        let (ets, ets_origin) = match groups {
            Settled::Ours(why) | Settled::Off(why) => ours(why),
            Settled::Theirs(groups) => table_of(&groups)
                .map_or_else(|| ours(Because::BeyondCapability), |table| (table, Origin::Adopted)),
        };
        let own = admin.pfc.enabled();
        let (pfc, pfc_origin) = match pfc {
            Settled::Ours(why) => (own, Origin::Administered(why)),
            Settled::Off(why) => (PrioritySet::default(), Origin::Administered(why)),
            Settled::Theirs(of_peer) if of_peer.priorities.len() > admin.pfc.capability() => {
                (own, Origin::Administered(Because::BeyondCapability))
            }
            Settled::Theirs(of_peer) => (of_peer.priorities, Origin::Adopted),
        };
        let mut conditions = vec![Condition::FellBack];
        if let (Origin::Administered(Because::Disagree | Because::BeyondCapability), Some(theirs)) =
            (pfc_origin, &theirs.pfc)
        {
            conditions.push(Condition::PfcMismatch { ours: own, theirs: theirs.value.priorities });
        }
        let applications = admin.applications.clone();
        Operational { ets, ets_origin, pfc, pfc_origin, applications, conditions }
    }

    /// Tells this from now on: whether that is new.
    fn tell(&mut self, own: Features) -> bool {
        let new = own != self.told;
        if new {
            self.control.sequence = self.control.sequence.wrapping_add(1);
            self.told = own;
        }
        new
    }
}

impl Features {
    fn of(admin: &Administered) -> Features {
        let pfc =
            BaselinePfc { priorities: admin.pfc.enabled(), traffic_classes: Some(admin.pfc.capability()) };
        Features {
            groups: groups_of(&admin.ets, admin.classes)
                .map(|groups| Feature::new(admin.ets_willing, groups)),
            pfc: admin.exchanges_pfc.then(|| Feature::new(admin.pfc.willing, pfc)),
        }
    }
}

/// Compares what both ends have, and says in ours whether that is an error.
fn settle<T: Clone>(
    own: Option<&mut Feature<T>>,
    theirs: Option<&Feature<T>>,
    alike: fn(&T, &T) -> bool,
) -> Settled<T> {
    let Some(own) = own else { return Settled::Ours(Because::Off) };
    let Some(theirs) = theirs else { return Settled::Ours(Because::NotSent) };
    if !theirs.enabled {
        return Settled::Off(Because::PeerOff);
    }
    own.error = own.willing == theirs.willing && !alike(&own.value, &theirs.value);
    if own.error {
        return Settled::Off(Because::Disagree);
    }
    if theirs.error {
        return Settled::Off(Because::PeerOff);
    }
    match (own.willing, theirs.willing) {
        (true, false) => Settled::Theirs(theirs.value.clone()),
        (true, true) => Settled::Ours(Because::Alike),
        (false, _) => Settled::Ours(Because::NotWilling),
    }
}

/// A table as priority groups: group n is traffic class n, and strict classes have no limit. None if a class is served
/// in a way that this dialect has no words for.
fn groups_of(table: &EtsTable, classes: u8) -> Option<Groups> {
    let algorithms = table.algorithms();
    let strict = |class: u8| algorithms[usize::from(class)] == Algorithm::Strict;
    if algorithms.iter().any(|one| !matches!(one, Algorithm::Strict | Algorithm::Ets)) {
        return None;
    }
    let groups = table.classes().map(|class| if strict(class) { NO_LIMIT } else { class });
    let percent = std::array::from_fn(|class| if strict(class as u8) { 0 } else { table.percent()[class] });
    Groups::new(groups, percent, classes).ok()
}

/// Priority groups as a table: what has no limit is in the highest class that no group needs. None if there is no such
/// class, or if no shares are said.
fn table_of(groups: &Groups) -> Option<EtsTable> {
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
