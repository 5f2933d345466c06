//! Every key of every mechanism, and the condition under which it has an effect.
//!
//! The keys are those of the JSON Schema: a new key fails the test until it has a row here. A key with a condition has
//! a row with a scenario. Without the condition there must be a warning or an error, and with it none.

use scenario::{Diagnostic, JSON_SCHEMA, load};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The table of all keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    always: BTreeMap<String, String>,
    needs: Vec<Row>,
}

/// A key and the condition under which it has an effect.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    key: String,
    text: String,
    with: String,
    #[serde(default)]
    without: String,
    #[serde(default)]
    says: String,
}

impl Row {
    fn definition_and_key(&self) -> (&str, &str) {
        self.key.split_once('.').unwrap()
    }
}

fn table() -> Table {
    toml::from_str(include_str!("unused.toml")).unwrap()
}

/// Returns the keys by the definition that declares them.
fn declared() -> BTreeMap<String, Vec<String>> {
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let mut found = BTreeMap::new();
    let mut root = schema.clone();
    root.as_object_mut().unwrap().remove("definitions");
    collect("Model", &root, &mut found);
    for (name, definition) in schema["definitions"].as_object().unwrap() {
        collect(name, definition, &mut found);
    }
    found
}

fn collect(name: &str, value: &Value, found: &mut BTreeMap<String, Vec<String>>) {
    match value {
        Value::Object(object) => {
            for key in
                object.get("properties").and_then(Value::as_object).into_iter().flat_map(|keys| keys.keys())
            {
                let keys = found.entry(name.to_string()).or_default();
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
            }
            object.values().for_each(|inner| collect(name, inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| collect(name, inner, found)),
        _ => {}
    }
}

#[test]
fn every_key_has_a_place_in_the_table() {
    let table = table();
    let always =
        table.always.iter().flat_map(|(of, keys)| keys.split_whitespace().map(move |key| (of.as_str(), key)));
    let always: Vec<(&str, &str)> = always.collect();
    let mut known: BTreeSet<(&str, &str)> = always.iter().copied().collect();
    assert_eq!(known.len(), always.len(), "a key stands there twice");
    for row in &table.needs {
        assert!(!always.contains(&row.definition_and_key()), "{} matters always, and has a row", row.key);
        known.insert(row.definition_and_key());
    }
    let declared = declared();
    let declared: BTreeSet<(&str, &str)> = declared
        .iter()
        .flat_map(|(of, keys)| keys.iter().map(move |key| (of.as_str(), key.as_str())))
        .collect();
    let missing: Vec<_> = declared.difference(&known).collect();
    assert!(missing.is_empty(), "keys without a place in unused.toml: {missing:?}");
    let gone: Vec<_> = known.difference(&declared).collect();
    assert!(gone.is_empty(), "no keys: {gone:?}");
}

/// Returns the scenario of a row, with or without the condition of the key.
fn text(row: &Row, with: bool) -> String {
    let own = row.text.replace('@', if with { &row.with } else { &row.without });
    let mut text = String::new();
    for (table, usual) in [
        ("flow_control", ""),
        ("[simulation]", "[simulation]\nduration = \"1 ms\"\n"),
        ("[topology", "[topology.star]\nhosts = 4\nrate = \"10 Gb/s\"\n"),
    ] {
        if !own.contains(table) {
            text += usual;
        }
    }
    // Keys at the root of the file come first.
    let (first, rest): (Vec<&str>, Vec<&str>) =
        own.lines().partition(|line| line.starts_with("flow_control ="));
    text = first.join("\n") + "\n" + &text + &rest.join("\n") + "\n";
    if !own.contains("[[flows]]") && !own.contains("[[transfers]]") {
        text += "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h3\"\npriority = 3\nsource = \"greedy\"\n";
    }
    text
}

fn findings(text: &str) -> Vec<Diagnostic> {
    match load(text, "unused.toml", Some(beside())) {
        Ok(scenario) => scenario.warnings,
        Err(why) => why.0,
    }
}

#[test]
fn a_key_without_what_it_needs_is_told_of() {
    let mut wrong = Vec::new();
    let rows = table().needs;
    for row in &rows {
        let (_, key) = row.definition_and_key();
        let says =
            if row.says.is_empty() { format!("`{key}` changes nothing here") } else { row.says.clone() };
        let is_it = |one: &Diagnostic| format!("{} {}", one.message, one.help).contains(&says);
        let without = findings(&text(row, false));
        match without.iter().find(|one| is_it(one)) {
            None => wrong.push(format!(
                "{}: no warning without {:?}: {without:?}\n{}",
                row.key,
                row.with,
                text(row, false)
            )),
            Some(one) if one.help.is_empty() => wrong.push(format!("{}: no help", row.key)),
            // The position must be that of the key, its table or the erroneous part of it.
            Some(one) if one.line == 0 => wrong.push(format!("{}: nowhere", row.key)),
            Some(_) => {}
        }
        let with = text(row, true);
        match load(&with, "unused.toml", Some(beside())) {
            Err(why) => wrong.push(format!("{}: {why}\n{with}", row.key)),
            Ok(scenario) if scenario.warnings.iter().any(is_it) => {
                wrong.push(format!("{}: a warning with {:?}\n{with}", row.key, row.with));
            }
            Ok(scenario) => {
                // The effective scenario causes the same warnings.
                let again = load(&scenario.effective_toml(), "unused.toml", Some(beside())).unwrap();
                let words =
                    |all: &[Diagnostic]| all.iter().map(|one| one.message.clone()).collect::<BTreeSet<_>>();
                if words(&again.warnings) != words(&scenario.warnings) {
                    wrong.push(format!(
                        "{}: {:?} written out, {:?} before",
                        row.key, again.warnings, scenario.warnings
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n\n"));
}

/// Returns the folder of the files that scenarios of the table name.
fn beside() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it"))
}
