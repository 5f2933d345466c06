//! The expected results of the studies' scenarios are stored next to them, and tests of the package compare release
//! builds with them. This test compares the current build, which `cargo test` compiles without optimisation: both must
//! compute the same trajectory, bit for bit.

use fabric::Simulation;
use scenario::load;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn this_build_runs_the_pinned_trajectories() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/penstock/studies");
    let mut compared = 0;
    let folders = |of: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(of).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_dir()).collect()
    };
    for folder in folders(&studies).iter().flat_map(|family| folders(family)) {
        let Ok(pins) = fs::read_to_string(folder.join("fingerprints.json")) else { continue };
        let pins: BTreeMap<String, String> = serde_json::from_str(&pins).expect("a fingerprint a scenario");
        for (name, pinned) in pins {
            let file = folder.join(format!("{name}.toml"));
            let text = fs::read_to_string(&file).expect("a pinned scenario exists");
            let scenario =
                load(&text, &file.to_string_lossy(), Some(&folder)).expect("a pinned scenario loads");
            let mut simulation = Simulation::new(&scenario.spec).expect("it builds");
            simulation.run().expect("it runs");
            assert_eq!(format!("{:016x}", simulation.fingerprint()), pinned, "{}", file.display());
            compared += 1;
        }
    }
    assert!(compared > 10, "only {compared} scenarios");
}
