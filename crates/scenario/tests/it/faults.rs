//! Faults and receiving hosts: their specification, and scenarios that must be rejected.

use fabric::spec::{ControlContent, CoreChange, FaultSpec, InterruptSpec, Reaction, Role};
use scenario::{Scenario, load};
use units::{BitRate, Time};

const FABRIC: &str = r#"
[simulation]
duration = "10 ms"
[topology.explicit]
hosts = ["a", "b"]
switches = ["s", "t"]
[[topology.explicit.links]]
between = ["a", "s"]
rate = "10 Gb/s"
phy = "none"
[[topology.explicit.links]]
between = ["t", "b"]
rate = "10 Gb/s"
phy = "none"
[[topology.explicit.links]]
between = ["s", "t"]
rate = "10 Gb/s"
phy = "none"
count = 2
[[flows]]
name = "f"
from = "a"
to = "b"
source = "greedy"
"#;

fn loaded(more: &str) -> Scenario {
    let text = format!("{FABRIC}{more}");
    let first = load(&text, "x.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let effective = first.effective_toml();
    let second = load(&effective, "x.toml", None).unwrap_or_else(|why| panic!("{why}\n{effective}"));
    assert_eq!(format!("{:?}", first.spec), format!("{:?}", second.spec), "{effective}");
    assert_eq!(effective, second.effective_toml());
    first
}

fn faults(more: &str) -> Vec<FaultSpec> {
    loaded(more).spec.faults
}

/// Returns the errors of an entry of faults: the line of each, and the message with its help.
fn refused(more: &str) -> String {
    let text = format!("{FABRIC}{more}");
    let found = load(&text, "x.toml", None).expect_err(more);
    let all: Vec<_> =
        found.errors().map(|one| format!("{}: {} ({})", one.line, one.message, one.help)).collect();
    all.join("\n")
}

#[test]
fn every_kind_of_fault() {
    let ms = Time::from_ms;
    let lost = Reaction { keep: false, reroute: None };
    assert_eq!(
        faults(
            "[[faults]]\nlink = [\"b\", \"t\"]\nat = \"1 ms\"\ndown = true\n[[faults]]\nlink = [\"b\", \"t\"]\nat = \"2 ms\"\nup = true\n"
        ),
        [
            FaultSpec::LinkDown { link: 1, at: ms(1), reaction: lost },
            FaultSpec::LinkUp { link: 1, at: ms(2) }
        ]
    );
    let kept = Reaction { keep: true, reroute: Some(Time::from_us(50)) };
    assert_eq!(
        faults(
            "[[faults]]\nlink = [\"s\", \"t\"]\nindex = 1\nat = \"1 ms\"\ndown = true\nduration = \"1 ms\"\nreroute = true\nwaiting = \"kept\"\n"
        ),
        [
            FaultSpec::LinkDown { link: 3, at: ms(1), reaction: kept },
            FaultSpec::LinkUp { link: 3, at: ms(2) }
        ]
    );
    assert_eq!(
        faults("[[faults]]\nlink = [\"a\", \"s\"]\nat = \"1 ms\"\nrate = \"1 Gb/s\"\n"),
        [FaultSpec::LinkRate { link: 0, towards: None, at: ms(1), rate: BitRate::from_gbps(1) }]
    );
    assert_eq!(
        faults(
            "[[faults]]\nlink = [\"a\", \"s\"]\nbit_error_rate = 1e-9\nuntil = \"5 ms\"\n[[faults]]\nlink = [\"a\", \"s\"]\npause_loss = 0.1\n"
        ),
        [
            FaultSpec::BitErrors { link: 0, from: Time::ZERO, until: ms(5), rate: 1e-9 },
            FaultSpec::PauseLoss { link: 0, from: Time::ZERO, until: ms(10), probability: 0.1 }
        ]
    );
    assert_eq!(faults("[[faults]]\nlink = \"all\"\nbit_error_rate = 1e-9\n").len(), 4);
    assert_eq!(faults("[[faults]]\nlink = \"all\"\nframe_loss = 1e-3\n").len(), 4);
    // Nodes 0 to 3 are a, b, s and t.
    let loss =
        |link, towards, from, until| FaultSpec::FrameLoss { link, towards, from, until, probability: 0.25 };
    assert_eq!(
        faults(
            "[[faults]]\nlink = [\"s\", \"t\"]\nindex = 1\nframe_loss = 0.25\ntowards = \"s\"\n[[faults]]\nlink = [\"s\", \"t\"]\nframe_loss = 0.25\nfrom = \"1 ms\"\nuntil = \"2 ms\"\n"
        ),
        [loss(3, Some(frame::NodeId(2)), Time::ZERO, ms(10)), loss(2, None, ms(1), ms(2))]
    );
    assert_eq!(
        faults(
            "[[faults]]\nswitch = \"s\"\nat = \"1 ms\"\nrestart = \"2 ms\"\nreroute = true\nafter = \"0 s\"\n"
        ),
        [FaultSpec::Restart { node: frame::NodeId(2), at: ms(1), lasts: ms(2), reroute: Some(Time::ZERO) }]
    );
    assert_eq!(
        faults(&format!(
            "{LINK}at = \"1 ms\"\ntowards = \"a\"\ncontrol_frame = \"{PFC} {}\"\n",
            "00".repeat(26)
        )),
        [FaultSpec::ControlFrame {
            link: 0,
            towards: frame::NodeId(0),
            at: ms(1),
            content: ControlContent::Pfc { enabled: 8, quanta: [0, 0, 0, 0xFFFF, 0, 0, 0, 0] }
        }]
    );
    // Too short to be valid, hence without effect.
    let short = faults(&format!("{LINK}at = \"1 ms\"\ntowards = \"a\"\ncontrol_frame = \"{PFC}\"\n"));
    assert!(matches!(short[..], [FaultSpec::ControlFrame { content: ControlContent::Nothing, .. }]));
    assert_eq!(
        faults("[[faults]]\nlink = \"any\"\nmean_time_between = \"1 ms\"\nduration = \"100 us\"\n"),
        [FaultSpec::Random {
            links: vec![0, 1, 2, 3],
            mean_time_between: ms(1),
            lasts: Time::from_us(100),
            reaction: lost
        }]
    );
}

const LINK: &str = "[[faults]]\nlink = [\"a\", \"s\"]\n";
/// A PFC frame for priority 3, without padding.
const PFC: &str = "01:80:c2:00:00:01 020000000001 8808 0101 0008 000000000000ffff0000000000000000";

#[test]
fn what_cannot_go_wrong_that_way() {
    let link = LINK;
    let frame = format!("{link}at = \"1 ms\"\ntowards = \"a\"\n");
    for (text, expected) in [
        (link.to_string(), "a fault without a kind"),
        (format!("{link}at = \"1 ms\"\ndown = true\nup = true\n"), "`up` beside `down`"),
        (format!("{link}down = true\n"), "missing key `at`"),
        (format!("{link}at = \"1 ms\"\nup = true\n"), "is not down"),
        (
            format!("{link}at = \"1 ms\"\ndown = true\n{link}at = \"2 ms\"\ndown = true\n"),
            "down already (by fault number 1",
        ),
        (
            format!("{link}at = \"1 ms\"\nup = true\nuntil = \"2 ms\"\n"),
            "`until` does not belong to `up` (with `up` go link, index, at)",
        ),
        (format!("{link}at = \"1 ms\"\nrate = \"1 b/s\"\n"), "outside the range"),
        (
            format!("{link}at = \"1 ms\"\nrate = \"1 Gb/s\"\n{link}at = \"1 ms\"\nrate = \"2 Gb/s\"\n"),
            "rate twice",
        ),
        (format!("{link}bit_error_rate = 1.5\n"), "not a probability (expected 0 to 1"),
        (format!("{link}pause_loss = nan\n"), "not a probability"),
        (format!("{link}frame_loss = -0.1\n"), "frame_loss -0.1 is not a probability (expected 0 to 1"),
        (format!("{link}frame_loss = \"1 %\"\n"), "invalid type"),
        (format!("{link}frame_los = 0.1\n"), "did you mean frame_loss?"),
        (format!("{frame}control_frame = \"01 8g\"\n"), "'g' at place 5 is not a hexadecimal digit"),
        (format!("{frame}control_frame = \"018\"\n"), "3 hexadecimal digits (expected two for each octet"),
        (format!("{frame}control_frame = \"\"\n"), "0 hexadecimal digits"),
        (format!("{frame}control_frame = \"{}\"\n", "00".repeat(2_001)), "at most 2000 octets"),
        (format!("{frame}control_frame = 1\n"), "invalid type"),
        (format!("{link}at = \"1 ms\"\ncontrol_frame = \"00\"\n"), "missing key `towards`"),
        (format!("{link}towards = \"a\"\ncontrol_frame = \"00\"\n"), "missing key `at`"),
        (
            "[[faults]]\nlink = \"all\"\nat = \"1 ms\"\ntowards = \"a\"\ncontrol_frame = \"00\"\n".into(),
            "does not select a link here",
        ),
        (format!("{link}frame_loss = 0.1\nat = \"1 ms\"\n"), "`at` does not belong to `frame_loss`"),
        (format!("{link}frame_loss = 0.1\npause_loss = 0.1\n"), "`frame_loss` beside `pause_loss`"),
        (format!("{link}pause_loss = 0.1\ntowards = \"a\"\n"), "`towards` does not belong to `pause_loss`"),
        (
            format!("{link}frame_loss = 0.1\ntowards = \"t\"\n"),
            "\"t\" is not an end of the link (expected \"a\" or \"s\"",
        ),
        (
            "[[faults]]\nlink = \"all\"\nframe_loss = 0.1\ntowards = \"s\"\n".into(),
            "`towards` without the names of a link",
        ),
        ("[[faults]]\nlink = \"any\"\nframe_loss = 0.1\n".into(), "does not select a link here"),
        (format!("{link}pause_loss = 0.5\nfrom = \"2 ms\"\nuntil = \"1 ms\"\n"), "expected from < until"),
        (format!("{link}at = \"1 ms\"\ndown = true\nafter = \"1 us\"\n"), "`after` without rerouting"),
        (format!("{link}at = \"1 ms\"\ndown = true\nduration = \"0 s\"\n"), "duration is 0"),
        (format!("{link}mean_time_between = \"1 ns\"\nduration = \"1 ns\"\n"), "expected at most 1000000"),
        (format!("{link}index = 1\nat = \"1 ms\"\ndown = true\n"), "expected 0 to 0"),
        (
            "[[faults]]\nlink = [\"a\", \"t\"]\nat = \"1 ms\"\ndown = true\n".into(),
            "no link between \"a\" and \"t\"",
        ),
        (
            "[[faults]]\nlink = [\"a\", \"x\"]\nat = \"1 ms\"\ndown = true\n".into(),
            "unknown node \"x\" (nodes are a, b, s, t",
        ),
        ("[[faults]]\nlink = \"any\"\nat = \"1 ms\"\ndown = true\n".into(), "does not select a link here"),
        ("[[faults]]\nlink = \"ani\"\nat = \"1 ms\"\ndown = true\n".into(), "unknown value `ani`"),
        (
            "[[faults]]\nswitch = \"a\"\nat = \"1 ms\"\nrestart = \"1 ms\"\n".into(),
            "\"a\" is not a switch (it is a host",
        ),
        ("[[faults]]\nat = \"1 ms\"\nrestart = \"1 ms\"\n".into(), "missing key `switch`"),
        (
            "[faults]\nlink = \"any\"\n".into(),
            "faults is not a list of tables (each fault begins with [[faults]]",
        ),
    ] {
        let found = refused(&text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
    let warned = loaded(&format!("{link}at = \"20 ms\"\ndown = true\n"));
    assert!(warned.warnings[0].message.contains("after the end"), "{:?}", warned.warnings);
}

#[test]
fn receiving_hosts() {
    let receive = |scenario: &Scenario, host: usize| match &scenario.spec.nodes[host].role {
        Role::Host(host) => host.receive.clone(),
        Role::Switch(_) => None,
    };
    assert!(receive(&loaded(""), 0).is_none());
    let scenario = loaded(
        "[hosts.b.receive]\ntime_per_frame = \"1.859 us\"\nscript = [{ at = \"1 ms\", stop = true }, { at = \"2 ms\", start = true, rate = \"4.3 Gb/s\" }]\n",
    );
    assert!(receive(&scenario, 0).is_none());
    let b = receive(&scenario, 1).unwrap();
    assert_eq!((b.time_per_frame, b.rate, b.buffer), (Time::from_ns(1_859), None, Some(262_144)));
    let go_on = CoreChange::Start { time_per_frame: None, rate: Some(BitRate::from_bps(4_300_000_000)) };
    assert_eq!(b.script, [(Time::from_ms(1), CoreChange::Stop), (Time::from_ms(2), go_on)]);
    // One host overrides single keys of the table of all hosts.
    let scenario = loaded(
        "[host.receive]\nrate = \"4 Gb/s\"\nbuffer = \"unlimited\"\ncores = 4\ninterrupt_delay = \"10 us\"\n\
         interrupt_frames = 8\n[hosts.b.receive]\nrate = \"2 Gb/s\"\ninterrupt_time = \"1 us\"\n",
    );
    let (a, b) = (receive(&scenario, 0).unwrap(), receive(&scenario, 1).unwrap());
    let interrupt = |time| InterruptSpec { time, delay: Time::from_us(10), frames: Some(8) };
    assert_eq!((a.cores, a.interrupt), (4, interrupt(Time::ZERO)));
    assert_eq!((b.cores, b.interrupt), (4, interrupt(Time::from_us(1))));
    assert_eq!((a.rate, b.rate, b.buffer), (Some(BitRate::from_gbps(4)), Some(BitRate::from_gbps(2)), None));

    for (text, expected) in [
        ("[host.receive]\nrate = \"0 b/s\"\n", "rate of a receiving host is 0"),
        ("[host.receive]\nbuffer = \"0 B\"\n", "no frame could arrive"),
        ("[host.receive]\ntime_per_frame = \"2 s\"\n", "too long"),
        ("[host.receive]\ncores = 0\n", "cores = 0"),
        ("[host.receive]\ncores = 65\n", "expected 1 to 64"),
        ("[host.receive]\ninterrupt_frames = 0\n", "interrupt_frames = 0"),
        ("[host.receive]\ninterrupt_delay = \"2 s\"\n", "interrupt_delay of 2 s is too long"),
        ("[host.receive]\ninterrupt_time = \"2 s\"\n", "interrupt_time of 2 s is too long"),
        (
            "[host.receive]\nscript = [{ at = \"2 ms\", stop = true }, { at = \"1 ms\", start = true }]\n",
            "before the step above",
        ),
        ("[host.receive]\nscript = [{ at = \"2 ms\" }]\n", "neither start nor stop"),
        (
            "[host.receive]\nscript = [{ at = \"2 ms\", stop = true, rate = \"1 Gb/s\" }]\n",
            "a speed with stop",
        ),
        ("[host.send]\nrate = \"0 b/s\"\n", "rate of a sending host is 0"),
        ("[host.send]\ntime_per_frame = \"2 s\"\n", "2 s for each frame is too long"),
        ("[host.send]\nrate = \"9999999967 b/s\"\n", "no exact byte time"),
        ("[host.send]\ncores = 2\n", "unknown key `cores`"),
        ("[host.send]\nscript = [{ at = \"1 ms\" }]\n", "a step that changes nothing"),
        ("[host.send]\nscript = [{ at = \"1 ms\", stop = true }]\n", "unknown key `stop`"),
        ("[host.send]\nscript = [{ at = \"1 ms\", rate = \"0 b/s\" }]\n", "rate of a sending host is 0"),
        ("[host.send]\nscript = [{ at = \"1 ms\", time_per_frame = \"2 s\" }]\n", "2 s for each frame"),
        (
            "[host.send]\nscript = [{ at = \"2 ms\", rate = \"1 Gb/s\" }, { at = \"1 ms\", rate = \"2 Gb/s\" }]\n",
            "before the step above",
        ),
        ("[host.receive]\nbuffer = \"4 KiB\"\n[flow_control.pfc]\n", "too small (expected at least"),
    ] {
        let found = refused(text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn flows_whose_paths_are_not_listed_are_not_rerouted() {
    let warned = |hosts: u32, reroute: bool| {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = {hosts}\nrate = \"10 Gb/s\"\nphy = \"none\"\n\
             [[flows]]\nname = \"all\"\nfrom = \"all\"\nto = \"all\"\nsource = {{ constant = {{ rate = \"1 Mb/s\" }} }}\n\
             [[faults]]\nlink = [\"h0\", \"sw\"]\nat = \"10 us\"\ndown = true\nreroute = {reroute}"
        );
        let loaded = load(&text, "large.toml", None).unwrap();
        loaded.warnings.iter().map(|warning| warning.render(false)).collect::<String>()
    };
    // 1,001 times 1,000 pairs are not listed.
    let warnings = warned(1_001, true);
    assert!(
        warnings.contains("\"all[h0]\" is not rerouted") && warnings.contains("large.toml:16"),
        "{warnings}"
    );
    assert!(!warned(1_001, false).contains("is not rerouted"));
    assert!(!warned(100, true).contains("is not rerouted"));
}
