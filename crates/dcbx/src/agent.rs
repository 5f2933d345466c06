//! The agent of one port.
//!
//! Source: IEEE 802.1AB clause 9.2 (timers: one frame every 30 s, one per second for four frames after a change or a
//! new neighbour, at most five frames at once), IEEE 802.1Q clause 38.
//!
//! It does no I/O and has no clock: frames and the time are passed in, frames and settings are returned. Invalid
//! received data is counted and otherwise ignored.

use crate::handshake::Handshake;
use crate::neighbours::{self, Neighbour, Older};
use crate::rules::{self, Administered, Because, Condition, Dialect, Origin, Profile};
use serde::Serialize;
use units::Time;
use wire::baseline::Version;
use wire::ethernet::{EthernetView, ether_type};
use wire::ieee::{Application, Applications, EtsConfiguration, EtsTable, PfcTlv};
use wire::lldp::{Id, Lldpdu};
use wire::tlv::Tlv;
use wire::{Error, Frame, Mac, PrioritySet};

const SECOND: Time = Time::from_ms(1_000);
/// Time between frames when nothing changes.
const SLOW: Time = Time::from_ms(30_000);
/// Validity time of the information in a frame: four transmission intervals, as in other agents.
const TTL_S: u16 = 120;
/// Number of frames that are sent at intervals of one second after a change.
const FAST_FRAMES: u8 = 4;
/// Maximum transmission credit, in frames; it grows by one per second.
const CREDIT_MOST: u8 = 5;

/// Settings in force, and their origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operational {
    /// ETS.
    pub ets: EtsTable,
    /// Origin of the ETS table.
    pub ets_origin: Origin,
    /// Priorities with PFC.
    pub pfc: PrioritySet,
    /// Origin of the PFC priorities.
    pub pfc_origin: Origin,
    /// Application priorities: the administrator's, and those of the peer.
    pub applications: Vec<Application>,
    /// Conditions that require an administrator's attention.
    pub conditions: Vec<Condition>,
}

impl Operational {
    /// Makes the settings in force at this port, an uplink, the administered settings and the recommendation of another
    /// port.
    ///
    /// The standard has no such rule for switches between core and hosts: Hagen 2012 section 3.2.4 points out the gap.
    ///
    /// # Errors
    ///
    /// If the other port supports PFC for fewer priorities, or has fewer traffic classes.
    pub fn bequeath(&self, admin: &mut Administered) -> Result<(), Error> {
        if let Some(class) = self.ets.classes().into_iter().find(|&class| class >= admin.classes) {
            let (what, accepted) = ("a traffic class of the uplink", "those below traffic_classes");
            return Err(Error::Value { what, accepted, got: class.into() });
        }
        let mut pfc = PfcTlv::new(admin.pfc.willing, admin.pfc.capability(), self.pfc)?;
        pfc.macsec_bypass = admin.pfc.macsec_bypass;
        (admin.ets, admin.recommendation, admin.pfc) = (self.ets, Some(self.ets), pfc);
        admin.applications.clone_from(&self.applications);
        Ok(())
    }
}

/// Counters of received and sent LLDPDUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Valid LLDPDUs received.
    pub received: u64,
    /// LLDPDUs that were ignored because of an error in a mandatory part.
    pub discarded: u64,
    /// TLVs that were ignored because they were invalid or repeated.
    pub faulty_tlvs: u64,
    /// LLDPDUs sent.
    pub sent: u64,
}

/// The agent of one port.
#[derive(Clone, Debug)]
pub struct Agent {
    mac: Mac,
    admin: Administered,
    profile: Profile,
    neighbours: Vec<Neighbour>,
    handshake: Handshake,
    operational: Operational,
    counters: Counters,
    next_send: Time,
    fast_frames: u8,
    credit: u8,
    credit_since: Time,
}

impl Agent {
    /// Creates the agent of the port with this address. Returns an error if the administered settings do not fit into a
    /// frame.
    pub fn new(mac: Mac, admin: Administered, profile: Profile, now: Time) -> Result<Agent, Error> {
        let operational = decide(mac, &admin, profile, &[]);
        let agent = Agent {
            mac,
            handshake: Handshake::new(&admin, profile.dialect.before_standard().0),
            admin,
            profile,
            neighbours: Vec::new(),
            operational,
            counters: Counters::default(),
            next_send: now,
            fast_frames: 0,
            credit: CREDIT_MOST,
            credit_since: now,
        };
        agent.announcement(TTL_S)?;
        Ok(agent)
    }

    /// Returns the settings in force.
    pub fn operational(&self) -> &Operational {
        &self.operational
    }
    /// Returns the stations on the link.
    pub fn neighbours(&self) -> &[Neighbour] {
        &self.neighbours
    }
    /// Returns the counters of received and sent LLDPDUs.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Returns the address of the port.
    pub fn mac(&self) -> Mac {
        self.mac
    }
    /// Returns the administered settings.
    pub fn administered(&self) -> &Administered {
        &self.admin
    }

    /// Replaces the administered settings. Returns an error, and changes nothing, if they do not fit into a frame.
    pub fn administer(&mut self, admin: Administered, now: Time) -> Result<(), Error> {
        let old = std::mem::replace(&mut self.admin, admin);
        // The announcement is longest if no setting is adopted from the peer.
        let alone = decide(self.mac, &self.admin, self.profile, &[]);
        let old_operational = std::mem::replace(&mut self.operational, alone);
        if let Err(error) = self.announcement(TTL_S) {
            (self.admin, self.operational) = (old, old_operational);
            return Err(error);
        }
        self.decide_again(now);
        self.hurry(now);
        Ok(())
    }

    /// Processes a received frame. Ignores the port's own frames, and frames other than LLDP frames to the nearest
    /// bridge address.
    pub fn receive(&mut self, frame: &[u8], now: Time) {
        self.age(now);
        let Ok(view) = EthernetView::new(frame) else { return };
        let for_us = view.destination() == Mac::NEAREST_BRIDGE && view.ether_type() == ether_type::LLDP;
        if !for_us || view.source() == self.mac {
            return;
        }
        let Ok(received) = Lldpdu::receive(view.rest()) else {
            self.counters.discarded += 1;
            return;
        };
        self.counters.received += 1;
        self.counters.faulty_tlvs += received.faults.len() as u64;
        let known = self.neighbours.len();
        neighbours::receive(&mut self.neighbours, view.source(), &received.pdu, now);
        if self.neighbours.len() > known {
            self.hurry(now);
        }
        self.decide_again(now);
    }

    /// Processes the expiry of [`Agent::next_time`].
    pub fn age(&mut self, now: Time) {
        let known = self.neighbours.len();
        self.neighbours.retain(|one| one.until > now);
        if self.neighbours.len() < known {
            self.decide_again(now);
        }
    }

    /// Returns a frame to send now, if one is due.
    pub fn send(&mut self, now: Time) -> Option<Vec<u8>> {
        while self.credit < CREDIT_MOST && now >= self.credit_since.saturating_add(SECOND) {
            self.credit += 1;
            self.credit_since = self.credit_since.saturating_add(SECOND);
        }
        if now < self.next_time_to_send() {
            return None;
        }
        if self.credit == CREDIT_MOST {
            self.credit_since = now;
        }
        self.credit -= 1;
        self.fast_frames = self.fast_frames.saturating_sub(1);
        self.next_send = now.saturating_add(if self.fast_frames > 0 { SECOND } else { SLOW });
        self.counters.sent += 1;
        // The settings fitted into a frame when they were set. They still do: adopted values take no more octets.
        self.announcement(TTL_S).ok().map(|frame| frame.to_bytes())
    }

    /// Returns the time of the next timer event. A received frame may change it.
    pub fn next_time(&self) -> Time {
        let aged = self.neighbours.iter().map(|one| one.until).min();
        self.next_time_to_send().min(aged.unwrap_or(Time::NEVER))
    }

    /// Returns the shutdown frame, which makes the peer discard the port's information at once.
    pub fn shut_down(self) -> Option<Vec<u8>> {
        self.announcement(0).ok().map(|frame| frame.to_bytes())
    }

    fn next_time_to_send(&self) -> Time {
        match self.credit {
            0 => self.next_send.max(self.credit_since.saturating_add(SECOND)),
            _ => self.next_send,
        }
    }

    fn decide_again(&mut self, now: Time) {
        let (new, owed) = match self.older_peer().cloned() {
            Some(theirs) => {
                let owed = self.handshake.receive(&self.admin, &theirs);
                (self.handshake.operational(&self.admin, &theirs), owed)
            }
            None => {
                self.handshake.forget(&self.admin);
                (decide(self.mac, &self.admin, self.profile, &self.neighbours), false)
            }
        };
        let features = |of: &Operational| (of.ets, of.pfc);
        if owed || features(&new) != features(&self.operational) {
            self.hurry(now);
        }
        self.operational = new;
    }

    /// Returns the announcement of the only peer if the version to use with it is one before the standard.
    fn older_peer(&self) -> Option<&Older> {
        let only = rules::peer(&self.neighbours).ok()?;
        let speaks = |version| match self.profile.dialect {
            Dialect::Either => !only.remote.is_standard(),
            Dialect::Standard => false,
            Dialect::Older => version == Version::Cee,
            Dialect::Oldest => version == Version::Cin,
        };
        only.remote.older.as_ref().filter(|older| speaks(older.version))
    }

    /// Starts fast transmission: a frame is sent at once, and a few more at short intervals.
    fn hurry(&mut self, now: Time) {
        self.next_send = now;
        self.fast_frames = FAST_FRAMES;
    }

    /// Creates the announcement, with the administrator's willing bits and the values in force.
    fn announcement(&self, ttl_s: u16) -> Result<Frame, Error> {
        let mut tlvs = Vec::new();
        let (_, only_before) = self.profile.dialect.before_standard();
        if ttl_s > 0 && (only_before || self.older_peer().is_some()) {
            tlvs.push(Tlv::Baseline(self.handshake.tlv()?));
        }
        if ttl_s > 0 && !only_before {
            let configuration =
                EtsConfiguration::new(self.admin.ets_willing, self.admin.classes, self.operational.ets)?;
            tlvs.push(Tlv::EtsConfiguration(configuration));
            tlvs.extend(self.admin.recommendation.map(Tlv::EtsRecommendation));
            if self.admin.exchanges_pfc {
                let own = self.admin.pfc;
                let mut pfc = PfcTlv::new(own.willing, own.capability(), self.operational.pfc)?;
                pfc.macsec_bypass = own.macsec_bypass;
                tlvs.push(Tlv::Pfc(pfc));
            }
            if !self.admin.applications.is_empty() {
                tlvs.push(Tlv::Applications(Applications::new(self.admin.applications.clone())?));
            }
        }
        let pdu = Lldpdu::new(Id::chassis(self.mac), Id::port(self.mac), ttl_s, tlvs)?;
        Ok(Frame::lldp(self.mac, pdu))
    }
}

/// Determines the settings in force from the administered ones and the neighbours.
fn decide(mac: Mac, admin: &Administered, profile: Profile, neighbours: &[Neighbour]) -> Operational {
    let mut conditions = Vec::new();
    let mut peer = rules::peer(neighbours);
    match peer {
        Ok(one) if !one.remote.is_standard() || profile.dialect.before_standard().1 => {
            conditions.push(Condition::OtherDialect);
            peer = Err(Because::NoPeer);
        }
        Ok(one) if one.remote.is_before_standard() => conditions.push(Condition::BothDialects),
        Err(Because::SeveralPeers) => {
            let speaking = neighbours.iter().filter(|one| one.remote.speaks_dcbx()).count();
            conditions.push(Condition::SeveralPeers(speaking));
        }
        _ => {}
    }
    let (ets, ets_origin) = rules::ets(admin, peer);
    let (pfc, pfc_origin) = rules::pfc(admin, mac, profile, peer);
    if let Ok(Some(theirs)) = peer.map(|peer| peer.remote.pfc)
        && admin.exchanges_pfc
        && theirs.enabled() != pfc
    {
        conditions.push(Condition::PfcMismatch { ours: pfc, theirs: theirs.enabled() });
    }
    let applications = rules::applications(admin, peer);
    Operational { ets, ets_origin, pfc, pfc_origin, applications, conditions }
}
