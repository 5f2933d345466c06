//! Compiles and runs programs in C and C++ with the header and the static library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FABRIC: &str = "[simulation]\nduration = \"20 ms\"\n[topology.star]\nhosts = 4\nrate = \"100 Gb/s\"\nphy = \"none\"\n[flow_control.pfc]\n";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of the static library that was built with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().find(|folder| folder.join("libpenstock.a").exists());
    found.expect("a static library beside the test").join("libpenstock.a")
}

/// Compiles sources, and returns the program.
fn compile(compiler: &str, flags: &[&str], sources: &[PathBuf], name: &str) -> PathBuf {
    let program = folder().join(name);
    let mut command = Command::new(compiler);
    command.args(flags).arg("-I").arg(here().join("include")).args(sources).arg(library());
    if cfg!(target_os = "linux") {
        command.args(["-lpthread", "-lm", "-ldl"]);
    }
    let done = command.arg("-o").arg(&program).output().unwrap_or_else(|why| panic!("{compiler}: {why}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).current_dir(folder()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_example_in_c_drives_the_run_that_its_messages_give() {
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    let program = compile("cc", &flags, &[here().join("examples/ring.c")], "ring");
    let (fabric, messages) = (folder().join("fabric.toml"), folder().join("ring.csv"));
    std::fs::write(&fabric, FABRIC).unwrap();
    let done = run(&program, &["fabric.toml", "6", "50000", "ring.csv"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let printed = text(&done.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("h0 to h3: ") && lines[0].ends_with(" ps"), "{printed}");
    // The recorded file of messages reproduces the run.
    let job = "[[jobs]]\nname = \"session\"\nranks = \"all\"\nworkload = { messages = \"ring.csv\", pairs = \"all\" }\n";
    let scenario = scenario::load(&format!("{FABRIC}{job}"), "replayed.toml", messages.parent());
    let scenario = scenario.unwrap_or_else(|why| panic!("{}", why.render(false)));
    let mut simulation = fabric::Simulation::new(&scenario.spec).unwrap();
    simulation.run().unwrap();
    assert_eq!(lines[1], format!("{:016x}", simulation.fingerprint()));
    // Errors reach the caller as texts.
    let done = run(&program, &["missing.toml", "6", "50000"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        text(&done.stderr).starts_with("penstock_open: cannot read \"missing.toml\""),
        "{}",
        text(&done.stderr)
    );
    let done = run(&program, &["fabric.toml", "6", "99999999999999"]);
    assert!(text(&done.stderr).contains("expected at most 17592186044416 B"), "{}", text(&done.stderr));
}

#[test]
fn the_border_survives_wrong_calls() {
    let source = folder().join("wrong.c");
    std::fs::write(&source, WRONG).unwrap();
    let program = compile("cc", &["-std=c11", "-Wall", "-Wextra", "-Werror"], &[source], "wrong");
    std::fs::write(folder().join("fabric.toml"), FABRIC).unwrap();
    let done = run(&program, &[]);
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
    assert_eq!(
        text(&done.stdout).lines().collect::<Vec<_>>(),
        [
            "the session is NULL",
            "path is NULL: expected a text",
            "\"h9\" is not a host of the session: expected h0 to h3; did you mean \"h0\"?",
            "rank 4 of 4: expected 0 to 3",
            "5 ns is past: the session is at 7 ns",
            "the session records nothing: call penstock_record()",
            "the session is finished: penstock_close() is the only call left",
        ]
    );
    assert!(folder().join("tables/jobs.csv").exists());
}

const WRONG: &str = r#"
#include <penstock.h>
#include <stdio.h>

#define EXPECT(code, call) \
    do { \
        if ((call) != (code)) return __LINE__; \
        puts(penstock_last_error()); \
    } while (0)

int main(void) {
    uint64_t id = 0, fingerprint = 0;
    uint32_t rank = 0;
    penstock_event event;
    EXPECT(PENSTOCK_ERROR_ARGUMENT, penstock_run(NULL, PENSTOCK_NEVER));
    EXPECT(NULL, penstock_open(NULL, NULL));
    penstock_session *session = penstock_open("fabric.toml", NULL);
    if (!session) return 1;
    EXPECT(PENSTOCK_ERROR_ARGUMENT, penstock_rank(session, "h9", &rank));
    EXPECT(PENSTOCK_ERROR_ARGUMENT, penstock_send(session, 0, 4, 1, PENSTOCK_NOW, &id));
    if (penstock_timer(session, 7000, &id) != 0 || penstock_under_way(session) != 1) return 2;
    if (penstock_run(session, PENSTOCK_NEVER) != PENSTOCK_EVENTS) return 3;
    if (penstock_take_events(session, &event, 1) != 1 || event.kind != PENSTOCK_TIMER || event.time != 7000) return 4;
    if (penstock_run(session, PENSTOCK_NEVER) != PENSTOCK_IDLE || penstock_cancel(session, id) != 0) return 5;
    EXPECT(PENSTOCK_ERROR_ARGUMENT, penstock_compute(session, 0, 10, 5000, NULL));
    EXPECT(PENSTOCK_ERROR_ARGUMENT, penstock_write_messages(session, "x.csv"));
    if (penstock_run(session, 9000) != PENSTOCK_UNTIL || penstock_now(session) != 9000) return 6;
    if (penstock_finish(session, "tables", &fingerprint) != 0) return 7;
    EXPECT(PENSTOCK_ERROR_ARGUMENT, penstock_run(session, PENSTOCK_NEVER));
    if (penstock_now(session) != 0) return 8;
    penstock_close(session);
    penstock_close(NULL);
    return 0;
}
"#;

#[test]
fn the_back_end_for_astra_sim_drives_a_ring() {
    if Command::new("c++").arg("--version").output().is_err() {
        return; // this machine has no C++ compiler
    }
    let stub = here().join("tests/astra_stub");
    let flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", stub.to_str().unwrap()];
    let sources = [here().join("tests/astra_ring.cc"), here().join("astra_sim/network.cc")];
    let program = compile("c++", &flags, &sources, "astra_ring");
    std::fs::write(folder().join("fabric.toml"), FABRIC).unwrap();
    let job =
        "[[jobs]]\nname = \"session\"\nranks = \"all\"\nworkload = { session = true }\nframe = \"9000 B\"\n";
    let fast =
        FABRIC.replace("20 ms", "30 ms").replace("hosts = 4", "hosts = 2").replace("100 Gb/s", "800 Gb/s");
    std::fs::write(folder().join("fast.toml"), format!("{fast}{job}")).unwrap();
    let done = run(&program, &[]);
    let printed = text(&done.stdout);
    assert!(done.status.success(), "{printed}{}", text(&done.stderr));
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("ring ") && lines[1].starts_with("1 ranks have not finished"), "{printed}");
    assert_eq!(lines[2], "  rank 1 waits for 64 of 64 B with tag 9 of rank 0");
}

#[test]
fn the_header_and_the_library_have_one_version_and_the_same_functions() {
    let header = std::fs::read_to_string(here().join("include/penstock.h")).unwrap();
    assert!(header.contains(&format!("#define PENSTOCK_ABI_VERSION {}u", penstock::ABI_VERSION)));
    let source = std::fs::read_to_string(here().join("src/lib.rs")).unwrap();
    let names = |text: &str, before: &str| -> std::collections::BTreeSet<String> {
        let calls = text.split(before).skip(1).filter_map(|rest| rest.split('(').next());
        calls.map(|name| format!("penstock_{name}")).filter(|name| !name.contains([' ', '\n', '*'])).collect()
    };
    let declared: std::collections::BTreeSet<String> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#']))
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next().map(str::to_string))
        .collect();
    assert_eq!(declared, names(&source, "extern \"C\" fn penstock_"));
    assert_eq!(declared.len(), 21);
}
