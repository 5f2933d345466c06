//! Congestion notification domains: the ports at which a priority is congestion controlled, and the defence against
//! frames from outside.
//!
//! A congestion notification priority value (CNPV) is reserved for flows whose sources reduce their rate on congestion
//! notification messages. Frames of other sources must not share its queues. Therefore every port has a defence mode
//! for each CNPV:
//!
//! - edge: the neighbour does not support congestion notification for this priority. Arriving frames are remapped to
//!   the alternate priority, and departing frames have no CN-TAG.
//! - interior: the neighbour supports it. Arriving frames keep their priority; departing frames have no CN-TAG.
//! - interior_ready: the neighbour supports it and is ready for CN-TAGs. Frames keep their CN-TAGs, and hosts add
//!   them.
//! - disabled: congestion notification is off for this priority at this port. Frames pass unchanged.
//!
//! By default ("auto") a port derives its mode from the congestion notification TLV in the LLDPDUs of its neighbour.
//! The CNPV indicator takes it from edge to interior, and the Ready indicator takes it from interior to
//! interior_ready. A port announces Ready as soon as it leaves the edge mode. A simulation starts with this
//! negotiation complete; an LLDPDU injected with `control_frame` changes its result.
//!
//! A CN-TAG is 4 B long and carries a flow identifier. A host numbers its own flows from 0, in the order of the
//! scenario, followed by the flows for which it sends responses. A congestion notification message carries the CN-TAG
//! of the sampled frame.
//!
//! Source: IEEE 802.1Q-2018, clauses 30.5 (CN-TAG), 32.1 (defence modes) and 32.6 (their state machine; 802.1Qau), and
//! ieee8021CnPortPriDefenseMode and ieee8021CnComPriAlternatePriority of its MIB; Hagen 2012, section 2.1.3. Choices:
//! rate limiters meter frames without the tag; a queue accounts a frame with the length at which it arrived, so that
//! the queue of a NIC does not include the tag.
//!
//! Not modelled: the wait for frames of the old priority to drain before a port announces Ready; the time to live of
//! the TLV; frames on the link while a defence mode changes; CN-TAGs of multicast frames.

use crate::checks::distinct_priorities;
use frame::{PRIORITIES, Priority, members};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Length of a CN-TAG in octets.
pub const CN_TAG_BYTES: u8 = 4;

/// Keys of a station in a congestion notification domain.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainKeys {
    /// Congestion notification priority values (CNPVs), 0 to 7 each, at most seven of them. Required.
    pub priorities: Vec<u32>,
    /// Alternate priority: replaces a CNPV in frames that enter the domain from outside. A whole number, 0 to 7, that is no CNPV. Default: the next lower priority that is no CNPV, else the next higher one (ieee8021CnComPriAutoAltPri).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 7))]
    pub alternate_priority: Option<u32>,
    /// Defence mode of all ports: "auto" (derived from the announcements of the neighbour), "disabled", "edge", "interior" or "interior_ready". Default: "auto" (ieee8021CnComPriDefModeChoice).
    #[serde(default)]
    pub defence: Choice,
    /// Defence mode of ports to certain neighbours, by the name, range or pattern of the neighbour, like `{ h0 = "edge" }`. Default: that of all ports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, Choice>,
}

/// Defence mode of a port: automatic or fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Derived from the announcements of the neighbour.
    #[default]
    Auto,
    /// Congestion notification is off.
    Disabled,
    /// The neighbour is outside the domain, regardless of its announcements.
    Edge,
    /// The neighbour is inside the domain and does not accept CN-TAGs.
    Interior,
    /// The neighbour is inside the domain and accepts CN-TAGs.
    InteriorReady,
}

/// The defence mode of a port for a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defence {
    /// The priority has no congestion notification.
    Disabled,
    /// The priority of received frames is replaced.
    Edge,
    /// Frames keep their priority; CN-TAGs are not sent.
    Interior,
    /// Frames keep their priority; CN-TAGs are sent.
    InteriorReady,
}

impl Defence {
    /// Returns the name used in result tables.
    pub fn name(self) -> &'static str {
        match self {
            Defence::Disabled => "disabled",
            Defence::Edge => "edge",
            Defence::Interior => "interior",
            Defence::InteriorReady => "interior_ready",
        }
    }
}

/// The content of a congestion notification TLV: bit n for priority n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CnTlv {
    /// Priorities with congestion notification.
    pub controlled: u8,
    /// Ready indicators: priorities whose received frames keep their priority.
    pub ready: u8,
}

/// The defence modes of a port for all priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortDefence {
    priorities: u8,
    choice: Choice,
    received: CnTlv,
}

impl PortDefence {
    /// Creates the defence modes for these priorities. No TLV has been received.
    pub fn new(priorities: u8, choice: Choice) -> PortDefence {
        PortDefence { priorities, choice, received: CnTlv::default() }
    }

    /// Processes a TLV from the neighbour.
    pub fn receive(&mut self, tlv: CnTlv) {
        self.received = tlv;
    }

    /// Returns the defence mode for a priority.
    pub fn of(&self, priority: Priority) -> Defence {
        let has = |set: u8| set >> priority.0 & 1 != 0;
        if !has(self.priorities) {
            return Defence::Disabled;
        }
        match self.choice {
            Choice::Auto if !has(self.received.controlled) => Defence::Edge,
            Choice::Auto if !has(self.received.ready) => Defence::Interior,
            Choice::Auto | Choice::InteriorReady => Defence::InteriorReady,
            Choice::Disabled => Defence::Disabled,
            Choice::Edge => Defence::Edge,
            Choice::Interior => Defence::Interior,
        }
    }

    /// Returns the TLV to send.
    pub fn tlv(&self) -> CnTlv {
        let those = |least: Defence| {
            let own = members(self.priorities).filter(|&it| self.of(Priority(it as u8)) >= least);
            own.fold(0, |set, priority| set | 1 << priority)
        };
        CnTlv { controlled: those(Defence::Edge), ready: those(Defence::Interior) }
    }

    /// Exchanges TLVs between both ends of a link until neither changes.
    pub fn settle(ends: &mut [PortDefence; 2]) {
        // Each TLV can move a priority by one state, and at most two moves are possible.
        for _ in 0..3 {
            let tlvs = [ends[0].tlv(), ends[1].tlv()];
            ends[0].receive(tlvs[1]);
            ends[1].receive(tlvs[0]);
        }
    }
}

impl DomainKeys {
    /// Returns the priorities as a set, and the alternate priority of each for frames from outside the domain; or the
    /// first error.
    pub fn spec(&self) -> Result<(u8, [Priority; PRIORITIES]), Remark> {
        let set = distinct_priorities("priorities", &self.priorities)?;
        if set == u8::MAX {
            let help = "expected at most seven: frames from outside need another one";
            return Err(Remark::about("priorities", "all eight priorities", help));
        }
        let inside = |priority: u8| set >> priority & 1 != 0;
        if let Some(alternate) = self.alternate_priority {
            let about = |help| {
                let message = format!("an alternate priority of {alternate}");
                Err(Remark::about("alternate_priority", message, help))
            };
            match u8::try_from(alternate) {
                Ok(number) if number > 7 => return about("expected 0 to 7 (IEEE 802.1Q)"),
                Ok(number) if inside(number) => return about("expected one that is not in `priorities`"),
                Err(_) => return about("expected 0 to 7 (IEEE 802.1Q)"),
                Ok(_) => {}
            }
        }
        let alternate = |priority: u8| {
            let given = self.alternate_priority.map(|given| given as u8);
            let lower = (0..priority).rev().find(|&other| !inside(other));
            let higher = (priority..8).find(|&other| !inside(other));
            given.or(lower).or(higher).unwrap_or(priority)
        };
        let becomes = |priority: u8| if inside(priority) { alternate(priority) } else { priority };
        Ok((set, std::array::from_fn(|priority| Priority(becomes(priority as u8)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Priority = Priority(3);

    fn port(priorities: u8, choice: Choice) -> PortDefence {
        PortDefence::new(priorities, choice)
    }

    fn settled(a: PortDefence, b: PortDefence) -> [Defence; 2] {
        let mut ends = [a, b];
        PortDefence::settle(&mut ends);
        let before = ends;
        PortDefence::settle(&mut ends);
        assert_eq!(ends, before, "the exchange of TLVs had not settled");
        ends.map(|end| end.of(THREE))
    }

    #[test]
    fn two_ends_that_have_it_are_ready_and_one_alone_is_an_edge() {
        use Defence::{Disabled, Edge, Interior, InteriorReady};
        let own = |choice| port(0b1000, choice);
        let outside = port(0b0100, Choice::Auto);
        let cases = [
            (own(Choice::Auto), own(Choice::Auto), [InteriorReady; 2]),
            (own(Choice::Auto), outside, [Edge, Disabled]),
            (own(Choice::Auto), own(Choice::Disabled), [Edge, Disabled]),
            // The neighbour advertises the priority, but not readiness.
            (own(Choice::Auto), own(Choice::Edge), [Interior, Edge]),
            (own(Choice::Auto), own(Choice::Interior), [InteriorReady, Interior]),
            (own(Choice::Interior), own(Choice::InteriorReady), [Interior, InteriorReady]),
        ];
        for (a, b, expected) in cases {
            assert_eq!(settled(a, b), expected, "{a:?} {b:?}");
            assert_eq!(settled(b, a), [expected[1], expected[0]], "{a:?} {b:?}");
        }
        assert_eq!(own(Choice::Auto).of(Priority(2)), Disabled);
    }

    #[test]
    fn each_bit_moves_a_port_by_one_state_and_back() {
        let mut port = port(0b1000, Choice::Auto);
        let tlv = |controlled, ready| CnTlv { controlled, ready };
        let states = [
            (tlv(0, 0), Defence::Edge, tlv(8, 0)),
            // The neighbour is ready for a priority that it does not advertise.
            (tlv(0, 8), Defence::Edge, tlv(8, 0)),
            (tlv(8, 0), Defence::Interior, tlv(8, 8)),
            (tlv(8, 8), Defence::InteriorReady, tlv(8, 8)),
            (tlv(4, 4), Defence::Edge, tlv(8, 0)),
        ];
        for (received, defence, sent) in states {
            port.receive(received);
            assert_eq!((port.of(THREE), port.tlv()), (defence, sent));
        }
    }

    fn keys(priorities: &[u32], alternate_priority: Option<u32>) -> DomainKeys {
        let priorities = priorities.to_vec();
        DomainKeys { priorities, alternate_priority, defence: Choice::Auto, ports: BTreeMap::new() }
    }

    #[test]
    fn the_alternate_is_the_next_lower_priority_outside_or_the_next_higher() {
        let becomes = |priorities: &[u32], given| keys(priorities, given).spec().unwrap().1.map(|it| it.0);
        assert_eq!(becomes(&[3], None), [0, 1, 2, 2, 4, 5, 6, 7]);
        assert_eq!(becomes(&[2, 3], None), [0, 1, 1, 1, 4, 5, 6, 7]);
        assert_eq!(becomes(&[0, 1], None), [2, 2, 2, 3, 4, 5, 6, 7]);
        assert_eq!(becomes(&[5, 3], Some(0)), [0, 1, 2, 0, 4, 0, 6, 7]);
    }

    #[test]
    fn what_cannot_be_meant() {
        let wrong: [(&[u32], Option<u32>, &str); 7] = [
            (&[], None, "no priority"),
            (&[8], None, "priority 8"),
            (&[3, 3], None, "priority 3 twice"),
            (&[0, 1, 2, 3, 4, 5, 6, 7], None, "all eight"),
            (&[3], Some(3), "an alternate priority of 3"),
            (&[3], Some(8), "an alternate priority of 8"),
            (&[3], Some(256), "an alternate priority of 256"),
        ];
        for (priorities, alternate, words) in wrong {
            let why = keys(priorities, alternate).spec().unwrap_err();
            assert!(why.contains(words), "{why:?}");
        }
    }
}
