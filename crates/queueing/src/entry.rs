//! Assigns managers to queues, by entries that list traffic classes, ports or both, and one entry for all others.

use crate::port_selector::{Claim, PortFacts, PortSelector, PortSet, first_claims};
use crate::reference_rate::amount_at_rate;
use crate::{Configuration, ManagerEntry, ManagerSpec, PathPointParams, RedParams, StepParams};
use keys::Remark;
use units::{BitRate, Length};

impl ManagerEntry {
    /// Returns the only manager of the entry, whose parameters are valid.
    pub fn manager(&self) -> Result<ManagerSpec, Remark> {
        let one_of = || format!("expected exactly one of {}", ManagerSpec::NAMES.join(", "));
        match self.managers()[..] {
            [spec] => spec.check().map(|()| spec),
            [] => Err(Remark::new("an entry without a queue manager", one_of())),
            [first, second, ..] => {
                let message = format!("both {} and {}", first.name(), second.name());
                Err(Remark::about(second.name(), message, one_of()))
            }
        }
    }
    /// Returns the ports of the entry.
    pub fn selector(&self) -> PortSelector {
        let delay = self.length.map(Length::fibre_delay);
        PortSelector { ports: self.ports.clone(), to: Vec::new(), rate: self.rate, delay }
    }
    /// Returns true if the entry lists this class.
    pub fn names(&self, class: u32) -> bool {
        self.classes.as_ref().is_some_and(|classes| classes.contains(&class))
    }
}

impl ManagerSpec {
    /// Returns the parameters of RED, of RED alone or combined with path rate control.
    pub fn red(&self) -> Option<RedParams> {
        match self {
            ManagerSpec::Red(red) => Some(*red),
            ManagerSpec::PathPoint(point) => point.red,
            _ => None,
        }
    }
    /// Returns the manager with the thresholds of RED or step marking scaled to a port of this rate.
    #[must_use]
    pub fn at_port_rate(self, rate: BitRate) -> ManagerSpec {
        let red = |red: RedParams| RedParams {
            min: amount_at_rate(red.min, red.reference_rate, rate),
            max: amount_at_rate(red.max, red.reference_rate, rate),
            ..red
        };
        match self {
            ManagerSpec::Red(own) => ManagerSpec::Red(red(own)),
            ManagerSpec::PathPoint(own) => {
                ManagerSpec::PathPoint(PathPointParams { red: own.red.map(red), ..own })
            }
            ManagerSpec::Step(own) => {
                let threshold = amount_at_rate(own.threshold, own.reference_rate, rate);
                ManagerSpec::Step(StepParams { threshold, ..own })
            }
            other => other,
        }
    }
}

/// A queue manager for some ports and traffic classes.
#[derive(Clone, Debug, PartialEq)]
pub struct PortManager {
    /// Ports to which the entry applies.
    pub ports: PortSelector,
    /// Traffic classes to which the entry applies, bit n for class n.
    pub classes: u8,
    /// True if the classes are listed. If false, the entry applies to all classes that no other entry lists.
    pub is_listed: bool,
    /// The manager.
    pub manager: ManagerSpec,
}

/// The managers of all queues of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagerAssignment {
    /// By class: the manager at ports that no entry selects. Empty if no class has one.
    pub by_class: Vec<Option<ManagerSpec>>,
    /// All entries, if any of them selects ports; otherwise empty.
    pub by_port: Vec<PortManager>,
}

impl From<Vec<Option<ManagerSpec>>> for ManagerAssignment {
    /// Assigns managers by class at all ports.
    fn from(by_class: Vec<Option<ManagerSpec>>) -> ManagerAssignment {
        ManagerAssignment { by_class, by_port: Vec::new() }
    }
}

impl ManagerAssignment {
    /// Iterates over the managers of all entries.
    pub fn all(&self) -> impl Iterator<Item = &ManagerSpec> {
        let by_class = self.by_class.iter().flatten().filter(|_| self.by_port.is_empty());
        by_class.chain(self.by_port.iter().map(|own| &own.manager))
    }
    /// Iterates over the managers that a class has at any port.
    pub fn of_class(&self, class: usize) -> impl Iterator<Item = &ManagerSpec> {
        let by_class = self.by_class.get(class).and_then(Option::as_ref);
        let by_port = self.by_port.iter().filter(move |own| own.classes >> class & 1 != 0);
        by_class.into_iter().chain(by_port.map(|own| &own.manager))
    }
    /// Returns the manager of each class of a port. If two entries claim a class, it has none.
    pub fn of_port(&self, port: &PortFacts<'_>, classes: usize) -> Vec<Option<ManagerSpec>> {
        if self.by_port.is_empty() {
            return self.by_class.clone();
        }
        let manager = |class| {
            let entries = self.claimed(port, class).unwrap_or_default();
            let managers = entries.into_iter().map(|entry| self.by_port[entry].manager);
            managers.reduce(|one, other| in_one_queue(one, other).unwrap_or(one))
        };
        (0..classes).map(manager).collect()
    }
    /// Returns the entries that give a class of a port its managers: none, one, or two that share the queue.
    ///
    /// # Errors
    /// Two entries that both claim the class and cannot share the queue.
    pub fn claimed(&self, port: &PortFacts<'_>, class: usize) -> Result<Vec<usize>, [usize; 2]> {
        let own = self.by_port.iter().enumerate();
        let own = own.filter(|(_, own)| own.classes >> class & 1 != 0 && own.ports.fits(port));
        let claims: Vec<Claim<'_>> =
            own.map(|(entry, own)| Claim { entry, selector: &own.ports, is_listed: own.is_listed }).collect();
        let first = first_claims(&claims);
        let pairs = first
            .iter()
            .enumerate()
            .flat_map(|(at, &one)| first[at + 1..].iter().map(move |&other| [one, other]));
        let excluded = |pair: &[usize; 2]| {
            let [one, other] = pair.map(|entry| self.by_port[entry].manager);
            in_one_queue(one, other).is_none()
        };
        match pairs.into_iter().find(excluded) {
            Some(pair) => Err(pair),
            None => Ok(first),
        }
    }
}

/// Assigns the managers of the entries to this number of traffic classes. Also returns one remark per invalid entry.
pub fn assign(entries: &[ManagerEntry], classes: usize) -> (ManagerAssignment, Vec<Remark>) {
    let mut found = ManagerAssignment { by_class: vec![None; classes], by_port: Vec::new() };
    let (mut rest, mut wrong) = (None, Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let manager = match entry.manager() {
            Ok(manager) => manager,
            Err(why) => {
                wrong.push(why.within_entry(index));
                continue;
            }
        };
        let ports = entry.selector();
        if ports.ports == Some(PortSet::Named(Vec::new())) {
            let help = "expected a port, or no key for all";
            wrong.push(Remark::about("ports", "an empty list", help).within_entry(index));
        }
        let (mask, remarks) = listed(entry, classes);
        wrong.extend(remarks.into_iter().map(|why| why.within_entry(index)));
        if ports.is_empty() {
            let taken = match &entry.classes {
                None => claim_rest(manager, &mut rest),
                Some(list) => claim_classes(manager, list, &mut found.by_class),
            };
            wrong.extend(taken.into_iter().map(|why| why.within_entry(index)));
        }
        let is_listed = entry.classes.is_some();
        found.by_port.push(PortManager { ports, classes: mask, is_listed, manager });
    }
    found.by_class.iter_mut().filter(|manager| manager.is_none()).for_each(|free| *free = rest);
    if found.by_class.iter().all(Option::is_none) {
        found.by_class.clear();
    }
    if found.by_port.iter().all(|own| own.ports.is_empty()) {
        found.by_port.clear();
    }
    (found, wrong)
}

fn about(message: String, help: impl Into<String>) -> Remark {
    Remark::about("classes", message, help)
}

/// Returns the classes that an entry lists as bits, and a remark for each number that is not a class.
fn listed(entry: &ManagerEntry, classes: usize) -> (u8, Vec<Remark>) {
    let Some(list) = &entry.classes else { return (u8::MAX, Vec::new()) };
    let (mut mask, mut wrong) = (0, Vec::new());
    for (place, &class) in list.iter().enumerate() {
        if usize::try_from(class).is_ok_and(|class| class < classes) {
            mask |= 1 << class;
        } else {
            let help = format!("expected a traffic class, 0 to {}", classes - 1);
            wrong.push(about(format!("class {class}"), help).entry(place));
        }
    }
    if list.is_empty() {
        let help = "expected traffic classes, like [3], or no key for all that no other entry names";
        wrong.push(about("a queue manager of no class".to_string(), help));
    }
    (mask, wrong)
}

fn claim_rest(manager: ManagerSpec, rest: &mut Option<ManagerSpec>) -> Vec<Remark> {
    let known = rest.take();
    let both = known.map_or(Some(manager), |known| in_one_queue(known, manager));
    *rest = both.or(known);
    if both.is_some() {
        return Vec::new();
    }
    let help = "expected classes or ports in all entries but one, which then has all others; prc and red may share classes";
    vec![Remark::new("a second queue manager without classes", help)]
}

fn claim_classes(manager: ManagerSpec, list: &[u32], managers: &mut [Option<ManagerSpec>]) -> Vec<Remark> {
    let mut wrong = Vec::new();
    for (place, &class) in list.iter().enumerate() {
        let Some(free) = usize::try_from(class).ok().and_then(|class| managers.get_mut(class)) else {
            continue;
        };
        match free.map_or(Some(manager), |known| in_one_queue(known, manager)) {
            Some(both) => *free = Some(both),
            None => {
                let message = format!("class {class} has two queue managers");
                let help = "expected each class once; prc and red may share classes";
                wrong.push(about(message, help).entry(place));
            }
        }
    }
    wrong
}

/// Combines two managers in one queue: path rate control and RED (McAlpine 2005, section 8).
fn in_one_queue(one: ManagerSpec, other: ManagerSpec) -> Option<ManagerSpec> {
    match (one, other) {
        (ManagerSpec::PathPoint(point), ManagerSpec::Red(red))
        | (ManagerSpec::Red(red), ManagerSpec::PathPoint(point))
            if point.red.is_none() =>
        {
            Some(ManagerSpec::PathPoint(PathPointParams { red: Some(red), ..point }))
        }
        _ => None,
    }
}
