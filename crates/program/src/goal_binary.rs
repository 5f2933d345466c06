//! GOAL schedules in binary form, as LogGOPSim's txt2bin writes them.
//!
//! ```text
//! 0    u64  4223                                      8    u32  ranks N    12 u8 highest cpu    13 u8 highest nic
//! 14   N x { u64 begin, u64 end }                     offsets from byte 8
//! rank: u32 nodes n, u32 roots m, m x u32 root numbers, n x 39-byte node, then u32 entries of the appendix
//! node: u32 dependencies, u8 kind (1 send, 2 receive, 3 computation), u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//!       u32 count and u32 index of the nodes that wait for its end, the same for its start
//! ```
//!
//! All integers are little-endian, without padding. The ranges of the ranks must cover the file after the table exactly
//! once, and the lists of all nodes of a rank must have as many entries in total as the appendix. The result is
//! therefore proportional to the size of the file.

use crate::error::{Repair, no_such_rank};
use crate::goal_lines::{END_MARKERS, work_of_send};
use crate::operation::ANY;
use crate::{Place, Program, ProgramError, Rank, RankBuilder, Read, Work};
use units::Time;

const MAGIC: u64 = 4223;
/// Magic number of a schedule that LogGOPSim has overwritten during a run with `--save-mem`.
const SPOILT: u64 = 2342;
/// Offset in the file to which the offsets of the table are relative.
const ORIGIN: u64 = 8;
const TABLE: usize = 14;
const NODE: usize = 39;
const PS_PER_NS: u64 = 1_000;

type Result<T> = std::result::Result<T, ProgramError>;

fn fail<T>(byte: usize, message: impl Into<String>) -> Result<T> {
    Err(ProgramError::new(Place::Byte(byte as u64), message))
}

/// Reads a binary schedule.
///
/// # Errors
/// If the file is not such a schedule, is truncated, or is inconsistent. The place is an offset in the file.
pub fn read_binary(file: &[u8]) -> Result<Read> {
    let magic = u64_at(file, 0, "the magic number")?;
    if magic == SPOILT {
        return fail(
            0,
            "magic number 2342: LogGOPSim has overwritten this schedule in a run with --save-mem. Write it again with txt2bin",
        );
    }
    if magic != MAGIC {
        let hint = if magic.swap_bytes() == MAGIC { ": this is big-endian" } else { "" };
        return fail(0, format!("magic number {magic}{hint}; expected 4223, little-endian"));
    }
    let ranks = u32_at(file, 8, "the number of ranks")?;
    if file.len() < TABLE || ranks as usize > (file.len() - TABLE) / 16 {
        return fail(
            8,
            format!("{ranks} ranks: their table of 16 B each exceeds the file of {} B", file.len()),
        );
    }
    let mut reader =
        Reader { file, ranks, highest: (0, 0), markers: Repair::default(), networks: Repair::default() };
    let spans = spans(file, ranks as usize)?;
    let built = spans
        .into_iter()
        .enumerate()
        .map(|(own, span)| reader.rank(own, span))
        .collect::<Result<Vec<_>>>()?;
    let declared = (file[12], file[13]);
    let (cpu, nic) = reader.highest;
    if cpu > declared.0 || nic > declared.1 {
        let message = format!(
            "declares cpu 0 to {} and nic 0 to {}; nodes have cpu {cpu} and nic {nic}",
            declared.0, declared.1
        );
        return fail(12, message);
    }
    let repairs = [
        reader.markers.describe(END_MARKERS),
        reader.networks.describe("computations with a peer, tag or nic, which have no meaning: ignored"),
    ];
    Ok(Read { program: Program::new(built)?, repairs: repairs.into_iter().flatten().collect() })
}

/// Returns the offsets of the start and the end of each rank. Checks that these ranges cover the file after the table
/// exactly once.
fn spans(file: &[u8], ranks: usize) -> Result<Vec<(usize, usize)>> {
    let place = |rank: usize| TABLE + 16 * rank;
    let mut spans = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        let [begin, end] = [0, 8].map(|more| u64_at(file, place(rank) + more, "the table of ranks"));
        let [begin, end] =
            [begin?, end?].map(|offset| offset.checked_add(ORIGIN).and_then(|at| usize::try_from(at).ok()));
        match begin.zip(end) {
            Some((begin, end)) if begin <= end && end <= file.len() => spans.push((begin, end)),
            _ => return fail(place(rank), format!("rank {rank} is not within the file of {} B", file.len())),
        }
    }
    let mut order: Vec<usize> = (0..ranks).collect();
    order.sort_by_key(|&rank| spans[rank]);
    let mut covered = place(ranks);
    for rank in order {
        if spans[rank].0 != covered {
            let message = format!(
                "rank {rank} begins at byte {}; expected byte {covered}, where the one before it ends",
                spans[rank].0
            );
            return fail(place(rank), message);
        }
        covered = spans[rank].1;
    }
    if covered != file.len() {
        return fail(
            covered,
            format!("{} B are left behind the last rank; expected the end of the file", file.len() - covered),
        );
    }
    Ok(spans)
}

struct Reader<'a> {
    file: &'a [u8],
    ranks: u32,
    highest: (u8, u8),
    markers: Repair,
    networks: Repair,
}

impl Reader<'_> {
    fn rank(&mut self, own: usize, (begin, end): (usize, usize)) -> Result<Rank> {
        let span = &self.file[..end];
        let nodes = u32_at(span, begin, "the number of nodes")? as usize;
        let roots = u32_at(span, begin + 4, "the number of roots")? as usize;
        let first = begin + 8 + 4 * roots;
        let appendix = first + NODE * nodes;
        if appendix > end {
            let message =
                format!("rank {own} has {nodes} nodes and {roots} roots, which exceed its {} B", end - begin);
            return fail(begin, message);
        }
        if !(end - appendix).is_multiple_of(4) {
            return fail(
                appendix,
                format!("the appendix of rank {own} has {} B; expected a multiple of 4", end - appendix),
            );
        }
        let mut builder = RankBuilder::new();
        for at in (first..appendix).step_by(NODE) {
            let work = self.work(own, at)?;
            let (cpu, nic) = (self.file[at + 21], self.file[at + 22]);
            builder.push(work, cpu, nic);
            let nic = if matches!(work, Work::Calc { .. }) { 0 } else { nic };
            self.highest = (self.highest.0.max(cpu), self.highest.1.max(nic));
        }
        self.edges(&mut builder, (first, appendix, end))?;
        let rank = builder.finish().or_else(|cycle| {
            let all: Vec<_> = cycle.iter().map(ToString::to_string).collect();
            fail(begin, format!("rank {own}: nodes {} wait for each other in a cycle", all.join(", ")))
        })?;
        self.check_counts(&rank, first)?;
        self.check_roots(&rank, begin + 8, roots)?;
        Ok(rank)
    }

    fn work(&mut self, own: usize, at: usize) -> Result<Work> {
        let [peer, tag] = [5, 17].map(|more| u32_at(self.file, at + more, "a node"));
        let (peer, tag, size) = (peer?, tag?, u64_at(self.file, at + 9, "a node")?);
        match self.file[at + 4] {
            1 => work_of_send(
                peer,
                size,
                tag,
                self.ranks,
                || format!("byte {at}, rank {own}"),
                &mut self.markers,
            )
            .or_else(|message| fail(at + 5, message)),
            2 if peer != ANY && peer >= self.ranks => fail(at + 5, no_such_rank(peer, self.ranks as usize)),
            2 => Ok(Work::Recv {
                from: (peer != ANY).then_some(peer),
                bytes: size,
                tag: (tag != ANY).then_some(tag),
            }),
            3 => {
                if peer != 0 || tag != 0 || self.file[at + 22] != 0 {
                    self.networks.count(|| format!("byte {at}, rank {own}"));
                }
                match size.checked_mul(PS_PER_NS) {
                    Some(ps) => Ok(Work::Calc { time: Time::from_ps(ps) }),
                    None => fail(
                        at + 9,
                        format!(
                            "a computation of {size} ns; at most {} ns are accepted",
                            u64::MAX / PS_PER_NS
                        ),
                    ),
                }
            }
            kind => fail(at + 4, format!("kind {kind}; expected 1 (send), 2 (receive) or 3 (computation)")),
        }
    }

    /// Adds the dependencies of all nodes. Checks that their lists have as many entries in total as the appendix.
    fn edges(&self, builder: &mut RankBuilder, (first, appendix, end): (usize, usize, usize)) -> Result<()> {
        let entries = (end - appendix) / 4;
        let mut used = 0;
        for (node, at) in (0..).zip((first..appendix).step_by(NODE)) {
            for (more, on_start) in [(23, false), (31, true)] {
                let count = u32_at(self.file, at + more, "a node")? as usize;
                let index = u32_at(self.file, at + more + 4, "a node")? as usize;
                used += count;
                if count > 0 && index + count > entries {
                    let last = index + count - 1;
                    return fail(at + more, format!("entries {index} to {last} of an appendix of {entries}"));
                }
                if used > entries {
                    let message =
                        format!("the lists up to here have {used} entries; the appendix has {entries}");
                    return fail(at + more, message);
                }
                if count == 0 {
                    continue;
                }
                for entry in index..index + count {
                    let place = appendix + 4 * entry;
                    let after = u32_at(self.file, place, "the appendix")?;
                    if after as usize >= builder.len() {
                        return fail(
                            place,
                            format!("names node {after}: the rank has {} nodes", builder.len()),
                        );
                    }
                    if on_start { builder.irequires(after, node) } else { builder.requires(after, node) }
                }
            }
        }
        if used < entries {
            return fail(
                appendix,
                format!("the nodes name {used} entries of the appendix, which has {entries}"),
            );
        }
        Ok(())
    }

    fn check_counts(&self, rank: &Rank, first: usize) -> Result<()> {
        for (node, one) in rank.operations().iter().enumerate() {
            let at = first + NODE * node;
            let declared = u32_at(self.file, at, "a node")?;
            if declared != one.waits() {
                let message =
                    format!("node {node} waits for {declared} others; {} others name it", one.waits());
                return fail(at, message);
            }
        }
        Ok(())
    }

    fn check_roots(&self, rank: &Rank, at: usize, count: usize) -> Result<()> {
        let mut declared =
            (0..count).map(|one| u32_at(self.file, at + 4 * one, "a root")).collect::<Result<Vec<_>>>()?;
        declared.sort_unstable();
        if !rank.roots().eq(declared.iter().copied()) {
            let found = rank.roots().count();
            let other = rank
                .roots()
                .zip(&declared)
                .find(|(root, one)| root != *one)
                .map_or(String::new(), |(root, one)| format!(": node {one} instead of {root}"));
            return fail(at, format!("{count} roots; {found} nodes wait for nothing{other}"));
        }
        Ok(())
    }
}

fn u32_at(file: &[u8], at: usize, what: &str) -> Result<u32> {
    let Some(bytes) = file.get(at..).and_then(|rest| rest.first_chunk()) else {
        return truncated(file, what);
    };
    Ok(u32::from_le_bytes(*bytes))
}

fn u64_at(file: &[u8], at: usize, what: &str) -> Result<u64> {
    let Some(bytes) = file.get(at..).and_then(|rest| rest.first_chunk()) else {
        return truncated(file, what);
    };
    Ok(u64::from_le_bytes(*bytes))
}

fn truncated<T>(file: &[u8], what: &str) -> Result<T> {
    fail(
        file.len(),
        format!("the data ends within {what}: the file is truncated or is not a binary GOAL schedule"),
    )
}

/// Writes a binary schedule, in the layout of txt2bin.
///
/// # Errors
/// If a computation is not a whole number of nanoseconds.
pub fn write_binary(program: &Program) -> Result<Vec<u8>> {
    let operations = program.ranks().iter().flat_map(Rank::operations);
    let (cpu, nic) = operations.fold((0, 0), |most, one| (one.cpu().max(most.0), one.nic().max(most.1)));
    let table = TABLE + 16 * program.ranks().len();
    let mut file = Vec::with_capacity(table + 39 * program.operations() + 4 * program.dependencies());
    file.extend(MAGIC.to_le_bytes());
    file.extend((program.ranks().len() as u32).to_le_bytes());
    file.extend([cpu, nic]);
    file.resize(table, 0);
    for (own, rank) in program.ranks().iter().enumerate() {
        let begin = file.len() as u64 - ORIGIN;
        write_rank(&mut file, own, rank)?;
        let end = file.len() as u64 - ORIGIN;
        file[TABLE + 16 * own..][..8].copy_from_slice(&begin.to_le_bytes());
        file[TABLE + 16 * own + 8..][..8].copy_from_slice(&end.to_le_bytes());
    }
    Ok(file)
}

fn write_rank(file: &mut Vec<u8>, own: usize, rank: &Rank) -> Result<()> {
    file.extend((rank.operations().len() as u32).to_le_bytes());
    file.extend((rank.roots().count() as u32).to_le_bytes());
    file.extend(rank.roots().flat_map(u32::to_le_bytes));
    for (number, one) in (0..).zip(rank.operations()) {
        let (kind, peer, size, tag) = match one.work() {
            Work::Send { to, bytes, tag } => (1u8, to, bytes, tag),
            Work::Recv { from, bytes, tag } => (2, from.unwrap_or(ANY), bytes, tag.unwrap_or(ANY)),
            Work::Calc { time } => (3, 0, nanoseconds(time, own, number)?, 0),
        };
        file.extend(one.waits().to_le_bytes());
        file.push(kind);
        file.extend(peer.to_le_bytes());
        file.extend(size.to_le_bytes());
        file.extend(tag.to_le_bytes());
        file.extend([one.cpu(), one.nic()]);
        let (ends, starts) = (rank.after_end(number).len() as u32, rank.after_start(number).len() as u32);
        file.extend([ends, one.after_end, starts, one.after_start].into_iter().flat_map(u32::to_le_bytes));
    }
    file.extend(rank.edges.iter().flat_map(|edge| edge.to_le_bytes()));
    Ok(())
}

/// Returns the duration in whole nanoseconds, the unit of GOAL.
pub(crate) fn nanoseconds(time: Time, rank: usize, operation: u32) -> Result<u64> {
    if time.ps().is_multiple_of(PS_PER_NS) {
        return Ok(time.ps() / PS_PER_NS);
    }
    let message = format!("a computation of {} ps; GOAL has whole nanoseconds", time.ps());
    Err(ProgramError::new(Place::Operation { rank: rank as u32, operation }, message))
}
