//! GOAL schedules as text.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! a: calc 1000                      duration in ns
//! b: send 64b to 1 tag 3 cpu 0 nic 0
//! b requires a                      b may start when a has finished
//! }
//! rank 1 {
//! recv 64b from -1 tag -1           from any rank, with any tag
//! }
//! ```

use crate::error::{Repair, no_such_rank};
use crate::goal_binary::nanoseconds;
use crate::goal_lines::{END_MARKERS, Scanner, shown, work_of_send};
use crate::labels::Labels;
use crate::operation::ANY;
use crate::{Place, Program, ProgramError, Rank, RankBuilder, Read, Work};
use std::fmt::Write;
use units::Time;

type Result<T> = std::result::Result<T, ProgramError>;

const KEYWORDS: [&str; 5] = ["send", "recv", "calc", "rank", "num_ranks"];
const MAX_NS: u64 = u64::MAX / 1_000;

/// Reads a schedule as text.
///
/// # Errors
/// If the text is not a schedule. The place is a line.
pub fn read_text(text: &[u8]) -> Result<Read> {
    let mut reader = Reader { scanner: Scanner::new(text), declared: 0, markers: Repair::default() };
    let scanner = &mut reader.scanner;
    if !scanner.next_statement()? || !scanner.word("num_ranks")? {
        return scanner.expected("num_ranks and a number, such as num_ranks 16");
    }
    reader.declared = scanner.number("the number of ranks", u64::from(u32::MAX) - 1)? as u32;
    let line = scanner.line;
    if reader.declared == 0 {
        return scanner.fail("num_ranks is 0; at least 1 is expected");
    }
    let mut ranks = Vec::new();
    while reader.scanner.next_statement()? {
        ranks.push(reader.rank(ranks.len())?);
    }
    if ranks.len() != reader.declared as usize {
        let message =
            format!("num_ranks is {}; the file has {} blocks of ranks", reader.declared, ranks.len());
        return Err(ProgramError::new(Place::Line(line), message));
    }
    let repairs = reader.markers.describe(END_MARKERS);
    Ok(Read { program: Program::new(ranks)?, repairs: repairs.into_iter().collect() })
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    declared: u32,
    markers: Repair,
}

impl<'a> Reader<'a> {
    /// Parses a block, from `rank` to the closing brace.
    fn rank(&mut self, own: usize) -> Result<Rank> {
        let begin = self.scanner.line;
        if !self.scanner.word("rank")? {
            return self.scanner.expected(&format!("rank {own} {{, the next block"));
        }
        let number = self.scanner.number("the rank", u64::from(u32::MAX))?;
        if own >= self.declared as usize {
            return self.scanner.fail(format!("rank {number}: num_ranks is {}", self.declared));
        }
        if number != own as u64 {
            return self.scanner.fail(format!("rank {number}; expected rank {own}: blocks are in order"));
        }
        if !self.scanner.word("{")? {
            return self.scanner.expected("{");
        }
        let (mut builder, mut labels) = (RankBuilder::new(), Labels::default());
        loop {
            if !self.scanner.next_statement()? {
                return self
                    .scanner
                    .fail(format!("the file ends within rank {own} (line {begin}); expected }}"));
            }
            if self.scanner.word("}")? {
                break;
            }
            self.statement(own, &mut builder, &mut labels)?;
        }
        builder.finish().map_err(|cycle| {
            let named = cycle.iter().take(5).map(|&one| name(&labels, one)).collect::<Vec<_>>().join(", ");
            let more = if cycle.len() > 5 { format!(" and {} more", cycle.len() - 5) } else { String::new() };
            let message = format!("rank {own}: operations wait for each other in a cycle: {named}{more}");
            ProgramError::new(Place::Line(begin), message)
        })
    }

    /// Parses an operation, with or without a label, or a dependency.
    fn statement(&mut self, own: usize, builder: &mut RankBuilder, labels: &mut Labels<'a>) -> Result<()> {
        let line = self.scanner.line;
        let Some(first) = self.scanner.identifier()? else {
            return self
                .scanner
                .expected("an operation (send, recv, calc), a dependency (label requires label) or }");
        };
        if matches!(first, b"send" | b"recv" | b"calc") {
            return self.operation(own, first, builder).map(drop);
        }
        if KEYWORDS.iter().any(|word| word.as_bytes() == first) {
            return self.scanner.fail(format!("{} within rank {own}; expected }} before it", shown(first)));
        }
        if self.scanner.word(":")? {
            let Some(kind) = self.scanner.identifier()? else {
                return self.scanner.expected("send, recv or calc");
            };
            let number = self.operation(own, kind, builder)?;
            return labels.insert(first, number, line).map_err(|before| {
                let message = format!(
                    "label {} is that of line {before} too; labels are unique in a rank",
                    shown(first)
                );
                ProgramError::new(Place::Line(line), message)
            });
        }
        let on_start = match self.scanner.identifier()? {
            Some(b"requires") => false,
            Some(b"irequires") => true,
            Some(other) => {
                let message = format!(
                    "\"{} {}\"; expected {0}: and an operation, or requires or irequires and a label",
                    shown(first),
                    shown(other)
                );
                return self.scanner.fail(message);
            }
            None => return self.scanner.expected("\":\", requires or irequires"),
        };
        let Some(second) = self.scanner.identifier()? else { return self.scanner.expected("a label") };
        let [after, before] = [first, second].map(|label| self.labelled(labels, label));
        let (after, before) = (after?, before?);
        if on_start {
            builder.irequires(after, before)
        } else {
            builder.requires(after, before)
        }
        self.end_of_statement("the end of the line")
    }

    fn labelled(&self, labels: &Labels<'a>, label: &[u8]) -> Result<u32> {
        match labels.get(label) {
            Some(one) => Ok(one),
            None => {
                let message = format!(
                    "label {} is unknown; a dependency names operations that stand above it in its rank",
                    shown(label)
                );
                self.scanner.fail(message)
            }
        }
    }

    /// Parses the words after `send`, `recv` or `calc`. Returns the number of the operation.
    fn operation(&mut self, own: usize, kind: &[u8], builder: &mut RankBuilder) -> Result<u32> {
        match kind {
            b"calc" => {
                let ns = self.scanner.number("the duration in ns", MAX_NS)?;
                let cpu = if self.scanner.word("cpu")? { self.scanner.number("the cpu", 255)? } else { 0 };
                self.end_of_statement("cpu or the end of the line")?;
                Ok(builder.push(Work::Calc { time: Time::from_ns(ns) }, cpu as u8, 0))
            }
            b"send" | b"recv" => self.message(own, kind == b"send", builder),
            other => self.scanner.fail(format!("\"{}\"; expected send, recv or calc", shown(other))),
        }
    }

    fn message(&mut self, own: usize, is_send: bool, builder: &mut RankBuilder) -> Result<u32> {
        let line = self.scanner.line;
        let bytes = self.scanner.number("the number of bytes", u64::MAX)?;
        if !self.scanner.word("b")? {
            return self.scanner.expected("b behind the number of bytes, such as 64b");
        }
        let word = if is_send { "to" } else { "from" };
        if !self.scanner.word(word)? {
            return self.scanner.expected(word);
        }
        let any = !is_send && self.scanner.word("-1")?;
        let peer = if any { ANY } else { self.scanner.number("the peer", u64::from(u32::MAX))? as u32 };
        let mut tag = 0;
        if self.scanner.word("tag")? {
            let any = self.scanner.word("-1")?;
            tag = if any { ANY } else { self.scanner.number("the tag", u64::from(u32::MAX))? as u32 };
        }
        let mut options = [0; 2];
        for (option, value) in ["cpu", "nic"].iter().zip(&mut options) {
            if self.scanner.word(option)? {
                *value = self.scanner.number(&format!("the {option}"), 255)? as u8;
            }
        }
        self.end_of_statement("tag, cpu, nic (in this order) or the end of the line")?;
        let place = |message| ProgramError::new(Place::Line(line), message);
        let work = if is_send {
            let describe = || format!("line {line}, rank {own}");
            work_of_send(peer, bytes, tag, self.declared, describe, &mut self.markers).map_err(place)?
        } else if peer != ANY && peer >= self.declared {
            return Err(place(no_such_rank(peer, self.declared as usize)));
        } else {
            Work::Recv { from: (peer != ANY).then_some(peer), bytes, tag: (tag != ANY).then_some(tag) }
        };
        Ok(builder.push(work, options[0], options[1]))
    }

    /// Parses the end of a statement: the end of the line, or a closing brace.
    fn end_of_statement(&mut self, expected: &str) -> Result<()> {
        self.scanner.blanks()?;
        if self.scanner.line_end() || self.scanner.peek() == Some(b'}') {
            return Ok(());
        }
        self.scanner.expected(expected)
    }
}

/// Returns label and line of an operation, or its number if it has no label.
fn name(labels: &Labels<'_>, operation: u32) -> String {
    let found = labels.name(operation).map(|(label, line)| format!("{label} (line {line})"));
    found.unwrap_or_else(|| format!("operation {operation}"))
}

/// Writes a schedule as text. Operation `i` of a rank has the label `l` followed by `i + 1`.
///
/// # Errors
/// If a computation is not a whole number of nanoseconds.
pub fn write_text(program: &Program) -> Result<String> {
    let mut text = format!("num_ranks {}\n", program.ranks().len());
    for (own, rank) in program.ranks().iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nrank {own} {{\n");
        let dependencies = Dependencies::of(rank);
        for (number, one) in (0..).zip(rank.operations()) {
            let _ = write!(text, "l{}: ", number + 1);
            let _ = match one.work() {
                Work::Calc { time } => write!(text, "calc {}", nanoseconds(time, own, number)?),
                Work::Send { to, bytes, tag } => write!(text, "send {bytes}b to {to} tag {tag}"),
                Work::Recv { from, bytes, tag } => {
                    let [from, tag] =
                        [from, tag].map(|one| one.map_or_else(|| "-1".into(), |value| value.to_string()));
                    write!(text, "recv {bytes}b from {from} tag {tag}")
                }
            };
            for (option, value) in [("cpu", one.cpu()), ("nic", one.nic())] {
                if value > 0 {
                    let _ = write!(text, " {option} {value}");
                }
            }
            text.push('\n');
            dependencies.write(&mut text, number);
        }
        text.push_str("}\n");
    }
    Ok(text)
}

/// Dependencies of a rank, grouped by the later of their two operations: a dependency may only name operations above it
/// in the text.
struct Dependencies {
    /// For each dependency: the later operation, true if it is on the start, the operation that waits, and the one that
    /// it waits for.
    sorted: Vec<(u32, bool, u32, u32)>,
}

impl Dependencies {
    fn of(rank: &Rank) -> Dependencies {
        let mut sorted = Vec::with_capacity(rank.edges.len());
        for before in 0..rank.operations().len() as u32 {
            let edges = [(rank.after_end(before), false), (rank.after_start(before), true)];
            for (edges, on_start) in edges {
                sorted.extend(edges.iter().map(|&after| (after.max(before), on_start, after, before)));
            }
        }
        sorted.sort_unstable();
        Dependencies { sorted }
    }

    fn write(&self, text: &mut String, number: u32) {
        let first = self.sorted.partition_point(|one| one.0 < number);
        for (_, on_start, after, before) in self.sorted[first..].iter().take_while(|one| one.0 == number) {
            let word = if *on_start { "irequires" } else { "requires" };
            let _ = writeln!(text, "l{} {word} l{}", after + 1, before + 1);
        }
    }
}
