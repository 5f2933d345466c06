//! Selects the ports of a switch to which a setting applies, by role, name, neighbour, rate and cable length.
//!
//! Several settings may fit a port. The one that states all conditions of the others, and more, takes precedence. If
//! there is no such setting, two settings claim the port, which is an error.

use keys::{Forms, by_form, nearest};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use units::{BitRate, Time};

/// Role of a port, or a list of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortSet {
    /// Ports to switches that are farther from the nearest host.
    Up,
    /// Ports to hosts, and to switches that are nearer to a host.
    Down,
    /// Ports to hosts.
    Hosts,
    /// Ports to switches.
    Switches,
    /// Ports by name or pattern, such as "leaf0.4->spine0", "*->spine0" or "leaf0".
    Named(Vec<String>),
}

impl PortSet {
    const ROLES: [(&str, PortSet); 4] = [
        ("up", PortSet::Up),
        ("down", PortSet::Down),
        ("hosts", PortSet::Hosts),
        ("switches", PortSet::Switches),
    ];

    /// Returns true if this set states the conditions of the other, or stricter ones.
    fn covers(&self, other: &PortSet) -> bool {
        let narrower = [(PortSet::Hosts, PortSet::Down), (PortSet::Up, PortSet::Switches)];
        let is_named = |ports: &PortSet| matches!(ports, PortSet::Named(_));
        self == other
            || (is_named(self) && !is_named(other))
            || narrower.iter().any(|(one, wide)| self == one && other == wide)
    }
}

impl Forms for PortSet {
    const EXPECTED: &'static str =
        "\"up\", \"down\", \"hosts\", \"switches\", or a list of ports like [\"leaf0.4->spine0\"]";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        if let Some((_, role)) = PortSet::ROLES.into_iter().find(|(name, _)| *name == text) {
            return Ok(role);
        }
        let meant = match nearest(text, PortSet::ROLES.iter().map(|(name, _)| *name)) {
            Some(role) => format!("; did you mean \"{role}\"?"),
            None => format!("; did you mean [\"{text}\"]?"),
        };
        Err(de::Error::custom(format!("ports \"{text}\"; expected {}{meant}", PortSet::EXPECTED)))
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Ok(PortSet::Named(Vec::deserialize(SeqAccessDeserializer::new(list))?))
    }
}
by_form!(PortSet);

impl Serialize for PortSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let PortSet::Named(names) = self {
            return names.serialize(serializer);
        }
        let name = PortSet::ROLES.iter().find(|(_, role)| role == self).map_or("", |(name, _)| name);
        serializer.serialize_str(name)
    }
}
impl JsonSchema for PortSet {
    fn schema_name() -> Cow<'static, str> {
        "PortSet".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Role of a port, or a list of ports.",
            "anyOf": [
                {"type": "string", "enum": ["up", "down", "hosts", "switches"]},
                {"type": "array", "items": {"type": "string"}}
            ]
        })
    }
}

/// The conditions that a port has to meet. Without conditions, all ports are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSelector {
    /// Role or names of the ports.
    pub ports: Option<PortSet>,
    /// Names of neighbours; empty if all neighbours match.
    pub to: Vec<String>,
    /// Configured rate of the link.
    pub rate: Option<BitRate>,
    /// Maximum delay of the cable.
    pub delay: Option<Time>,
}

/// The facts of a port that selectors compare.
pub struct PortFacts<'a> {
    /// Name of the node at the other end.
    pub neighbour: &'a str,
    /// True if that node is a host.
    pub to_host: bool,
    /// Number of links from the node to the nearest host, and from the neighbour to the nearest host.
    pub heights: [u32; 2],
    /// Configured rate of the link.
    pub rate: BitRate,
    /// One-way delay of the cable.
    pub delay: Time,
    /// Returns true if a pattern matches the name of the port or of its node.
    pub is_named: &'a dyn Fn(&str) -> bool,
}

impl PortSelector {
    /// Returns true if the port meets all conditions.
    pub fn fits(&self, port: &PortFacts<'_>) -> bool {
        let [own, other] = port.heights;
        let has_role = match &self.ports {
            None => true,
            Some(PortSet::Up) => other > own,
            Some(PortSet::Down) => other < own,
            Some(PortSet::Hosts) => port.to_host,
            Some(PortSet::Switches) => !port.to_host,
            Some(PortSet::Named(names)) => names.iter().any(|name| (port.is_named)(name)),
        };
        has_role
            && (self.to.is_empty() || self.to.iter().any(|name| name == port.neighbour))
            && self.rate.is_none_or(|only| only == port.rate)
            && self.delay.is_none_or(|most| port.delay <= most)
    }
    /// Returns true if there are no conditions.
    pub fn is_empty(&self) -> bool {
        *self == PortSelector::default()
    }
    /// Returns true if this selector has every condition of the other, equally or more strictly.
    fn covers(&self, other: &PortSelector) -> bool {
        let is_shorter = match (self.delay, other.delay) {
            (_, None) => true,
            (own, Some(most)) => own.is_some_and(|own| own <= most),
        };
        other.ports.as_ref().is_none_or(|role| self.ports.as_ref().is_some_and(|own| own.covers(role)))
            && (other.to.is_empty() || other.to == self.to)
            && (other.rate.is_none() || other.rate == self.rate)
            && is_shorter
    }
}

/// A setting that fits a port, and a queue or group there.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Index of the setting.
    pub entry: usize,
    /// Ports of the setting.
    pub selector: &'a PortSelector,
    /// True if the setting lists its queues or groups.
    pub is_listed: bool,
}

impl Claim<'_> {
    fn precedes(&self, other: &Claim<'_>) -> bool {
        let covers = |one: &Claim<'_>, two: &Claim<'_>| {
            one.is_listed >= two.is_listed && one.selector.covers(two.selector)
        };
        covers(self, other) && !covers(other, self)
    }
}

/// Returns the entries of the claims over which no other claim takes precedence.
pub fn first_claims(claims: &[Claim<'_>]) -> Vec<usize> {
    let is_first = |one: &&Claim<'_>| claims.iter().all(|other| !other.precedes(one));
    claims.iter().filter(is_first).map(|claim| claim.entry).collect()
}

/// Returns the claim that takes precedence, if there is one.
///
/// # Errors
/// The entries of two claims, neither of which takes precedence over the other.
pub fn precedence(claims: &[Claim<'_>]) -> Result<Option<usize>, [usize; 2]> {
    match first_claims(claims)[..] {
        [one, other, ..] => Err([one, other]),
        [one] => Ok(Some(one)),
        [] => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(ports: Option<PortSet>, gbps: Option<u64>, metres: Option<u64>) -> PortSelector {
        let (rate, delay) = (gbps.map(BitRate::from_gbps), metres.map(|m| Time::from_ns(5 * m)));
        PortSelector { ports, rate, delay, ..PortSelector::default() }
    }
    fn first(all: &[(PortSelector, bool)]) -> Result<Option<usize>, [usize; 2]> {
        let claims = all.iter().enumerate();
        let claims: Vec<Claim<'_>> = claims
            .map(|(entry, (selector, is_listed))| Claim { entry, selector, is_listed: *is_listed })
            .collect();
        precedence(&claims)
    }

    #[test]
    fn the_setting_with_all_conditions_and_more_takes_precedence() {
        let all = (selector(None, None, None), false);
        let fast = (selector(None, Some(400), None), false);
        let short = (selector(None, Some(400), Some(5)), false);
        let long = (selector(None, Some(400), Some(40)), false);
        let up = (selector(Some(PortSet::Up), None, None), false);
        let fast_up = (selector(Some(PortSet::Up), Some(400), None), false);
        let named = (selector(Some(PortSet::Named(vec!["sw".into()])), None, None), false);
        let listed = (selector(None, None, None), true);
        assert_eq!(first(&[]), Ok(None));
        assert_eq!(first(&[all.clone(), fast.clone(), long.clone(), short.clone()]), Ok(Some(3)));
        assert_eq!(first(&[fast.clone(), fast_up.clone(), up.clone()]), Ok(Some(1)));
        assert_eq!(first(&[up.clone(), named]), Ok(Some(1)));
        assert_eq!(first(&[all.clone(), listed.clone()]), Ok(Some(1)));
        for pair in [[fast.clone(), up.clone()], [listed, up.clone()], [all.clone(), all], [long, fast_up]] {
            assert_eq!(first(&pair), Err([0, 1]), "{pair:?}");
        }
    }

    #[test]
    fn roles_of_ports() {
        let facts = |own: u32, other: u32| PortFacts {
            neighbour: "n",
            to_host: other == 0,
            heights: [own, other],
            rate: BitRate::from_gbps(100),
            delay: Time::from_ns(10),
            is_named: &|name| name == "this",
        };
        let roles = |own, other| {
            let fits = |(name, role): (&'static str, PortSet)| {
                selector(Some(role), None, None).fits(&facts(own, other)).then_some(name)
            };
            PortSet::ROLES.into_iter().filter_map(fits).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            [roles(1, 0), roles(1, 2), roles(2, 1), roles(1, 1)],
            ["down hosts", "up switches", "down switches", "switches"]
        );
        let named = |names: &[&str]| PortSet::Named(names.iter().map(ToString::to_string).collect());
        assert!(selector(Some(named(&["other", "this"])), Some(100), Some(2)).fits(&facts(1, 0)));
        assert!(!selector(Some(named(&["this"])), Some(100), Some(1)).fits(&facts(1, 0)));
        assert!(!selector(Some(named(&[])), None, None).fits(&facts(1, 0)));
    }
}
