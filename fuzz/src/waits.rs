//! Invariants of transfers with dependencies, in any combination. Each starts when those that it depends on have ended,
//! and not before, and runs on one thread and on two have identical results.

use fabric::{Simulation, State};
use measure::{Table, Values};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::{env, fs, process};

const HOSTS: u8 = 4;
const MOST: usize = 40;
const OVER: [&str; 4] = [
    "{ rdma = { control = \"none\" } }",
    "{ rdma = { verb = \"read\" } }",
    "{ rdma = { recovery = \"selective\", queue_pairs = \"each\" } }",
    "{ tcp = {} }",
];

/// Checks a list of transfers. The first byte selects their transport. Four more bytes describe each transfer: its
/// ends, its size and its dependencies.
///
/// # Errors
/// The violated invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(()) };
    let folder = env::temp_dir().join(format!("penstock-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let mut list = "time_us,from,to,bytes,id,after\n".to_string();
    let mut after: Vec<Vec<usize>> = Vec::new();
    let reads = OVER[usize::from(first) % OVER.len()].contains("read");
    let mut ends: Vec<[u8; 2]> = Vec::new();
    for (nth, own) in rest.chunks_exact(4).take(MOST).enumerate() {
        let before = |byte: u8| (byte & 128 != 0 && nth > 0).then(|| usize::from(byte & 127) % nth);
        // The host that starts the transfer observes only the ends of transfers from it and to it.
        let first_one = before(own[2]);
        let begins = first_one.map_or(own[0] % HOSTS, |other| ends[other][usize::from(own[0] & 1)]);
        let second_one = before(own[3]).filter(|&other| ends[other].contains(&begins));
        let waits: Vec<usize> = [first_one, second_one].into_iter().flatten().collect();
        let other_end = (begins + 1 + own[0] / HOSTS % (HOSTS - 1)) % HOSTS;
        let (from, to) = if reads { (other_end, begins) } else { (begins, other_end) };
        ends.push([from, to]);
        let start = if waits.is_empty() { "5" } else { "" };
        let names: Vec<String> = waits.iter().map(|other| format!("t{other}")).collect();
        let bytes = 1 + u32::from(own[1]) * 50;
        // Writing to a string cannot fail.
        let _ = writeln!(list, "{start},h{from},h{to},{bytes},t{nth},{}", names.join(" "));
        after.push(waits);
    }
    fs::write(folder.join("list.csv"), list).map_err(|why| why.to_string())?;
    let over = OVER[usize::from(first) % OVER.len()];
    let text = format!(
        "simulation = {{ duration = \"1 ms\" }}\ntopology.star = {{ hosts = {HOSTS}, rate = \"10 Gb/s\", phy = \"none\" }}\n\
         [[transfers]]\nname = \"t\"\nfile = \"list.csv\"\npriority = 3\nover = {over}\n"
    );
    let scenario = match scenario::load_bytes(text.as_bytes(), "fuzz.toml", Some(&folder)) {
        Ok(scenario) => scenario,
        Err(why) if why.errors().next().is_none() => return Err("refused without an error".into()),
        Err(_) => return Ok(()),
    };
    let (once, tables) = run(&scenario.spec, 1)?;
    let (again, _) = run(&scenario.spec, 2)?;
    if once != again {
        return Err("another trajectory on two threads".into());
    }
    in_order(&tables, &after)
}

fn run(spec: &fabric::spec::Spec, threads: usize) -> Result<(u64, Vec<Table>), String> {
    let mut simulation = Simulation::on_threads(spec, threads).map_err(|why| why.to_string())?;
    while simulation.advance(10_000).map_err(|why| why.to_string())? == State::Running {}
    Ok((simulation.fingerprint(), simulation.tables()))
}

/// Checks that each transfer starts after those that it depends on have been delivered.
fn in_order(tables: &[Table], after: &[Vec<usize>]) -> Result<(), String> {
    let Some(table) = tables.iter().find(|table| table.spec.name == "transfers") else {
        return Err("no transfers".into());
    };
    let (Some(Values::Named { names, of }), Some(Values::Real(starts)), Some(Values::Real(took))) =
        (table.values("id"), table.values("start_ns"), table.values("completion_ns"))
    else {
        return Err("a column is missing".into());
    };
    let rows: BTreeMap<&str, (f64, f64)> = (of.iter().zip(starts).zip(took))
        .map(|((&id, &start), &took)| (names[id as usize].as_str(), (start, start + took)))
        .collect();
    for (nth, waits) in after.iter().enumerate() {
        let Some(&(start, _)) = rows.get(format!("t{nth}").as_str()) else { continue };
        for other in waits {
            match rows.get(format!("t{other}").as_str()) {
                Some(&(_, end)) if start + 1e-3 >= end => {}
                found => return Err(format!("t{nth} begins at {start} ns, t{other}: {found:?}")),
            }
        }
    }
    Ok(())
}
