//! The fuzz target without a fuzzer: its harness over all scenarios that come with Penstock, over those of
//! `fuzz/seeds` (faults, slow receivers, watchdogs, connections), and over random changes of them.

use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

#[path = "../../../fuzz/harness.rs"]
mod harness;

use harness::Fate;

fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = ["python/penstock/scenarios", "fuzz/seeds"]
        .into_iter()
        .flat_map(|directory| fs::read_dir(root.join(directory)).expect("the scenarios are there"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read(file).expect("readable"))).collect()
}

#[test]
fn every_seed_runs() {
    let corpus = corpus();
    assert!(!corpus.is_empty());
    for (file, bytes) in corpus {
        assert_eq!(harness::check(&bytes), Ok(Fate::Ran), "{}", file.display());
    }
}

/// A change that often leaves a valid scenario: a number becomes another, a line goes or moves, a byte flips.
#[derive(Clone, Debug)]
enum Edit {
    Number(usize, String),
    Without(usize),
    Move(usize, usize),
    Byte(usize, u8),
    Word(usize, usize),
}

/// Values that can take each other's place.
const WORDS: &[&[&str]] = &[
    &["\"ingress\"", "\"egress\""],
    &["\"greedy\"", "{ constant = { rate = \"1 Gb/s\" } }", "{ poisson = { rate = \"3 Gb/s\" } }"],
    &["[flow_control.pfc]", "[flow_control.pause]", "[host]", "[switch]"],
    &["\"10 Gb/s\"", "\"400 Gb/s\"", "\"1 Mb/s\"", "\"1.6 Tb/s\"", "\"0 b/s\""],
    &["\"drop\"", "\"forward\"", "\"report\""],
    &["\"lost\"", "\"kept\""],
    &[
        "down = true",
        "up = true",
        "rate = \"1 Gb/s\"",
        "restart = \"20 us\"",
        "bit_error_rate = 0.01",
        "pause_loss = 1",
        "frame_loss = 0.5",
        "control_frame = \"0180c2\"",
    ],
    &["\"any\"", "\"all\""],
    &["stop = true", "start = true"],
    &[
        "\"hash\"",
        "\"spray\"",
        "\"round_robin\"",
        "\"least_queued\"",
        "{ flowlet = { gap = \"1 us\", entries = 4 } }",
    ],
    &[
        "red = {}",
        "step = { threshold = \"2 frames\" }",
        "sampling = { threshold = \"1 frames\", every = 1 }",
        "qcn = { set_point = \"1 B\", sample_base = \"1 B\" }",
        "bcn = { set_point = \"1 B\", sample_every = 1 }",
        "fecn = { interval = \"1 us\", severe_messages = true }",
        "prc = { buffer = \"1 B\", messages = true }",
    ],
    &["[switch.buffer]", "[switches.spine0.buffer]", "[switches.t.buffer]"],
    &["timeout = \"100 us\"", "timeout = \"never\"", "timeout = \"1 ps\"", "timeout = \"50 us\""],
    &[
        "size = \"12 frames\"",
        "rate = \"1 Gb/s\"",
        "size = \"unlimited\"",
        "size = \"1 frames\"",
        "rate = \"1 b/s\"",
    ],
    &["\"10 ppm\"", "\"100 ppm\"", "\"0 ppm\""],
    &["waiting = \"kept\"", "waiting = \"lost\"", "reroute = true", "reroute = false"],
    &["\"1 ms\"", "\"0 s\"", "\"10 ms\"", "\"1 ps\"", "\"200 days\""],
];

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (any::<usize>(), "[0-9]{1,6}").prop_map(|(at, number)| Edit::Number(at, number)),
        2 => any::<usize>().prop_map(Edit::Without),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        3 => (any::<usize>(), any::<usize>()).prop_map(|(which, with)| Edit::Word(which, with)),
    ]
}

fn apply(text: &mut Vec<u8>, edit: &Edit) {
    let lines = |text: &[u8]| text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    match edit {
        Edit::Number(at, number) => {
            let is_digit =
                |i: &usize| text[*i].is_ascii_digit() && (*i == 0 || !text[*i - 1].is_ascii_digit());
            let starts: Vec<usize> = (0..text.len()).filter(is_digit).collect();
            let Some(&start) = starts.get(at % starts.len().max(1)) else { return };
            let end = (start..text.len()).find(|&i| !text[i].is_ascii_digit()).unwrap_or(text.len());
            text.splice(start..end, number.bytes());
        }
        Edit::Without(at) => {
            let mut lines = lines(text);
            lines.remove(at % lines.len());
            *text = lines.join(&b'\n');
        }
        Edit::Move(from, to) => {
            let mut lines = lines(text);
            let line = lines.remove(from % lines.len());
            lines.insert(to % (lines.len() + 1), line);
            *text = lines.join(&b'\n');
        }
        Edit::Byte(at, byte) => {
            let at = at % text.len().max(1);
            if let Some(old) = text.get_mut(at) {
                *old = *byte;
            }
        }
        Edit::Word(which, with) => {
            let group = WORDS[which % WORDS.len()];
            let Ok(old) = std::str::from_utf8(text) else { return };
            if let Some(word) = group.iter().find(|word| old.contains(**word)) {
                *text = old.replacen(word, group[with % group.len()], 1).into_bytes();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn changed_seeds_are_refused_or_run(which: usize, edits in prop::collection::vec(edit(), 1..5)) {
        let corpus = corpus();
        let mut bytes = corpus[which % corpus.len()].1.clone();
        for edit in &edits {
            apply(&mut bytes, edit);
        }
        let result = harness::check(&bytes);
        prop_assert!(result.is_ok(), "{:?}:\n{}", result, String::from_utf8_lossy(&bytes));
    }
}
