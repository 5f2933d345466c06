//! Which queue has which manager: entries that name traffic classes, and one for all the others.

use crate::{Configuration, ManagerEntry, ManagerSpec, PathPointParams, RedParams};
use keys::Remark;

impl ManagerEntry {
    /// Its one manager, whose parameters are right.
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
    /// Whether it names this class.
    pub fn names(&self, class: u32) -> bool {
        self.classes.as_ref().is_some_and(|classes| classes.contains(&class))
    }
}

impl ManagerSpec {
    /// The parameters of RED in its queue, alone or beside path rate control.
    pub fn red(&self) -> Option<RedParams> {
        match self {
            ManagerSpec::Red(red) => Some(*red),
            ManagerSpec::PathPoint(point) => point.red,
            _ => None,
        }
    }
}

/// Traffic classes whose managers ports to hosts do not have, bit n for class n, of managers that were assigned without errors.
pub fn unmanaged_to_hosts(entries: &[ManagerEntry], classes: usize) -> u8 {
    let within = |entry: &&ManagerEntry| entry.to_hosts == Some(false);
    let is_within = |class: u32| match entries.iter().find(|entry| entry.names(class)) {
        Some(named) => within(&named),
        None => entries.iter().filter(|entry| entry.classes.is_none()).any(|rest| within(&rest)),
    };
    (0..classes as u32).filter(|&class| is_within(class)).fold(0, |set, class| set | 1 << class)
}

/// The manager of each of so many traffic classes, empty if no class has one; and what is wrong with the entries.
pub fn assign(entries: &[ManagerEntry], classes: usize) -> (Vec<Option<ManagerSpec>>, Vec<Remark>) {
    let (mut managers, mut rest, mut wrong) = (vec![None; classes], None, Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let spec = match entry.manager() {
            Ok(spec) => spec,
            Err(why) => {
                wrong.push(why.within_entry(index));
                continue;
            }
        };
        let Some(named) = &entry.classes else {
            let known = rest.take();
            let both = known.map_or(Some(spec), |known| in_one_queue(known, spec));
            rest = both.or(known);
            if both.is_none() {
                let help = "expected classes in all entries but one, which then has all others; prc and red may share classes";
                let message = "a second queue manager without classes";
                wrong.push(Remark::new(message, help).within_entry(index));
            }
            continue;
        };
        let about = |message: String, help: &str| Remark::about("classes", message, help).within_entry(index);
        for (place, &class) in named.iter().enumerate() {
            match usize::try_from(class).ok().and_then(|class| managers.get_mut(class)) {
                None => {
                    let help = format!("expected a traffic class, 0 to {}", classes - 1);
                    wrong.push(about(format!("class {class}"), &help).entry(place));
                }
                Some(free) => match free.map_or(Some(spec), |known| in_one_queue(known, spec)) {
                    Some(both) => *free = Some(both),
                    None => {
                        let message = format!("class {class} has two queue managers");
                        let help = "expected each class once; prc and red may share classes";
                        wrong.push(about(message, help).entry(place));
                    }
                },
            }
        }
        if named.is_empty() {
            let help = "expected traffic classes, like [3], or no key for all that no other entry names";
            wrong.push(about("a queue manager of no class".to_string(), help));
        }
    }
    managers.iter_mut().filter(|manager| manager.is_none()).for_each(|free| *free = rest);
    if managers.iter().all(Option::is_none) {
        managers.clear();
    }
    (managers, wrong)
}

/// Returns the manager that does the work of both in one queue: of path rate control and RED (McAlpine 2005, section 8).
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
