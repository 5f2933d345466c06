//! Builds the operations and dependencies of a rank.

use crate::cycle;
use crate::operation::ANY;
use crate::{Operation, Rank, Work};

/// Collects operations and dependencies of a rank, in any order.
#[derive(Clone, Debug, Default)]
pub struct RankBuilder {
    operations: Vec<Operation>,
    dependencies: Vec<Dependency>,
}

#[derive(Clone, Copy, Debug)]
struct Dependency {
    before: u32,
    after: u32,
    /// True for a dependency on the start of `before` instead of its end.
    on_start: bool,
}

impl RankBuilder {
    /// Creates a rank without operations.
    pub fn new() -> RankBuilder {
        RankBuilder::default()
    }

    /// Adds an operation and returns its number. A receive with tag 2^32 - 1 accepts any tag. The NIC of a computation
    /// is set to 0.
    ///
    /// # Panics
    /// If the rank already has 2^32 - 1 operations.
    pub fn push(&mut self, work: Work, cpu: u8, nic: u8) -> u32 {
        let number = self.operations.len() as u32;
        assert!(number != ANY, "a rank has at most 2^32 - 1 operations");
        let nic = if matches!(work, Work::Calc { .. }) { 0 } else { nic };
        self.operations.push(Operation::new(work, cpu, nic));
        number
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns true if there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Makes `after` start only when `before` has finished (GOAL: `after requires before`).
    ///
    /// # Panics
    /// If one of them was not added.
    pub fn requires(&mut self, after: u32, before: u32) {
        self.depend(Dependency { before, after, on_start: false });
    }

    /// Makes `after` start only when `before` has started (GOAL: `after irequires before`).
    ///
    /// # Panics
    /// If one of them was not added.
    pub fn irequires(&mut self, after: u32, before: u32) {
        self.depend(Dependency { before, after, on_start: true });
    }

    fn depend(&mut self, dependency: Dependency) {
        let count = self.operations.len();
        assert!(
            (dependency.before.max(dependency.after) as usize) < count,
            "an operation that was not added"
        );
        assert!(self.dependencies.len() < ANY as usize, "a rank has at most 2^32 - 1 dependencies");
        self.dependencies.push(dependency);
    }

    /// Returns the rank.
    ///
    /// # Errors
    /// The operations of a cycle of dependencies: each depends on the previous one, the first on the last.
    pub fn finish(self) -> Result<Rank, Vec<u32>> {
        let RankBuilder { mut operations, dependencies } = self;
        operations.shrink_to_fit();
        // Counting sort by `before`, with dependencies on its end before those on its start.
        for one in &dependencies {
            operations[one.after as usize].waits += 1;
            let before = &mut operations[one.before as usize];
            *(if one.on_start { &mut before.after_start } else { &mut before.after_end }) += 1;
        }
        let mut sum = 0;
        for one in &mut operations {
            let (ends, starts) = (one.after_end, one.after_start);
            (one.after_end, one.after_start) = (sum, sum + ends);
            sum += ends + starts;
        }
        let mut edges = vec![0; dependencies.len()];
        for one in &dependencies {
            let before = &mut operations[one.before as usize];
            let at = if one.on_start { &mut before.after_start } else { &mut before.after_end };
            edges[*at as usize] = one.after;
            *at += 1;
        }
        // Each offset has moved to the end of its range, which is the start of the next range. Sorting makes programs
        // equal that differ only in the order in which dependencies were added.
        let mut begin = 0;
        for one in &mut operations {
            let (ends, starts) = (one.after_end, one.after_start);
            edges[begin as usize..ends as usize].sort_unstable();
            edges[ends as usize..starts as usize].sort_unstable();
            (one.after_end, one.after_start) = (begin, ends);
            begin = starts;
        }
        let rank = Rank { operations, edges };
        match cycle::find(&rank) {
            Some(cycle) => Err(cycle),
            None => Ok(rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    fn calc() -> Work {
        Work::Calc { time: Time::ZERO }
    }

    fn rank(count: u32, dependencies: &[(u32, u32, bool)]) -> Result<Rank, Vec<u32>> {
        let mut builder = RankBuilder::new();
        (0..count).for_each(|_| {
            builder.push(calc(), 0, 0);
        });
        for &(after, before, on_start) in dependencies {
            if on_start { builder.irequires(after, before) } else { builder.requires(after, before) }
        }
        builder.finish()
    }

    #[test]
    fn dependencies_are_grouped_by_the_operation_that_is_waited_for() {
        let built = rank(4, &[(3, 1, false), (2, 0, true), (2, 1, false), (3, 0, false), (3, 1, false)])
            .expect("acyclic");
        assert_eq!(built.after_end(0), [3]);
        assert_eq!(built.after_start(0), [2]);
        assert_eq!(built.after_end(1), [2, 3, 3]);
        assert!(built.after_start(1).is_empty() && built.after_end(3).is_empty());
        assert_eq!(built.operations().iter().map(Operation::waits).collect::<Vec<_>>(), [0, 0, 2, 3]);
        assert_eq!(built.roots().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn cycles_are_found_and_named() {
        assert_eq!(rank(1, &[(0, 0, true)]), Err(vec![0]));
        let found = rank(5, &[(1, 0, false), (2, 1, false), (1, 3, true), (3, 2, false), (4, 3, false)])
            .expect_err("a cycle");
        assert_eq!(found.len(), 3);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3]);
        // 2 waits for 1, 3 for 2, and 1 for 3.
        let at = found.iter().position(|&one| one == 1).expect("there");
        assert_eq!(found[(at + 1) % 3], 2);
    }
}
