//! Programs of ranks: the sends, receives and computations of each rank, and the dependencies among them.
//!
//! A [`Program`] is checked when it is built: every peer is a rank, every dependency names an operation of the same
//! rank, the number of dependencies of an operation is its in-degree, and there are no cycles. An operation takes 32
//! bytes and a dependency 4, so that programs of 10^7 operations fit into memory.
//!
//! [`read_binary`] and [`read_text`] read GOAL schedules, the format of LogGOPSim and ATLAHS; [`write_binary`] and
//! [`write_text`] write them. Memory and time of a reader are proportional to the length of the file, regardless of the
//! counts that the file declares.
//!
//! ```
//! let text = "num_ranks 2\nrank 0 {\na: calc 500\nb: send 8b to 1\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n";
//! let read = program::read_text(text.as_bytes()).expect("a program");
//! let rank = &read.program.ranks()[0];
//! assert_eq!(rank.after_end(0), [1]);
//! assert_eq!(rank.operations()[1].waits(), 1);
//! ```

#![warn(clippy::too_many_lines)]

mod builder;
mod cycle;
mod error;
mod goal_binary;
mod goal_lines;
mod goal_text;
mod labels;
mod operation;
mod unmatched;

pub use builder::RankBuilder;
pub use error::{Place, ProgramError};
pub use goal_binary::{read_binary, write_binary};
pub use goal_text::{read_text, write_text};
pub use operation::{Operation, Work};
pub use unmatched::{Direction, Unmatched};

/// A program of all ranks, indexed by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    ranks: Vec<Rank>,
}

impl Program {
    /// Creates the program of these ranks.
    ///
    /// # Errors
    /// If a peer is not a rank of the program. The place is the rank and the operation.
    pub fn new(ranks: Vec<Rank>) -> Result<Program, ProgramError> {
        let count = ranks.len();
        if u32::try_from(count).is_err() || count == u32::MAX as usize {
            return Err(ProgramError::new(
                Place::File,
                format!("{count} ranks: at most {} are accepted", u32::MAX - 1),
            ));
        }
        for (at, rank) in ranks.iter().enumerate() {
            let stray =
                rank.operations.iter().position(|one| one.peer().is_some_and(|peer| peer as usize >= count));
            if let Some(operation) = stray {
                let peer = rank.operations[operation].peer().unwrap_or_default();
                return Err(ProgramError::new(
                    Place::Operation { rank: at as u32, operation: operation as u32 },
                    error::no_such_rank(peer, count),
                ));
            }
        }
        Ok(Program { ranks })
    }

    /// Returns all ranks, in order.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// Returns the number of operations of all ranks.
    pub fn operations(&self) -> usize {
        self.ranks.iter().map(|rank| rank.operations.len()).sum()
    }

    /// Returns the number of dependencies of all ranks.
    pub fn dependencies(&self) -> usize {
        self.ranks.iter().map(|rank| rank.edges.len()).sum()
    }

    /// Returns sends without a receive and receives without a send, by sender, receiver and tag. Omits ranks that have
    /// a receive with a wildcard, because their matches depend on the order of arrival.
    pub fn unmatched(&self) -> Vec<Unmatched> {
        unmatched::find(&self.ranks)
    }
}

/// Operations of one rank with their dependencies, which form a directed acyclic graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    operations: Vec<Operation>,
    /// For each operation, those that wait for its end, then those that wait for its start.
    edges: Vec<u32>,
}

impl Rank {
    /// Returns the operations, in the order of the file.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Returns the operations that wait for the end of an operation, in ascending order. An operation occurs twice if
    /// it lists the dependency twice; [`Operation::waits`] counts both.
    ///
    /// # Panics
    /// If the rank has no such operation.
    pub fn after_end(&self, operation: u32) -> &[u32] {
        let one = &self.operations[operation as usize];
        &self.edges[one.after_end as usize..one.after_start as usize]
    }

    /// Returns the operations that wait for the start of an operation, in ascending order.
    ///
    /// # Panics
    /// If the rank has no such operation.
    pub fn after_start(&self, operation: u32) -> &[u32] {
        let one = &self.operations[operation as usize];
        let end = self
            .operations
            .get(operation as usize + 1)
            .map_or(self.edges.len(), |next| next.after_end as usize);
        &self.edges[one.after_start as usize..end]
    }

    /// Returns the operations without dependencies, in ascending order.
    pub fn roots(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.operations).filter(|(_, one)| one.waits() == 0).map(|(at, _)| at)
    }
}

/// A program read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The program.
    pub program: Program,
    /// Deviations from the format that were repaired, with their number and the first place.
    pub repairs: Vec<String>,
}
