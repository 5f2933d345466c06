//! Strict reading: kinds given by name only, lists in place of tables, lists that are too long.

use scenario::{JSON_SCHEMA, load};
use serde_json::Value;
use std::collections::BTreeSet;

/// Position of each choice in a scenario: its definition in the JSON Schema, and a scenario with `@` in its place.
/// Missing tables are added.
const PLACES: &[(&str, &str)] = &[
    ("FlowControl", "flow_control = @\n"),
    ("Topology", "topology = @\n"),
    ("Queueing", "[switch]\nqueueing = @\n"),
    ("PathChoice", "[switch]\npath_choice = @\n"),
    ("Scheduler", "[switch]\nscheduler = @\n"),
    ("ShaperSpec", "[switch.scheduler.shaper]\nport = @\n"),
    ("SourceText", "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = @\n"),
    ("ReceiversTable", "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = @\nsource = \"greedy\"\n"),
    ("FrameTable", "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nframe = @\nsource = \"greedy\"\n"),
    (
        "Period",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { on_off = { peak = \"1 Gb/s\", on = @, off = { exponential = \"1 us\" } } }\n",
    ),
    (
        "DelayTable",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { request_response = { request = \"1 kB\", response = \"1 kB\", think = @ } }\n",
    ),
    (
        "TcpController",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { tcp = { controller = @, ecn = \"dctcp\" } }\n",
    ),
    (
        "RdmaControl",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { rdma = { control = @ } }\n",
    ),
    (
        "RdmaRecovery",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { rdma = { recovery = @ } }\n",
    ),
    (
        "PathSelection",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { uet = { paths = @ } }\n",
    ),
    (
        "UetControl",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { uet = { control = @ } }\n",
    ),
    (
        "Messages",
        "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = { conversation = { messages = @ } }\n",
    ),
    (
        "ArrivalsText",
        "[[transfers]]\nname = \"t\"\nfrom = \"h0\"\nto = \"h1\"\nsizes = \"1 kB\"\narrivals = @\n",
    ),
    (
        "SizesTable",
        "[[transfers]]\nname = \"t\"\nfrom = \"h0\"\nto = \"h1\"\narrivals = \"once\"\nsizes = @\n",
    ),
    (
        "CarrierText",
        "[[transfers]]\nname = \"t\"\nfrom = \"h0\"\nto = \"h1\"\nsizes = \"1 kB\"\narrivals = \"once\"\nover = @\n",
    ),
];

fn text(place: &str, value: &str) -> String {
    let own = place.replace('@', value);
    let mut tables = String::new();
    if !own.contains("topology") {
        tables += "[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n";
    }
    if !own.contains("[[") {
        tables += "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = \"greedy\"\n";
    }
    let (first, rest) = if own.starts_with('[') { ("", own.as_str()) } else { (own.as_str(), "") };
    format!("{first}[simulation]\nduration = \"1 ms\"\n{tables}{rest}")
}

/// Collects the names of a choice that are keys of a table.
fn kinds(definition: &Value, found: &mut BTreeSet<String>) {
    for alternative in ["oneOf", "anyOf"].iter().filter_map(|key| definition[key].as_array()).flatten() {
        if let [name] = alternative["required"].as_array().map_or(&[][..], Vec::as_slice)
            && alternative["properties"].as_object().is_some_and(|keys| keys.len() == 1)
        {
            found.insert(name.as_str().unwrap().to_string());
        }
        kinds(alternative, found);
    }
}

#[test]
fn a_kind_is_named_alone_or_the_message_shows_the_table() {
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let mut choices = BTreeSet::new();
    for (name, definition) in schema["definitions"].as_object().unwrap() {
        let mut names = BTreeSet::new();
        kinds(definition, &mut names);
        if names.is_empty() {
            continue;
        }
        choices.insert(name.as_str());
        let (_, place) =
            PLACES.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("no place for {name}"));
        for kind in names {
            let alone = load(&text(place, &format!("\"{kind}\"")), "alone.toml", None);
            let empty = load(&text(place, &format!("{{ {kind} = {{}} }}")), "alone.toml", None);
            match (alone, empty) {
                (Ok(alone), Ok(empty)) => assert_eq!(alone.effective, empty.effective, "{name} {kind}"),
                (Err(alone), empty) => {
                    let error = alone.to_string();
                    assert!(!error.contains("variant"), "{name} {kind}: {error}");
                    // In these choices, a name alone is that of a host or of a published distribution.
                    let is_a_name = matches!(
                        name.as_str(),
                        "ReceiversTable" | "SizesTable" | "FrameTable" | "DelayTable"
                    );
                    let needs = error.contains("needs") && error.contains(&kind);
                    // For some kinds, the combination of all defaults is invalid, and a table without keys is rejected
                    // as well.
                    let says_as_much =
                        empty.as_ref().is_err_and(|empty| empty.0[0].message == alone.0[0].message);
                    assert!(needs || says_as_much || is_a_name, "{name} {kind}: {error}");
                    if !is_a_name {
                        assert!(empty.is_err(), "{name} {kind} has all defaults, and {error}");
                    }
                }
                (Ok(_), Err(why)) => panic!("{name} {kind}: {why}"),
            }
        }
    }
    let places: BTreeSet<&str> = PLACES.iter().map(|(of, _)| *of).collect();
    assert_eq!(choices, places);
}

#[test]
fn the_schema_has_the_names_that_may_stand_alone() {
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let names = |definition: &str| {
        let kinds = &schema["definitions"][definition];
        let list = kinds["oneOf"].as_array().or(kinds["anyOf"][0]["oneOf"].as_array()).unwrap();
        let names = list.iter().filter_map(|one| Some(one["const"].as_str()?.to_string()));
        names.collect::<BTreeSet<_>>()
    };
    let both = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(names("FlowControl"), both(&["off", "pause", "pfc", "credit", "by_class"]));
    assert!(names("Queueing").contains("crossbar") && names("PathChoice").contains("hash"));
    assert!(!names("PathChoice").contains("flowlet"));
    assert!(names("CarrierText").contains("tcp") && !names("Topology").contains("star"));
}

#[track_caller]
fn refused(text: &str, message: &str, help: &str) {
    let why = load(text, "strict.toml", None).expect_err(text);
    let first = &why.0[0];
    assert!(first.message.contains(message) && first.help.contains(help), "{why}");
}

#[test]
fn a_list_is_no_table() {
    let tables = [
        "simulation = [\"n\", \"d\", \"1 ms\"]\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n",
        "[simulation]\nduration = \"1 ms\"\n[topology]\nstar = [2, \"10 Gb/s\"]\n",
    ];
    for text in tables {
        refused(text, "a list in place of a table", "a table with keys");
    }
    let rest = [
        ("[host]\nreceive = [\"1 us\"]\n", "a list in place of a table"),
        ("[switch]\nbuffer = [\"1 MB\"]\n", "a list in place of a table"),
        ("[switch]\nscheduler = { wrr = [\"equal\"] }\n", "a list in place of a table"),
        ("[switch]\nqueueing = { crossbar = [2] }\n", "a list in place of a table"),
        ("[switch]\nqueue_managers = [[[3]]]\n", "a list in place of a table"),
        ("[flow_control]\npfc = [[3]]\n", "a list in place of a table"),
        ("[switch]\nqueueing = [\"output\"]\n", "where a choice belongs"),
    ];
    for (table, message) in rest {
        refused(&text(&format!("{table}#@"), ""), message, "expected");
    }
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nsource = \"greedy\"\n";
    refused(&text(&format!("{flow}script = [[\"1 us\", true]]\n"), ""), "a list in place of a table", "keys");
    let flows = "flows = [[\"f\", \"h0\", \"h1\"]]\n[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n";
    refused(flows, "a list in place of a table", "keys");
}

#[test]
fn a_list_of_a_fixed_length_has_it() {
    let dcbx = |ets: &str| {
        format!(
            "flow_control = \"pfc\"\n[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 4\nrate = \"10 Gb/s\"\nphy = \"none\"\n\
             [host.dcbx]\n[switch.dcbx]\nets = {{ willing = false, own = {{ {ets} }} }}\n"
        )
    };
    refused(
        &dcbx("classes = [0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7]"),
        "a list of 16 entries",
        "expected 8",
    );
    refused(&dcbx("classes = [0, 0, 0, 0, 0, 0, 0, 0, \"x\"]"), "a list of 9 entries", "expected 8");
    refused(&dcbx("classes = [0, 0, 0]"), "invalid length 3", "8");
    refused(&dcbx("percent = [10, 10, 10, 10, 10, 10, 10, 10, 20]"), "9 entries", "at most 8");
}

#[test]
fn an_application_has_one_priority() {
    let text = |second: u32| {
        format!(
            "flow_control = \"pfc\"\n[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 4\nrate = \"10 Gb/s\"\nphy = \"none\"\n\
             [switch.dcbx]\n[host.dcbx]\napplications = [{{ selector = \"dscp\", protocol = 9, priority = 1 }}, {{ selector = \"dscp\", protocol = {second}, priority = 2 }}]\n"
        )
    };
    assert!(load(&text(10), "x.toml", None).is_ok());
    refused(&text(9), "entries 0 and 1 name the same application", "one priority for each");
}

#[test]
fn names_of_any_length_make_short_messages() {
    for length in [400, 1_000_000] {
        let name = "h".repeat(length);
        let flow = format!("[[flows]]\nname = \"f\"\nfrom = \"{name}\"\nto = \"h1\"\nsource = \"greedy\"\n");
        let why = load(&text(&flow, ""), "long.toml", None).unwrap_err();
        assert!(why.to_string().len() < 2_000 && why.0[0].message.contains("bytes]"), "{why}");
    }
}

#[test]
fn priorities_of_a_file_are_used() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(directory.join("used.csv"), "time_us,from,to,bytes,priority\n0,h1,h0,1000000,3\n")
        .unwrap();
    let text = |priority: u32| {
        format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 5\nrate = \"100 Gb/s\"\nphy = \"none\"\n[flow_control.pfc]\n\
             priorities = [{priority}]\n[[transfers]]\nname = \"file\"\narrivals = {{ file = \"used.csv\" }}\n"
        )
    };
    let warnings = |priority| load(&text(priority), "used.toml", Some(directory)).unwrap().warnings;
    assert!(warnings(3).is_empty(), "{:?}", warnings(3));
    let found = warnings(4);
    assert!(
        found[0].message.contains("no flow uses it") && found[0].help.contains("priority 3"),
        "{found:?}"
    );
}
