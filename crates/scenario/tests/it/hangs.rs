//! Jobs that cannot end, each for a different reason: the run ends, and the table `rank_waits` leads to the root cause.

use super::jobs::{real, table};
use fabric::Simulation;
use measure::{Table, Values};
use scenario::load;
use std::path::PathBuf;

/// Creates a folder with a scenario and a schedule.
fn folder(name: &str, goal: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("penstock-hangs-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("job.goal"), goal).expect("a file");
    folder
}

struct Wait {
    rank: f64,
    peer: f64,
    waits_for: String,
    cause: String,
    port: String,
}

fn texts(tables: &[Table], column: &str) -> Vec<String> {
    match table(tables, "rank_waits").values(column) {
        Some(Values::Text(values)) => values.clone(),
        other => panic!("{column} is {other:?}"),
    }
}

/// Returns the waits of ranks at the end of a run, and true if it ended early.
fn run(name: &str, goal: &str, over: &str, rest: &str) -> (Vec<Wait>, bool) {
    let folder = folder(name, goal);
    let text = format!(
        "[simulation]\nduration = \"20 ms\"\n[topology.star]\nhosts = 4\nrate = \"100 Gb/s\"\nphy = \"none\"\n[[jobs]]\nname = \"job\"\n\
         ranks = \"all\"\nworkload = {{ goal = \"job.goal\" }}\nover = {{ {over} }}\n{rest}"
    );
    let scenario = load(&text, "jobs.toml", Some(&folder)).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let ends: Vec<Vec<Wait>> = [1, 2]
        .map(|threads| {
            let mut simulation = Simulation::on_threads(&scenario.spec, threads).expect("it builds");
            simulation.run().expect("it runs");
            let early = simulation.now() < scenario.spec.duration;
            let tables = simulation.tables();
            let numbers = |column| real(&tables, "rank_waits", column);
            let [waits_for, cause, port] =
                ["waits_for", "cause", "port"].map(|column| texts(&tables, column));
            let rows = numbers("rank").into_iter().zip(numbers("peer")).zip(waits_for).zip(cause).zip(port);
            let rows = rows.map(|((((rank, peer), waits_for), cause), port)| Wait {
                rank,
                peer,
                waits_for,
                cause,
                port,
            });
            (rows.collect::<Vec<_>>(), early)
        })
        .into_iter()
        .map(|(rows, early)| {
            let mut rows = rows;
            rows.push(Wait {
                rank: -1.0,
                peer: f64::from(u8::from(early)),
                waits_for: String::new(),
                cause: String::new(),
                port: String::new(),
            });
            rows
        })
        .collect();
    let [one, two] = &ends[..] else { panic!("two runs") };
    let waits = |rows: &[Wait]| {
        rows.iter()
            .map(|one| format!("{} {} {} {} {}", one.rank, one.peer, one.waits_for, one.cause, one.port))
            .collect::<Vec<_>>()
    };
    assert_eq!(waits(one), waits(two), "{name} on two threads");
    std::fs::remove_dir_all(&folder).expect("the folder");
    let mut ends = ends;
    let mut rows = ends.remove(0);
    let early = rows.pop().is_some_and(|last| last.peer == 1.0);
    (rows, early)
}

/// Returns the waiting ranks, the peers that they wait for, and the causes.
fn waits(rows: &[Wait]) -> Vec<(u32, u32, &str)> {
    rows.iter().map(|one| (one.rank as u32, one.peer as u32, one.cause.as_str())).collect()
}

const FOUR: &str = "num_ranks 4\n";

fn goal(ranks: [&str; 4]) -> String {
    (0..4).fold(FOUR.to_string(), |text, rank| text + &format!("rank {rank} {{\n{}\n}}\n", ranks[rank]))
}

#[test]
fn a_receive_with_another_tag_is_never_matched() {
    let text = goal(["send 100b to 1 tag 7", "recv 100b from 0 tag 8", "", ""]);
    let (rows, early) = run("tag", &text, "rdma = {}", "");
    assert!(early, "nothing can happen any more");
    assert_eq!(waits(&rows), [(1, 0, "peer ended")]);
    assert_eq!(rows[0].waits_for, "message");
}

#[test]
fn a_peer_that_sends_nothing_has_ended() {
    let (rows, early) = run("nothing", &goal(["calc 500", "recv 1b from 0", "", ""]), "rdma = {}", "");
    assert!(early);
    assert_eq!(waits(&rows), [(1, 0, "peer ended")]);
}

#[test]
fn two_ranks_that_receive_first_wait_for_each_other() {
    let crossed = |peer: u32| format!("a: recv 8b from {peer}\nb: send 8b to {peer}\nb requires a");
    let (rows, early) = run("crossed", &goal([&crossed(1), &crossed(0), "", ""]), "rdma = {}", "");
    assert!(early);
    assert_eq!(waits(&rows), [(0, 1, "not posted"), (1, 0, "not posted")]);
}

#[test]
fn a_ring_of_ranks_that_receive_first_is_a_circle() {
    let passes = |from: u32, to: u32| format!("a: recv 8b from {from}\nb: send 8b to {to}\nb requires a");
    let ranks = [passes(3, 1), passes(0, 2), passes(1, 3), passes(2, 0)];
    let text = goal([&ranks[0], &ranks[1], &ranks[2], &ranks[3]]);
    let (rows, early) = run("circle", &text, "tcp = {}", "");
    assert!(early);
    let circle = [(0, 3, "not posted"), (1, 0, "not posted"), (2, 1, "not posted"), (3, 2, "not posted")];
    assert_eq!(waits(&rows), circle);
}

#[test]
fn a_chain_leads_to_the_rank_that_nobody_sends_to() {
    let passes = |from: u32, to: u32| format!("a: recv 8b from {from}\nb: send 8b to {to}\nb requires a");
    let text = goal(["calc 10", &passes(0, 2), &passes(1, 3), "recv 8b from 2"]);
    let (rows, early) = run("chain", &text, "rdma = {}", "");
    assert!(early);
    assert_eq!(waits(&rows), [(1, 0, "peer ended"), (2, 1, "not posted"), (3, 2, "not posted")]);
}

#[test]
fn a_receive_of_any_rank_waits_for_all() {
    let (rows, early) =
        run("any", &goal(["send 8b to 1 tag 1", "recv 8b from -1 tag 2", "", ""]), "rdma = {}", "");
    assert!(early);
    assert_eq!(waits(&rows), [(1, 1, "never sent")]);
}

const SEND: [&str; 4] = ["send 1000000b to 1", "recv 1000000b from 0", "", ""];

#[test]
fn a_connection_that_gave_up_has_failed() {
    let fault = "[[faults]]\nlink = [\"h1\", \"sw\"]\nat = \"10 us\"\ndown = true";
    let (rows, early) = run("failed", &goal(SEND), "rdma = { timeout = \"100 us\", retries = 2 }", fault);
    assert!(early, "the queue pair is in error");
    assert_eq!(waits(&rows), [(0, 1, "connection failed"), (1, 0, "connection failed")]);
    assert_eq!([&rows[0].waits_for[..], &rows[1].waits_for[..]], ["acknowledgement", "message"]);
}

#[test]
fn a_link_that_stays_down_holds_what_is_sent_again() {
    let fault = "[[faults]]\nlink = [\"h1\", \"sw\"]\nat = \"10 us\"\ndown = true";
    let (rows, early) = run("down", &goal(SEND), "tcp = {}", fault);
    assert!(!early, "TCP tries again until the end of the run");
    assert_eq!(waits(&rows), [(0, 1, "link down"), (1, 0, "link down")]);
    assert_eq!(rows[1].port, "sw.1->h1");
}

#[test]
fn a_host_that_takes_nothing_in_pauses_those_who_send() {
    let slow = "[flow_control.pfc]\npriorities = [0]\n[hosts.h1.receive]\ntime_per_frame = \"10 ms\"\nbuffer = \"256 KiB\"";
    let (rows, early) = run("paused", &goal(SEND), "rdma = {}", slow);
    assert!(!early, "the host does take a frame in now and then");
    assert_eq!(waits(&rows), [(0, 1, "paused"), (1, 0, "paused")]);
    assert!(rows[1].port == "sw.1->h1" || rows[1].port == "h0.0->sw", "{}", rows[1].port);
}

#[test]
fn a_receiver_that_is_not_ready_holds_the_next_message() {
    let text = goal(["send 8b to 1\nsend 8b to 1", "recv 8b from 0\nrecv 8b from 0", "", ""]);
    let over = "rdma = { receive_queue = 1, receive_time = \"1 s\" }";
    let (rows, early) = run("unready", &text, over, "");
    assert!(!early, "the sender tries for ever");
    assert_eq!(waits(&rows), [(0, 1, "receiver not ready"), (1, 0, "receiver not ready")]);
}

#[test]
fn a_computation_beyond_the_end_is_no_hang() {
    let text = goal(["a: calc 1000000000\nb: send 8b to 1\nb requires a", "recv 8b from 0", "", ""]);
    let (rows, early) = run("working", &text, "rdma = {}", "");
    assert!(!early);
    assert_eq!(waits(&rows), [(0, 0, "working"), (1, 0, "not posted")]);
}
