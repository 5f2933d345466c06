//! Text about a mechanism in `penstock explain` and in the documentation: the module comment of its file, and the
//! descriptions of its keys in the JSON Schema.

use serde_json::{Value, json};

/// Description of a mechanism: kind, name in scenarios, source text of its file, definition of its keys.
type Page = (&'static str, &'static str, &'static str, &'static str);

/// Returns all mechanisms as JSON.
pub fn describe() -> String {
    let schema: Value = serde_json::from_str(scenario::JSON_SCHEMA).unwrap_or_default();
    let schedulers = scheduling::PAGES.iter().map(|&(name, text, keys)| ("scheduler", name, text, keys));
    let controls = flow_control::PAGES.iter().map(|&(name, text, keys)| ("flow control", name, text, keys));
    let queueing = queueing::PAGES.iter().map(|&(name, text, keys)| ("queueing", name, text, keys));
    let arrivals =
        workload::ARRIVAL_PAGES.iter().map(|&(name, text, keys)| ("arrival process", name, text, keys));
    let endpoints = transport::ENDPOINT_PAGES.iter().map(|&(name, text)| ("endpoint", name, text, ""));
    let controllers = transport::CONTROLLER_PAGES.iter().map(|&(name, text)| ("controller", name, text, ""));
    let applications =
        transport::APPLICATION_PAGES.iter().map(|&(name, text)| ("application", name, text, ""));
    let rdma_controls = transport::RDMA_CONTROL_PAGES
        .iter()
        .map(|&(name, text, keys)| ("congestion control of RDMA", name, text, keys));
    let uet_controls = transport::UET_CONTROL_PAGES
        .iter()
        .map(|&(name, text, keys)| ("congestion control of UET", name, text, keys));
    let rdma_repairs =
        transport::RDMA_RECOVERY_PAGES.iter().map(|&(name, text, keys)| ("loss recovery", name, text, keys));
    let repairs = transport::REPAIR_PAGES.iter().map(|&(name, text)| ("loss recovery", name, text, ""));
    let rdma_ends = transport::RDMA_PAGES.iter().map(|&(name, text, keys)| ("endpoint", name, text, keys));
    let paths = transport::PATH_SELECTION_PAGES
        .iter()
        .map(|&(name, text, keys)| ("path selection", name, text, keys));
    let (name, text, keys) = transport::MRC_PAGE;
    let mrc = [("endpoint", name, text, keys)];
    let of_rdma =
        rdma_controls.chain(rdma_repairs).chain(paths).chain(rdma_ends).chain(uet_controls).chain(mrc);
    let transports = endpoints.chain(controllers).chain(repairs).chain(of_rdma).chain(applications);
    let pages: Vec<Page> =
        schedulers.chain(controls).chain(queueing).chain(arrivals).chain(transports).collect();
    Value::Array(pages.iter().map(|page| page_of(page, &schema)).collect()).to_string()
}

fn page_of(&(kind, name, text, keys): &Page, schema: &Value) -> Value {
    let paragraphs = paragraphs(text);
    let (heading, rest) =
        paragraphs.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let labelled = |label: &str| {
        let found = rest.iter().find_map(|paragraph| paragraph.strip_prefix(label));
        found.map(|text| text.trim().to_string())
    };
    let summary: Vec<&String> =
        rest.iter().filter(|p| !p.starts_with("Not modelled:") && !p.starts_with("Source:")).collect();
    let not_modelled: Vec<String> = labelled("Not modelled:").into_iter().collect();
    json!({
        "kind": kind,
        "name": name,
        "title": heading.trim_end_matches(['.', ':']),
        "summary": summary,
        "source": labelled("Source:"),
        "not_modelled": not_modelled,
        "parameters": of_both_parts(text, keys).flat_map(|keys| parameters(schema, keys)).collect::<Vec<_>>(),
    })
}

/// Splits a module comment into paragraphs and list entries. Lines are joined, except those of a table.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("- ") {
            paragraphs.push(String::new());
        }
        if let Some(last) = paragraphs.last_mut() {
            let joint = if line.starts_with('|') { "\n" } else { " " };
            *last = format!("{last}{joint}{line}").trim().to_string();
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Returns the definitions of a mechanism's keys: those of the switch part, and of the host part if one file has both.
fn of_both_parts<'a>(text: &'a str, keys: &'a str) -> impl Iterator<Item = &'a str> {
    let host = queueing::RATE_CONTROL_PAGES.iter().filter(move |page| page.1 == text).map(|page| page.2);
    std::iter::once(keys).chain(host)
}

fn parameters(schema: &Value, definition: &str) -> Vec<Value> {
    let definitions = schema.get("definitions").or_else(|| schema.get("$defs"));
    let properties = definitions.and_then(|all| all[definition]["properties"].as_object());
    let of = |(name, property): (&String, &Value)| json!({"name": name, "meaning": property["description"], "default": property["default"]});
    properties.map_or(Vec::new(), |properties| properties.iter().map(of).collect())
}
