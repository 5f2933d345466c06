//! DCBX before the standard, versions 1.01 (CEE) and 1.00 (CIN): both ends synchronise sequence numbers, and then
//! compare their announcements.
//!
//! An end increments its sequence number with each change of its announcement; the other end acknowledges the last
//! number that it has received. The announced values are the administered ones, not those in force. A willing end
//! adopts from one that is not. If both are willing, or neither is, and their values differ, both set the error bit,
//! and the feature is disabled.
//!
//! Applications are compatible unless both ends list the same one with different priorities. The willing bit for
//! applications is that of PFC. An end replies in the version of its peer.
//!
//! Source: `DCB Capability Exchange Protocol Base Specification` 1.01 (control and feature state machines).
//!
//! Not modelled: logical links. If ETS is disabled, the administered table is in force, because a port needs a way to
//! serve its classes.

use crate::agent::Operational;
use crate::before_standard::{applications_of, entries_of, groups_of, table_of, to_cin, to_fcoe};
use crate::neighbours::Older;
use crate::rules::{Administered, Because, Condition, Origin};
use wire::baseline::{Baseline, BaselineApplication, BaselinePfc, Control, Feature, Groups, SubTlv, Version};
use wire::{Error, PrioritySet};

/// One end of the handshake.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    version: Version,
    control: Control,
    sent: Features,
    settled: Option<AllSettled>,
}

type AllSettled = (Settled<Groups>, Settled<BaselinePfc>, Settled<Vec<BaselineApplication>>);

/// Features that an end announces; `None` for a feature that is not part of the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Features {
    groups: Option<Feature<Groups>>,
    pfc: Option<Feature<BaselinePfc>>,
    applications: Option<Feature<Vec<BaselineApplication>>>,
}

/// Result of comparing the settings of a feature at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Settled<T> {
    /// The administrator's setting is in force.
    Ours(Because),
    /// The peer's setting is in force.
    Theirs(T),
    /// The feature is disabled.
    Off(Because),
}

impl Handshake {
    /// Creates a handshake in which no announcement has been received yet.
    pub fn new(admin: &Administered, version: Version) -> Handshake {
        let control = Control { sequence: 1, ..Control::default() };
        Handshake { version, control, sent: Features::of(admin), settled: None }
    }

    /// Processes the peer's last announcement. Returns true if a reply has to be sent.
    pub fn receive(&mut self, admin: &Administered, theirs: &Older) -> bool {
        let mut own = Features::of(admin);
        let groups = settle(own.groups.as_mut(), theirs.groups.as_ref(), |a, b| {
            (a.groups(), a.percent()) == (b.groups(), b.percent())
        });
        let pfc = settle(own.pfc.as_mut(), theirs.pfc.as_ref(), |a, b| a.priorities == b.priorities);
        let of_peer = theirs.applications.as_ref();
        let applications = settle(own.applications.as_mut(), of_peer, |a, b| compatible(a, b));
        self.version = theirs.version;
        let owed = self.control.acknowledged != theirs.control.sequence;
        self.control.acknowledged = theirs.control.sequence;
        let changed = self.tell(own);
        if theirs.control.acknowledged == self.control.sequence {
            self.settled = Some((groups, pfc, applications));
        }
        owed || changed
    }

    /// Resets the handshake. Called when no peer speaks this version.
    pub fn forget(&mut self, admin: &Administered) {
        self.control.acknowledged = 0;
        self.settled = None;
        self.tell(Features::of(admin));
    }

    /// Returns the TLV to send.
    pub fn tlv(&self) -> Result<Baseline, Error> {
        let Features { groups, pfc, applications } = self.sent.clone();
        let mut sub_tlvs = vec![SubTlv::Control(self.control)];
        match self.version {
            Version::Cee => {
                sub_tlvs.extend(groups.map(SubTlv::Groups));
                sub_tlvs.extend(pfc.map(SubTlv::Pfc));
                sub_tlvs.extend(applications.map(SubTlv::Applications));
            }
            Version::Cin => {
                sub_tlvs.extend(groups.as_ref().and_then(to_cin).map(SubTlv::CinGroups));
                sub_tlvs.extend(pfc.map(|mut pfc| {
                    pfc.value.traffic_classes = None;
                    SubTlv::Pfc(pfc)
                }));
                sub_tlvs.extend(applications.as_ref().map(to_fcoe).map(SubTlv::CinApplication));
            }
        }
        Baseline::new(self.version, sub_tlvs)
    }

    /// Returns the settings in force.
    pub fn operational(&self, admin: &Administered, theirs: &Older) -> Operational {
        let why = Because::NotSynchronised;
        let waiting = || (Settled::Ours(why), Settled::Ours(why), Settled::Ours(why));
        let (groups, pfc, applications) = self.settled.clone().unwrap_or_else(waiting);
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
        let applications = match applications {
            Settled::Ours(_) => admin.applications.clone(),
            Settled::Theirs(entries) => applications_of(&entries),
            Settled::Off(_) => Vec::new(),
        };
        Operational { ets, ets_origin, pfc, pfc_origin, applications, conditions }
    }

    /// Sets the features to announce. Returns true if they changed.
    fn tell(&mut self, own: Features) -> bool {
        let new = own != self.sent;
        if new {
            self.control.sequence = self.control.sequence.wrapping_add(1);
            self.sent = own;
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
            applications: Some(Feature::new(admin.pfc.willing, entries_of(&admin.applications))),
        }
    }
}

/// Compares the settings of both ends, and sets the error bit of this end accordingly.
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

/// Returns true if no application has different priorities at the two ends.
fn compatible(ours: &[BaselineApplication], theirs: &[BaselineApplication]) -> bool {
    let same = |one: &BaselineApplication, other: &BaselineApplication| {
        (one.protocol, one.port) == (other.protocol, other.port)
    };
    let agrees = |one: &BaselineApplication| {
        theirs.iter().filter(|other| same(one, other)).all(|other| one.priorities == other.priorities)
    };
    ours.iter().all(agrees)
}
