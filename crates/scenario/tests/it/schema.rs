//! The JSON Schema describes every key, and never accepts a bare number in place of a quantity with a unit.

use serde_json::Value;

/// Keys whose values are counts, probabilities or shapes: numbers without a unit.
const NUMBERS: &[&str] = &[
    "psn_range",
    "connections",
    "reserve",
    "min_active",
    "probe_answers",
    "linear_retries",
    "exponential_retries",
    "oversubscription",
    "fair_increase",
    "fast_increase",
    "max_decrease",
    "delay_gain",
    "qa_gate",
    "frames",
    "ranks",
    "group",
    "chunks",
    "root",
    "skew",
    "steps",
    "burst",
    "channels",
    "max_rows",
    "one_in",
    "min_decrease_factor",
    "jitter_share",
    "recovery_cycles",
    "message_priority",
    "alternate_priority",
    "dscp",
    "dscp_to",
    "entropies",
    "explore",
    "rounds",
    "marked_share",
    "dscp_to_tc",
    "path_weights",
    "pfc_to_queue",
    "pfc_to_group",
    "scaling",
    "beta",
    "gain",
    "duplicates",
    "ack_every",
    "outstanding",
    "cores",
    "interrupt_frames",
    "index",
    "bit_error_rate",
    "pause_loss",
    "frame_loss",
    "seed",
    "hosts",
    "left",
    "right",
    "switches",
    "hosts_per_switch",
    "leaves",
    "spines",
    "hosts_per_leaf",
    "segments",
    "servers_per_segment",
    "rails",
    "planes",
    "switches_per_group",
    "global_links",
    "groups",
    "q",
    "dimensions",
    "k",
    "n",
    "count",
    "queues",
    "priorities",
    "priority",
    "pause_quanta",
    "partners",
    "shift",
    "share",
    "small_share",
    "shape",
    "items",
    "link",
    "weights",
    "weight",
    "entries",
    "class",
    "percent",
    "management",
    "classes",
    "max_probability",
    "every",
    "alpha",
    "g",
    "initial_alpha",
    "threshold",
    "gd",
    "min_factor",
    "first_factor",
    "ewma",
    "patched_beta",
    "fs_min",
    "eta",
    "gamma",
    "base",
    "probability",
    "max_stage",
    "fs_max",
    "outstanding_frames_max",
    "replay_count_max",
    "ai",
    "max_mdf",
    "min_window",
    "ack_priority",
    "cnp_priority",
    "max_reads",
    "receive_queue",
    "rnr_retries",
    "message_rate",
    "contexts",
    "retries",
    "iterations",
    "timeline_rows",
    "compute_jitter",
    "slowdown",
    "speedup",
    "load",
    "path_seed",
    "senders",
    "sigma",
    "ask_every",
    "target_share",
    "equal_gain",
    "growth_gain",
    "length_gain",
    "first_share",
    "every_share",
    "decrease_gain",
    "increase_gain",
    "restart_share",
    "sample_every",
    "near_share",
    "tag_every",
    "initial_share",
    "expected_sources",
    "above_set_point",
    "below_set_point",
    "slope",
    "floor",
    "average_weight",
    "min_increase_share",
    "max_increase_share",
    "min_share",
    "severe_every",
    "traffic_classes",
    "capability",
    "protocol",
    "groups",
];
/// Keys with numbers without a unit, whose names other tables use for keys with other values.
const NUMBERS_OF: &[&str] = &[
    ".ports/0.from",
    ".ports/0.to",
    ".reordering.window",
    ".reordering.distance",
    ".reps.buffer",
    ".ndp.window",
];

struct Walk<'s> {
    root: &'s Value,
    /// Enclosing definitions: the scheduler behind a shaper is a scheduler too.
    inside: Vec<&'s str>,
    problems: Vec<String>,
    leaves: usize,
}

impl<'s> Walk<'s> {
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        match schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
            Some(path) => self.root.pointer(path).unwrap_or_else(|| panic!("no {path}")),
            None => schema,
        }
    }

    fn walk(&mut self, path: &str, key: &str, schema: &'s Value) {
        let Some(definition) = schema["$ref"].as_str() else { return self.walk_in(path, key, schema) };
        if !self.inside.contains(&definition) {
            self.inside.push(definition);
            self.walk_in(path, key, schema);
            self.inside.pop();
        }
    }

    fn walk_in(&mut self, path: &str, key: &str, schema: &'s Value) {
        let resolved = self.resolve(schema);
        if let Some(properties) = resolved["properties"].as_object() {
            for (key, value) in properties {
                let path = format!("{path}.{key}");
                // A choice between tables is described at its key.
                let described =
                    [value, self.resolve(value), resolved].iter().any(|one| one["description"].is_string());
                if !described {
                    self.problems.push(format!("{path} has no description"));
                }
                self.walk(&path, key, value);
            }
        }
        for several in ["anyOf", "oneOf", "allOf"] {
            for (i, one) in resolved[several].as_array().into_iter().flatten().enumerate() {
                self.walk(&format!("{path}/{i}"), key, one);
            }
        }
        for inner in ["items", "additionalProperties"] {
            match &resolved[inner] {
                Value::Array(list) => list.iter().for_each(|one| self.walk(&format!("{path}[]"), key, one)),
                one if one.is_object() => self.walk(&format!("{path}[]"), key, one),
                _ => {}
            }
        }
        let types: Vec<&str> = match &resolved["type"] {
            Value::String(one) => vec![one],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        if types.iter().any(|&one| one == "number" || one == "integer") {
            self.leaves += 1;
            if !NUMBERS.contains(&key) && !NUMBERS_OF.iter().any(|end| path.ends_with(end)) {
                self.problems.push(format!("{path} takes a number without a unit"));
            }
        }
        if types.contains(&"string") {
            self.leaves += 1;
            let names = [
                "name",
                "pattern",
                "trace",
                "description",
                "hosts",
                "switches",
                "between",
                "host",
                "from",
                "to",
                "uniform",
                "multicast",
                "route",
                "empirical",
                "file",
                "points",
                "switch",
                "towards",
                "uplink",
                "link",
                "which",
                "pool",
                "ranks",
                "goal",
                "messages",
                "profile",
                "ports",
            ];
            let says_what = ["pattern", "enum", "const"].iter().any(|says| !resolved[says].is_null());
            if !says_what && !names.contains(&key) {
                self.problems.push(format!("{path} takes any text"));
            }
        }
    }
}

#[test]
fn every_key_is_described_and_every_quantity_has_a_unit() {
    let schema: Value = serde_json::from_str(scenario::JSON_SCHEMA).unwrap();
    let mut walk = Walk { root: &schema, inside: Vec::new(), problems: Vec::new(), leaves: 0 };
    walk.walk("", "", &schema);
    assert!(walk.problems.is_empty(), "{:#?}", walk.problems);
    assert!(walk.leaves > 80, "{} leaves", walk.leaves);
}

#[test]
fn defaults_and_units_are_in_the_schema() {
    let schema: Value = serde_json::from_str(scenario::JSON_SCHEMA).unwrap();
    let flow = &schema["definitions"]["Flow"]["properties"];
    assert_eq!(flow["frame"]["default"], "1522 B");
    assert_eq!(flow["limit"]["default"], "unlimited");
    assert_eq!(schema["definitions"]["Simulation"]["properties"]["warmup"]["default"], "0 s");
    let pattern = schema["definitions"]["Star"]["properties"]["rate"]["pattern"].as_str().unwrap();
    assert!(pattern.contains("Gb/s"), "{pattern}");
    assert_eq!(schema["definitions"]["SwitchSettings"]["properties"]["latency"]["default"], "0 s");
    assert_eq!(schema["required"], serde_json::json!(["simulation", "topology"]));
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_key_of_bins_names_its_limits() {
    let schema: Value = serde_json::from_str(scenario::JSON_SCHEMA).unwrap();
    let bin = schema["definitions"]["Probes"]["properties"]["bin"]["description"].as_str().unwrap();
    let kept = format!("the {} busiest series are kept", fabric::MAX_SERIES);
    let together = format!("at most {} bins together", fabric::MAX_BINS);
    let memory = format!("more than {} MiB is not recorded", fabric::SERIES_MEMORY >> 20);
    assert!([kept, together, memory].iter().all(|part| bin.contains(part)), "{bin}");
}

/// The text of a key says the default that the key has: what follows "Default: ", if that is a value.
#[test]
fn descriptions_say_the_defaults_that_hold() {
    fn walk(value: &Value, compared: &mut usize, wrong: &mut Vec<String>) {
        if let (Some(text), Some(default)) = (value["description"].as_str(), value.get("default"))
            && let Some((_, text)) = text.split_once("Default: ")
        {
            let (what, mut rest) = (default.to_string(), text.to_string());
            // The text may write a number differently than JSON does.
            if let (Some(number), Ok(written)) = (default.as_f64(), first_word(text).parse::<f64>()) {
                rest = if number == written { what.clone() } else { rest };
            }
            let is_value =
                rest.starts_with(['"', 't', 'f']) || rest.starts_with(|c: char| c.is_ascii_digit());
            if is_value && !default.is_null() {
                *compared += 1;
                if !rest.starts_with(&what) {
                    wrong.push(format!("{text}\n  but it is {what}"));
                }
            }
        }
        match value {
            Value::Object(table) => table.values().for_each(|inner| walk(inner, compared, wrong)),
            Value::Array(list) => list.iter().for_each(|inner| walk(inner, compared, wrong)),
            _ => {}
        }
    }
    fn first_word(text: &str) -> &str {
        text.split([' ', '(']).next().unwrap_or_default().trim_end_matches('.')
    }
    let schema: Value = serde_json::from_str(scenario::JSON_SCHEMA).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    walk(&schema, &mut compared, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 80, "{compared} defaults");
}
