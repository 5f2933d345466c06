//! Invariants of reading files that a scenario names, and captures: they are rejected with a reason, or read.
//!
//! The first byte of an input selects the kind of file of the rest.

use crate::edits::{Random, byte, change};
use rand::RngExt;
use std::path::PathBuf;
use std::{env, fs, process};
use wire::Frame;
use wire::capture::{Interface, Reader, Record, Writer};

/// A kind of file that a scenario names: a valid file, and the tables of a scenario that name it as `input.csv`.
struct Kind {
    valid: &'static str,
    tables: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        valid: "time_us,from,to,bytes,priority\n0,h1,h0,1000000,3\n0.5,h2,h0,64,0\n10,h0,h2,1522,7\n",
        tables: "[[transfers]]\nname = \"t\"\narrivals = { file = \"input.csv\" }\n",
    },
    Kind {
        valid: "bytes,cdf\n100,0.1\n1000,0.5\n100000,1\n",
        tables: "[[transfers]]\nname = \"t\"\nfrom = \"h0\"\nto = \"h1\"\narrivals = \"once\"\nsizes = { points = \"input.csv\" }\n",
    },
    Kind {
        valid: "kind,bytes\nI,11842\nP,4000\nB,900\n",
        tables: "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { video = { rate = \"1 Gb/s\", trace = \"input.csv\" } }\n",
    },
    Kind {
        valid: "bytes,weight\n64,0.5\n512,0.2\n1522,0.3\n",
        tables: "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nframe = { empirical = \"input.csv\" }\nsource = \"greedy\"\n",
    },
];

const FABRIC: &str =
    "[simulation]\nduration = \"20 us\"\n[topology.star]\nhosts = 3\nrate = \"10 Gb/s\"\nphy = \"none\"\n";

/// Generates an input: a changed file, or a changed capture.
pub fn draw(_: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let which = random.random_range(0..=KINDS.len());
    let mut file = KINDS.get(which).map_or_else(capture, |kind| kind.valid.as_bytes().to_vec());
    if which < KINDS.len() && random.random() {
        change(&mut file, random);
    } else {
        (0..random.random_range(1..6)).for_each(|_| byte(&mut file, random));
    }
    file.insert(0, which as u8);
    file
}

/// Creates a capture with two frames.
fn capture() -> Vec<u8> {
    let interface = Interface { name: "h0".into(), speed_bps: None };
    let written = Writer::new(Vec::new(), &[interface]).and_then(|mut out| {
        out.write(&Record::new(0, 10, &[0x5a; 60]))?;
        out.write(&Record::new(0, 20, &[0xa5; 64]))?;
        Ok(out.into_inner())
    });
    written.unwrap_or_default()
}

/// Reads the file.
///
/// # Errors
/// The violated invariant.
pub fn check(input: &[u8]) -> Result<(), String> {
    let Some((&which, file)) = input.split_first() else { return Ok(()) };
    match KINDS.get(usize::from(which)) {
        Some(kind) => named(kind, file),
        None => captured(file),
    }
}

fn named(kind: &Kind, file: &[u8]) -> Result<(), String> {
    let directory = directory()?;
    fs::write(directory.join("input.csv"), file).map_err(|why| why.to_string())?;
    match scenario::load(&format!("{FABRIC}{}", kind.tables), "fuzz.toml", Some(&directory)) {
        Ok(_) => Ok(()),
        Err(why) if why.errors().next().is_none() => Err("refused without an error".into()),
        Err(why) if why.errors().any(|one| one.message.is_empty()) => Err("refused without a reason".into()),
        Err(_) => Ok(()),
    }
}

/// Creates a directory private to this process.
fn directory() -> Result<PathBuf, String> {
    let directory = env::temp_dir().join(format!("penstock-fuzz-{}", process::id()));
    fs::create_dir_all(&directory).map_err(|why| why.to_string())?;
    Ok(directory)
}

fn captured(file: &[u8]) -> Result<(), String> {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(why) if why.to_string().is_empty() => return Err("refused without a reason".into()),
        Err(_) => return Ok(()),
    };
    loop {
        match reader.next_record() {
            Ok(None) => return Ok(()),
            Ok(Some(record)) => {
                if let Err(why) = Frame::decode(&record.bytes)
                    && why.to_string().is_empty()
                {
                    return Err("a frame is refused without a reason".into());
                }
            }
            Err(why) if why.to_string().is_empty() => return Err("refused without a reason".into()),
            Err(_) => return Ok(()),
        }
    }
}
