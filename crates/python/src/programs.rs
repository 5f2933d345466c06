//! Programs of ranks for Python: built from lists, read from GOAL schedules, and written as such.

use program::{Direction, Program, ProgramError, Rank, RankBuilder, Read, Work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use units::Time;

/// Kind ("send", "recv", "calc"), peer, bytes or ps, tag, cpu, nic. A peer or tag of -1 accepts any.
type Operation = (String, i64, u64, i64, u8, u8);
/// A dependency: the operation that waits, the one that it waits for, and true if the start of the latter suffices.
type Dependency = (u32, u32, bool);
/// Totals of a rank: sends, bytes sent, receives, bytes received, computations, ps of computation.
type Totals = (u64, u64, u64, u64, u64, u64);

const MAGICS: [[u8; 4]; 2] = [4223u32.to_le_bytes(), 2342u32.to_le_bytes()];

fn refused(why: &ProgramError) -> PyErr {
    PyValueError::new_err(why.to_string())
}

/// A checked program of ranks: peers exist, and dependencies have no cycle.
#[pyclass(frozen, name = "Program", module = "penstock._core")]
pub struct PyProgram {
    program: Program,
    /// Deviations from the format that were repaired while reading.
    #[pyo3(get)]
    repairs: Vec<String>,
}

#[pymethods]
impl PyProgram {
    /// Creates the program of these ranks, each given by lists of operations and of dependencies.
    #[new]
    fn new(ranks: Vec<(Vec<Operation>, Vec<Dependency>)>) -> PyResult<PyProgram> {
        let built = ranks.iter().enumerate().map(|(own, (operations, dependencies))| {
            rank(operations, dependencies).map_err(|why| PyValueError::new_err(format!("rank {own}: {why}")))
        });
        let program = Program::new(built.collect::<PyResult<_>>()?).map_err(|why| refused(&why))?;
        Ok(PyProgram { program, repairs: Vec::new() })
    }

    /// Reads a GOAL schedule, as text or binary.
    #[staticmethod]
    fn read_goal(py: Python<'_>, data: Vec<u8>) -> PyResult<PyProgram> {
        let is_binary = MAGICS.iter().any(|magic| data.starts_with(magic));
        let read =
            py.detach(|| if is_binary { program::read_binary(&data) } else { program::read_text(&data) });
        let Read { program, repairs } = read.map_err(|why| refused(&why))?;
        Ok(PyProgram { program, repairs })
    }

    /// Returns the program as a GOAL text.
    fn goal_text(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| program::write_text(&self.program)).map_err(|why| refused(&why))
    }

    /// Returns the program as a binary GOAL schedule.
    fn goal_binary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = py.detach(|| program::write_binary(&self.program)).map_err(|why| refused(&why))?;
        Ok(PyBytes::new(py, &data))
    }

    /// Returns the number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.program.ranks().len()
    }

    /// Returns the number of operations.
    #[getter]
    fn operations(&self) -> usize {
        self.program.operations()
    }

    /// Returns the number of dependencies.
    #[getter]
    fn dependencies(&self) -> usize {
        self.program.dependencies()
    }

    /// Returns the totals of each rank: sends, bytes sent, receives, bytes received, computations, ps of computation.
    fn totals(&self) -> Vec<Totals> {
        self.program.ranks().iter().map(totals).collect()
    }

    /// Returns the messages whose sends and receives differ in number: sender, receiver, tag, sends minus receives.
    fn unmatched(&self, py: Python<'_>) -> Vec<(u32, u32, u32, i64)> {
        let found = py.detach(|| self.program.unmatched());
        let signed = |direction, count: u64| match direction {
            Direction::Sends => count as i64,
            Direction::Receives => -(count as i64),
        };
        found.iter().map(|one| (one.from, one.to, one.tag, signed(one.direction, one.count))).collect()
    }

    /// Returns operations and dependencies of a rank.
    fn rank(&self, rank: usize) -> PyResult<(Vec<Operation>, Vec<Dependency>)> {
        let Some(own) = self.program.ranks().get(rank) else {
            return Err(PyValueError::new_err(format!(
                "rank {rank}: the program has {} ranks",
                self.ranks()
            )));
        };
        let mut dependencies = Vec::new();
        for before in 0..own.operations().len() as u32 {
            dependencies.extend(own.after_end(before).iter().map(|&after| (after, before, false)));
            dependencies.extend(own.after_start(before).iter().map(|&after| (after, before, true)));
        }
        Ok((own.operations().iter().map(listed).collect(), dependencies))
    }
}

fn rank(operations: &[Operation], dependencies: &[Dependency]) -> Result<Rank, String> {
    let mut builder = RankBuilder::new();
    for (number, (kind, peer, amount, tag, cpu, nic)) in operations.iter().enumerate() {
        let work = work(kind, *peer, *amount, *tag).map_err(|why| format!("operation {number}: {why}"))?;
        builder.push(work, *cpu, *nic);
    }
    for &(after, before, on_start) in dependencies {
        if after.max(before) as usize >= builder.len() {
            return Err(format!("operation {after} waits for {before}: there are {}", builder.len()));
        }
        if on_start { builder.irequires(after, before) } else { builder.requires(after, before) }
    }
    builder.finish().map_err(|cycle| {
        let named: Vec<_> = cycle.iter().take(5).map(ToString::to_string).collect();
        let more = if cycle.len() > 5 { format!(" and {} more", cycle.len() - 5) } else { String::new() };
        format!("operations wait for each other in a cycle: {}{more}", named.join(", "))
    })
}

fn work(kind: &str, peer: i64, amount: u64, tag: i64) -> Result<Work, String> {
    let number = |what: &str, value: i64| {
        let found = u32::try_from(value).ok().filter(|&found| found != u32::MAX);
        found.ok_or_else(|| format!("{what} {value}; expected 0 to {}", u32::MAX - 1))
    };
    let any = |what: &str, value: i64| if value == -1 { Ok(None) } else { number(what, value).map(Some) };
    Ok(match kind {
        "send" => Work::Send { to: number("rank", peer)?, bytes: amount, tag: number("tag", tag)? },
        "recv" => Work::Recv { from: any("rank", peer)?, bytes: amount, tag: any("tag", tag)? },
        "calc" => Work::Calc { time: Time::from_ps(amount) },
        other => return Err(format!("{other}; expected send, recv or calc")),
    })
}

fn listed(one: &program::Operation) -> Operation {
    let any = |value: Option<u32>| value.map_or(-1, i64::from);
    let (kind, peer, amount, tag) = match one.work() {
        Work::Send { to, bytes, tag } => ("send", i64::from(to), bytes, i64::from(tag)),
        Work::Recv { from, bytes, tag } => ("recv", any(from), bytes, any(tag)),
        Work::Calc { time } => ("calc", 0, time.ps(), 0),
    };
    (kind.into(), peer, amount, tag, one.cpu(), one.nic())
}

fn totals(rank: &Rank) -> Totals {
    let mut sum = Totals::default();
    for one in rank.operations() {
        let (count, amount, more) = match one.work() {
            Work::Send { bytes, .. } => (&mut sum.0, &mut sum.1, bytes),
            Work::Recv { bytes, .. } => (&mut sum.2, &mut sum.3, bytes),
            Work::Calc { time } => (&mut sum.4, &mut sum.5, time.ps()),
        };
        *count += 1;
        *amount = amount.saturating_add(more);
    }
    sum
}
