//! Runs the beginning of every scenario in the package on one thread, and on two and three threads throughout: the
//! trajectory is identical. Runs that users start with several threads use them only where they are faster, unlike
//! here.

use fabric::Simulation;
use scenario::load;
use std::fs;
use std::path::{Path, PathBuf};
use units::Time;

#[test]
fn threads_change_no_trajectory() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/penstock");
    let mut files = Vec::new();
    for folder in ["scenarios", "studies"] {
        collect(&package.join(folder), &mut files);
    }
    let (mut compared, mut hops) = (0, 0);
    for file in files {
        let text = fs::read_to_string(&file).expect("a file that was just found");
        // Studies also have TOML files that are not scenarios.
        let Ok(scenario) = load(&text, &file.to_string_lossy(), file.parent()) else { continue };
        let mut spec = scenario.spec;
        spec.duration = spec.duration.min(Time::from_us(200));
        spec.warmup = Time::ZERO;
        let end = |threads: usize| {
            let mut simulation = Simulation::on_threads(&spec, threads).expect("it builds");
            simulation.run().expect("it runs");
            (simulation.fingerprint(), simulation.frame_hops())
        };
        let alone = end(1);
        for threads in [2, 3] {
            assert_eq!(end(threads), alone, "{} on {threads} threads", file.display());
        }
        compared += 1;
        hops += alone.1;
    }
    assert!(compared > 20 && hops > 5_000, "only {compared} scenarios with {hops} frame-hops");
}

/// Collects all TOML files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
}
