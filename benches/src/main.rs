//! Runs a workload once and prints one JSON line: `benches WORKLOAD DURATION [pfc] [qcn|fecn] [probes] [two|auto]`.
//! `two` uses two threads throughout; `auto` uses up to two, whichever is faster.

use benches::{Options, workload};
use fabric::{Simulation, Threads};
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let usage = "benches star|window|red|bottleneck|classes|classes-credits|fat-tree-K|tcp-K|transfers-K|hashed-K|spray-K|requests-K|incast-N|flows-N \
                 DURATION [pfc] [qcn|fecn] [probes] [two|auto]";
    let (name, rest) = words.split_first().ok_or(usage)?;
    let (duration, flags) = rest.split_first().ok_or(usage)?;
    let has = |flag: &str| flags.iter().any(|word| word == flag);
    let control = ["qcn", "fecn"].into_iter().find(|&control| has(control));
    let options = Options { pfc: has("pfc"), control, probes: has("probes"), duration: duration.parse()? };
    let spec = workload(name, options).ok_or(usage)?;
    let begun = Instant::now();
    let threads = match (has("two"), has("auto")) {
        (true, _) => Threads::Always(2),
        (_, true) => Threads::UpTo(2),
        _ => Threads::Always(1),
    };
    let mut simulation = Simulation::on_threads(&spec, threads)?;
    let built_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    simulation.run()?;
    let wall_s = begun.elapsed().as_secs_f64();
    let hops = simulation.frame_hops();
    let (rounds, together) = simulation.rounds();
    writeln!(
        std::io::stdout(),
        "{{\"workload\": \"{name}\", \"pfc\": {}, \"probes\": {}, \"frame_hops\": {hops}, \"events\": {}, \
         \"rounds\": {rounds}, \"on_several_threads\": {together}, \"memory_mb\": {:.1}, \"build_s\": {built_s:.4}, \"wall_s\": {wall_s:.4}, \"million_hops_per_s\": {:.2}, \"fingerprint\": \"{:016x}\"}}",
        options.pfc,
        options.probes,
        simulation.events(),
        simulation.memory_bytes() as f64 / 1e6,
        hops as f64 / wall_s / 1e6,
        simulation.fingerprint(),
    )?;
    Ok(())
}
