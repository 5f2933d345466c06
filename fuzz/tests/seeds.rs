//! Checks that the invariants hold for all scenarios in the package and in `fuzz/seeds`: faults, slow receivers,
//! watchdogs, connections, lists of frames, transfers.

use fuzz::edits::{Random, scenarios};
use fuzz::harness::{self, Fate};
use fuzz::targets::TARGETS;
use rand::SeedableRng;

#[test]
fn every_seed_runs() {
    let corpus = scenarios().expect("the scenarios are there");
    assert!(corpus.len() > 15, "{}", corpus.len());
    for (file, bytes) in corpus {
        assert_eq!(harness::check(&bytes), Ok(Fate::Ran), "{}", file.display());
    }
}

/// Each target must generate both valid and invalid cases; otherwise the test would cover nothing.
#[test]
fn some_cases_of_each_target_hold() {
    let valid: Vec<Vec<u8>> = scenarios().expect("there").into_iter().map(|(_, text)| text).collect();
    for target in TARGETS {
        for case in 0..32 {
            let bytes = (target.draw)(&valid, &mut Random::seed_from_u64(case));
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!((target.check)(&bytes), Ok(()), "{} {case}:\n{text}", target.name);
        }
    }
    let fates = (0..64).map(|case| {
        let bytes = (TARGETS[0].draw)(&valid, &mut Random::seed_from_u64(case));
        harness::check(&bytes)
    });
    let fates: Vec<_> = fates.collect();
    for fate in [Fate::Ran, Fate::Refused] {
        assert!(fates.contains(&Ok(fate)), "{fates:?}");
    }
}
