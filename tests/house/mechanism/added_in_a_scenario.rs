//! What was added to this copy of the tree loads, runs, and says what is wrong with its keys.

const SCENARIO: &str = include_str!("added.toml");

#[test]
fn all_that_has_keys_runs_in_a_scenario() {
    let scenario = scenario::load(SCENARIO, "added.toml", None).unwrap();
    let effective = scenario.effective_toml();
    let table = "[switch.scheduler.turns]\nweights = [1, 1, 1, 1, 1, 1, 1, 3]\nmost = \"16 KiB\"\nnext = \"higher\"\n";
    assert!(effective.contains(table), "{effective}");
    let mut simulation = fabric::Simulation::new(&scenario.spec).unwrap();
    while simulation.advance(100_000).unwrap() == fabric::State::Running {}
    let tables = simulation.tables();
    let numbers = |table: &str, column: &str| {
        let table = tables.iter().find(|one| one.name == table).unwrap();
        let column = table.columns.iter().find(|one| one.name == column).unwrap();
        let measure::Values::Integer(values) = &column.values else { panic!("{:?}", column.values) };
        values.clone()
    };
    let frames = numbers("flows", "frames_delivered");
    let ratio = frames[1] as f64 / frames[0] as f64;
    assert!((ratio - 3.0).abs() < 0.1, "{frames:?}");
    assert_eq!(scenario.spec.links.len(), 7, "a mesh");
    assert!(!numbers("transfers", "bytes").is_empty());
    let marks: i64 = numbers("queues", "marks").iter().map(|&marks| marks as i64).sum();
    assert!((frames[2] as i64 / 4 - marks).abs() <= 2, "{marks} of {}", frames[2]);
}

#[test]
fn its_wrong_inputs_end_at_their_place() {
    let wrong = |from: &str, to: &str| {
        let text = SCENARIO.replace(from, to);
        let why = scenario::load(&text, "added.toml", None).unwrap_err();
        (why.0[0].line, why.0[0].column, format!("{}; {}", why.0[0].message, why.0[0].help))
    };
    let (line, column, text) = wrong("next = \"higher\"", "next = \"highest\"");
    assert_eq!((line, column), (11, 8));
    assert!(text.contains("did you mean \"higher\"?"), "{text}");
    let (line, column, text) = wrong("next =", "most = \"0 B\"\nnext =");
    assert_eq!((line, column), (11, 8));
    assert!(text.contains("a turn of 0 B; accepted is"), "{text}");
    let (line, _, text) = wrong("next =", "nxt =");
    assert_eq!(line, 11);
    assert!(text.contains("unknown key `nxt`; expected one of weights, most, next; did you mean next?"), "{text}");
    let (line, column, text) = wrong("every = 4", "every = 0");
    assert_eq!((line, column), (18, 17));
    assert!(text.contains("one of 0 frames; expected at least 1"), "{text}");
    let (line, column, text) = wrong("switches = 2", "switches = 1");
    assert_eq!((line, column), (5, 12));
    assert!(text.contains("switches = 1 is too small; expected at least 2"), "{text}");
    let (line, _, text) = wrong("\"photos\"\narrivals", "\"photo\"\narrivals");
    assert_eq!(line, 46);
    assert!(text.contains("did you mean \"photos\"?"), "{text}");
    let schema = scenario::json_schema();
    std::fs::write(env!("SCHEMA"), &schema).unwrap();
    assert!(schema.contains("Bytes (DA to FCS) after which a turn ends."));
}
