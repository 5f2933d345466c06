//! Tests that a session and the file of its requests give the same run.

use fabric::{Simulation, State};
use session::{Event, Kind, Session, SessionError, read_no_files};
use std::path::{Path, PathBuf};
use units::Time;

const CARRIERS: [&str; 5] = [
    "{ rdma = { control = \"none\" } }",
    "{ rdma = { control = \"dcqcn\" } }",
    "{ tcp = { preset = \"datacenter\" } }",
    "{ rdma = { verb = \"send\", control = \"none\" } }",
    "{ uet = {} }",
];

fn fabric(job: &str) -> String {
    format!(
        "[simulation]\nduration = \"20 ms\"\nseed = 3\n[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"100 Gb/s\"\nphy = \"none\"\n\
         [flow_control.pfc]\n{job}"
    )
}

fn job(workload: &str, carrier: &str, more: &str) -> String {
    format!(
        "[[jobs]]\nname = \"driver\"\nranks = \"all\"\nworkload = {workload}\nover = {carrier}\npriority = 3\nframe = \"4200 B\"\n{more}\n"
    )
}

fn open(text: &str) -> Session {
    Session::open(text, "driven.toml", None, read_no_files).unwrap_or_else(|error| panic!("{error}"))
}

fn next(session: &mut Session) -> Option<Event> {
    session.next_event(1 << 16).unwrap_or_else(|error| panic!("{error}"))
}

fn end(session: Session) -> (u64, Time, u64) {
    let (_, simulation) = session.finish(1 << 16, || true).unwrap();
    (simulation.fingerprint(), simulation.now(), simulation.frame_hops())
}

/// Runs a file with this number of threads.
fn run(text: &str, folder: &Path, threads: usize) -> (u64, Time, u64) {
    let file = folder.join("file.toml");
    let scenario = scenario::load(text, &file.to_string_lossy(), Some(folder))
        .unwrap_or_else(|why| panic!("{}", why.render(false)));
    let mut simulation = Simulation::on_threads(&scenario.spec, threads).unwrap();
    while simulation.advance(1 << 16).unwrap() == State::Running {}
    (simulation.fingerprint(), simulation.now(), simulation.frame_hops())
}

/// Runs steps of a ring: each host forwards a message as soon as it has received one.
fn ring(session: &mut Session, steps: usize, bytes: u64) -> Vec<Event> {
    let hosts = session.hosts().len() as u32;
    let mut left = vec![steps - 1; hosts as usize];
    for rank in 0..hosts {
        session.send_ranks((rank, (rank + 1) % hosts), bytes, None).unwrap();
    }
    let mut events = Vec::new();
    while let Some(event) = next(session) {
        assert_eq!(event.time, session.now());
        if event.kind == Kind::Delivered && left[event.to as usize] > 0 {
            left[event.to as usize] -= 1;
            session.send_ranks((event.to, (event.to + 1) % hosts), bytes, None).unwrap();
        }
        events.push(event);
    }
    events
}

#[test]
fn a_recorded_session_is_the_run_of_its_file() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for (nth, carrier) in CARRIERS.into_iter().enumerate() {
        for more in ["", "overhead = \"700 ns\"\noverhead_per_byte = \"3 ps\""] {
            let mut session = open(&fabric(&job("{ session = true }", carrier, more)));
            session.record();
            session.compute("h1", Time::from_us(3), None).unwrap();
            session.send("h0", "h3", 0, Some(Time::from_us(7))).unwrap();
            session.send("h2", "h2", 77, Some(Time::from_us(5))).unwrap();
            let events = ring(&mut session, 6, 50_000);
            assert_eq!(events.len(), 4 * 6 * 2 + 1 + 2 + 2, "{carrier}");
            assert!(events.is_sorted_by_key(|event| event.time));
            let file = format!("recorded-{nth}.csv");
            std::fs::write(folder.join(&file), session.recorded().unwrap()).unwrap();
            let driven = end(session);
            let text = fabric(&job(&format!("{{ messages = \"{file}\", pairs = \"all\" }}"), carrier, more));
            for threads in [1, 2] {
                assert_eq!(driven, run(&text, &folder, threads), "{carrier} {more} on {threads} threads");
            }
        }
    }
}

#[test]
fn a_ring_that_is_driven_takes_the_time_of_the_ring_of_a_job() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let carrier = CARRIERS[0];
    let text = fabric(&job("{ collective = \"all_reduce\", bytes = \"200000 B\" }", carrier, ""));
    let scenario = scenario::load(&text, "job.toml", Some(&folder)).unwrap();
    let mut simulation = Simulation::new(&scenario.spec).unwrap();
    simulation.run().unwrap();
    let tables = simulation.tables();
    let jobs = tables.iter().find(|table| table.spec.name == "jobs").unwrap();
    let mut session = open(&fabric(&job("{ session = true }", carrier, "")));
    let events = ring(&mut session, 6, 50_000);
    let last = events.last().unwrap().time.as_ns_f64();
    let text = format!("{jobs:?}");
    assert!(text.contains(&format!("{last}")), "{last} ns, {text}");
}

#[test]
fn the_steps_of_a_driver_do_not_change_the_run() {
    let text = fabric(&job("{ session = true }", CARRIERS[1], ""));
    let whole = || {
        let mut session = open(&text);
        ring(&mut session, 5, 300_000);
        end(session)
    };
    let once = whole();
    assert_eq!(once, whole());
    // In steps of 700 ns, and with a budget of few events.
    let mut session = open(&text);
    let hosts = 4;
    let mut left = [4; 4];
    (0..hosts).for_each(|rank| {
        session.send_ranks((rank, (rank + 1) % hosts), 300_000, None).unwrap();
    });
    while session.under_way() > 0 {
        let until = session.now() + Time::from_ns(700);
        while session.run(until, 3).unwrap() != session::Status::Until && session.under_way() > 0 {
            while let Some(event) = session.poll_event() {
                if event.kind == Kind::Delivered && left[event.to as usize] > 0 {
                    left[event.to as usize] -= 1;
                    session.send_ranks((event.to, (event.to + 1) % hosts), 300_000, None).unwrap();
                }
            }
        }
    }
    assert_eq!(once, end(session));
}

#[test]
fn timers_come_between_messages_and_can_be_cancelled() {
    let mut session = open(&fabric(""));
    let message = session.send("h0", "h1", 1_000, Some(Time::from_us(2))).unwrap();
    let [first, second] = [1, 3_000].map(|us| session.timer(Time::from_us(us)).unwrap());
    let cancelled = session.timer(Time::from_us(2)).unwrap();
    assert!(session.cancel(cancelled) && !session.cancel(cancelled) && !session.cancel(message));
    let mut seen = Vec::new();
    while let Some(event) = next(&mut session) {
        seen.push((event.id, event.kind));
    }
    let kinds =
        [(first, Kind::Timer), (message, Kind::Delivered), (message, Kind::Sent), (second, Kind::Timer)];
    assert_eq!((seen.as_slice(), session.now()), (&kinds[..], Time::from_us(3_000)));
}

#[test]
fn errors_name_the_value_and_leave_the_session_as_it_was() {
    let mut session = open(&fabric(""));
    let text = |error: SessionError| error.to_string();
    session.timer(Time::from_us(5)).unwrap();
    assert!(next(&mut session).is_some());
    let at = Some(Time::from_us(4));
    assert_eq!(text(session.send("h0", "h1", 1, at).unwrap_err()), "4 us is past: the session is at 5 us");
    assert_eq!(
        text(session.send("h0", "h11", 1, None).unwrap_err()),
        "\"h11\" is not a host of the session: expected h0 to h3; did you mean \"h1\"?"
    );
    assert_eq!(text(session.send_ranks((0, 4), 1, None).unwrap_err()), "rank 4 of 4: expected 0 to 3");
    assert!(
        text(session.send("h0", "h1", u64::MAX, None).unwrap_err())
            .starts_with("a message of 18446744073709551615 B")
    );
    assert!(
        text(session.timer(Time::from_ms(20)).unwrap_err()).contains("the duration of the scenario is 20 ms")
    );
    assert!(text(session.run(Time::ZERO, 1).unwrap_err()).ends_with("is past: the session is at 5 us"));
    assert_eq!(session.under_way(), 0);
    // The message takes four times as long as the 20 ms of the run at 100 Gb/s.
    session.send("h0", "h3", 1_000_000_000, None).unwrap();
    let why = text(session.next_event(u64::MAX).unwrap_err());
    assert!(why.contains("with 1 under way: the first is message 1 of 1000000000 B from h0 to h3"), "{why}");
    assert!(text(session.send("h0", "h1", 1, None).unwrap_err()).contains("the run has ended at 20 ms"));
}

#[test]
fn a_message_that_cannot_end_is_named_with_its_cause() {
    let faults = "[[faults]]\nlink = [\"h1\", \"leaf0\"]\nat = \"10 us\"\ndown = true\n";
    let mut session = open(&fabric(&format!(
        "{}{faults}",
        job("{ session = true }", "{ rdma = { control = \"none\", retries = 1, timeout = \"67 us\" } }", "")
    )));
    session.send("h0", "h1", 10_000_000, None).unwrap();
    let why = loop {
        match session.next_event(1 << 16) {
            Ok(event) => assert!(event.is_some(), "a message was lost without an error"),
            Err(why) => break why.to_string(),
        }
    };
    assert!(why.contains("message 0 of 10000000 B from h0 to h1") && why.contains("failed"), "{why}");
}
