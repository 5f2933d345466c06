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
        let table = tables.iter().find(|one| one.spec.name == table).unwrap();
        match table.values(column) {
            Some(measure::Values::Integer(values)) => values.clone(),
            other => panic!("{column}: {other:?}"),
        }
    };
    let frames = numbers("flows", "frames_delivered");
    let ratio = frames[1] as f64 / frames[0] as f64;
    assert!((ratio - 3.0).abs() < 0.1, "{frames:?}");
    assert_eq!(scenario.spec.links.len(), 7, "a mesh");
    assert!(!numbers("transfers", "bytes").is_empty());
    let queues = tables.iter().find(|one| one.spec.name == "queues").unwrap();
    let Some(measure::Values::Real(means)) = queues.values("frame_bytes_mean") else { panic!("no such column") };
    let bytes = numbers("queues", "bytes");
    let expected = bytes.iter().zip(numbers("queues", "frames")).map(|(&bytes, frames)| bytes as f64 / frames as f64);
    assert!(means.iter().copied().eq(expected), "{means:?}");
    let marks: i64 = numbers("queues", "marks").iter().map(|&marks| marks as i64).sum();
    assert!((frames[2] as i64 / 4 - marks).abs() <= 2, "{marks} of {}", frames[2]);
    // 1 Gb/s in pairs of 1522 B; a ping each 20 us.
    assert!((80..=84).contains(&frames[3]), "{frames:?}");
    assert!((45..=50).contains(&frames[4]), "{frames:?}");
    // 2 Gb/s of packets of 1024 B and their headers.
    let bytes = numbers("flows", "bytes_delivered");
    assert!((240_000..=252_000).contains(&bytes[5]), "{bytes:?}");
    // 12 Gb/s for one link of 10 Gb/s: what does not fit goes on without its payload, and nothing is lost.
    for flow in [6, 7] {
        let mean = bytes[flow] / frames[flow];
        assert!((1_100..=1_400).contains(&mean), "{mean} B");
        assert!(frames[flow] + 12 > numbers("flows", "frames_sent")[flow], "{frames:?}");
    }
    // Five requests of one frame each, and their responses over the new transport.
    assert_eq!(frames[8], 5);
    assert_eq!(numbers("connections", "exchanges").last(), Some(&5));
    assert!(effective.contains("[flow_control.stop_go]\nstop = \"30 frames\"\ngo = \"20 frames\"\n"), "{effective}");
    assert!(numbers("ports", "pauses_received").iter().sum::<u64>() > 0, "two fill one link");
}

#[test]
fn its_wrong_inputs_end_at_their_place() {
    let wrong = |from: &str, to: &str| {
        let text = SCENARIO.replace(from, to);
        let why = scenario::load(&text, "added.toml", None).unwrap_err();
        (why.0[0].line, why.0[0].column, format!("{}; {}", why.0[0].message, why.0[0].help))
    };
    let (line, column, text) = wrong("next = \"higher\"", "next = \"highest\"");
    assert_eq!((line, column), (14, 8));
    assert!(text.contains("did you mean \"higher\"?"), "{text}");
    let (line, column, text) = wrong("next =", "most = \"0 B\"\nnext =");
    assert_eq!((line, column), (14, 8));
    assert!(text.contains("a turn of 0 B; accepted is"), "{text}");
    let (line, _, text) = wrong("next =", "nxt =");
    assert_eq!(line, 14);
    assert!(text.contains("unknown key `nxt`; expected one of weights, most, next; did you mean next?"), "{text}");
    let (line, column, text) = wrong("every = 4", "every = 0");
    assert_eq!((line, column), (21, 17));
    assert!(text.contains("one of 0 frames; expected at least 1"), "{text}");
    let (line, column, text) = wrong("stop = \"30", "go = \"30 frames\"\nstop = \"30");
    assert_eq!((line, column), (10, 6));
    assert!(text.contains("go 30 frames is not below stop 30 frames"), "{text}");
    let (line, _, text) = wrong("[flow_control.stop_go]", "[flow_control.stop_and_go]");
    assert_eq!(line, 9);
    assert!(text.contains("stop_go"), "{text}");
    let (line, _, text) = wrong("pairs = { rate = \"1 Gb/s\" }", "pairs = { rate = \"0 b/s\" }");
    assert_eq!(line, 49);
    assert!(text.contains("the rate of a source is 0"), "{text}");
    let (line, _, text) = wrong("timeout = \"200 us\"", "timeout = \"0 s\"");
    assert_eq!(line, 93);
    assert!(text.contains("a timeout of 0"), "{text}");
    let (line, _, text) = wrong("\"20 us\"", "\"0 us\"");
    assert_eq!(line, 56);
    assert!(text.contains("no time between"), "{text}");
    let (line, column, text) = wrong("switches = 2", "switches = 1");
    assert_eq!((line, column), (5, 12));
    assert!(text.contains("switches = 1 is too small; expected at least 2"), "{text}");
    let (line, _, text) = wrong("\"photos\"\narrivals", "\"photo\"\narrivals");
    assert_eq!(line, 84);
    assert!(text.contains("did you mean \"photos\"?"), "{text}");
    let schema = scenario::json_schema();
    std::fs::write(env!("SCHEMA"), &schema).unwrap();
    assert!(schema.contains("Bytes (DA to FCS) after which a turn ends."));
}
