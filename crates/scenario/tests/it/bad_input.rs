//! Scenarios that must be rejected, with the position, message and help of each error.
//!
//! A case is a small change to a scenario that loads. The sign ‸ marks the expected position of the error; it is
//! removed before the text is read.

use scenario::{Diagnostic, Severity, load, load_bytes};

/// A scenario made of tables. Each given line replaces the line with the same key.
#[derive(Clone)]
struct Text {
    simulation: Vec<String>,
    topology: Vec<String>,
    flow: Vec<String>,
    more: String,
}

fn base() -> Text {
    let lines = |text: &[&str]| text.iter().map(|line| line.to_string()).collect();
    Text {
        simulation: lines(&["[simulation]", "duration = \"10 ms\""]),
        topology: lines(&[
            "[topology.star]",
            "hosts = 4",
            "rate = \"10 Gb/s\"",
            "delay = \"1 us\"",
            "phy = \"none\"",
        ]),
        flow: lines(&["[[flows]]", "name = \"f\"", "from = \"h1\"", "to = \"h0\"", "source = \"greedy\""]),
        more: String::new(),
    }
}

fn set(lines: &mut Vec<String>, changes: &str) {
    for change in changes.lines() {
        let key = change.split('=').next().unwrap().trim().trim_start_matches('‸');
        match lines.iter_mut().find(|line| line.split('=').next().unwrap().trim() == key) {
            Some(line) => *line = change.to_string(),
            None => lines.push(change.to_string()),
        }
    }
}

fn sim(changes: &str) -> Text {
    let mut text = base();
    set(&mut text.simulation, changes);
    text
}
fn star(changes: &str) -> Text {
    let mut text = base();
    set(&mut text.topology, changes);
    text
}
fn flow(changes: &str) -> Text {
    let mut text = base();
    set(&mut text.flow, changes);
    text
}
fn flow_and(changes: &str, more: &str) -> Text {
    Text { more: more.to_string(), ..flow(changes) }
}
fn source(source: &str) -> Text {
    flow(&format!("source = {source}"))
}
/// Creates a scenario with another topology, with these hosts as sender and receiver.
fn fabric(topology: &str, from: &str, to: &str) -> Text {
    let mut text = flow(&format!("from = \"{from}\"\nto = \"{to}\""));
    text.topology = topology.lines().map(str::to_string).collect();
    text
}
fn more(more: &str) -> Text {
    let mut text = base();
    text.more = more.to_string();
    text
}
/// Returns PFC with the watermarks of Hagen 2012 and these changes.
fn pfc(changes: &str) -> Text {
    let keys = ["accounting = \"egress\"", "xoff = \"66 frames\"", "xon = \"11 frames\""];
    let mut lines: Vec<String> = keys.iter().map(|key| key.to_string()).collect();
    set(&mut lines, changes);
    more(&format!("[flow_control.pfc]\n{}", lines.join("\n")))
}
fn raw(text: &str) -> Text {
    Text { simulation: vec![text.to_string()], topology: vec![], flow: vec![], more: String::new() }
}

impl Text {
    fn text(&self) -> String {
        let all =
            [self.simulation.join("\n"), self.topology.join("\n"), self.more.clone(), self.flow.join("\n")];
        all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n") + "\n"
    }
}

/// Returns line and column of the sign, and the text without it.
fn marked(text: &str) -> (String, usize, usize) {
    let at = text.find('‸').unwrap_or_else(|| panic!("no sign in {text}"));
    let line = text[..at].matches('\n').count() + 1;
    let column = text[..at].rsplit('\n').next().unwrap().chars().count() + 1;
    (text.replacen('‸', "", 1), line, column)
}

/// Checks that there is a finding of this severity at the sign, whose message and help contain these words.
fn check(case: &Text, severity: Severity, message: &str, help: &str) {
    let (text, line, column) = marked(&case.text());
    let found: Vec<Diagnostic> = match (load(&text, "bad.toml", None), severity) {
        (Ok(scenario), Severity::Warning | Severity::NotLossless) => scenario.warnings,
        (Ok(_), Severity::Error) => panic!("loads without error, expected {message:?}:\n{text}"),
        (Err(why), Severity::Error) => why.errors().cloned().collect(),
        (Err(why), Severity::Warning | Severity::NotLossless) => {
            panic!("expected only a warning {message:?}:\n{why}")
        }
    };
    let fits = |one: &&Diagnostic| {
        (one.line, one.column) == (line, column) && one.message.contains(message) && one.help.contains(help)
    };
    let Some(found) = found.iter().find(fits) else {
        let all: Vec<String> = found
            .iter()
            .map(|one| format!("  {}:{} {:?} | {:?}", one.line, one.column, one.message, one.help))
            .collect();
        panic!("expected {line}:{column} {message:?} | {help:?}, found\n{}\nin\n{text}", all.join("\n"));
    };
    assert_eq!(found.file, "bad.toml");
    let rendered = found.render(false);
    assert!(rendered.contains(&format!("bad.toml:{line}:{column}")), "{rendered}");
    // Every output format has to work.
    assert!(found.render(true).contains("\u{1b}["));
}

#[test]
fn the_base_loads() {
    let scenario = load(&base().text(), "base.toml", None).unwrap();
    assert_eq!(scenario.warnings, []);
}

/// DCBX of stations: settings that no frame can express, and results that no port can implement.
#[test]
fn dcbx() {
    let both = |host: &str, switch: &str| more(&format!("[host.dcbx]\n{host}\n[switch.dcbx]\n{switch}\n"));
    let shares = |classes: &str| {
        format!(
            "ets = {{ recommended = {{ classes = {classes}, percent = [40, 60], algorithms = [\"ets\", \"ets\"] }} }}"
        )
    };
    errors(vec![
        (more("[host.dcbx]\n‸wiling = true"), "unknown key `wiling`", ""),
        (more("[host.dcbx]\ndialect = ‸\"newer\""), "unknown", "older"),
        (more("[host.dcbx]\nets = ‸{ traffic_classes = 9 }"), "traffic_classes is 9", "1 to 8"),
        (more("[host.dcbx]\npfc = ‸{ priorities = [8] }"), "is 8", "0 to 7"),
        (more("[host.dcbx]\npfc = { priorities = [‸{}] }"), "a table in place of a value", "a whole number"),
        (more("[switch.dcbx]\nets = { own = { classes = [‸true] } }"), "boolean", "a whole number"),
        (
            more("[switch.dcbx]\napplications = [{ protocol = \"fcoe\", priority = ‸\"1 s\" }]"),
            "\"1 s\"",
            "a whole number that is not negative",
        ),
        (more("[host.dcbx]\npfc = ‸{ priorities = [3, 3] }"), "priority 3 occurs twice", "once"),
        (
            more("[host.dcbx]\npfc = ‸{ priorities = [3, 4], capability = 1 }"),
            "priorities with PFC is 2",
            "at most",
        ),
        (
            more("[host.dcbx]\nets = { own = ‸{ percent = [40, 50], algorithms = [\"ets\", \"ets\"] } }"),
            "sum of ETS shares in per cent is 90",
            "100",
        ),
        (
            more("‸[[host.dcbx.applications]]\nselector = \"dscp\"\nprotocol = 64\npriority = 1"),
            "protocol is 64",
            "0 to 63",
        ),
        (
            both("‸pfc = { priorities = [3] }", ""),
            "has PFC for priority 3, and no flow_control.pfc",
            "exchanged = false",
        ),
        (
            more(&format!("[host.‸dcbx]\n[switch.dcbx]\n{}", shares("[0, 0, 0, 0, 0, 0, 0, 0]"))),
            "traffic class 1 of \"h0\" has 60 % and no priority",
            "",
        ),
    ]);
}

type Case = (Text, &'static str, &'static str);

fn errors(cases: Vec<Case>) {
    let mut failed = Vec::new();
    for (case, message, help) in cases {
        let checked = std::panic::catch_unwind(|| check(&case, Severity::Error, message, help));
        failed.extend(checked.is_err().then_some(message));
    }
    assert_eq!(failed, Vec::<&str>::new());
}

#[test]
fn keys_and_forms() {
    errors(vec![
        (raw("‸"), "missing table [simulation]", "[simulation]"),
        (raw("[simulation]\nduration = ‸"), "not TOML", ""),
        (raw("[simulation‸\n"), "not TOML: unclosed table", "`]`"),
        (sim("‸durration = \"1 s\""), "unknown key `durration`", "did you mean duration?"),
        (
            raw("‸[simulation]\nname = \"x\"\n[topology.star]\nhosts = 2\nrate = \"1 Gb/s\""),
            "missing key `duration`",
            "required",
        ),
        (more("[‸flow]\nname = \"x\""), "unknown table `flow`", "did you mean flows?"),
        (sim("duration = ‸10"), "bare number where a time belongs", "did you mean \"10 us\"?"),
        (sim("duration = ‸\"10\""), "has no unit", "did you mean \"10 us\"?"),
        (sim("duration = ‸\"10 msec\""), "unknown time unit \"msec\"", "did you mean \"10 ms\"?"),
        (sim("duration = ‸\"-1 ms\""), "cannot be negative", "expected one like \"1.5 us\""),
        (sim("duration = ‸{ x = 1 }"), "a table in place of a value", "a time as text with a unit"),
        (sim("duration = \"1 ms\"\nname = ‸{}"), "a table in place of a value", "expected text in quotes"),
        (sim("duration = ‸true"), "invalid type: boolean", "a time as text with a unit"),
        (sim("duration = ‸\"0.5 ps\""), "not a whole number of the smallest unit", ""),
        (sim("path_seed = ‸-1"), "invalid value: integer `-1`", "a whole number, 0 or more, or \"seed\""),
        (sim("path_seed = ‸\"sead\""), "unknown value `sead`", "did you mean \"seed\""),
        (
            sim("duration = \"1 ms\"\nseed = ‸-1"),
            "invalid value: integer `-1`",
            "a whole number that is not negative",
        ),
        (sim("duration = ‸\"106 days\""), "unknown time unit \"days\"", "did you mean \"9158400 s\"?"),
        (sim("duration = ‸\"2 min\""), "unknown time unit \"min\"", "did you mean \"120 s\"?"),
        (sim("duration = ‸\"200000000 s\""), "is too large", "expected at most \"9223372 s\""),
        (sim("duration = ‸1979-05-27"), "a date in place of text: 1979-05-27", "a time as text"),
        (sim("duration = \"1 ms\"\nname = ‸07:32:00"), "a date in place of text", "text in quotes"),
        (sim("duration = \"1 ms\"\nname = ‸[]"), "a list in place of a value", "expected text in quotes"),
        (
            sim("seed = ‸18446744073709551616"),
            "integer `18446744073709551616`: more than fits",
            "a whole number",
        ),
        (sim("seed = 1\n‸flows = []"), "`flows` is a table of the file", "above the first table"),
        (star("rate = ‸\"1e+06 Mb/s\""), "a number with an exponent", "did you mean \"1000000 Mb/s\"?"),
        (star("rate = ‸\"1,5 Gb/s\""), "a comma in a number", "did you mean \"1.5 Gb/s\"?"),
        (source("‸3"), "invalid type: integer `3`", "\"greedy\", or a table of the name of a source"),
        (more("[switch.scheduler]\nets = ‸3"), "integer `3`", "expected a table with keys"),
        (more("[switch.scheduler.ets]\nclasses = ‸3"), "integer `3`", "expected a list in [ ]"),
        (
            more("[switch.scheduler.ets]\nclasses = [‸3]"),
            "integer `3`",
            "expected a class: a table with queues",
        ),
        (sim("on_lossless_drop = ‸\"stopp\""), "unknown value `stopp`", "did you mean \"stop\"?"),
        (star("rate = ‸10"), "bare number where a rate belongs", "did you mean \"10 Gb/s\"?"),
        (star("rate = ‸\"10 Gbit\""), "unknown rate unit \"Gbit\"", "did you mean \"10 Gb/s\"?"),
        (star("‸host = 4"), "unknown key `host`", "did you mean hosts?"),
        (star("hosts = ‸4.5"), "invalid type: floating point", "a whole number"),
        (more("[topology.‸ring]\nswitches = 3"), "more than one choice", "exactly one"),
        (fabric("[topology.‸stra]\nhosts = 2", "h1", "h0"), "unknown value `stra`", "did you mean \"star\"?"),
        (more("[switch]\npath_choice = ‸\"sprays\""), "unknown value `sprays`", "did you mean \"spray\""),
        (
            more("[switch]\npath_choice = { flowlet = { ‸gaps = \"1 us\" } }"),
            "unknown key `gaps`",
            "did you mean gap?",
        ),
        (
            more("[switch]\nforwarding = ‸\"cutthrough\""),
            "unknown value `cutthrough`",
            "did you mean \"cut_through\"?",
        ),
        (more("[switch.buffer]\nqueue = ‸100"), "bare number where a size", ""),
        (
            more("[switch.buffer]\nqueue = ‸\"100 frmes\""),
            "unknown size unit",
            "\"unlimited\" is accepted too",
        ),
        (more("[probes]\nbin = ‸\"of\""), "is not a time", "\"off\""),
        (
            more("[host]\nqueues = ‸\"per_prio\""),
            "unknown value `per_prio`",
            "did you mean \"per_priority\"?",
        ),
        (more("[host]\nqueues = ‸3"), "invalid type", "a list of eight class numbers"),
        (flow("to = ‸7"), "invalid type", "the name of a host"),
        (
            flow("to = { ‸hotspot = { host = \"h0\", share = 0.5 } }"),
            "unknown value `hotspot`",
            "did you mean \"hot_spot\"?",
        ),
        (flow("frame = ‸\"jumbo\""), "is not a size", "\"imix\" is accepted too"),
        (
            flow("frame = { uniform = { min = \"64 B\", ‸mx = \"1522 B\" } }"),
            "unknown key `mx`",
            "did you mean max?",
        ),
        (source("‸\"greedi\""), "unknown value `greedi`", "did you mean \"greedy\"?"),
        (
            source("{ constant = { rate = ‸2.5 } }"),
            "bare number where a rate belongs",
            "did you mean \"2.5 Gb/s\"?",
        ),
        (source("{ constant = ‸{ } }"), "missing key `rate`", "required"),
        (
            raw(
                "[simulation]\nduration = \"1 s\"\n[topology.star]\nhosts = 2\nrate = \"1 Gb/s\"\n[‸flows]\nname = \"x\"",
            ),
            "flows is not a list",
            "[[flows]]",
        ),
        (raw("[simulation]\nduration = \"1 s\"\n‸duration = \"2 s\""), "duplicate key", "defined above"),
        (raw("[probes]\nbin = \"1 us\"\n[[‸probes]]\nwhat = \"flow\""), "duplicate key", "`every`"),
    ]);
}

#[test]
fn simulation_and_topology() {
    let pair = "[topology.explicit]\nhosts = [\"a\", \"b\"]\nswitches = [\"s\"]\n";
    let link =
        |a: &str, b: &str| format!("[[topology.explicit.links]]\nbetween = [{a}, {b}]\nrate = \"10 Gb/s\"\n");
    let explicit = |text: String| fabric(&format!("{pair}{text}"), "a", "b");
    let (a_s, b_s) = (link("\"a\"", "\"s\""), link("\"b\"", "\"s\""));
    errors(vec![
        (sim("duration = ‸\"0 s\""), "duration is 0", "above 0"),
        (
            sim("duration = \"1 ms\"\nname = ‸\"a\\u001bb\""),
            "not a name for a scenario",
            "control characters",
        ),
        (sim("warmup = ‸\"10 ms\""), "warmup 10 ms is not below duration 10 ms", "below \"10 ms\""),
        (sim("name = ‸\" \""), "the name is empty", ""),
        (sim("memory_limit = ‸\"0 B\""), "memory_limit 0 B is too small", "at least \"1 MiB\""),
        (flow("jitter = ‸\"1 us\""), "jitter of a greedy source", "clock_tolerance"),
        (flow("jitter = ‸5"), "bare number where a time belongs", "did you mean \"5 us\""),
        (more("[host]\nclock_tolerance = ‸\"100\""), "\"100\" has no unit", "did you mean \"100 ppm\""),
        (more("[host]\nclock_tolerance = ‸\"-5 ppm\""), "cannot be negative", "expected one like"),
        (more("[switch]\nclock_tolerance = ‸\"1001 ppm\""), "no clock is that wrong", "at most \"1000 ppm\""),
        (sim("memory_limit = ‸8"), "bare number", "did you mean \"8 B\""),
        (sim("memory_limit = ‸\"avalable\""), "\"avalable\" is not a size", "\"available\" is accepted too"),
        (more("[probes]\nbin = ‸\"0 s\""), "bin is 0", "\"off\""),
        (more("[probes]\nbin = ‸\"1 ps\""), "makes 10000000000 bins", "at least \"10 ns\""),
        (more("[[probes]]\nwhat = \"port\"\nevery = ‸\"0 s\""), "every is 0", "a time above 0"),
        (
            more("[[probes]]\nwhat = \"queue\"\nevery = ‸\"1 ps\""),
            "every 1 ps makes 10000000000 bins",
            "at least \"10 ns\"",
        ),
        (more("[[probes]]\nwhat = ‸\"queues\""), "unknown value `queues`", "did you mean \"queue\""),
        (more("[[probes]]\nwhat = \"flow\"\n‸wich = \"all\""), "unknown key `wich`", "which"),
        (more("‸[[probes]]\nevery = \"1 us\""), "what", ""),
        (
            more("[[probes]]\nwhat = \"flow\"\nwhich = ‸\"nobody\""),
            "\"nobody\" names no flow",
            "a name like \"f",
        ),
        (
            more("[[probes]]\nwhat = \"port\"\nwhich = [\"h*\", ‸\"spine0\"]"),
            "\"spine0\" names no port",
            "sw",
        ),
        (more("[[probes]]\nwhat = \"queue\"\nwhich = ‸\"sw/8\""), "\"sw/8\" names no queue", "/0"),
        (
            more("[[probes]]\nwhat = \"class\"\nwhich = ‸\"the many busiest\""),
            "selects nothing",
            "the 20 busiest",
        ),
        (more("[[probes]]\nwhat = \"class\"\nwhich = ‸5"), "", ""),
        (
            more("[[probes]]\nwhat = \"pauses\"\nwhich = ‸\"h99\""),
            "\"h99\" names no port, or priority of a port",
            "the 20 longest",
        ),
        (
            more("[[probes]]\nwhat = \"pauses\"\nwhich = ‸\"the 20 busiest\""),
            "selects nothing",
            "the 20 longest",
        ),
        (
            more("[[probes]]\nwhat = \"flow\"\nwhich = ‸\"the 20 longest\""),
            "selects nothing",
            "the 20 busiest",
        ),
        (more("[[probes]]\nwhat = \"pauses\"\nevery = ‸\"1 us\""), "pauses have no bins", "leave it out"),
        (more("[[probes]]\nwhat = \"latency\"\nevery = ‸\"1 us\""), "latencies have no bins", "leave it out"),
        (
            // The queues of this switch share no memory.
            more("[[probes]]\nwhat = \"occupancy\"\nwhich = ‸\"sw shared\""),
            "\"sw shared\" names no occupancy",
            "a name like",
        ),
        (more("[[probes]]\nwhat = \"occupancy\"\nwhich = ‸\"sw/9\""), "\"sw/9\" names no occupancy", "/0"),
        (more("[[probes]]\nwhat = \"latency\"\nwhich = ‸\"h0\""), "\"h0\" names no flow", "a name like"),
        (more("[[probes]]\nwhat = \"frames\"\nwhich = ‸\"sw.9\""), "\"sw.9\" names no port", "->"),
        (more("[[probes]]\nwhat = \"frames\"\nmax_rows = ‸0"), "max_rows = 0", "from 1 to 1000000"),
        (
            more("[[probes]]\nwhat = \"frames\"\nmax_rows = ‸1000001"),
            "max_rows = 1000001",
            "from 1 to 1000000",
        ),
        (more("[[probes]]\nwhat = \"frames\"\nmax_rows = ‸1.5"), "1.5", ""),
        (more("[[probes]]\nwhat = \"port\"\nmax_rows = ‸10"), "time series have no rows", "pauses or frames"),
        (more("[[probes]]\nwhat = \"frames\"\none_in = ‸0"), "one_in = 0", "from 1 to 1000000000"),
        (more("[[probes]]\nwhat = \"pauses\"\none_in = ‸2"), "pauses have no one_in", "what = \"frames\""),
        (more("[[probes]]\nwhat = \"frames\"\nstart = ‸\"1 s\""), "after the end", "duration is"),
        (
            more("[[probes]]\nwhat = \"latency\"\nstart = ‸\"1 us\""),
            "latencies have no start",
            "what = \"frames\"",
        ),
        (star("hosts = ‸0"), "hosts = 0 is too small", "at least 1"),
        (star("hosts = ‸1000000000"), "too large", "at most 2097152 nodes"),
        (star("hosts = ‸18000000000000000000"), "", ""),
        (star("rate = ‸\"0 Gb/s\""), "the rate of a link is 0", "\"1 Mb/s\""),
        (star("rate = ‸\"999999 b/s\""), "outside the range", "\"1.6 Tb/s\""),
        (star("rate = ‸\"2 Tb/s\""), "outside the range", "\"1.6 Tb/s\""),
        (star("rate = ‸\"9999999967 b/s\""), "no exact byte time", "fewer digits"),
        (star("rate = ‸\"9999999967 b/s\"\nline_code = \"8b/10b\""), "no exact byte time", "fewer digits"),
        (star("line_code = ‸\"8b10b\""), "unknown value `8b10b`", "did you mean \"8b/10b\"?"),
        (star("line_code = ‸\"128/130\""), "unknown value `128/130`", "did you mean \"128b/130b\"?"),
        (star("line_code = ‸0.8"), "0.8 without quotes where a choice belongs", "a name in quotes"),
        (
            star("rate = \"10 Gb/s\"\nline_code = \"8b/10b\"\nphy = ‸\"10GBASE-R\""),
            "not a PHY of a link of 8 Gb/s",
            "none of this rate is known",
        ),
        (star("length = ‸\"300 m\""), "both delay and length", "keep one"),
        (star("delay = ‸\"1000 s\""), "too long", "at most"),
        (star("overhead = ‸\"1 MB\""), "overhead 1000000 B is too large", "20 B"),
        (
            fabric("[topology.ring]\nswitches = ‸2\nhosts_per_switch = 1\nrate = \"1 Gb/s\"", "h0.0", "h1.0"),
            "switches = 2 is too small",
            "at least 3",
        ),
        (fabric("[topology.fat_tree]\nk = ‸5\nrate = \"1 Gb/s\"", "h0", "h1"), "k = 5 is odd", "even"),
        (fabric("[topology.n_tree]\nk = 2\nn = ‸64\nrate = \"1 Gb/s\"", "h0", "h1"), "too large", "at most"),
        (
            fabric("[topology.slim_fly]\nq = ‸6\nhosts_per_switch = 1\nrate = \"1 Gb/s\"", "h0", "h1"),
            "no Slim Fly of q = 6",
            "5 or 7",
        ),
        (
            fabric(
                "[topology.torus]\ndimensions = ‸[3, 1]\nhosts_per_switch = 1\nrate = \"1 Gb/s\"",
                "h0",
                "h1",
            ),
            "dimensions = 1 is too small",
            "at least 2",
        ),
        (
            fabric(
                "[topology.dragonfly]\nhosts_per_switch = 1\nswitches_per_group = 2\nglobal_links = 1\ngroups = ‸4\nrate = \"1 Gb/s\"",
                "h0",
                "h1",
            ),
            "groups = 4",
            "expected 2 to 3",
        ),
        (
            fabric(
                "[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nrate = \"1 Gb/s\"\nuplink_rate = ‸\"1 b/s\"",
                "h0",
                "h1",
            ),
            "outside the range",
            "",
        ),
        (
            fabric("[topology.dumbbell]\nleft = ‸70000\nright = 1\nrate = \"1 Gb/s\"", "l0", "r0"),
            "70001 ports",
            "at most 65536",
        ),
        (
            explicit(format!("{a_s}{}", link("‸\"bb\"", "\"s\""))),
            "unknown node \"bb\"",
            "did you mean \"b\"?",
        ),
        (
            explicit(format!(
                "{a_s}{b_s}[[topology.explicit.links]]\nbetween = ‸[\"s\", \"s\"]\nrate = \"1 Gb/s\""
            )),
            "to itself",
            "two different",
        ),
        (
            fabric(&format!("{}{a_s}", pair.replace("\"b\"", "‸\"b\"")), "a", "b"),
            "\"b\" is not connected",
            "at least one link",
        ),
        (
            fabric(&format!("{}{a_s}{b_s}", pair.replace("\"s\"", "‸\"a\"")), "a", "b"),
            "\"a\" is used twice",
            "different names",
        ),
        (
            fabric(&format!("{}{a_s}{b_s}", pair.replace("\"b\"", "‸\"b*\"")), "a", "b"),
            "is not a name",
            "without spaces",
        ),
        (explicit(format!("{a_s}{b_s}count = ‸0")), "count is 0", "at least 1"),
        (explicit(format!("{a_s}{b_s}count = ‸9000000000000")), "links are too many", "at most"),
    ]);
}

#[test]
fn stations_and_flow_control() {
    let buffer = |rest: &str| pfc(&format!("priorities = [0]\n{rest}"));
    errors(vec![
        (more("[hosts.‸h9]\nwhen_full = \"drop\""), "unknown host \"h9\"", "did you mean \"h0\"?"),
        (more("[switches.‸sv]\nlatency = \"1 us\""), "unknown switch \"sv\"", "did you mean \"sw\"?"),
        (more("[hosts.‸sw]\nwhen_full = \"drop\""), "\"sw\" is not a host", "[switches.NAME]"),
        (more("[switch]\nqueues = ‸[0, 1]"), "2 class numbers", "eight class numbers"),
        (more("[switch]\nqueues = [0, 0, 0, ‸8, 0, 0, 0, 0]"), "class 8 of priority 3", "0 to 7"),
        (more("[switch]\nscheduler = ‸\"fifo\""), "\"fifo\" serves one queue", "queues = \"shared\""),
        (more("[host]\nqueue_limit = ‸\"0 frames\""), "a limit of 0", "\"unlimited\""),
        (more("[switch]\nlatency = ‸\"2 s\""), "too long", "at most"),
        (more("[switch]\npath_choice = { flowlet = { gap = ‸\"0 s\" } }"), "gap is 0", "\"spray\" draws a port"),
        (more("[switch]\npath_choice = { hash = { fields = ‸[] } }"), "no fields", "at least one"),
        (more("[switch]\npath_choice = { hash = { fields = [‸\"port\"] } }"), "unknown value `port`", "source_port"),
        (more("[switch]\npath_choice = { hash = { fields = ‸[\"source\", \"source\"] } }"), "named twice", ""),
        (more("[switch]\npath_choice = { hash = { ‸sead = 1 } }"), "sead", "did you mean"),
        (flow("ports = { from = ‸65536 }"), "port 65536", "1 to 65535"),
        (flow("ports = { from = 1, to = ‸0 }"), "port 0", "1 to 65535"),
        (flow("‸ports = {}"), "without from and to", "{ to = 4791 }"),
        (flow("ports = { ‸source = 4791 }"), "source", ""),
        (
            more("[switch]\npath_choice = { flowlet = { gap = \"50 us\", entries = ‸1000 } }"),
            "a flowlet table of 1000 entries",
            "a power of two, 1 to 1048576, like 1024",
        ),
        (
            more("[switches.sw]\npath_choice = { flowlet = { gap = \"50 us\", entries = ‸2_097_152 } }"),
            "a flowlet table of 2097152 entries",
            "like 1048576",
        ),
        (
            more("[switch]\nqueueing = { crossbar = { iterations = ‸0 } }"),
            "0 iterations",
            "a count, 1 to 16",
        ),
        (
            more("[switch]\nqueueing = { crossbar = { speedup = ‸0.5 } }"),
            "speedup is 0.5",
            "1 to 16 in steps of 1/64, such as 1.5",
        ),
        (
            more("[switch]\nqueueing = { crossbar = { output_buffer = ‸\"100 B\" } }"),
            "an output buffer of 100 B at \"sw\"",
            "or no frame could cross",
        ),
        (
            more("[switch]\nqueueing = { crossbar = { ‸speed = 2 } }"),
            "unknown key `speed`",
            "speedup",
        ),
        (
            Text {
                more: "[switch]\n‸queueing = { crossbar = {} }".to_string(),
                ..star("hosts = 129")
            },
            "\"sw\" has a crossbar and 129 ports",
            "at most 128 ports",
        ),
        (
            more("[switch]\nqueueing = { crossbar = {} }\n‸buffer.queue = \"10 frames\"\n[flow_control]\ncredit = {}"),
            "a limit of the buffer at \"sw\", which has a crossbar, and credits",
            "leave it out",
        ),
        (
            more("[switch]\nqueueing = { crossbar = {} }\n‸buffer = { total = \"1 MB\", dynamic_threshold = {} }"),
            "a shared memory at \"sw\", which has a crossbar",
            "limits of the buffer",
        ),
        (
            more("[switch]\nqueueing = { crossbar = {} }\n‸[[faults]]\nswitch = \"sw\"\nat = \"1 ms\"\nrestart = \"1 ms\""),
            "what a restart does to what waits in it is not simulated",
            "all other faults",
        ),
        (more("[flow_control.pfc]\n[flow_control.‸pause]"), "more than one choice", "exactly one"),
        (more("[flow_control.pause]\npriorities = ‸[3]"), "not single priorities", "[flow_control.pfc]"),
        (pfc("priorities = [0, ‸8]"), "priority 8", "0 to 7"),
        (pfc("priorities = [0, ‸0]"), "listed twice", "once"),
        (pfc("priorities = ‸[]"), "no priority is lossless", "like [3]"),
        (pfc("pause_quanta = ‸0"), "pause_quanta 0", "1 to 65535"),
        (pfc("pause_quanta = ‸65536"), "16 bits", "1 to 65535"),
        (pfc("pause_quanta = ‸\"long\""), "unknown value `long`", "\"computed\""),
        (pfc("pause_quanta = ‸[1, 2]"), "2 entries of pause_quanta", "one for each priority"),
        (pfc("pause_quanta = [1, 2, 3, ‸0, 5, 6, 7, 8]"), "pause_quanta 0", "1 to 65535"),
        (more("[flow_control.pause]\npause_quanta = ‸[1, 2, 3, 4, 5, 6, 7, 8]"), "whose frames have one time", "[flow_control.pfc]"),
        (pfc("target = { method = \"fair_bandwidth\", watermark = \"50 frames\", search_time = ‸\"2 ms\" }"), "too long", "at most \"1 ms\""),
        (pfc("target = { method = \"fair_bandwidth\", watermark = \"computed\", partners = ‸0 }"), "0 partners", "1 to 1000"),
        (pfc("target = { method = \"fair_bandwidth\", watermark = ‸\"computed\", partners = 1000 }"), "lies below 0", "partners = 1000"),
        (pfc("response_time = ‸\"5 s\""), "too long", "\"standard\""),
        (buffer("pause_quanta = ‸60"), "a pause of 60 quanta (3.072 us) from \"sw\" is over before \"h0\" obeys it", "at least 89"),
        (buffer("pause_quanta = ‸88"), "over before a renewal can take effect", "at least 89"),
        (buffer("refresh = false\npause_quanta = ‸60"), "is over before \"h0\" obeys it, which takes 3.072 us", "at least 61"),
        (more("[flow_control.pfc]\n[host.flow_control.pfc]\nresponse_time = \"10 us\"\npause_quanta = ‸60\n[host.receive]\nrate = \"1 Gb/s\""), "from \"h0\" is over", "at least 89"),
        (more("[flow_control.‸pfc]\n[host.flow_control.pfc]\nresponse_time = \"10 ms\""), "is over before \"h0\" obeys it", "a shorter response_time"),
        (star("phy = ‸\"10GBASE-S\""), "unknown value `10GBASE-S`", "10GBASE-R"),
        (star("phy = ‸\"25GBASE-R\""), "not a PHY of a link of 10 Gb/s", "\"10GBASE-T\" or \"slowest\""),
        (star("rate = \"56 Gb/s\"\nphy = ‸\"slowest\""), "not a PHY of a link of 56 Gb/s", "expected phy = \"none\", or an interface_delay"),
        (star("phy = \"10GBASE-R\"\ninterface_delay = ‸\"1 us\""), "both phy and interface_delay", "keep one"),
        (pfc("xon = \"computed\"\nxoff = ‸\"66 frames\""), "xoff without xon", "both"),
        (pfc("xoff = \"computed\"\nxon = ‸\"6 frames\""), "xon without xoff", "both"),
        (pfc("xon = ‸\"66 frames\""), "xon 66 frames is not below xoff 66 frames", "xon < xoff"),
        (pfc("xon = ‸\"1 KiB\""), "cannot be compared", "both in bytes"),
        (pfc("headroom = ‸\"30 frames\""), "headroom with egress accounting", "ingress"),
        (more("[flow_control.pfc]\nheadroom = ‸\"30 KiB\""), "headroom without xoff", "all computed"),
        (pfc("accounting = \"ingress\"\ntarget = ‸{ method = \"fair_bandwidth\", watermark = \"55 frames\" }").table_at("target"), "a target with ingress accounting", "\"egress\""),
        (pfc("target = { method = \"fair_bandwidth\", watermark = ‸\"70 frames\" }"), "not below xoff", "xon < target watermark < xoff"),
        (pfc("target = { method = \"fair_bandwidth\", watermark = ‸\"5 frames\" }"), "not above xon", "xon < target watermark < xoff"),
        (pfc("target = { method = \"fair_bandwidth\", watermark = ‸\"5 KiB\" }"), "another unit", "both in bytes"),
        (pfc("target = { method = ‸\"fair\", watermark = \"50 frames\" }"), "unknown value `fair`", "\"fair_bandwidth\""),
        (buffer("xoff = ‸\"100 frames\"\n[switch.buffer]\nqueue = \"100 frames\""), "not below the queue limit", "xon < xoff < limit"),
        (buffer("xoff = ‸\"98 frames\"\n[switch.buffer]\nqueue = \"100 frames\""), "leaves 2 frames below the limit", "a lower xoff"),
        (buffer("accounting = \"ingress\"\nxoff = \"64 KiB\"\nxon = \"32 KiB\"\nheadroom = ‸\"1 KiB\""), "headroom 1024 B is less", "expected at least"),
        (more("[flow_control.pfc]\n[switch.buffer]\ntotal = ‸\"16 KiB\""), "of \"sw\" has 16384 B, but its headroom alone needs ", "a larger total"),
        (more("[flow_control.credit]\nbuffer = ‸\"63 B\""), "has 0 credits", "1 to 16384 credits"),
        (more("[flow_control.credit]\npriorities = [0, ‸8]"), "priority 8", "priorities 0 to 7"),
        (more("[flow_control.credit]\npriorities = ‸[]"), "no priority takes credits", "like [3]"),
        (
            more("[flow_control.by_class]\npfc.priorities = [0]\ncredit.priorities = ‸[0]"),
            "priority 0 is in credit.priorities and in pfc.priorities",
            "one of the two lists",
        ),
        (more("[flow_control.by_class]\n‸pfc = {}\ncredit.priorities = [0]"), "pfc without priorities", "like [3]"),
        (more("[links.\"h0<->sw\"]\ndelay = ‸\"11 s\""), "a one-way delay of 11 s is too long", "\"10 s\""),
        (more("[switch]\ntrimming = { threshold = \"9 kB\", reference_rate = ‸\"0 b/s\" }"), "a reference rate of 0", ""),
        (more("[flow_control.credit]\nbuffer = ‸\"2 MiB\""), "has 32768 credits", "1 to 16384 credits"),
        (more("[flow_control.credit]\nbuffer = ‸\"100 B\""), "not a whole number of credits", "\"64 B\""),
        (more("[flow_control.credit]\nunit = ‸\"0 B\""), "unit is 0 B", "\"1 B\" to"),
        (more("[flow_control.credit]\nper_frame = ‸\"64 KiB\""), "per_frame is 64 KiB", "\"0 B\" to"),
        (more("[flow_control.credit]\nupdate_bytes = ‸\"1 MB\""), "update_bytes is", "\"65535 B\""),
        (more("[flow_control.credit]\npiggyback = ‸\"1 MB\""), "piggyback is", "\"65535 B\""),
        (more("[flow_control.credit]\nupdate_after = ‸\"9 kB\""), "update_after is 9000 B", "the buffer, \"8704 B\""),
        (more("[flow_control.credit]\nupdate_within = ‸\"2 s\""), "update_within is 2 s", "at most \"1 s\""),
        (more("[flow_control.credit]\nupdate_delay = ‸\"2 s\""), "update_delay is 2 s", "at most \"1 s\""),
        (more("[flow_control.credit]\nchannels = ‸[0, 1]"), "2 channels of priorities", "or eight"),
        (more("[flow_control.credit]\nchannels = [0, 1, 2, 3, 4, 5, 6, ‸20]"), "channel 20", "0 to 7"),
        (more("[flow_control.credit]\nchannels = [\"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", ‸\"B8\"]"), "the bypassable ones end with \"B7\"", "\"B0\" to \"B7\""),
        (more("[flow_control.credit]\nchannels = [\"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", ‸\"O8\"]"), "the ordered ones end with \"O7\"", "\"O0\" to \"O7\""),
        (more("[flow_control.credit]\nchannels = [\"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", ‸\"M4\"]"), "the multicast ones end with \"M3\"", "one for each priority"),
        (more("[flow_control.credit]\nchannels = ‸\"al\""), "al", "all"),
        (more("[flow_control.credit]\nchannels = \"all\"\n[switch]\nqueues = ‸\"shared\""), "queues that channels share", "a queue for each of the twenty"),
        (more("[flow_control.credit]\nchannels = \"all\"\n[switch]\nqueue_managers = ‸[{ classes = [0], red = {} }]"), "queue_managers at \"sw\", and channels = \"all\"", "they work by priority"),
        (more("[flow_control.credit]\nchannels = \"all\"\n[host]\n‸rate_limiters = { qcn = {} }"), "rate_limiters at \"h0\", and channels = \"all\"", "they work by priority"),
        (flow_and("channel = ‸\"O3\"", ""), "channel \"O3\", and no link has credits", "or `priority`"),
        (flow_and("channel = ‸\"M4\"", "[flow_control.credit]\nchannels = \"all\""), "no frames take a channel \"M4\"", "\"M2\", \"M3\""),
        (flow_and("channel = ‸\"B1\"", "[flow_control.credit]\nchannels = [\"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"O0\"]"), "no frames take a channel \"B1\"", "of \"B0\", \"O0\""),
        (flow_and("priority = 3\nchannel = ‸\"B1\"", "[flow_control.credit]\nchannels = \"all\""), "and priority 3", "one of the two"),
        (more("[flow_control.credit]\nchannels = [\"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", ‸\"C1\"]"), "no channel is called \"C1\"", "one for each priority"),
        (more("[flow_control.credit]\nchannels = [\"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", ‸1]"), "channel 1 beside B0", "or names"),
        (flow("bypassable = ‸true"), "no link has credits", "[flow_control.credit]"),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }", ""), "the links of \"h1\" have no credits", "a channel \"M0\" to \"M3\""),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }", "[flow_control.pfc]"), "the links of \"h1\" have no credits", "a channel \"M0\" to \"M3\""),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }", "[flow_control.credit]\nchannels = \"all\""), "on channel B0", "a multicast channel: \"M0\", \"M1\", \"M2\", \"M3\""),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }", "[flow_control.credit]"), "on channel 0", "`channels` of [flow_control.credit] with \"M0\" to \"M3\""),
        (flow_and("to = { multicast = [\"h2\", ‸\"h2\"] }\nchannel = \"M0\"", "[flow_control.credit]\nchannels = \"all\""), "\"h2\" is listed twice", "each host once"),
        (flow_and("to = { multicast = [\"h2\", ‸\"h9\"] }\nchannel = \"M0\"", "[flow_control.credit]\nchannels = \"all\""), "unknown host \"h9\"", "h0"),
        (flow_and("to = { multicast = [\"h2\", ‸\"sw\"] }\nchannel = \"M0\"", "[flow_control.credit]\nchannels = \"all\""), "\"sw\" is a switch", "frames end at hosts"),
        (flow_and("to = { multicast = ‸[\"h0\", \"h1\"] }\nchannel = \"M0\"", "[flow_control.credit]\nchannels = \"all\""), "copies for 1 host beside \"h1\"", "at least two receivers"),
        (flow_and("to = { multicast = ‸\"all\" }\nfrom = \"sw\"\nsource = { constant = { rate = \"1 Gb/s\" } }\nchannel = \"M0\"", "[flow_control.credit]\nchannels = \"all\""), "no host with one link", "only switches copy frames"),
        (flow_and("‸to = { multicast = [\"h2\", \"h3\"] }\nchannel = \"M0\"\nsource = { tcp = {} }", "[flow_control.credit]\nchannels = \"all\""), "several destinations with tcp", "a connection has one peer"),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }\nchannel = \"M0\"\nsource = { streams = { rate = \"64 kb/s\", count = 2, counted = true } }", "[flow_control.credit]\nchannels = \"all\""), "streams that are counted, and copied", "`counted = false`"),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }\nchannel = \"M0\"", "[flow_control.credit]\nchannels = \"all\"\n[switch]\npath_choice = \"spray\""), "path_choice at \"sw\"", "path_choice = \"hash\""),
        (flow_and("to = { multicast = [\"h2\", \"h3\"] }\nchannel = \"M0\"\nroute = [\"sw\", ‸\"h1\"]", "[flow_control.credit]\nchannels = \"all\""), "the route ends at \"h1\"", "a flow with one destination"),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }", "[flow_control.credit]\nchannels = [\"M0\", \"M0\", \"M0\", \"M0\", \"M0\", \"M0\", \"M0\", \"O0\"]\n[host]\nrate_limiters = { qcn = {} }"), "that pass rate limiters", "no rate_limiters"),
        (flow_and("to = { multicast = ‸[\"h2\", \"h3\"] }", "[flow_control.credit]\nchannels = [\"M0\", \"M0\", \"M0\", \"M0\", \"M0\", \"M0\", \"M0\", \"O0\"]\n[switch]\nqueue_managers = [{ classes = [0], red = {} }]"), "a queue manager of their class at \"sw\"", "other classes"),
        (more("[flow_control.credit]\nbuffer = ‸\"1024 B\"\nupdate_after = \"64 B\""), "a frame of 1522 B needs 24", "\"1536 B\""),
        (more("[switch.scheduler.drr]\n[[faults]]\nlink = [\"h0\", \"sw\"]\ntowards = \"h0\"\nat = \"1 ms\"\nscheduler = { drr = { weights = ‸[1, 2] } }"), "2 entries of \"weight\"", "one for each queue"),
        (more("[switch.scheduler.drr]\n[[faults]]\nlink = [\"h0\", \"sw\"]\ntowards = \"h0\"\nat = \"1 ms\"\n‸scheduler = { scfq = {} }"), "\"scfq\" in place of the \"drr\" of \"sw\"", "keeps the kind"),
        (more("[switch.scheduler.drr]\n‸[[faults]]\nlink = [\"h0\", \"sw\"]\nat = \"1 ms\"\nscheduler = { drr = {} }"), "missing key `towards`", "frames of its port go to"),
        (more("[flow_control.credit]\n[host.flow_control.credit]\nunit = ‸\"128 B\""), "count credits of their link differently", "the same unit"),
        (more("[switch.flow_control.‸credit]"), "its neighbour \"h0\" has none", "both ends"),
        (more("[flow_control.credit]\n[switch]\n‸buffer = { total = \"1 MB\" }"), "a limit of the buffer at \"sw\"", "set the buffer of the credits"),
        (more("[flow_control.credit]\n‸[[faults]]\nlink = [\"h0\", \"sw\"]\nat = \"1 ms\"\ndown = true"), "goes down", "pause_loss"),
        (more("[switches.sw.flow_control.pfc]\npause_quanta = ‸0"), "pause_quanta 0", "1 to 65535"),
    ]);
}

#[test]
fn delivery_contexts() {
    let uet = |keys: &str| source(&format!("{{ uet = {{ {keys} }} }}"));
    let nscc = |keys: &str| uet(&format!("control = {{ nscc = {{ {keys} }} }}"));
    errors(vec![
        (uet("control = ‸\"nsc\""), "unknown value `nsc`", "did you mean \"nscc\"?"),
        (uet("‸controls = \"nscc\""), "unknown key `controls`", "did you mean control?"),
        (uet("mode = ‸\"rdu\""), "unknown value `rdu`", "rud"),
        (uet("paths = ‸\"rep\""), "unknown value `rep`", "reps"),
        (uet("mode = \"rod\", paths = ‸\"reps\""), "in ordered delivery", "rud"),
        (uet("mode = \"uud\", paths = ‸\"reps\""), "without acknowledgements", "oblivious"),
        (uet("ses = ‸\"tiny\""), "unknown value `tiny`", "small"),
        (uet("loss_inference = ‸1"), "1", "true"),
        (uet("preset = ‸\"htsm\""), "unknown value `htsm`", "htsim"),
        (uet("payload = ‸\"4096 B\""), "a payload of 4096 B in a frame of 1522 B", "frame = \"4198 B\""),
        (uet("payload = ‸\"0 B\""), "a payload of 0 B", "1 B to 1420 B"),
        (uet("headers = ‸\"1522 B\""), "1522 B of headers in a frame of 1522 B", "1 B to 1521 B"),
        (uet("ack = ‸\"0 B\""), "ack of 0 B", "1 B to 9238 B"),
        (uet("ack_every = ‸\"0 B\""), "ack_every of 0 B", "1 B to"),
        (uet("message = ‸\"0 B\""), "message of 0 B", "\"1 B\""),
        (uet("contexts = ‸0"), "contexts of 0", "1 to 16"),
        (uet("contexts = ‸17"), "contexts of 17", "1 to 16"),
        (uet("psn_range = ‸0"), "psn_range of 0", "1 to 1048576"),
        (uet("retries = ‸256"), "retries of 256", "0 to 255"),
        (uet("ack_priority = ‸8"), "ack_priority of 8", "0 to 7"),
        (uet("timeout = ‸\"0 s\""), "a timeout of 0", "above 0"),
        (uet("base_rtt = ‸4"), "bare number", "did you mean"),
        (nscc("gamma = ‸1.5"), "a gamma of 1.5", "at most 1"),
        (nscc("alpha = ‸0"), "an alpha of 0", "above 0"),
        (nscc("target = ‸\"0 s\""), "a target of 0", "above 0"),
        (nscc("qa_gate = ‸17"), "a qa_gate of 17", "0 to 16"),
        (nscc("max_window = ‸\"0 B\""), "a max_window of 0", "1 frame"),
        (uet("control = { rccc = { pull = ‸\"1 B\" } }"), "a pull of 1 B", "256 B to"),
        (uet("control = { rccc = { share = ‸1.1 } }"), "a share of 1.1", "at most 1"),
        (uet("control = { rccc = { credit = ‸\"0 B\" } }"), "a credit of 0", "1 frame"),
        (uet("control = { rccc = { nscc = { gamma = ‸0 } } }"), "a gamma of 0", "above 0"),
        (nscc("‸gama = 0.5"), "unknown key `gama`", "did you mean gamma?"),
    ]);
}

#[test]
fn queue_pairs() {
    let rdma = |keys: &str| source(&format!("{{ rdma = {{ {keys} }} }}"));
    let dcqcn = |keys: &str| rdma(&format!("control = {{ dcqcn = {{ {keys} }} }}"));
    let timely = |keys: &str| rdma(&format!("control = {{ timely = {{ {keys} }} }}"));
    let swift = |keys: &str| rdma(&format!("control = {{ swift = {{ {keys} }} }}"));
    let dctcp = |keys: &str| rdma(&format!("control = {{ dctcp = {{ {keys} }} }}"));
    let hpcc = |keys: &str| rdma(&format!("control = {{ hpcc = {{ {keys} }} }}"));
    let pint = |keys: &str| rdma(&format!("control = {{ hpcc_pint = {{ {keys} }} }}"));
    let power = |keys: &str| rdma(&format!("control = {{ powertcp = {{ {keys} }} }}"));
    let theta = |keys: &str| rdma(&format!("control = {{ theta_powertcp = {{ {keys} }} }}"));
    errors(vec![
        (rdma("control = ‸\"dcqn\""), "unknown value `dcqn`", "did you mean \"dcqcn\"?"),
        (rdma("‸controls = \"dcqcn\""), "unknown key `controls`", "did you mean control?"),
        (rdma("mtu = ‸\"4096 B\""), "an MTU of 4096 B in a frame of 1522 B", "frame = \"4162 B\""),
        (rdma("mtu = ‸\"0 B\""), "an MTU of 0 B", "1 B to 1456 B"),
        (rdma("headers = ‸\"1522 B\""), "1522 B of headers in a frame of 1522 B", "1 B to 1521 B"),
        (
            rdma("verb = \"write\", headers = ‸\"1520 B\""),
            "1536 B of headers in a frame of 1522 B",
            "frame = \"1537 B\"",
        ),
        (rdma("message = ‸\"0 B\""), "a message of 0 B", "\"1 B\""),
        (rdma("window = ‸\"1 kB\""), "smaller than a packet of 1090 B", "\"1 frame\""),
        (rdma("window = ‸\"bpd\""), "bpd", "\"bdp\""),
        (rdma("recovery = ‸\"selectiv\""), "unknown value `selectiv`", "selective"),
        (rdma("queue_pairs = ‸\"many\""), "unknown value `many`", "\"each\""),
        (rdma("ack_every = ‸0"), "0 packets an acknowledgement", "1 to 1024"),
        (rdma("ack_priority = ‸8"), "8 as a priority", "0 to 7"),
        (rdma("cnp_priority = ‸8"), "8 as a priority", "0 to 7"),
        (rdma("cnp_scope = ‸\"host\""), "unknown value `host`", "\"port\""),
        (rdma("cnp_gap = ‸4"), "bare number", "did you mean"),
        (rdma("nak_gap = ‸4"), "bare number", "did you mean"),
        (rdma("retries = ‸256"), "256 retries", "0 to 255"),
        (rdma("verb = ‸\"reed\""), "unknown value `reed`", "\"read\""),
        (rdma("verb = \"read\", max_reads = ‸0"), "0 READs under way", "1 to 255"),
        (rdma("receive_queue = ‸0"), "0 messages that a receiver is ready for", "1 to 1000000"),
        (rdma("receive_queue = 1, rnr_retries = ‸8"), "8 retries", "0 to 7"),
        (rdma("receive_queue = 1, rnr_timer = ‸\"0 s\""), "a rnr_timer of 0", "above 0"),
        (rdma("receive_queue = 1, receive_time = ‸4"), "bare number", "did you mean"),
        (rdma("recovery = \"selective\", receive_queue = ‸1"), "which nobody is ready for", "go_back_n"),
        (rdma("recovery = \"reordering\", receive_queue = ‸1"), "which nobody is ready for", "go_back_n"),
        (rdma("recovery = ‸\"reodering\""), "unknown value `reodering`", "reordering"),
        (rdma("recovery = { ‸selective = {} }"), "selective", "reordering"),
        (rdma("recovery = { reordering = { window = ‸0 } }"), "a window of 0 packets", "1 to 65536"),
        (rdma("recovery = { reordering = { window = ‸65537 } }"), "a window of 65537 packets", "1 to 65536"),
        (rdma("recovery = { reordering = { distance = ‸0 } }"), "a distance of 0", "time alone"),
        (rdma("recovery = { reordering = { distance = ‸65537 } }"), "a distance of 65537", "65536"),
        (
            rdma("recovery = { reordering = { window = 16, distance = ‸16 } }"),
            "a distance of 16 in a window of 16 packets",
            "nak = false",
        ),
        (rdma("recovery = { reordering = { time = ‸4 } }"), "bare number", "did you mean"),
        (rdma("recovery = { reordering = { preset = ‸\"cx\" } }"), "unknown value `cx`", "cx-ar"),
        (rdma("recovery = { reordering = { ‸windw = 4 } }"), "windw", "window"),
        (
            flow_and("source = { rdma = {} }", "[host.rdma]\nmessage_rate = ‸0"),
            "0 messages a second",
            "1 to 1000000000000",
        ),
        (flow_and("source = { rdma = {} }", "[host.rdma]\ncontexts = ‸0"), "0 contexts", "1 to 100000000"),
        (
            flow_and("source = { rdma = {} }", "[host.rdma]\ncontext_fetch = ‸4"),
            "bare number",
            "did you mean",
        ),
        (rdma("timeout = ‸\"0 s\""), "a timeout of 0", "above 0"),
        (rdma("base_rtt = ‸\"0 s\", window = \"bdp\""), "a base_rtt of 0", "above 0"),
        (rdma("recovery = \"selective\", low_timeout = ‸\"0 s\""), "a low_timeout of 0", "above 0"),
        (
            rdma("recovery = \"selective\", timeout = \"1 us\", low_timeout = ‸\"2 us\""),
            "is above timeout (1 us)",
            "\"1 us\"",
        ),
        (dcqcn("preset = ‸\"mlx-2017\""), "unknown value `mlx-2017`", "mlx-2016"),
        (dcqcn("g = ‸0.0"), "a g of 0", "at most 1"),
        (dcqcn("initial_alpha = ‸2.0"), "an initial_alpha of 2", "0 to 1"),
        (dcqcn("min_factor = ‸0.0"), "a min_factor of 0", "at most 1"),
        (dcqcn("monitor_period = \"4 us\", first_factor = ‸0.0"), "a first_factor of 0", "at most 1"),
        (dcqcn("alpha_period = ‸\"0 s\""), "an alpha_period of 0", "at least \"10 ns\""),
        (dcqcn("time_reset = ‸\"9 ns\""), "a time_reset of 9 ns", "at least \"10 ns\""),
        (dcqcn("byte_reset = ‸\"0 B\""), "a byte_reset of 0", "\"never\""),
        (dcqcn("threshold = ‸0"), "a threshold of 0", "1 to 1000"),
        (dcqcn("gd = ‸31"), "a gd of 31", "0 to 30"),
        (dcqcn("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
        (dcqcn("min_rate = \"2 Gb/s\", max_rate = ‸\"1 Gb/s\""), "is below min_rate (2 Gb/s)", "\"2 Gb/s\""),
        (dcqcn("ai_rate = ‸5"), "bare number", "did you mean"),
        (dcqcn("hai_rate = ‸5"), "bare number", "did you mean"),
        (dcqcn("monitor_period = ‸4"), "bare number", "did you mean"),
        (dctcp("gain = ‸0.0"), "a gain of 0", "at most 1"),
        (dctcp("ai_rate = ‸\"0 b/s\""), "an ai_rate of 0", "above 0"),
        (dctcp("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
        (timely("ewma = ‸0.0"), "an ewma of 0", "at most 1"),
        (timely("beta = ‸1.5"), "a beta of 1.5", "at most 1"),
        (timely("patched = true, patched_beta = ‸0.0"), "a patched_beta of 0", "at most 1"),
        (timely("t_low = ‸\"0 s\""), "a t_low of 0", "above 0"),
        (timely("t_high = ‸\"50 us\""), "is not above t_low (50 us)", "above t_low"),
        (timely("min_rtt = ‸\"0 s\""), "a min_rtt of 0", "above 0"),
        (timely("delta = ‸\"0 b/s\""), "a delta of 0", "above 0"),
        (timely("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
        (timely("initial_rate = ‸\"1 Mb/s\""), "is below min_rate (100 Mb/s)", "\"100 Mb/s\""),
        (swift("base_target = ‸\"0 s\""), "a base_target of 0", "above 0"),
        (swift("hop_delay = ‸1"), "bare number", "did you mean"),
        (swift("fs_range = ‸1"), "bare number", "did you mean"),
        (swift("fs_min = ‸0.0"), "an fs_min of 0", "above 0"),
        (swift("fs_max = ‸0.1"), "is not above fs_min (0.1)", "above fs_min"),
        (swift("ai = ‸0.0"), "an ai of 0", "above 0"),
        (swift("beta = ‸0.0"), "a beta of 0", "at most 1"),
        (swift("max_mdf = ‸0.0"), "a max_mdf of 0", "at most 1"),
        (swift("min_window = ‸0.0"), "a min_window of 0", "at most 1"),
        (hpcc("eta = ‸0.0"), "an eta of 0", "at most 10"),
        (hpcc("max_stage = ‸1001"), "a max_stage of 1001", "0 to 1000"),
        (hpcc("ai_rate = ‸\"0 b/s\""), "an ai_rate of 0", "above 0"),
        (hpcc("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
        (hpcc("int_bytes = ‸\"9 B\""), "int_bytes of 9 B", "\"10 B\" to \"66 B\""),
        (hpcc("int_bytes = ‸\"67 B\""), "int_bytes of 67 B", "8 B for each of 1 to 8 hops"),
        (pint("eta = ‸10.5"), "an eta of 10.5", "at most 10"),
        (pint("max_stage = ‸1001"), "a max_stage of 1001", "0 to 1000"),
        (pint("ai_rate = ‸\"0 b/s\""), "an ai_rate of 0", "above 0"),
        (pint("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
        (pint("base = ‸1.0"), "a base of 1", "above 1 and at most 2"),
        (pint("probability = ‸0.0"), "a probability of 0", "at most 1"),
        (pint("int_bytes = ‸\"0 B\""), "int_bytes of 0 B", "\"1 B\" to \"66 B\""),
        (power("gamma = ‸1.5"), "a gamma of 1.5", "at most 1"),
        (power("eta = ‸0.0"), "an eta of 0", "at most 10"),
        (power("ai_rate = ‸\"0 b/s\""), "an ai_rate of 0", "above 0"),
        (power("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
        (power("int_bytes = ‸\"67 B\""), "int_bytes of 67 B", "\"10 B\" to \"66 B\""),
        (theta("gamma = ‸0.0"), "a gamma of 0", "at most 1"),
        (theta("‸eta = 0.95"), "unknown key `eta`", "gamma"),
        (theta("ai_rate = ‸\"0 b/s\""), "an ai_rate of 0", "above 0"),
        (theta("min_rate = ‸\"0 b/s\""), "a min_rate of 0", "above 0"),
    ]);
}

#[test]
fn tcp_connections() {
    let tcp = |keys: &str| source(&format!("{{ tcp = {{ {keys} }} }}"));
    let with = |change: &str| flow(&format!("{change}\nsource = {{ tcp = {{}} }}"));
    errors(vec![
        (tcp("preset = ‸\"lynux\""), "unknown value `lynux`", "did you mean \"linux\"?"),
        (tcp("‸recover = \"sack\""), "unknown key `recover`", "did you mean recovery?"),
        (tcp("recovery = ‸\"vegas\""), "unknown value `vegas`", "\"tahoe\""),
        (tcp("controller = ‸\"cubik\""), "unknown value `cubik`", "did you mean \"cubic\"?"),
        (tcp("controller = { cubic = { ‸betta = 0.7 } }"), "unknown key `betta`", "did you mean beta?"),
        (tcp("controller = { cubic = { beta = ‸1.0 } }"), "a beta of 1", "below 1"),
        (tcp("controller = { cubic = { scaling = ‸0.0 } }"), "a scaling of 0", "above 0"),
        (tcp("ecn = \"dctcp\", controller = { dctcp = { gain = ‸0.0 } }"), "a gain of 0", "at most 1"),
        (tcp("ecn = \"dctcp\", controller = { dctcp = { alpha = ‸2.0 } }"), "an alpha of 2", "0 to 1"),
        (tcp("preset = \"datacenter\", ecn = ‸\"rfc3168\""), "dctcp without its marks", "ecn = \"dctcp\""),
        (tcp("initial_window = ‸\"0 frames\""), "smaller than a segment of 1460 B", "\"1 frame\""),
        (tcp("initial_threshold = ‸\"1 KiB\""), "a threshold of 1024 B is smaller", "\"unlimited\""),
        (tcp("send_buffer = ‸\"1 KiB\""), "a socket buffer of 1024 B is smaller", "\"1460 B\""),
        (tcp("receive_window = ‸\"1459 B\""), "a receive window of 1459 B is smaller", "\"1460 B\""),
        (
            tcp("receive_window = ‸\"64 KiB\", window_scaling = false"),
            "above 65535 B without window scaling",
            "window_scaling = true",
        ),
        (tcp("headers = ‸\"1522 B\""), "1522 B of headers in a frame of 1522 B", "1 B to 1521 B"),
        (tcp("ack = ‸\"0 B\""), "outside the range", "1 B to 9238 B"),
        (tcp("ack_every = ‸0"), "0 segments an acknowledgement", "1 to 1024"),
        (tcp("duplicates = ‸256"), "256 duplicates", "1 to 255"),
        (tcp("recovery = \"newreno\", proportional = ‸true"), "without selective", "recovery = \"sack\""),
        (tcp("min_timeout = ‸\"0 s\""), "a timeout of 0", "above 0"),
        (tcp("initial_timeout = ‸\"0 s\""), "a timeout of 0", "above 0"),
        (
            tcp("max_timeout = ‸\"500 ms\""),
            "max_timeout (500 ms) is below min_timeout (1 s)",
            "at least \"1 s\"",
        ),
        (tcp("transfer = ‸\"0 B\""), "a transfer of 0 B", "\"1 B\""),
        (tcp("idle = { exponential = ‸\"0 s\" }"), "a mean of 0", "above 0"),
        (tcp("min_timeout = ‸1"), "bare number", "did you mean"),
        (with("from = ‸\"sw\""), "tcp at the switch \"sw\"", "the name of a host"),
        (with("to = ‸[\"h0\", \"h2\"]"), "several destinations with tcp", "one peer"),
        (with("frame = ‸\"imix\""), "frames of several lengths with tcp", "one size"),
    ]);
}

#[test]
fn exchanges_over_fcoe() {
    let read = |keys: &str| source(&format!("{{ fcoe = {{ operation = \"read\", {keys} }} }}"));
    errors(vec![
        (source("{ fcoe = ‸{} }"), "missing key `operation`", "required"),
        (source("{ fcoe = { operation = ‸\"reed\" } }"), "unknown value `reed`", "did you mean \"read\"?"),
        (read("‸blocks = \"1 MiB\""), "unknown key `blocks`", "did you mean block?"),
        (read("block = ‸\"0 B\""), "a block of 0 B", "1 B to 4294967295 B"),
        (read("block = ‸\"4 GiB\""), "a block of 4 GiB", "1 B to 4294967295 B"),
        (read("max_burst = ‸\"511 B\""), "a max_burst of 511 B", "at least 512 B"),
        (read("outstanding = ‸0"), "0 outstanding exchanges", "1 to 128"),
        (read("outstanding = ‸129"), "129 outstanding exchanges", "1 to 128"),
        (read("think = { exponential = ‸\"0 s\" }"), "a mean of 0", "above 0"),
        (read("service = { exponential = ‸\"0 s\" }"), "a mean of 0", "above 0"),
        (read("ulp_tov = ‸\"0 s\""), "a timeout of 0", "the longest exchange"),
        (read("requires_lossless = ‸1"), "invalid type", "true"),
        (
            flow("frame = \"323 B\"\nsource = { ‸fcoe = { operation = \"read\" } }"),
            "frames of 323 B with fcoe",
            "frame = \"2180 B\"",
        ),
        (
            flow("limit = \"1 MB\"\nsource = { ‸fcoe = { operation = \"read\" } }"),
            "a block of 1048576 B, but a limit of 1000000 B",
            "one block at least",
        ),
        (
            flow("to = ‸[\"h0\", \"h2\"]\nsource = { fcoe = { operation = \"read\" } }"),
            "several destinations with fcoe",
            "one peer",
        ),
    ]);
}

#[test]
fn conversations() {
    let talk = |keys: &str| source(&format!("{{ conversation = {{ {keys} }} }}"));
    let of = |messages: &str| talk(&format!("messages = {messages}"));
    let ipc = |keys: &str| talk(&format!("messages = \"ipc\", {keys}"));
    errors(vec![
        (source("{ conversation = ‸{} }"), "missing key `messages`", "required"),
        (of("‸\"iscsi_red\""), "unknown value `iscsi_red`", "did you mean \"iscsi_read\"?"),
        (of("{ ‸database_entry = {} }"), "unknown value `database_entry`", "iscsi_read"),
        (of("{ iscsi_read = { ‸blocks = \"1 MiB\" } }"), "unknown key `blocks`", "did you mean block?"),
        (of("{ iscsi_read = { block = ‸\"0 B\" } }"), "a block of 0 B", "1 B to 1024 GiB"),
        (of("{ iscsi_write = { data_segment = ‸\"511 B\" } }"), "a data_segment of 511 B", "512 B"),
        (of("{ iscsi_write = { max_burst = ‸\"0 B\" } }"), "a max_burst of 0 B", "512 B"),
        (
            of("{ iscsi_write = { first_burst = ‸\"257 KiB\" } }"),
            "first_burst (257 KiB) is above max_burst (256 KiB)",
            "at most \"256 KiB\"",
        ),
        (of("{ iscsi_write = { block = ‸\"1 GiB\" } }"), "4096 bursts of one command", "a larger max_burst"),
        (of("{ iwarp_read = { message = ‸\"0 B\" } }"), "a message of 0 B", "1 B to 4294967295 B"),
        (of("{ iwarp_read = { message = ‸\"4 GiB\" } }"), "a message of 4 GiB", "1 B to 4294967295 B"),
        (of("{ iwarp_send = { ‸marker = true } }"), "unknown key `marker`", "did you mean markers?"),
        (
            flow("frame = \"180 B\"\nsource = { conversation = { messages = ‸\"iwarp_write\" } }"),
            "iWARP over segments of 118 B of data",
            "a longer `frame`",
        ),
        (of("‸[]"), "0 messages in an exchange", "an even number"),
        (of("‸[\"1 KiB\"]"), "1 messages in an exchange", "an even number"),
        (of("[\"1 KiB\", ‸\"0 B\"]"), "a message of 0 B", "1 B to"),
        (of("[\"1 KiB\", ‸64]"), "bare number", "did you mean"),
        (of("‸7"), "invalid type", "expected a list of sizes"),
        (ipc("outstanding = ‸0"), "0 outstanding exchanges", "1 to 65536"),
        (ipc("outstanding = ‸65537"), "65537 outstanding exchanges", "1 to 65536"),
        (ipc("think = { exponential = ‸\"0 s\" }"), "a mean of 0", "above 0"),
        (ipc("service = { exponential = ‸\"0 s\" }"), "a mean of 0", "above 0"),
        (ipc("tcp = { preset = ‸\"lynux\" }"), "unknown value `lynux`", "did you mean \"linux\"?"),
        (ipc("tcp = { ack = ‸\"0 B\" }"), "outside the range", "1 B to 9238 B"),
        (ipc("tcp = { send_buffer = ‸\"1 KiB\" }"), "a socket buffer of 1024 B is smaller", "\"1460 B\""),
        (
            ipc("tcp = { transfer = ‸\"1 MB\" }"),
            "transfer in a conversation",
            "the messages of the application define",
        ),
        (
            ipc("tcp = { idle = ‸\"1 us\" }"),
            "idle in a conversation",
            "the messages of the application define",
        ),
        (
            ipc("tcp = { reconnect = ‸true }"),
            "reconnect in a conversation",
            "the messages of the application define",
        ),
        (
            flow("limit = \"1 kB\"\nsource = { conversation = { messages = ‸\"ipc\" } }"),
            "1024 B of the opener in an exchange, but a limit of 1000 B",
            "one exchange at least",
        ),
        (
            flow("to = ‸[\"h0\", \"h2\"]\nsource = { conversation = { messages = \"ipc\" } }"),
            "several destinations with conversation",
            "one peer",
        ),
    ]);
    // No endpoint replies.
    let ipc = |to: &str| flow(&format!("{to}\nsource = {{ conversation = {{ messages = \"ipc\" }} }}"));
    errors(vec![
        (ipc("to = ‸\"sw\""), "\"sw\" is a switch", "frames end at hosts"),
        (ipc("to = ‸\"h9\""), "unknown host \"h9\"", "did you mean \"h0\""),
        (ipc("to = ‸\"h1\""), "sends to itself", "another host"),
    ]);
}

#[test]
fn the_longest_frame_of_a_station() {
    let long = |settings: &str| Text { more: settings.to_string(), ..flow("frame = \"9018 B\"") };
    errors(vec![
        (more("[switch]\nmtu = ‸\"63 B\""), "frames of at most 63 B", "64 B to 9238 B"),
        (more("[hosts.h2]\nmtu = ‸\"10 kB\""), "frames of at most 10000 B", "64 B to 9238 B"),
        (more("[host]\nmtu = ‸1522"), "bare number", "did you mean"),
        (
            long("[switch]\nmtu = ‸\"1522 B\""),
            "takes frames of at most 1522 B, and flow \"f\" sends 9018 B through it",
            "expected at least \"9018 B\"",
        ),
        (
            long("[switch]\nmtu = \"9216 B\"\n[hosts.h0]\nmtu = ‸\"1522 B\""),
            "\"h0\" takes frames of at most 1522 B",
            "or shorter frames of the flow",
        ),
    ]);
    // A host that is not on the path may have a smaller MTU.
    let text = long("[host]\nmtu = \"9018 B\"\n[hosts.h2]\nmtu = \"1522 B\"").text();
    assert!(load(&text, "good.toml", None).is_ok());
}

#[test]
fn exchanges_of_mpi() {
    let among = |hosts: &str, shift: &str, keys: &str| {
        let to = format!("{{ permutation = {{ shift = {shift} }} }}");
        flow(&format!("from = {hosts}\nto = {to}\nsource = {{ mpi_exchange = {{ {keys} }} }}"))
    };
    let ring = |keys: &str| among("\"all\"", "1", keys);
    let of = |keys: &str| ring(&format!("message = \"1 KiB\", {keys}"));
    errors(vec![
        (source("{ mpi_exchange = ‸{} }"), "missing key `message`", "required"),
        (
            source("{ ‸mpi_exchang = { message = \"1 B\" } }"),
            "unknown value `mpi_exchang`",
            "did you mean \"mpi_exchange\"?",
        ),
        (ring("message = ‸1024"), "bare number", "did you mean"),
        (ring("message = ‸\"1025 GiB\""), "a message of 1025 GiB", "at most \"1024 GiB\""),
        (of("ranks = ‸0"), "0 ranks of a host", "1 or 2"),
        (of("ranks = ‸3"), "3 ranks of a host", "1 or 2"),
        (of("steps = ‸0"), "0 steps", "1 or more"),
        (of("copy_time = ‸\"2 s\""), "a copy that takes 2 s", "at most \"1 s\""),
        (of("copy_rate = ‸\"0 b/s\""), "copies at 0 b/s", "above 0"),
        (of("tcp = { handshake = ‸true }"), "handshake in an exchange of MPI", "open before the first step"),
        (
            of("tcp = { transfer = ‸\"1 MB\" }"),
            "transfer in an exchange of MPI",
            "the messages of the application define",
        ),
        (
            of("tcp = { reconnect = ‸true }"),
            "reconnect in an exchange of MPI",
            "the messages of the application define",
        ),
        (of("tcp = { ack = ‸\"0 B\" }"), "outside the range", "1 B to 9238 B"),
        (of("tcp = { min_timeout = ‸\"0 s\" }"), "a timeout of 0", "above 0"),
        (
            flow("limit = \"1 MB\"\nsource = { ‸mpi_exchange = { message = \"1 KiB\" } }"),
            "a limit of bytes with mpi_exchange",
            "the key steps",
        ),
        (
            flow("to = ‸\"h0\"\nsource = { mpi_exchange = { message = \"1 KiB\" } }"),
            "mpi_exchange among hosts that are not a ring",
            "permutation = { shift = 1 }",
        ),
        (
            flow(
                "from = [\"h1\", \"h2\"]\nto = ‸\"h0\"\nsource = { mpi_exchange = { message = \"1 KiB\" } }",
            ),
            "mpi_exchange among hosts that are not a ring",
            "a neighbour on either side",
        ),
    ]);
}

#[test]
fn connections() {
    let window = |keys: &str| source(&format!("{{ window = {{ {keys} }} }}"));
    let asking = |keys: &str| source(&format!("{{ request_response = {{ {keys} }} }}"));
    let sizes = "request = \"64 B\", response = \"4 KiB\"";
    let both = |keys: &str| asking(&format!("{sizes}, {keys}"));
    let with = |change: &str| flow(&format!("{change}\nsource = {{ window = {{}} }}"));
    errors(vec![
        (
            window("size = ‸\"1 KiB\""),
            "smaller than a segment of 1522 B",
            "at least \"1522 B\" or \"1 frame\"",
        ),
        (window("size = ‸\"0 frames\""), "smaller than a segment", "\"1 frame\""),
        (window("size = ‸64"), "bare number", "did you mean \"64 B\"?"),
        (window("size = ‸\"unlimitd\""), "", "\"unlimited\" is accepted too"),
        (window("‸sise = \"64 KiB\""), "unknown key `sise`", "did you mean size?"),
        (
            source("{ poisson = { rate = \"1 Gb/s\", ‸rates = 1 } }"),
            "unknown key `rates`",
            "did you mean rate?",
        ),
        (window("size = \"64 KiB\", rate = ‸\"1 Gb/s\""), "a window with a size and a rate", "one of them"),
        (window("rate = ‸\"0 b/s\""), "the rate of a source is 0", "above 0"),
        (window("ack = ‸\"0 B\""), "outside the range", "1 B to 9238 B"),
        (window("ack_every = ‸0"), "0 segments", "1 to 1024"),
        (window("ack_every = ‸1025"), "1025 segments", "1 to 1024"),
        (window("timeout = ‸\"0 s\""), "a timeout of 0", "\"never\""),
        (window("timeout = ‸\"off\""), "", "\"never\" is accepted too"),
        (with("from = ‸\"sw\""), "window at the switch \"sw\"", "the name of a host"),
        (with("to = ‸[\"h0\", \"h2\"]"), "several destinations with window", "one peer"),
        (with("frame = ‸\"imix\""), "frames of several lengths with window", "one size"),
        (with("script = ‸[{ at = \"2 ms\", stop = true }]"), "a script with window", "start and stop"),
        (with("rate_counts = ‸\"wire\""), "rate_counts = \"wire\" with window", "\"frame\""),
        (source("{ request_response = ‸{ response = \"4 KiB\" } }"), "missing key `request`", "required"),
        (asking("request = ‸\"0 B\", response = \"4 KiB\""), "a request of 0 B", "1 B to 99745792 B"),
        (asking("request = \"64 B\", response = ‸\"1 GB\""), "a response of 1000000000 B", "65536 segments"),
        (both("outstanding = ‸0"), "0 outstanding requests", "1 to 256"),
        (both("outstanding = ‸257"), "257 outstanding requests", "1 to 256"),
        (both("think = { exponential = ‸\"0 s\" }"), "a mean of 0", "above 0"),
        (
            both("service = { ‸exponentially = \"1 us\" }"),
            "unknown value `exponentially`",
            "did you mean \"exponential\"?",
        ),
        (both("service = ‸5"), "bare number", "did you mean"),
        (both("timeout = ‸\"0 s\""), "a timeout of 0", "round trip"),
        (
            flow(&format!(
                "limit = \"63 B\"\nsource = {{ request_response = {{ {} }} }}",
                sizes.replacen('"', "‸\"", 1)
            )),
            "a request of 64 B, but a limit of 63 B",
            "one request at least",
        ),
    ]);
    check(
        &window("size = \"4 frames\", ack_every = ‸5"),
        Severity::Warning,
        "an acknowledgement for 5 segments, but the window holds 4",
        "waits for ack_delay (500 us)",
    );
    check(&window("rate = ‸\"11 Gb/s\""), Severity::Warning, "the link of \"h1\" has 10 Gb/s", "wait");
}

#[test]
fn congestion_points_that_no_queue_can_reach() {
    let with = |scheme: &str, keys: &str, settings: &str| {
        let name = scheme.trim_start_matches('‸');
        more(&format!(
            "[host]\nrate_limiters = {{ {name} = {{}} }}\n[[switch.queue_managers]]\n{scheme} = {{ {keys} }}\n{settings}"
        ))
    };
    let buffer = |limit: &str| format!("[switch.buffer]\n{limit}");
    errors(vec![
        (
            with("‸qcn", "", &buffer("queue = \"20 kB\"")),
            "a set point of 26000 B, but the limit of a queue keeps queues below 20000 B",
            "more room",
        ),
        (
            with("qcn", "set_point = ‸\"300 kB\"", &buffer("total = \"200 kB\"\nqueue = \"1 MB\"")),
            "a set point of 300000 B, but the limit of the switch keeps queues below 200000 B",
            "set_point below that",
        ),
        (
            with("bcn", "set_point = ‸\"30 kB\"", &buffer("queue = \"19 frames\"")),
            "a set point of 30000 B, but the limit of a queue keeps queues below 28918 B",
            "set_point below that",
        ),
        (
            with("fecn", "set_point = ‸\"30 kB\"", &buffer("port = \"29 kB\"")),
            "a set point of 30000 B, but the limit of a port keeps queues below 29000 B",
            "more room",
        ),
        (
            with("fecn", "set_point = ‸\"30 kB\"", &buffer("class = \"29 kB\"")),
            "the limit of a class keeps queues below 29000 B",
            "",
        ),
        // The target of path rate control is 16 % of the buffer.
        (
            with("prc", "buffer = ‸\"100 kB\"", &buffer("queue = \"15 kB\"")),
            "a set point of 16000 B, but the limit of a queue keeps ports below 15000 B",
            "target_share of rate_limiters",
        ),
    ]);
    // Limits that are high enough, a manager without a set point, and a port with two classes in use.
    let second = "[[flows]]\nname = \"g\"\nfrom = \"h2\"\nto = \"h0\"\npriority = 1\nsource = \"greedy\"";
    for (scheme, keys, settings) in [
        ("qcn", "", buffer("queue = \"26 kB\"")),
        ("fecn", "queue_control = \"off\"", buffer("queue = \"10 kB\"")),
        ("prc", "buffer = \"100 kB\"", format!("{}\n{second}", buffer("queue = \"15 kB\""))),
    ] {
        let mut fits = with(scheme, keys, &settings);
        set(&mut fits.flow, "priority = 0");
        load(&fits.text(), "good.toml", None).unwrap();
    }
    check(
        &with("‸qcn", "", "[flow_control.pfc]\npriorities = [0]\nxoff = \"8 kB\"\nxon = \"4 kB\""),
        Severity::Warning,
        "XOFF at all other ports keeps queues below 24000 B",
        "set_point below that",
    );
}

#[test]
fn rate_limiters_that_nobody_tells() {
    let limited = |limiters: &str, managers: &str| {
        more(&format!("[host]\nrate_limiters = {limiters}\n[switch]\nqueue_managers = {managers}"))
            .table_at("rate_limiters")
    };
    // Both hosts of the flow are at the left switch, whereas the congestion points are at the right one.
    let elsewhere = |way: &str, switch: &str| {
        let mut text = fabric(
            "[topology.dumbbell]\nleft = 2\nright = 2\nrate = \"10 Gb/s\"\ndelay = \"1 us\"",
            "l0",
            way,
        );
        text.more = format!(
            "[host]\n‸rate_limiters = {{ qcn = {{}} }}\n[switches.{switch}]\nqueue_managers = [{{ qcn = {{}} }}]"
        );
        text
    };
    let without_points = "but no switch on its paths has congestion points for them";
    errors(vec![
        (
            more("[host]\nrate_limiters = { qcn = {} }").table_at("rate_limiters"),
            "priority 0 passes rate limiters of qcn, but no switch",
            "expected qcn among the queue_managers in the class of priority 0",
        ),
        (
            limited("{ bcn = {} }", "[{ qcn = {} }]"),
            "priority 0 passes rate limiters of bcn, but no switch",
            "expected bcn among the queue_managers",
        ),
        (
            limited("{ bcn = {} }", "[{ classes = [5], bcn = {} }]"),
            without_points,
            "rate_limiters with other priorities",
        ),
        (elsewhere("l1", "right"), without_points, "the limiters have no effect"),
        (
            limited("{ prc = { method = \"probes\" } }", "[{ qcn = {} }]"),
            "rate limiters of prc, but no switch",
            "",
        ),
    ]);
    for good in [
        elsewhere("r1", "right"),
        elsewhere("l1", "left"),
        // The round-trip method measures without help of the switches.
        limited("{ prc = { method = \"round_trip\" } }", "[]"),
        // No frame passes a limiter.
        limited("{ priorities = [3], qcn = {} }", "[]"),
    ] {
        load(&good.text().replace('‸', ""), "good.toml", None).unwrap();
    }
}

#[test]
fn congestion_domains() {
    let of_switch = |keys: &str| more(&format!("[switch.congestion_domain]\n{keys}"));
    errors(vec![
        (of_switch("priorities = ‸[]"), "no priority", "like [3]"),
        (of_switch("priorities = [3, ‸8]"), "priority 8", "0 to 7"),
        (of_switch("priorities = [3, ‸3]"), "priority 3 twice", "each priority once"),
        (of_switch("priorities = ‸[0, 1, 2, 3, 4, 5, 6, 7]"), "all eight priorities", "at most seven"),
        (
            of_switch("priorities = [3]\nalternate_priority = ‸3"),
            "an alternate priority of 3",
            "not in `priorities`",
        ),
        (of_switch("priorities = [3]\nalternate_priority = ‸9"), "an alternate priority of 9", "0 to 7"),
        (
            of_switch("priorities = [3]\ndefence = ‸\"edgy\""),
            "unknown value `edgy`",
            "did you mean \"edge\"?",
        ),
        (
            of_switch("priorities = [3]\nports = { h9 = ‸\"edge\" }"),
            "no station with these settings has a link to \"h9\"",
            "",
        ),
        (more("‸[switch.congestion_domain]\nalternate_priority = 1"), "missing key `priorities`", ""),
        (of_switch("priorities = [3]\n‸defense = \"edge\""), "unknown key `defense`", "defence"),
    ]);
}

#[test]
fn congestion_points_and_rate_limiters() {
    let point = |keys: &str| {
        more(&format!(
            "[host]\nrate_limiters = {{ qcn = {{}} }}\n[switch]\nqueue_managers = [{{ qcn = {{ {keys} }} }}]"
        ))
    };
    let limiters = |keys: &str| {
        more(&format!("[switch]\nqueue_managers = [{{ qcn = {{}} }}]\n[host]\nrate_limiters = {keys}"))
    };
    let reaction = |keys: &str| limiters(&format!("{{ qcn = {{ {keys} }} }}"));
    errors(vec![
        (point("set_point = ‸\"0 B\""), "a set_point of 0", "at least \"1 B\""),
        (point("scope = ‸\"ports\""), "unknown value `ports`", "did you mean \"port\"?"),
        (point("sample_base = ‸\"0 B\""), "a sample_base of 0", ""),
        (point("weight = ‸-1.0"), "a weight of -1", "0 to 1024"),
        (point("jitter_share = ‸1.5"), "a jitter_share of 1.5", "below 1"),
        (point("message_priority = ‸8"), "priority 8", "0 to 7"),
        (point("header_length = ‸\"65 B\""), "65 B of the sampled frame", "\"64 B\""),
        (point("‸set_pint = \"26 kB\""), "unknown key `set_pint`", "set_point"),
        (
            limiters("{ }").table_at("rate_limiters"),
            "rate limiters without a control",
            "exactly one of qcn, bcn, fecn, prc",
        ),
        (limiters("{ priorities = [‸8], qcn = {} }"), "priority 8", "0 to 7"),
        (limiters("{ priorities = ‸[], qcn = {} }"), "for no priority", "like [3]"),
        (limiters("{ per = ‸\"host\", qcn = {} }"), "unknown value `host`", "destination"),
        (reaction("gain = ‸0.0"), "a gain of 0", "above 0"),
        (reaction("min_decrease_factor = ‸1.0"), "a min_decrease_factor of 1", "below 1"),
        (reaction("time_reset = ‸\"0 s\""), "cycles of 0 ps", "15 ms"),
        (reaction("byte_reset = ‸\"1 B\""), "cycles of 1 B", "150 kB"),
        (reaction("recovery_cycles = ‸0"), "0 cycles", "1 to 100"),
        (reaction("min_rate = ‸\"0 b/s\""), "a rate of 0", "never stops"),
        (reaction("max_rate = ‸\"1 Mb/s\""), "at most 1 Mb/s, but of at least 5 Mb/s", "min_rate"),
    ]);
    check(
        &more("[switch]\nqueue_managers = ‸[{ qcn = {} }]"),
        Severity::Warning,
        "no host has rate limiters",
        "rate_limiters = { qcn = {} }",
    );
}

#[test]
fn backward_congestion_notification() {
    let point = |keys: &str| {
        more(&format!(
            "[host]\nrate_limiters = {{ bcn = {{}} }}\n[switch]\nqueue_managers = [{{ bcn = {{ {keys} }} }}]"
        ))
    };
    let reaction = |keys: &str| {
        more(&format!(
            "[switch]\nqueue_managers = [{{ bcn = {{}} }}]\n[host]\nrate_limiters = {{ bcn = {{ {keys} }} }}"
        ))
    };
    errors(vec![
        (point("set_point = ‸\"0 B\""), "a set_point of 0", "at least \"1 B\""),
        (point("weight = ‸-1.0"), "a weight of -1", "0 to 1024"),
        (point("sample_every = ‸0"), "one of 0 frames", "1 to 1000000"),
        (point("sampling = ‸\"randm\""), "unknown value `randm`", "did you mean \"random\"?"),
        (point("severe = ‸\"24 kB\""), "a severe threshold of 24000 B", "\"never\""),
        (point("message_priority = ‸8"), "priority 8", "0 to 7"),
        (reaction("feedback_unit = ‸\"0 B\""), "a feedback_unit of 0", ""),
        (reaction("decrease_gain = ‸0.0"), "a decrease_gain of 0", "above 0"),
        (reaction("increase_gain = ‸2000.0"), "an increase_gain of 2000", "at most 1024"),
        (reaction("increase_unit = ‸\"0 b/s\""), "an increase of 0", "8 Mb/s"),
        (reaction("min_decrease_factor = ‸1.0"), "a min_decrease_factor of 1", "below 1"),
        (reaction("min_rate = ‸\"0 b/s\""), "a rate of 0", "severe"),
        (reaction("max_stop = ‸\"2 s\""), "stops of up to 2 s", "100 us"),
        (reaction("restart_share = ‸1.5"), "a restart_share of 1.5", "at most 1"),
        (reaction("tag_length = ‸\"65 B\""), "tags of 65 B", "at most \"64 B\""),
    ]);
}

#[test]
fn forward_congestion_notification() {
    let point = |keys: &str| {
        more(&format!(
            "[host]\nrate_limiters = {{ fecn = {{}} }}\n[switch]\nqueue_managers = [{{ fecn = {{ {keys} }} }}]"
        ))
    };
    let source = |keys: &str| {
        more(&format!(
            "[switch]\nqueue_managers = [{{ fecn = {{}} }}]\n[host]\nrate_limiters = {{ fecn = {{ {keys} }} }}"
        ))
    };
    errors(vec![
        (point("interval = ‸\"0 s\""), "an interval of 0 ps", "at least \"1 us\""),
        (point("long_interval = ‸\"10 us\""), "a long_interval of 10 us", "\"never\""),
        (point("near_share = ‸1.5"), "a near_share of 1.5", "0 to 1"),
        (point("phase = ‸\"alined\""), "unknown value `alined`", "did you mean \"aligned\"?"),
        (point("expected_sources = ‸0.5"), "an expected_sources of 0.5", "1 to 100000"),
        (point("set_point = ‸\"0 B\""), "a set_point of 0", ""),
        (point("severe = ‸\"20 kB\""), "a severe threshold of 20000 B", "above set_point"),
        (point("queue_control = ‸\"parabolic\""), "unknown value `parabolic`", "hyperbolic"),
        (point("above_set_point = ‸0.5"), "an above_set_point of 0.5", "1 to 1000"),
        (point("below_set_point = ‸0.5"), "a below_set_point of 0.5", "1 to 1000"),
        (point("slope = ‸-1.0"), "a slope of -1", "0 to 1000"),
        (point("floor = ‸0.0"), "a floor of 0", "above 0"),
        (point("average_weight = ‸2.0"), "an average_weight of 2", "at most 1"),
        (point("average_with = ‸\"first\""), "unknown value `first`", "previous"),
        (point("min_increase_share = ‸0.0"), "a min_increase_share of 0", "above 0"),
        (point("max_increase_share = ‸0.0001"), "a max_increase_share of 0.0001", "min_increase_share"),
        (point("load = ‸\"bits\""), "unknown value `bits`", "wire"),
        (point("idle = ‸\"fall\""), "unknown value `fall`", "hold"),
        (point("stamp_at = ‸\"arrival\""), "unknown value `arrival`", "enqueue"),
        (point("min_share = ‸0.0"), "a min_share of 0", "above 0"),
        (point("severe_every = ‸0"), "one of 0 frames", "1 to 1000000"),
        (point("message_priority = ‸9"), "priority 9", "0 to 7"),
        (source("interval = ‸\"10 ns\""), "an interval of 10 ns", "at least \"1 us\""),
        (source("long_interval = ‸\"10 us\""), "a long_interval of 10 us", "\"never\""),
        (source("tag_every = ‸1000001"), "one of 1000001 frames", "by time"),
        (source("initial_share = ‸0.0"), "an initial_share of 0", "above 0"),
        (source("forget_after = ‸\"0 s\""), "a forget_after of 0 ps", "at least \"1 us\""),
        (source("min_rate = ‸\"0 b/s\""), "a rate of 0", "never stops"),
        (source("message_priority = ‸8"), "priority 8", "0 to 7"),
        (source("tag_length = ‸\"65 B\""), "tags of 65 B", "at most \"64 B\""),
        (
            more("[switch]\nqueue_managers = [{ fecn = {} }]\n[hosts.h1]\nrate_limiters = { fecn = {} }")
                .table_at("rate_limiters"),
            "sends tags of fecn, but its receiver",
            "rate_limiters = { fecn = {} }",
        ),
        (
            flow_and(
                "source = { request_response = { request = \"64 B\", response = \"1 kB\" } }",
                "[switch]\nqueue_managers = [{ fecn = {} }]\n[hosts.h0]\nrate_limiters = { fecn = {} }",
            )
            .table_at("rate_limiters"),
            "sends tags of fecn, but who opens it \"h1\" cannot return them",
            "rate_limiters = { fecn = {} }",
        ),
    ]);
}

#[test]
fn path_rate_control() {
    let point = |keys: &str| {
        more(&format!(
            "[host]\nrate_limiters = {{ prc = {{}} }}\n[switch]\nqueue_managers = [{{ prc = {{ {keys} }} }}]"
        ))
    };
    let source = |keys: &str| {
        more(&format!(
            "[switch]\nqueue_managers = [{{ prc = {{}} }}]\n[host]\nrate_limiters = {{ prc = {{ {keys} }} }}"
        ))
    };
    let burst = |keys: &str| {
        more(&format!(
            "[switch]\nqueue_managers = [{{ prc = {{}} }}]\n[host]\nrate_limiters = {{ {keys}, prc = {{}} }}"
        ))
    };
    errors(vec![
        (point("buffer = ‸\"0 B\""), "a buffer of 0", "at least \"1 B\""),
        (point("messages = ‸1"), "", "true"),
        (point("first_share = ‸-0.1"), "a first_share of -0.1", "0 to 16"),
        (point("every_share = ‸0.1"), "an every_share of 0.1", "above 0.16"),
        (point("spacing = ‸\"10 ns\""), "a spacing of 10 ns", "at least \"1 us\""),
        (point("message_priority = ‸8"), "priority 8", "0 to 7"),
        (
            more(
                "[switch]\nqueue_managers = [{ prc = {} }]\n[host]\nrate_limiters = { mark_after = ‸\"10 ns\", prc = {} }",
            ),
            "a mark_after of 10 ns",
            "at least \"1 us\"",
        ),
        (
            burst("per = \"path\", priority_burst = ‸\"2 MiB\""),
            "a priority_burst of 2 MiB",
            "\"0 B\" to \"1 MiB\"",
        ),
        (burst("per = \"path\", priority_burst = ‸3044"), "", "3044 B"),
        (burst("priority_burst = ‸\"0 B\""), "limiters that are not by path", "expected per = \"path\""),
        (source("method = ‸\"feedbak\""), "unknown value `feedbak`", "did you mean \"feedback\"?"),
        (source("interval = ‸\"0 s\""), "an interval of 0 ps", "at least \"1 us\""),
        (source("ask_every = ‸0"), "an ask_every of 0", "1 to 1000"),
        (source("buffer = ‸\"0 B\""), "a buffer of 0", "at least \"1 B\""),
        (source("target_share = ‸1.5"), "a target_share of 1.5", "at most 1"),
        (source("law = ‸\"scald\""), "unknown value `scald`", "did you mean \"scaled\"?"),
        (source("equal_gain = ‸-1.0"), "an equal_gain of -1", "0 to 1"),
        (source("growth_gain = ‸3.0"), "a growth_gain of 3", "0 to 2"),
        (source("length_gain = ‸3.0"), "a length_gain of 3", "0 to 2"),
        (source("initial_share = ‸0.0"), "an initial_share of 0", "above 0"),
        (source("min_rate = ‸\"0 b/s\""), "a rate of 0", "never stops"),
        (source("idle_after = ‸\"0 s\""), "an idle_after of 0 ps", "at least \"1 us\""),
        (source("message_priority = ‸9"), "priority 9", "0 to 7"),
        (
            more("[switch]\nqueue_managers = [{ prc = {} }]\n[hosts.h1]\nrate_limiters = { prc = {} }")
                .table_at("rate_limiters"),
            "sends tags of prc, but its receiver",
            "rate_limiters = { prc = {} }",
        ),
    ]);
    check(
        &source("growth_gain = 0.4, length_gain = 0.5").table_at("rate_limiters"),
        Severity::Warning,
        "a length_gain of 0.5 with a growth_gain of 0.4: a loop oscillates",
        "below 0.34",
    );
    check(
        &source("growth_gain = 1.6").table_at("rate_limiters"),
        Severity::Warning,
        "a loop oscillates",
        "a growth_gain below 1.57",
    );
}

/// Gains of both ends of a control loop: a warning with the stable range.
#[test]
fn loops_that_swing() {
    let both = |scheme: &str, source: &str, point: &str| {
        more(&format!(
            "[switch]\nqueue_managers = [{{ {scheme} = {{ {point} }} }}]\n[host]\nrate_limiters = {{ {scheme} = {{ {source} }} }}"
        ))
        .table_at("rate_limiters")
    };
    for (scheme, source, point, message, help) in [
        ("qcn", "gain = 0.03", "", "a gain of 0.03: the rates of two sources", "below 0.028"),
        ("qcn", "gain = 0.02", "sample_base = \"300 kB\"", "a gain of 0.02", "below 0.014"),
        ("bcn", "decrease_gain = 0.02", "", "a decrease_gain of 0.02", "below 0.020"),
        ("bcn", "", "weight = 0.0", "a weight of 0", "above 0, like 2"),
        (
            "fecn",
            "",
            "queue_control = \"linear\"",
            "a slope of 0.1 with intervals of 1 ms",
            "a slope below 0.0288",
        ),
        ("fecn", "", "below_set_point = 1.1", "a below_set_point of 1.1", "below 1.0297"),
        (
            "fecn",
            "",
            "interval = \"50 ms\", average_with = \"last\"",
            "intervals of 50 ms",
            "or a shorter interval",
        ),
        ("prc", "method = \"messages\"", "", "the congestion points send none", "prc = { messages = true }"),
    ] {
        check(&both(scheme, source, point), Severity::Warning, message, help);
    }
}

/// DSCPs, and their maps at switches.
#[test]
fn maps_of_switches() {
    let maps = |maps: &str, keys: &str| flow_and(keys, &format!("[switch.maps]\n{maps}"));
    errors(vec![
        (flow("dscp = ‸64"), "DSCP 64", "0 to 63"),
        (
            flow("dscp = 26\npriority = ‸4"),
            "priority 4 beside DSCP 26, which is of traffic class 3",
            "one of the two",
        ),
        (maps("dscp_to_tc = { DSCP = ‸3 }", "dscp = 26"), "DSCP \"DSCP\"", "0 to 63, or other"),
        (maps("dscp_to_tc = { 26 = ‸8 }", "dscp = 26"), "traffic class 8", "0 to 7"),
        (maps("dscp_to_tc = { 064 = ‸3 }", "dscp = 26"), "DSCP \"064\"", "0 to 63"),
        (flow("color = ‸\"blue\""), "blue", "green"),
        (maps("dscp_to_color = { 77 = ‸\"red\" }", "dscp = 26"), "DSCP \"77\"", "0 to 63"),
        (
            maps(
                "dscp_to_color = { 26 = \"red\" }\n[switches.sw.maps]\n‸dscp_to_color = { 27 = \"red\" }",
                "dscp = 26",
            ),
            "DSCP 26 is green here, and red by the maps of [switch]",
            "the same in both",
        ),
        (maps("pfc_to_queue = ‸[0, 1]", ""), "pfc_to_queue = [0, 1]", "eight numbers"),
        (maps("pfc_to_group = ‸[0, 1, 2, 3, 4, 5, 6, 8]", ""), "pfc_to_group", "0 to 7"),
        (
            maps("remap = [{ to = [‸\"h7\"], dscp = { 26 = 8 } }]", "dscp = 26"),
            "a link to \"h7\"",
            "nodes are",
        ),
        (maps("remap = [{ to = ‸[], dscp = { 26 = 8 } }]", "dscp = 26"), "an empty list", "neighbours"),
        (
            maps("remap = [{ to = [\"h0\"], dscp = { 26 = ‸70 } }]", "dscp = 26"),
            "DSCP \"26\" becomes 70",
            "0 to 63",
        ),
    ]);
    let mut text = maps("remap = ‸[{ to = [\"h0\"], dscp = { 26 = 8 } }]", "dscp = 26");
    text.more += "\n[flow_control.pfc]\naccounting = \"egress\"\nxoff = \"66 frames\"\nxon = \"11 frames\"";
    check(&text, Severity::Error, "counted at the egress", "accounting = \"ingress\"");
    let mut text = maps("dscp_to_tc = { 8 = 1 }", "dscp = 26");
    text.more = text.more.replace("[switch.maps]\n", "[switch.‸maps]\n");
    text.more += "\n[flow_control.credit]\nbuffer = \"64 KiB\"\nchannels = \"all\"";
    check(&text, Severity::Error, "maps beside channels", "other channels");
}

/// A rate change to the current rate of the link is rejected.
#[test]
fn a_new_rate_is_another_one() {
    let rates = |of: [&str; 3]| {
        let fault = |(nth, rate): (usize, &str)| {
            format!("[[faults]]\nlink = [\"h0\", \"sw\"]\nat = \"{} us\"\nrate = {rate}\n", 10 * (3 - nth))
        };
        more(&of.into_iter().enumerate().map(fault).collect::<String>())
    };
    // At 30, 20 and 10 us.
    for of in [["\"1 Gb/s\"", "\"5 Gb/s\"", "‸\"10 Gb/s\""], ["\"10 Gb/s\"", "‸\"5 Gb/s\"", "\"5 Gb/s\""]]
    {
        check(&rates(of), Severity::Warning, "the link has this rate already", "another rate");
    }
    let back = rates(["\"10 Gb/s\"", "\"5 Gb/s\"", "\"1 Gb/s\""]).text();
    let warnings = load(&back, "rates.toml", None).expect("it fits").warnings;
    assert!(warnings.iter().all(|warning| !warning.message.contains("already")), "{warnings:?}");
}

/// Weights of neighbours in the choice of paths.
#[test]
fn path_weights() {
    let weights = |text: &str| {
        let mut all = fabric(
            "[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"10 Gb/s\"",
            "h0",
            "h3",
        );
        all.more = format!("[switch]\npath_weights = {text}");
        all
    };
    errors(vec![
        (weights("{ spine0 = ‸0 }"), "weight 0", "1 to 65535"),
        (weights("{ spine0 = ‸70000 }"), "weight 70000", "1 to 65535"),
        (weights("{ spine7 = ‸2 }"), "a link to \"spine7\"", "did you mean \"spine0\"?"),
        (weights("{ \"spine*\" = 2, \"spine0..spine1\" = ‸3 }"), "both name \"spine0\"", "one weight"),
    ]);
}

/// Attachments of the profiles of a memory in pools.
#[test]
fn profiles_of_a_memory() {
    let memory = |attach: &str| {
        let pools = "[switch]\nqueues = \"per_priority\"\n[switch.buffer.memory]\npools.out = { side = \"egress\", size = \"20 kB\", mode = \"static\" }\nprofiles.q = { pool = \"out\", threshold = \"15 kB\" }";
        more(&format!("{pools}\nattach = [{attach}]"))
    };
    let coded = |rate: &str| {
        let mut text = memory(&format!("{{ profile = \"q\", rate = ‸\"{rate}\" }}"));
        set(&mut text.topology, "line_code = \"64b/66b\"");
        text
    };
    errors(vec![
        (memory("{ profile = ‸\"p\" }"), "\"p\"", ""),
        (memory("{ profile = \"q\", queues = [‸8] }"), "number 8", "0 to 7"),
        (memory("{ profile = \"q\", to = ‸[] }"), "an empty list", "expected an entry"),
        (memory("{ profile = \"q\", to = [\"h0\", ‸\"h7\"] }"), "no switch with this memory", "did you mean"),
    ]);
    for (text, help) in [
        (memory("{ profile = \"q\", rate = ‸\"25 Gb/s\" }"), "expected the rate of a link: \"10 Gb/s\""),
        (memory("{ profile = \"q\", length = ‸\"5 m\" }"), "that of 200 m"),
        (coded("9.6969696 Gb/s"), "expected the rate of a link: \"10 Gb/s\""),
    ] {
        check(&text, Severity::Warning, "no port matches", help);
    }
    let idle = "that more specific entries have";
    let hosts = "‸{ profile = \"q\", ports = \"hosts\" }, { profile = \"q\", ports = [\"sw\"] }";
    check(&memory(hosts), Severity::Warning, idle, "leave it out");
    for (attach, named) in [
        ("{ profile = \"q\" }, ‸{ profile = \"q\" }", "profile \"q\" and profile \"q\" of entry 1"),
        ("{ profile = \"q\", queues = [1] }, ‸{ profile = \"q\", to = [\"h0\"] }", "(number 1)"),
        (
            "{ profile = \"q\", ports = \"down\" }, ‸{ profile = \"q\", rate = \"10 Gb/s\" }",
            "port \"sw.0->h0\"",
        ),
    ] {
        check(&memory(attach), Severity::Error, named, "all conditions of the other and one more");
    }
    errors(vec![
        (memory("{ profile = \"q\", ports = ‸\"upp\" }"), "ports \"upp\"", "did you mean \"up\"?"),
        (memory("{ profile = \"q\", ports = ‸[] }"), "an empty list", "expected an entry"),
    ]);
    for (attach, message, help) in [
        ("{ profile = \"q\", ports = ‸\"up\" }", "no port matches: profile \"q\"", "have no such ports"),
        (
            "{ profile = \"q\", ports = [\"sw.0->h0\", ‸\"sw.1->h7\"] }",
            "no port is named",
            "did you mean \"sw.1->h1\"?",
        ),
    ] {
        check(&memory(attach), Severity::Warning, message, help);
    }
    let partly = memory("{ profile = \"q\", to = [\"h0\"] }, { profile = \"q\" }").text();
    let warnings = load(&partly, "memory.toml", None).expect("it fits").warnings;
    assert!(warnings.iter().all(|warning| !warning.message.contains("entries")), "{warnings:?}");
    let text = coded("10 Gb/s").text().replace('‸', "");
    let warnings = load(&text, "memory.toml", None).expect("it fits").warnings;
    assert!(warnings.iter().all(|warning| !warning.message.contains("no port")), "{warnings:?}");
}

#[test]
fn queue_managers_and_shared_memory() {
    let managers = |entries: &str| more(&format!("[switch]\nqueue_managers = {entries}"));
    let red = |keys: &str| managers(&format!("[{{ red = {{ {keys} }} }}]"));
    let shared = |total: &str, keys: &str| {
        more(&format!("[switch.buffer]\n{total}\ndynamic_threshold = {{ {keys} }}"))
    };
    let alone = "[switch.buffer]\n‸dynamic_threshold = { alpha = 1.0 }";
    errors(vec![
        (
            red("min = \"30 KiB\", max = ‸\"10 KiB\""),
            "max 10 KiB is not above min 30 KiB",
            "the probability rises from min to max",
        ),
        (red("min = \"5 frames\", max = ‸\"5 frames\""), "is not above min 5 frames", ""),
        (
            red("min = \"5 frames\", max = ‸\"15 KiB\""),
            "max 15 KiB beside min 5 frames",
            "both have to be bytes",
        ),
        (red("weight = ‸0.0"), "a weight of 0", "above 0 to 1"),
        (red("max_probability = ‸1.5"), "a probability of 1.5", "above 0 to 1"),
        (red("yellow = { min = \"5 frames\", max = ‸\"4 frames\" }"), "max 4 frames is not above min", ""),
        (red("red = { min = ‸\"5 KiB\", max = \"9 KiB\" }"), "min 5 KiB beside 5 frames", "all frames"),
        (red("mean_frame = ‸\"0 B\""), "a mean frame of 0 B", "1 to 65535 B"),
        (red("‸maximum = \"5 frames\""), "unknown key `maximum`", ""),
        (red("spacing = ‸\"unifrom\""), "unknown value `unifrom`", "did you mean \"uniform\"?"),
        (red("min = ‸5"), "bare number where a size", ""),
        (managers("[{ step = ‸{ } }]"), "missing key `threshold`", "required"),
        (
            managers("[{ sampling = { threshold = \"9 frames\", every = ‸0 } }]"),
            "one of 0 frames",
            "1 to 1000000",
        ),
        (
            managers("[‸{ classes = [3] }]"),
            "without a queue manager",
            "exactly one of red, step, sampling, qcn, bcn, fecn, prc",
        ),
        (
            managers("[{ red = {}, ‸step = { threshold = \"9 frames\" } }]"),
            "both red and step",
            "exactly one of red, step, sampling",
        ),
        (managers("[{ red = {} }, ‸{ red = {} }]"), "a second queue manager without classes", "all others"),
        (
            managers("[{ classes = [0], red = {} }, ‸{ rate = \"10 Gb/s\", red = {} }]"),
            "red and red of entry 1 both claim port \"sw.0->h0\" (number 0)",
            "all conditions of the other",
        ),
        (
            managers(
                "[{ ports = \"hosts\", red = {} }, ‸{ ports = \"hosts\", step = { threshold = \"9 kB\" } }]",
            ),
            "step and red of entry 1",
            "",
        ),
        (managers("[{ ports = ‸[], red = {} }]"), "an empty list", "no key for all"),
        (managers("[{ classes = [0, ‸8], red = {} }]"), "class 8", "0 to 7"),
        (managers("[{ classes = ‸[], red = {} }]"), "of no class", "like [3]"),
        (
            managers("[{ classes = [3], red = {} }, { classes = [‸3], red = {} }]"),
            "class 3 has two queue managers",
            "each class once",
        ),
        (more(alone), "a dynamic threshold without a shared memory: total is unlimited", "total = \"12 MB\""),
        (
            shared("total = \"100 frames\"", "alpha = 1.0").table_at("dynamic_threshold"),
            "total is 100 frames",
            "in bytes",
        ),
        (shared("total = \"1 MB\"", "alpha = ‸0.0"), "alpha is 0", "1/1024"),
        (shared("total = \"1 MB\"", "alpha = ‸0.3"), "alpha is 0.3", "such as 0.2998046875"),
        (
            shared("total = \"1 MB\"", "minimum = ‸\"40 kB\""),
            "sw: 32 queues with 40000 B each and 0 B of headroom take 1280000 B of 1000000 B",
            "something is shared",
        ),
        // Lossless counters also have guaranteed minima: one for each of the eight priorities, at each of four ports.
        (
            more(
                "[flow_control.pfc]\npriorities = [3]\n[switch.buffer]\ntotal = \"1 MB\"\ndynamic_threshold = { minimum = ‸\"28 kB\" }",
            ),
            "sw: 36 queues with 28000 B each and 0 B of headroom take 1008000 B of 1000000 B",
            "something is shared",
        ),
        (
            more(
                "[flow_control.pfc]\n[switch.buffer]\ntotal = \"1 MB\"\ndynamic_threshold = { headroom = ‸\"1 kB\" }",
            ),
            "the headroom of \"sw\" holds 1000 B, less than the ",
            "expected at least",
        ),
        (
            more(
                "[flow_control.pfc]\n[switch.buffer]\ntotal = \"1 MB\"\n‸dynamic_threshold = { alpha = 1.0 }",
            ),
            "the headroom of \"sw\" holds 0 B",
            "expected at least",
        ),
    ]);
    check(
        &shared("total = \"1 MB\"", "headroom = ‸\"10 kB\""),
        Severity::Warning,
        "`headroom` changes nothing here",
        "it needs flow control that counts at the ingress",
    );
}

impl Text {
    /// Moves the sign before this key: the position of a table is that of its name.
    fn table_at(mut self, key: &str) -> Text {
        self.more = self.more.replace('‸', "").replace(&format!("{key} = "), &format!("‸{key} = "));
        self
    }
}

#[test]
fn flows() {
    errors(vec![
        (flow("from = ‸\"h9\""), "unknown host \"h9\"", "did you mean \"h0\"?"),
        (flow("to = ‸\"h7\""), "unknown host \"h7\"", "did you mean"),
        (flow("to = ‸\"sw\""), "\"sw\" is a switch", "frames end at hosts"),
        (flow("to = ‸{}"), "nothing where exactly one choice belongs", "exactly one key"),
        (flow("to = ‸\"h1\""), "\"h1\" sends to itself", "another host"),
        (flow("from = ‸\"x*\""), "no host matches \"x*\"", "hosts are h0"),
        (flow("from = ‸[]"), "an empty list", "at least one"),
        (flow("from = [\"h1\", ‸\"h1\"]"), "listed twice", "once"),
        (flow("to = [\"h0\", ‸\"h12\"]"), "unknown host \"h12\"", "did you mean \"h1\"?"),
        (flow("to = { uniform = [\"h0\", ‸\"hX\"] }"), "unknown host \"hX\"", "hosts are"),
        (
            flow("to = { hot_spot = { host = ‸\"g0\", share = 0.5 } }"),
            "unknown host \"g0\"",
            "did you mean \"h0\"?",
        ),
        (
            flow("to = { hot_spot = { host = \"h0\", share = ‸20.0 } }"),
            "share 20 is not a probability",
            "did you mean 0.2?",
        ),
        (flow("to = ‸{ permutation = \"random\" }").at_value(), "fewer than two hosts", "from = \"all\""),
        (
            flow("from = \"all\"\nto = { permutation = { shift = ‸8 } }"),
            "sends to itself",
            "no multiple of 4",
        ),
        (flow("priority = ‸8"), "priority 8", "0 to 7"),
        (flow("name = ‸\"\""), "is not a name for a flow", ""),
        (flow("frame = ‸\"0 B\""), "outside the range", "1 B to 9238 B"),
        (flow("frame = ‸\"10 kB\""), "outside the range", "1 B to 9238 B"),
        (
            flow("frame = { uniform = { min = ‸\"1522 B\", max = \"64 B\" } }"),
            "min 1522 B is above max 64 B",
            "min <= max",
        ),
        (
            flow("frame = { bimodal = { small = \"64 B\", large = \"1522 B\", small_share = ‸1.5 } }"),
            "is not a probability",
            "0 to 1",
        ),
        (
            flow("frame = { empirical = ‸\"no-such-file.csv\" }"),
            "cannot read \"no-such-file.csv\"",
            "bytes,weight",
        ),
        (flow("frame = { exponential = { mean = ‸\"64 B\" } }"), "a mean of 64 B", "between `min` and `max`"),
        (
            flow("frame = { exponential = { mean = \"200 B\", max = ‸\"10 kB\" } }"),
            "outside the range",
            "9238",
        ),
        (flow("frame = { log_normal = { mean = \"200 B\", sigma = ‸0.0 } }"), "sigma 0", "above 0"),
        (flow("frame = { log_normal = ‸{ mean = \"200 B\" } }"), "missing key `sigma`", "required"),
        (flow("frame = { empirical = ‸\".\" }"), "it is not a regular file", "bytes,weight"),
        (flow("frame = { empirical = ‸\"/dev/null\" }"), "it lies outside the folder", "--allow-files"),
        (flow("start = \"3 ms\"\nstop = ‸\"3 ms\""), "stop 3 ms is not after start 3 ms", "start < stop"),
        (flow("limit = ‸\"0 B\""), "a limit of 0", "\"unlimited\""),
        (source("{ constant = { rate = ‸\"0 b/s\" } }"), "the rate of a source is 0", "above 0"),
        (source("{ poisson = { rate = ‸\"20 Tb/s\" } }"), "too fast", "at most"),
        (source("{ bernoulli = { rate = ‸\"11 Gb/s\" } }"), "the link of \"h1\" has 10 Gb/s", "probability"),
        (
            source(
                "{ on_off = { peak = \"1 Gb/s\", on = { exponential = ‸\"0 s\" }, off = { exponential = \"1 us\" } } }",
            ),
            "a mean period of 0",
            "above 0",
        ),
        (
            source(
                "{ on_off = { peak = \"1 Gb/s\", on = { pareto = { mean = \"1 us\", shape = ‸1.0 } }, off = { exponential = \"1 us\" } } }",
            ),
            "shape 1 has no mean",
            "above 1",
        ),
        (
            source(
                "{ on_off = { peak = \"1 Gb/s\", on = { pareto = { mean = \"1 us\", shape = ‸nan } }, off = { exponential = \"1 us\" } } }",
            ),
            "no mean",
            "above 1",
        ),
        (source("{ threads = { rate = ‸\"0 b/s\" } }"), "the rate of a source is 0", "above 0"),
        (source("{ threads = { rate = \"1 Gb/s\", count = ‸0 } }"), "count = 0", "1 to 1024"),
        (source("{ threads = { rate = \"1 Gb/s\", burst = ‸1000001 } }"), "burst = 1000001", "1 to 1000000"),
        (
            source("{ threads = { rate = \"1 Gb/s\", delay = ‸\"1001 s\" } }"),
            "a delay of 1001 s",
            "at most \"1000 s\"",
        ),
        (source("{ streams = { rate = ‸\"0 b/s\" } }"), "the rate of a source is 0", "above 0"),
        (source("{ streams = { rate = \"64 kb/s\", count = ‸0 } }"), "count = 0", "1 to 65536"),
        (source("{ streams = { rate = \"64 kb/s\", count = ‸65537 } }"), "count = 65537", "1 to 65536"),
        (source("{ streams = ‸{ count = 93 } }"), "missing key `rate`", "required"),
        (
            flow(concat!(
                "from = \"all\"\nto = { uniform = [\"h0\", \"h1\", \"h2\", \"h3\"] }\n",
                "source = { streams = { rate = \"64 b/s\", count = 65536, counted = ‸true } }"
            )),
            "786432 streams and destinations",
            "at most 524288",
        ),
        (source("{ bursts = { rate = ‸\"20 Tb/s\" } }"), "too fast", "at most"),
        (source("{ bursts = { rate = \"1 Gb/s\", frames = ‸0 } }"), "frames = 0", "1 to 65536"),
        (source("{ bursts = { rate = \"1 Gb/s\", ‸gap = \"1 us\" } }"), "unknown key `gap`", "frames"),
        (source("{ video = { rate = ‸\"0 b/s\" } }"), "the rate of a source is 0", "above 0"),
        (source("{ video = { rate = \"750 kb/s\", count = ‸0 } }"), "count = 0", "1 to 65536"),
        (source("{ video = { rate = \"750 kb/s\", interval = ‸\"0 s\" } }"), "every 0 ps", "like \"40 ms\""),
        (
            source("{ video = { rate = \"750 kb/s\", interval = ‸\"1001 s\" } }"),
            "every 1001 s",
            "to \"1000 s\"",
        ),
        (
            source("{ video = { rate = \"750 kb/s\", pattern = ‸\"\" } }"),
            "the pattern \"\"",
            "letters I, P and B",
        ),
        (
            source("{ video = { rate = \"750 kb/s\", pattern = ‸\"IBX\" } }"),
            "the pattern \"IBX\"",
            "letters I, P and B",
        ),
        (
            source("{ video = { rate = \"750 kb/s\", trace = ‸\"no.csv\" } }"),
            "cannot read \"no.csv\"",
            "kind,bytes",
        ),
        (flow("frame = { bounded_pareto = { shape = ‸0.0 } }"), "shape 0", "above 0"),
        (flow("frame = { bounded_pareto = { shape = ‸nan } }"), "shape NaN", "above 0"),
        (
            flow("frame = { bounded_pareto = { shape = 1.3, min = ‸\"200 B\", max = \"100 B\" } }"),
            "above max",
            "min <= max",
        ),
        (flow("frame = { bounded_pareto = { shape = 1.3, max = ‸\"10 kB\" } }"), "10", "9238"),
        (source("{ threads = { rate = \"1 Gb/s\", ‸threads = 4 } }"), "unknown key `threads`", "count"),
        (source("{ threads = ‸{ count = 4 } }"), "missing key `rate`", "required"),
        (
            flow("from = \"sw\"\nsource = { ‸threads = { rate = \"1 Gb/s\" } }"),
            "a threads source at the switch",
            "threads run on a host",
        ),
        (
            flow("from = \"sw\"\nsource = ‸\"greedy\""),
            "a greedy source at the switch",
            "a source with a rate",
        ),
        (
            flow("script = [{ at = \"2 ms\", stop = true }, { at = ‸\"1 ms\", start = true }]"),
            "before the step above",
            "in order",
        ),
        (flow("script = [‸{ at = \"2 ms\" }]"), "neither start nor stop", "start = true or stop = true"),
        (flow("script = [‸{ at = \"2 ms\", start = true, stop = true }]"), "start and stop at once", ""),
        (
            flow("script = [{ at = \"2 ms\", start = true, rate = ‸\"1 Gb/s\" }]"),
            "a rate for a greedy source",
            "no rate",
        ),
        (
            flow("script = [{ at = \"2 ms\", stop = true, rate = ‸\"1 Gb/s\" }]"),
            "a rate with stop",
            "start = true",
        ),
        (flow("route = ‸[]"), "an empty route", "destination"),
        (flow("route = [‸\"swx\", \"h0\"]"), "unknown node \"swx\"", "did you mean \"sw\"?"),
        (flow("route = [\"sw\", ‸\"h2\"]"), "the route ends at \"h2\"", "\"h0\""),
        (flow("route = [‸\"h0\"]"), "no link between \"h1\" and \"h0\"", "linked"),
        (flow("route = [\"sw\", ‸\"h2\", \"sw\", \"h0\"]"), "a host in the middle", "do not forward"),
    ]);
    let mut twice = base();
    twice.flow.extend(
        ["[[flows]]", "name = ‸\"f\"", "from = \"h2\"", "to = \"h0\"", "source = \"greedy\""]
            .map(str::to_string),
    );
    check(&twice, Severity::Error, "\"f\" is used twice", "names must differ");
    let islands = "[topology.explicit]\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", \"t\"]\n[[topology.explicit.links]]\nbetween = [\"a\", \"s\"]\nrate = \"1 Gb/s\"\n[[topology.explicit.links]]\nbetween = [\"b\", \"t\"]\nrate = \"1 Gb/s\"";
    let mut apart = fabric(islands, "a", "b");
    set(&mut apart.flow, "to = ‸\"b\"");
    check(&apart, Severity::Error, "\"b\" cannot be reached from \"a\"", "hosts do not forward");
}

impl Text {
    /// Moves the sign from an inline table to the value of its only key.
    fn at_value(mut self) -> Text {
        for line in &mut self.flow {
            *line = line.replace("‸{ permutation = ", "{ permutation = ‸");
        }
        self
    }
}

fn buffer_of_frames(xoff: &str) -> Text {
    let mut text = pfc(&format!("xoff = {xoff}\n[switch.buffer]\nqueue = \"100 frames\""));
    set(&mut text.flow, "frame = \"imix\"");
    text
}

#[test]
fn too_many_destinations_are_refused_before_they_are_stored() {
    let with = |keys: &str| {
        let mut text = flow(keys);
        set(&mut text.topology, "hosts = 60000");
        load(&text.text(), "bad.toml", None).map(|_| ())
    };
    // If a switch is among the senders, paths are listed; hosts share one list of all other hosts.
    let why = with("from = [\"all\", \"sw\"]\nto = \"all\"").unwrap_err();
    assert!(why.0[0].message.contains("more than 50000000"), "{why}");
    assert!(with("from = \"all\"\nto = { hot_spot = { host = \"h0\", share = 0.5 } }").is_ok());
}

#[test]
fn rate_limiters_by_destination_need_destinations_that_are_listed() {
    let mut text = flow("from = \"all\"\nto = \"all\"");
    set(&mut text.topology, "hosts = 1100");
    text.more = "[host]\nrate_limiters = { per = \"destination\", qcn = {} }\n[switch]\nqueue_managers = [{ qcn = {} }]".into();
    let why = load(&text.text(), "bad.toml", None).unwrap_err();
    let expected = "rate limiters for each destination of \"f[h0]\", which has too many";
    assert_eq!((why.0[0].message.as_str(), why.0[0].line), (expected, 9), "{why}");
}

#[test]
fn many_errors_are_cut_short() {
    let mut text = base();
    for i in 0..2000 {
        text.flow
            .push(format!("[[flows]]\nname = \"x{i}\"\nfrom = \"g{i}\"\nto = \"h0\"\nsource = \"greedy\""));
    }
    let why = load(&text.text(), "bad.toml", None).unwrap_err();
    assert_eq!(why.0.len(), scenario::MAX_ERRORS);
}

/// Returns the keys of a scheduler of all switches.
fn scheduler(name: &str, keys: &str) -> Text {
    more(&format!("[switch.scheduler.{name}]\n{keys}"))
}

#[test]
fn schedulers() {
    let named = |value: &str| more(&format!("[switch]\nscheduler = {value}"));
    let two_queues = "[hosts.h1]\nqueues = [0, 0, 0, 0, 0, 0, 0, 1]\n";
    let table = |entries: &str| scheduler("vc_table", &format!("entries = {entries}"));
    let ets = |classes: &str| scheduler("ets", &format!("classes = {classes}"));
    let rest = "{ queues = [0, 1, 2, 3, 4, 5, 6], percent = 60 }";
    errors(vec![
        (named("‸\"strict\""), "unknown value `strict`", "\"strict_priority\""),
        (named("‸\"wf2q\""), "unknown value `wf2q`", "did you mean \"wfq\"?"),
        (named("‸\"drr_acw\""), "unknown value `drr_acw`", "did you mean \"drr_awc\"?"),
        (named("‸\"ets\""), "needs its classes", "[switch.scheduler.ets]"),
        (named("‸\"dtable\""), "needs its entries", "[switch.scheduler.dtable]"),
        (named("‸5"), "invalid type: integer `5`", "the name of a scheduler"),
        (scheduler("‸dr", ""), "unknown value `dr`", "did you mean \"drr\"?"),
        (scheduler("drr", "‸weight = [1]"), "unknown key `weight`", "did you mean weights?"),
        (scheduler("drr", "weights = [1, ‸0, 1, 1, 1, 1, 1, 1]"), "weight of queue 1 is 0", "1 to 1000000"),
        (scheduler("drr", "weights = ‸[1, 2]"), "2 entries of \"weight\"", "one for each queue"),
        (scheduler("drr", "weights = ‸[]"), "weights is empty", "8 entries"),
        (scheduler("drr", "weights = [‸-1]"), "-1", "a whole number that is not negative"),
        (scheduler("drr", "weights = ‸\"equally\""), "unknown value `equally`", "\"equal\""),
        (scheduler("drr", "quantum = ‸1542"), "bare number where a size belongs", "1542 B"),
        (scheduler("drr", "quantum = ‸\"-1 B\""), "negative", ""),
        (scheduler("drr", "quantum = ‸\"0 B\""), "the base quantum is 0 B", "1 to 16777216 B"),
        (
            scheduler("drr", "accounted_length = ‸\"wires\""),
            "unknown value `wires`",
            "did you mean \"wire\"?",
        ),
        (scheduler("drr", "‸bills = \"wire\""), "unknown key `bills`", "it is called `accounted_length` now"),
        (
            more("[[probes]]\nwhat = \"frames\"\n‸most = 9"),
            "unknown key `most`",
            "it is called `max_rows` now",
        ),
        (
            scheduler("drr", "per_frame = ‸\"1 MB\""),
            "the addition to each frame is 1000000 B",
            "0 to 65536 B",
        ),
        (scheduler("drr", "cell = ‸\"1 MB\""), "the memory cell is 1000000 B", "0 to 65536 B"),
        (
            scheduler(
                "drr",
                "quantum = \"2 kB\"\nquanta = ‸[\"1 kB\", \"1 kB\", \"1 kB\", \"1 kB\", \"1 kB\", \"1 kB\", \"1 kB\", \"1 kB\"]",
            ),
            "in bytes and by weights",
            "one of the two",
        ),
        (more("[switch.‸scheduler.wrr]\n[switch.scheduler.drr]"), "more than one choice", "exactly one key"),
        (
            scheduler("drr_awc", "interval = ‸\"0 s\""),
            "the interval of drr_awc is zero",
            "longer than a round",
        ),
        (scheduler("drr_awc", "metric = ‸\"payload\""), "no meaning for this formula", "\"learned\""),
        (table("‸[0, 1, 2, 3, 4, 5, 6, 7]"), "the table has 8 entries", "32, 64"),
        (
            table(&format!("[‸9, {}]", vec!["0"; 31].join(", "))),
            "entry 0 of the table names queue 9",
            "queues 0 to 7",
        ),
        (table(&format!("‸[{}]", vec!["0"; 32].join(", "))), "no entry of the table names queue 1", ""),
        (
            scheduler(
                "dtable",
                &format!(
                    "entries = [‸{{ class = 0, weight = 0 }}, {}]",
                    &["0, 1, 2, 3, 4, 5, 6, 7"; 4].join(", ")[3..]
                ),
            ),
            "entry 0 of the table has weight 0",
            "1 to 65536",
        ),
        (ets(&format!("‸[{rest}, {{ queues = [7], percent = 50 }}]")), "sum to 110", "sum to 100"),
        (
            ets(&format!("‸[{rest}, {{ queues = [6, 7], percent = 40 }}]")),
            "traffic classes 0 and 1 both claim queue 6",
            "",
        ),
        (ets(&format!("‸[{rest}]")), "queue 7 belongs to no traffic class", ""),
        (
            ets(&format!("[{rest}, ‸{{ queues = [7], percent = 40, strict = true }}]")),
            "exactly one way",
            "idle_slope",
        ),
        (
            ets(&format!("[{rest}, {{ queues = [7], idle_slope = ‸1 }}]")),
            "bare number where a rate belongs",
            "",
        ),
        (
            ets(&format!("[{rest}, {{ queues = [7], idle_slope = {{ share = ‸1.5 }} }}]")),
            "share 1.5 is not a share",
            "to 1",
        ),
        (scheduler("min_bw", "rate = ‸\"20 Gb/s\""), "more than the link's 10 Gb/s", ""),
        (scheduler("min_bw", "depth = ‸\"1 kB\""), "holds 1000 B", "1522 B"),
        (scheduler("min_bw", "management = ‸9"), "the management channel is queue 9", "queues 0 to 7"),
        (scheduler("‸shaper", ""), "shapes nothing", "port, classes"),
        (
            scheduler("shaper", "port = { leaky_bucket = { rate = \"1 Gb/s\" } }\nscheduler = ‸\"fifo\""),
            "\"fifo\" serves one queue, but there are 8",
            "queues = \"shared\"",
        ),
        (
            scheduler(
                "shaper",
                "port = { leaky_bucket = { rate = \"1 Gb/s\" } }\nscheduler = { drr = { weights = ‸[1] } }",
            ),
            "1 entries",
            "",
        ),
        (
            scheduler("shaper", "classes = [{ class = ‸8, leaky_bucket = { rate = \"1 Gb/s\" } }]"),
            "class 8",
            "0 to 7",
        ),
        // A scheduler of all hosts that does not suit the queues of one.
        (
            more(&format!(
                "[host.scheduler.drr]\nweights = [1, 1, 1, 1, 1, 1, 1, 1]\n{}",
                two_queues.replace("[hosts.h1]", "[hosts.‸h1]")
            )),
            "8 entries of \"weight\" for a port of 2 queues",
            "",
        ),
        (more(&format!("{two_queues}[hosts.h1.scheduler.wfq]\nweights = ‸[1, 2, 3]")), "3 entries", ""),
    ]);
}

const PFC_OF_3: &str =
    "[flow_control.pfc]\npriorities = [3]\naccounting = \"ingress\"\nxoff = \"@\"\nxon = \"90 kB\"";

/// Returns RED with these keys, for class 3.
fn marking(keys: &str) -> String {
    format!(
        "[[switch.queue_managers]]\nclasses = [3]\n[switch.queue_managers.red]\nweight = 1.0\ngentle = false\naction = \"mark_only\"\n{keys}"
    )
}

#[test]
fn warnings() {
    for (case, message, help) in [
        (
            flow_and("source = { rdma = { control = ‸\"none\" } }", "[switch]\npath_choice = \"spray\""),
            "\"f\" uses go-back-N, and \"sw\" chooses a path for each frame",
            "recovery = \"reordering\"",
        ),
        (
            flow_and(
                "source = { rdma = { control = ‸\"none\" } }",
                "[switch.buffer]\nqueue = \"100 frames\"",
            ),
            "uses go-back-N, and priority 0 is not lossless at \"sw\"",
            "recovery = \"selective\"",
        ),
        (
            flow_and("source = { rdma = { control = { timely = { min_rate = ‸\"10 Gb/s\" } } } }", ""),
            "\"f\" sends no slower than \"10 Gb/s\", and \"h1\" has \"10 Gb/s\"",
            "a min_rate below that of the link",
        ),
        (
            // 5 % are reserved, and one queue pair adds up to 10 %.
            flow_and("source = { rdma = { control = { hpcc = { ai_rate = ‸\"1 Gb/s\" } } } }", ""),
            "1 queue pair with telemetry, \"f\" among them, is in equilibrium with a queue of 0.05 base round trips at \"h0\"",
            "an ai_rate of at most \"500 Mb/s\"",
        ),
        (
            {
                let between = fabric(
                    "[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nrate = \"10 Gb/s\"",
                    "h0",
                    "h1",
                );
                let control = source("{ rdma = { control = { powertcp = { int_bytes = ‸\"10 B\" } } } }");
                Text { topology: between.topology, ..control }
            },
            "3 switches are on the path of \"f\"",
            "int_bytes = \"26 B\"",
        ),
        (
            // XOFF and headroom of two ports are less than 9 MB.
            flow_and(
                "priority = 3\nsource = { rdma = {} }",
                &format!(
                    "{}\n{}",
                    PFC_OF_3.replace("@", "100 kB"),
                    marking("min = ‸\"9 MB\"\nmax = \"10 MB\"")
                ),
            ),
            "red marks from 9000000 B on, but pauses keep queues of class 3 below",
            "better below XOFF",
        ),
        (
            source("{ rdma = { timeout = ‸\"100 ns\" } }"),
            "\"f\" retransmits after 100 ns",
            "leaves room for queues",
        ),
        (
            {
                let few = marking("min = \"5 kB\"\nmax = \"200 kB\"\nmax_probability = ‸0.01");
                let star = fabric("[topology.star]\nhosts = 17\nrate = \"40 Gb/s\"", "h1..h16", "h0");
                let text = flow_and(
                    "from = \"h1..h16\"\npriority = 3\nsource = { rdma = { mtu = \"938 B\" } }",
                    &format!("{}\n{few}", PFC_OF_3.replace("@", "1 MB")),
                );
                Text { topology: star.topology, ..text }
            },
            "16 queue pairs of DCQCN at \"sw.0->h0\" are in equilibrium at 1.0",
            "max_probability above 0.010",
        ),
        (
            {
                let marks = marking("min = \"5 kB\"\nmax = \"200 kB\"\nmax_probability = ‸0.01");
                let keys = "[topology.star]\nhosts = 5\nrate = \"40 Gb/s\"\ndelay = \"20 us\"";
                let text = flow_and(
                    "from = \"h1..h4\"\npriority = 3\nsource = { rdma = { mtu = \"938 B\" } }",
                    &format!("{}\n{marks}", PFC_OF_3.replace("@", "1 MB")),
                );
                Text { topology: fabric(keys, "h1..h4", "h0").topology, ..text }
            },
            "4 queue pairs of DCQCN at \"sw.0->h0\" are stable with a loop delay of at most 71.",
            "expected a lower max_probability",
        ),
        (
            star("line_code = \"64b/66b\"\nrate = ‸\"25 Gb/s\""),
            "25 Gb/s on the wire carries about 24.242424242 Gb/s",
            "expected \"25.78125 Gb/s\", or no line_code",
        ),
        (
            // One frame of 24 credits, 1238 ns with its line overhead, in a round trip of 3247 ns.
            more("[flow_control.credit]\nbuffer = ‸\"1536 B\""),
            "carries at most 38.",
            "\"4608 B\" would be enough",
        ),
        (
            more(
                "[flow_control.credit]\nchannels = ‸[\"O0\", \"O0\", \"O0\", \"O0\", \"O0\", \"O0\", \"B1\", \"B0\"]\n[switch.scheduler.min_bw]",
            ),
            "management at \"sw\" is class 7, and the Fabric Management Channel, B1, has other frames",
            "highest number",
        ),
        (
            flow_and(
                "bypassable = true",
                "[flow_control.credit]\nchannels = ‸[\"O0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\", \"B0\"]",
            ),
            "channel O0 of priority 0 has no bypass queue for \"f\"",
            "will keep their order",
        ),
        (source("{ streams = { rate = ‸\"3 Gb/s\", count = 4 } }"), "the source sends 12 Gb/s", "will wait"),
        (source("{ video = { rate = ‸\"3 Gb/s\", count = 4 } }"), "the source sends 12 Gb/s", "will wait"),
        (
            more("[switch]\npath_choice = ‸\"spray\""),
            "no switch that has it has two equal paths",
            "no effect",
        ),
        (
            more("[switches.sw]\n‸path_choice = { flowlet = { gap = \"1 us\" } }"),
            "no switch that has it has two equal paths",
            "no effect",
        ),
        (
            // The only flow with two equal paths has an explicit route.
            {
                let mut text = fabric(
                    "[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nrate = \"10 Gb/s\"\ndelay = \"1 us\"",
                    "h0",
                    "h1",
                );
                set(&mut text.flow, "route = [\"leaf0\", \"spine1\", \"leaf1\", \"h1\"]");
                text.more = "[switch]\npath_choice = ‸\"least_queued\"".to_string();
                text
            },
            "no switch that has it has two equal paths",
            "no effect",
        ),
        (
            more("[flow_control.pfc]\n[host]\nflow_control = ‸\"off\""),
            "\"sw\" sends pauses for priority 0 to \"h0\", which does not obey them",
            "no headroom is enough",
        ),
        (
            more("[flow_control.pfc]\npause_quanta = 1000\nrefresh = ‸false"),
            "pauses from \"sw\" end after 51.2 us and are not renewed",
            "expected refresh = true",
        ),
        (
            scheduler("drr", "quantum = ‸\"500 B\""),
            "below the accounted length of the largest frame (1542 B)",
            "the same holds for 7 more",
        ),
        (
            scheduler(
                "ets",
                "classes = [{ queues = [0, 1], percent = 100 }, ‸{ queues = [2, 3, 4, 5, 6, 7], percent = 0 }]",
            ),
            "traffic class 1 has 0 %",
            "not as intended",
        ),
        (flow("start = ‸\"20 ms\""), "starts at 20 ms, after the end", "sends nothing"),
        (flow("frame = ‸\"9230 B\""), "not standard", "9216 B"),
        (flow("frame = ‸\"60 B\""), "not standard", "64 B"),
        (
            source("{ constant = { rate = ‸\"11 Gb/s\" } }"),
            "the link of \"h1\" has 10 Gb/s",
            "wait in the host",
        ),
        (flow("script = [{ at = ‸\"10 ms\", stop = true }]"), "after the end", "no effect"),
        (pfc("priorities = [0, ‸3]"), "no flow uses it", "flows use priority 0"),
        (buffer_of_frames("‸\"60 frames\""), "of the shortest frames", "limits in bytes"),
        (
            fabric(
                "[topology.explicit]\nhosts = [\"a\", \"b\"]\n[[topology.explicit.links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Gb/s\"\n[‸switch]\nlatency = \"1 us\"",
                "a",
                "b",
            ),
            "the fabric has none",
            "no effect",
        ),
        (
            more("[switch.buffer]\ntotal = \"4 KiB\"\nqueue = ‸\"8 KiB\""),
            "above total",
            "never holds that much",
        ),
        (
            more("[switch]\nqueue_managers = [{ ‸step = { threshold = \"9 frames\" } }]"),
            "step marks frames, but no flow in its classes understands marks",
            "it has no effect: expected ecn = true",
        ),
        (
            more(
                "[switch]\nqueue_managers = [{ classes = [1], red = {} }, { ‸red = { action = \"mark\" } }]",
            ),
            "red marks frames, but no flow",
            "it drops frames instead",
        ),
        (
            more(
                "[flow_control.pfc]\npriorities = [0]\n[switches.sw]\nqueue_managers = [{ classes = [0], ‸red = {} }]",
            ),
            "red drops frames in class 0, whose priority 0 flow control keeps lossless",
            "expected action = \"mark_only\"",
        ),
        (
            more(
                "[flow_control.pfc]\nxoff = ‸\"20 KiB\"\nxon = \"10 KiB\"\n[switch.buffer]\ntotal = \"12 MB\"\ndynamic_threshold = { headroom = \"1 MB\" }",
            ),
            "the dynamic threshold of \"sw\" defines its XOFF",
            "they are ignored there",
        ),
        (
            more(
                "[flow_control.pfc]\naccounting = \"egress\"\nxoff = \"20 KiB\"\nxon = \"10 KiB\"\n[switch.buffer]\ntotal = \"12 MB\"\n‸dynamic_threshold = { alpha = 1.0 }",
            ),
            "its dynamic threshold can fall below xoff",
            "accounting = \"ingress\"",
        ),
        (
            {
                let mut text = source("{ ‸window = { size = \"8 frames\" } }");
                text.more = "[hosts.h0.receive]\nrate = \"1 Gb/s\"\nbuffer = \"20 KiB\"".to_string();
                text
            },
            "\"h0\" drops frames when its receive buffer is full",
            "like timeout = \"1 ms\"",
        ),
        (
            {
                let mut text = source("{ window = { timeout = ‸\"never\" } }");
                text.more = "[[faults]]\nlink = [\"h0\", \"sw\"]\nbit_error_rate = 1e-9".to_string();
                text
            },
            "a fault can lose a frame",
            "like timeout = \"1 ms\"",
        ),
    ] {
        check(&case, Severity::Warning, message, help);
    }
}

#[test]
fn several_errors_come_together() {
    let mut text = sim("duration = \"10 msec\"");
    set(&mut text.topology, "rate = \"fast\"");
    set(&mut text.flow, "sauce = 1");
    let why = load(&text.text(), "bad.toml", None).unwrap_err();
    assert_eq!(why.0.len(), 3, "{why}");
    let mut text = sim("warmup = \"1 s\"");
    set(&mut text.flow, "to = \"h9\"\npriority = 9\nlimit = \"0 B\"");
    let why = load(&text.text(), "bad.toml", None).unwrap_err();
    assert_eq!(why.0.len(), 4, "{why}");
    let json: serde_json::Value = serde_json::from_str(&why.to_json()).unwrap();
    let keys: Vec<&String> = json[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["file", "line", "column", "message", "help"]);
}

#[test]
fn a_choice_between_paths_is_no_warning() {
    for choice in ["\"spray\"", "\"round_robin\"", "\"least_queued\"", "{ flowlet = { gap = \"1 us\" } }"] {
        let mut text = fabric(
            "[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nrate = \"10 Gb/s\"\ndelay = \"1 us\"",
            "h0",
            "h1",
        );
        text.more = format!("[switch]\npath_choice = {choice}");
        let scenario = load(&text.text(), "good.toml", None).unwrap();
        assert_eq!(scenario.warnings, [], "{choice}");
        // Reordered segments stall a transfer that never times out.
        let waits = |timeout: &str| {
            let window = format!("source = {{ window = {{ size = \"9 frames\"{timeout} }} }}");
            let text = text.text();
            assert!(text.contains("source = \"greedy\""), "{text}");
            load(&text.replace("source = \"greedy\"", &window), "good.toml", None).unwrap().warnings
        };
        assert_eq!(waits(", timeout = \"1 ms\""), [], "{choice}");
        assert!(waits("")[0].message.contains("without a timeout"), "{choice}");
        // A path choice at switches without alternatives, in a fabric where others have some.
        text.more = format!("[switches.spine0]\npath_choice = {choice}");
        assert_eq!(load(&text.text(), "good.toml", None).unwrap().warnings.len(), 1, "{choice}");
    }
}

#[test]
fn what_is_no_text() {
    let fails = |bytes: &[u8]| load_bytes(bytes, "bad.toml", None).unwrap_err().0.remove(0);
    let found = fails(b"[simulation]\nname = \"\xFF\"");
    assert_eq!((found.line, found.column), (2, 9));
    assert!(found.message.contains("not UTF-8"));
    let found = fails(b"# \0");
    assert_eq!((found.line, found.column), (1, 3));
    assert!(found.message.contains("NUL"));
    let found = fails(&vec![b'#'; scenario::MAX_BYTES + 1]);
    assert!(found.message.contains("16 MiB"), "{}", found.message);
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(fails(deep.as_bytes()).message.contains("not TOML"));
}

#[test]
fn errors_in_a_file_of_sizes_name_that_file() {
    let dir = std::env::temp_dir().join(format!("scenario-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("sizes.csv"), "bytes,weight\n64,1\n1522,much\n").unwrap();
    let text = flow("frame = { empirical = \"sizes.csv\" }").text();
    let why = load(&text, "bad.toml", Some(&dir)).unwrap_err();
    assert_eq!((why.0[0].file.as_str(), why.0[0].line, why.0[0].column), ("sizes.csv", 3, 1), "{why}");
    std::fs::write(dir.join("sizes.csv"), "bytes,weight\n64,1\n1522,2\n").unwrap();
    load(&text, "bad.toml", Some(&dir)).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
