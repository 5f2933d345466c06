//! Deadlocks and pause storms: keys, defaults and the warning before the run.

use fabric::spec::OnDeadlock;
use flow_control::watchdog::StormAction;
use units::Time;

fn ring(flow: &str, more: &str) -> String {
    format!(
        "{more}\n[topology.ring]\nswitches = 4\nhosts_per_switch = 1\nrate = \"10 Gb/s\"\nphy = \"none\"\n[flow_control.pfc]\n{flow}\n"
    )
}

const SIMULATION: &str = "[simulation]\nduration = \"1 ms\"\n";

fn clockwise() -> String {
    (0..4)
        .map(|i| {
            let (b, c) = ((i + 1) % 4, (i + 2) % 4);
            format!(
                "[[flows]]\nname = \"f{i}\"\nfrom = \"h{i}.0\"\nto = \"h{c}.0\"\nsource = \"greedy\"\n\
                 route = [\"sw{i}\", \"sw{b}\", \"sw{c}\", \"h{c}.0\"]\n"
            )
        })
        .collect()
}

#[test]
fn routes_that_can_deadlock_are_warned_of_before_the_run() {
    let loaded = scenario::load(&ring(&clockwise(), SIMULATION), "ring.toml", None).unwrap();
    let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    let text = warning.render(false);
    assert!(text.contains("these routes can deadlock: sw0.1->sw1/0 waits for sw1.2->sw2/0"), "{text}");
    // Three of the four flows do not form a cycle.
    let three = clockwise();
    let three = &three[..three.find("[[flows]]\nname = \"f3\"").unwrap()];
    let loaded = scenario::load(&ring(three, SIMULATION), "ring.toml", None).unwrap();
    assert_eq!(loaded.warnings, []);
}

#[test]
fn guards_have_defaults() {
    let loaded = scenario::load(&ring(&clockwise(), SIMULATION), "ring.toml", None).unwrap();
    let guards = &loaded.spec.guards;
    assert_eq!((guards.on_deadlock, guards.deadlock_interval), (OnDeadlock::Stop, Time::from_us(100)));
    assert_eq!(guards.watchdog, None);
    let counted = format!("{SIMULATION}on_deadlock = \"count\"\ndeadlock_interval = \"7 us\"\n[watchdog]\n");
    let loaded = scenario::load(&ring(&clockwise(), &counted), "ring.toml", None).unwrap();
    let guards = &loaded.spec.guards;
    assert_eq!((guards.on_deadlock, guards.deadlock_interval), (OnDeadlock::Count, Time::from_us(7)));
    let watchdog = guards.watchdog.unwrap();
    assert_eq!((watchdog.detection, watchdog.restoration), (Time::from_ms(200), Time::from_ms(200)));
    assert_eq!(watchdog.action, StormAction::Drop);
    let text = loaded.effective_toml();
    assert!(
        text.contains(
            "[watchdog]\ndetection_time = \"200 ms\"\nrestoration_time = \"200 ms\"\naction = \"drop\""
        ),
        "{text}"
    );
    let again = scenario::load(&text, "ring.toml", None).unwrap();
    assert_eq!(again.spec.guards.watchdog, Some(watchdog));
}

#[test]
fn a_watchdog_that_cannot_bark_is_warned_of() {
    let warnings = |text: &str| {
        let loaded = scenario::load(text, "x.toml", None).unwrap();
        loaded.warnings.iter().map(|warning| warning.render(false)).collect::<String>()
    };
    let off = ring(&clockwise(), &format!("{SIMULATION}[watchdog]\ndetection_time = \"10 us\"\n"));
    assert!(!warnings(&off).contains("watchdog"));
    assert!(warnings(&off.replace("[flow_control.pfc]\n", "")).contains("no switch has flow control"));
    assert!(warnings(&off.replace("10 us", "10 ms")).contains("no storm will be detected"));
    let zero = scenario::load(&off.replace("10 us", "0 us"), "x.toml", None).unwrap_err();
    assert!(zero.render(false).contains("every pause would be a storm"));
}
