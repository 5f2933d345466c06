//! Tests targets with random inputs: `fuzz [TARGET...] [--seconds N] [--seed N]`.
//!
//! Without a target, all are tested, each for N seconds (default 60), starting from a seed that is printed (default: a
//! new one).

use fuzz::edits::{Random, root, scenarios};
use fuzz::targets::{TARGETS, Target};
use rand::SeedableRng;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

/// Duration after which a case counts as hanging.
const LONGEST: Duration = Duration::from_secs(120);

struct Arguments {
    targets: Vec<Target>,
    seconds: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = match arguments(env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            say(&format!("{why}; expected [TARGET...] [--seconds N] [--seed N]"));
            return ExitCode::from(2);
        }
    };
    let valid: Vec<Vec<u8>> = match scenarios() {
        Ok(files) => files.into_iter().map(|(_, text)| text).collect(),
        Err(why) => {
            say(&format!("the scenarios cannot be read: {why}"));
            return ExitCode::FAILURE;
        }
    };
    for target in &arguments.targets {
        let Arguments { seconds, seed, .. } = arguments;
        say(&format!("{}: {seconds} s from --seed {seed}", target.name));
        if let Err(why) = run(target, &valid, Duration::from_secs(seconds), seed) {
            say(&why);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    // The clock is a sufficiently random seed.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let mut found = Arguments { targets: Vec::new(), seconds: 60, seed: now % 1_000_000_000 };
    while let Some(word) = words.next() {
        let mut number =
            || words.next().and_then(|text| text.parse().ok()).ok_or(format!("{word} without a number"));
        match word.as_str() {
            "--seconds" => found.seconds = number()?,
            "--seed" => found.seed = number()?,
            name => match TARGETS.iter().find(|target| target.name == name) {
                Some(target) => found.targets.push(*target),
                None => {
                    let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                    return Err(format!("no target {name}: there are {}", known.join(", ")));
                }
            },
        }
    }
    if found.targets.is_empty() {
        found.targets = TARGETS.to_vec();
    }
    Ok(found)
}

/// Runs one case after the other until the time is over. A separate thread runs them, so that a hanging case can be
/// reported.
fn run(target: &Target, valid: &[Vec<u8>], lasts: Duration, seed: u64) -> Result<(), String> {
    let (target, valid) = (*target, valid.to_vec());
    let (sender, cases) = channel();
    // The panic message is part of the returned message.
    std::panic::set_hook(Box::new(|_| {}));
    thread::spawn(move || {
        for case in 0.. {
            let mut random = Random::seed_from_u64(seed ^ case << 32);
            let bytes = (target.draw)(&valid, &mut random);
            if sender.send((bytes.clone(), None)).is_err() {
                return;
            }
            let found = catch_unwind(AssertUnwindSafe(|| (target.check)(&bytes)));
            let found = found.unwrap_or_else(|panic| Err(format!("panicked: {}", words_of(panic.as_ref()))));
            if sender.send((bytes, Some(found))).is_err() {
                return;
            }
        }
    });
    let (begun, mut done, mut current) = (Instant::now(), 0u64, Vec::new());
    while begun.elapsed() < lasts {
        match cases.recv_timeout(LONGEST) {
            Ok((bytes, None)) => current = bytes,
            Ok((_, Some(Ok(())))) => done += 1,
            Ok((bytes, Some(Err(why)))) => return Err(broken(&target, &bytes, done, &why)),
            Err(RecvTimeoutError::Timeout) => {
                return Err(broken(&target, &current, done, &format!("takes longer than {LONGEST:?}")));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(format!("{}: no cases", target.name)),
        }
    }
    say(&format!("{}: {done} cases hold", target.name));
    if done == 0 { Err(format!("{}: not one case came to its end", target.name)) } else { Ok(()) }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// Saves the case, and returns a message with its path.
fn broken(target: &Target, bytes: &[u8], case: u64, why: &str) -> String {
    let directory = root().join("out/fuzz");
    let file = directory.join(format!("{}-{case}", target.name));
    let kept = fs::create_dir_all(&directory).and_then(|()| fs::write(&file, bytes));
    let place = kept.map_or_else(|error| error.to_string(), |()| file.display().to_string());
    format!("{}: case {case}: {why}\nthe input: {place}\n{}", target.name, String::from_utf8_lossy(bytes))
}

fn say(text: &str) {
    // A closed stderr must not end the program.
    let _ = writeln!(std::io::stderr(), "{text}");
}
