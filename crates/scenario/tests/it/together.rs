//! Sources of a host that together exceed the rate of its link.

use scenario::load;

const HEAD: &str = r#"
[simulation]
duration = "1 ms"

[topology.star]
hosts = 4
rate = "10 Gb/s"
length = "10 m"
phy = "none"
"#;

/// Returns the warnings about these sources, given by name, sender, source, and further keys.
fn warnings(flows: &[(&str, &str, &str)]) -> Vec<String> {
    let entries = flows.iter().enumerate().map(|(nth, (from, source, more))| {
        format!("[[flows]]\nname = \"f{nth}\"\nfrom = {from}\nto = \"h3\"\nsource = {source}\n{more}\n")
    });
    let text: String = std::iter::once(HEAD.to_string()).chain(entries).collect();
    let warnings = load(&text, "together.toml", None).expect("a scenario").warnings;
    warnings.into_iter().map(|warning| warning.message).collect()
}

const SIX: &str = "{ constant = { rate = \"6 Gb/s\" } }";
const FOUR: &str = "{ poisson = { rate = \"4 Gb/s\" } }";
const HOST: &str = "\"h0\"";

#[test]
fn two_that_fill_a_link_are_none_too_many() {
    assert_eq!(warnings(&[(HOST, SIX, ""), (HOST, FOUR, "")]), [""; 0]);
}

#[test]
fn the_one_that_is_too_much_is_named() {
    let found = warnings(&[("[\"h1\", \"h0\"]", SIX, ""), (HOST, FOUR, ""), (HOST, FOUR, "priority = 3")]);
    assert_eq!(found, ["with this source \"h0\" sends 14 Gb/s, but its link has 10 Gb/s"]);
}

#[test]
fn only_what_is_sent_at_one_time_adds_up() {
    let cases = [
        ("stop = \"500 us\"", "start = \"500 us\"", 0),
        ("stop = \"501 us\"", "start = \"500 us\"", 1),
        ("script = [{ at = \"50 us\", stop = true }]", "start = \"50 us\"", 0),
        ("script = [{ at = \"400 us\", start = true, rate = \"1 Gb/s\" }]", "start = \"500 us\"", 0),
        ("script = [{ at = \"600 us\", start = true, rate = \"1 Gb/s\" }]", "start = \"500 us\"", 1),
    ];
    for (first, second, messages) in cases {
        assert_eq!(warnings(&[(HOST, SIX, first), (HOST, SIX, second)]).len(), messages, "{first}");
    }
}

#[test]
fn sources_count_what_they_send_in_the_mean() {
    let on_off = |peak: &str| {
        format!(
            "{{ on_off = {{ peak = \"{peak}\", on = {{ exponential = \"10 us\" }}, off = {{ exponential = \"10 us\" }} }} }}"
        )
    };
    assert_eq!(warnings(&[(HOST, SIX, ""), (HOST, "\"greedy\"", "")]).len(), 0, "it takes what is left");
    assert_eq!(warnings(&[(HOST, SIX, ""), (HOST, &on_off("8 Gb/s"), "")]).len(), 0);
    assert_eq!(warnings(&[(HOST, SIX, ""), (HOST, &on_off("9 Gb/s"), "")]).len(), 1);
    let alone = warnings(&[(HOST, SIX, ""), (HOST, "{ constant = { rate = \"14 Gb/s\" } }", "")]);
    assert_eq!(alone, ["the source sends 14 Gb/s, but the link of \"h0\" has 10 Gb/s"]);
}
