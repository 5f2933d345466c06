//! A scheduler that was added to this copy of the tree loads, runs, and says what is wrong with its keys.

const SCENARIO: &str = include_str!("turns.toml");

#[test]
fn a_scheduler_with_three_keys_runs_in_a_scenario() {
    let scenario = scenario::load(SCENARIO, "turns.toml", None).unwrap();
    let effective = scenario.effective_toml();
    let table = "[switch.scheduler.turns]\nweights = [1, 1, 1, 1, 1, 1, 1, 3]\nmost = \"16 KiB\"\nnext = \"higher\"\n";
    assert!(effective.contains(table), "{effective}");
    let mut simulation = fabric::Simulation::new(&scenario.spec).unwrap();
    while simulation.advance(100_000).unwrap() == fabric::State::Running {}
    let tables = simulation.tables();
    let flows = tables.iter().find(|table| table.name == "flows").unwrap();
    let column = flows.columns.iter().find(|column| column.name == "frames_delivered").unwrap();
    let measure::Values::Integer(frames) = &column.values else { panic!("{:?}", column.values) };
    let ratio = frames[1] as f64 / frames[0] as f64;
    assert!((ratio - 3.0).abs() < 0.1, "{frames:?}");
}

#[test]
fn its_wrong_inputs_end_at_their_place() {
    let wrong = |from: &str, to: &str| {
        let text = SCENARIO.replace(from, to);
        let why = scenario::load(&text, "turns.toml", None).unwrap_err();
        (why.0[0].line, why.0[0].column, format!("{}; {}", why.0[0].message, why.0[0].help))
    };
    let (line, column, text) = wrong("next = \"higher\"", "next = \"highest\"");
    assert_eq!((line, column), (10, 8));
    assert!(text.contains("did you mean \"higher\"?"), "{text}");
    let (line, column, text) = wrong("next =", "most = \"0 B\"\nnext =");
    assert_eq!((line, column), (10, 8));
    assert!(text.contains("a turn of 0 B; accepted is"), "{text}");
    let (line, _, text) = wrong("next =", "nxt =");
    assert_eq!(line, 10);
    assert!(text.contains("unknown key `nxt`; expected one of weights, most, next; did you mean next?"), "{text}");
    let schema = scenario::json_schema();
    assert!(schema.contains("Bytes (DA to FCS) after which a turn ends."));
}
