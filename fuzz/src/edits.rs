//! Random changes of texts and bytes that often leave them valid.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Generator of random bits.
pub type Random = Xoshiro256PlusPlus;

/// Returns the root of the source tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the scenarios in the package and in `fuzz/seeds`, sorted by name.
///
/// # Errors
/// If a file cannot be read.
///
/// Omits those of the largest fabrics, which take too long for a fuzzer.
pub fn scenarios() -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for directory in ["python/penstock/scenarios", "fuzz/seeds"] {
        for entry in fs::read_dir(root().join(directory))? {
            files.push(entry?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    let is_large =
        |file: &PathBuf| file.file_stem().is_some_and(|name| LARGE.iter().any(|&large| name == large));
    files.retain(|file| !is_large(file));
    files.sort();
    files.into_iter().map(|file| Ok((file.clone(), fs::read(file)?))).collect()
}

/// Scenarios with hundreds or thousands of hosts.
const LARGE: [&str; 3] = ["dcn-plus", "hpn-7", "spectrum-x"];

/// Groups of values that can replace each other.
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

/// Changes a text in a few places: replaces a number, removes or moves a line, changes a byte, or replaces a value by
/// another one of its group.
pub fn change(text: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.random_range(1..5) {
        match random.random_range(0..11) {
            0..4 => number(text, random),
            4 | 5 => {
                let mut lines = lines_of(text);
                lines.remove(random.random_range(0..lines.len()));
                *text = lines.join(&b'\n');
            }
            6 => {
                let mut lines = lines_of(text);
                let line = lines.remove(random.random_range(0..lines.len()));
                lines.insert(random.random_range(0..=lines.len()), line);
                *text = lines.join(&b'\n');
            }
            7 => byte(text, random),
            _ => word(text, random),
        }
    }
}

fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn number(text: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (0..text.len())
        .filter(|&i| text[i].is_ascii_digit() && (i == 0 || !text[i - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[random.random_range(0..starts.len())];
    let end = (start..text.len()).find(|&i| !text[i].is_ascii_digit()).unwrap_or(text.len());
    let digits = random.random_range(1..7);
    let new: Vec<u8> = (0..digits).map(|_| random.random_range(b'0'..=b'9')).collect();
    text.splice(start..end, new);
}

/// Changes, inserts or removes a byte.
pub fn byte(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.random_range(0..=bytes.len());
    match random.random_range(0..3) {
        0 if at < bytes.len() => bytes[at] = random.random(),
        1 if at < bytes.len() => {
            bytes.remove(at);
        }
        _ => bytes.insert(at, random.random()),
    }
}

fn word(text: &mut Vec<u8>, random: &mut Random) {
    let group = WORDS[random.random_range(0..WORDS.len())];
    let Ok(old) = std::str::from_utf8(text) else { return };
    if let Some(word) = group.iter().find(|word| old.contains(**word)) {
        *text = old.replacen(word, group[random.random_range(0..group.len())], 1).into_bytes();
    }
}
