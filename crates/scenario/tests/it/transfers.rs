//! `[[transfers]]`: the flows of entries, and files of transfers that must be rejected, with the line of the error.

use fabric::Simulation;
use fabric::spec::FlowSpec;
use frame::{NodeId, Ports, Priority};
use scenario::{Diagnostic, Scenario, load, load_with};
use std::io::Read;
use std::path::{Path, PathBuf};
use transport::{Application, Scheduled};
use units::Time;
use workload::{Framing, Transfer};

/// Hosts are numbered after the switch.
const H0: NodeId = NodeId(1);

const HEAD: &str = "[simulation]\nduration = \"10 ms\"\n[topology.star]\nhosts = 4\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\nphy = \"none\"\n";

fn text(entry: &str) -> String {
    format!("{HEAD}[[transfers]]\nname = \"t\"\n{entry}\n")
}

/// Loads a scenario and its effective form, and checks that both give the same result.
fn loaded(entry: &str, dir: Option<&Path>) -> Scenario {
    let text = text(entry);
    let first = load(&text, "t.toml", dir).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let again = load(&first.effective_toml(), "t.toml", dir).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(format!("{:?}", first.spec), format!("{:?}", again.spec));
    assert_eq!((first.effective_toml(), first.identity()), (again.effective_toml(), again.identity()));
    first
}

fn rows(flow: &FlowSpec) -> Vec<(NodeId, Transfer)> {
    let list = flow.source.transfers().unwrap();
    let bare = |one: Transfer| Transfer { ports: Ports::default(), ..one };
    list.iter().map(|one| (flow.source.destinations.nth(one.destination), bare(one))).collect()
}

const POISSON: &str =
    "from = \"all\"\nto = \"all\"\nsizes = \"web_search\"\narrivals = { poisson = { load = 0.3 } }";

#[test]
fn poisson_at_a_load() {
    let scenario = loaded(POISSON, None);
    let flows = &scenario.spec.flows;
    assert_eq!(flows.iter().map(|flow| &flow.name).collect::<Vec<_>>(), ["t[h0]", "t[h1]", "t[h2]", "t[h3]"]);
    // 0.3 of 10 Gb/s over 8 times 1,711,250 B is 219.1 per second: 8.77 expected in 10 ms from four hosts. A longer run
    // gives a better estimate.
    let long = load(&text(POISSON).replace("10 ms", "10 s"), "t.toml", None).unwrap();
    let all: Vec<_> = long.spec.flows.iter().flat_map(rows).collect();
    assert!(all.len().abs_diff(8765) < 6 * 94, "{}", all.len());
    // The first ones are those of the short run, because they depend only on seed and name.
    for (flow, of_long) in flows.iter().zip(&long.spec.flows) {
        let (few, many) = (rows(flow), rows(of_long));
        assert!(!few.is_empty());
        let plain = |rows: &[(NodeId, Transfer)]| {
            rows.iter().map(|row| (row.0, row.1.start, row.1.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(plain(&few), plain(&many[..few.len()]));
        assert!(few.iter().all(|(to, _)| *to != flow.from));
    }
    // Removing one sender does not change the others.
    let three = loaded(&POISSON.replace("from = \"all\"", "from = [\"h1\", \"h2\", \"h3\"]"), None);
    assert_eq!(format!("{:?}", three.spec.flows[0].source), format!("{:?}", flows[1].source));
    let other =
        load(&text(POISSON).replace("[simulation]", "[simulation]\nseed = 2"), "t.toml", None).unwrap();
    assert_ne!(rows(&other.spec.flows[0]), rows(&flows[0]));
}

#[test]
fn defaults_frames_and_one_each() {
    let once = "from = \"h*\"\nto = \"h0\"\nsizes = \"1 MB\"\narrivals = \"once\"\nstart = \"1 us\"";
    let scenario = loaded(once, None);
    let flows = &scenario.spec.flows;
    assert_eq!(flows.len(), 3);
    let ports = Ports::default();
    let one = Transfer { start: Time::from_us(1), destination: 0, bytes: 1_000_000, ports };
    assert!(flows.iter().all(|flow| rows(flow) == [(H0, one)] && flow.priority == Priority(0)));
    let framing = flows[0].source.transfers().unwrap().framing();
    assert_eq!(framing, Framing { frame: 1522, header: 18 });
    let roce = loaded(
        &format!("{once}\nframe = \"1090 B\"\nheader = \"62 B\"\npriority = 3\norder = \"fifo\""),
        None,
    );
    let list = roce.spec.flows[0].source.transfers().unwrap();
    assert_eq!(
        (list.framing(), list.frame_bytes()),
        (Framing { frame: 1090, header: 62 }, 1_000_000 + 973 * 62)
    );
    assert_eq!(roce.spec.flows[0].priority, Priority(3));
    // By default, PFC protects the priority of transfers.
    let lossless = format!("{}[flow_control.pfc]\n", text(&format!("{once}\npriority = 3")));
    let lossless = load(&lossless, "t.toml", None).unwrap();
    assert!(lossless.effective_toml().contains("priorities = [3]"));
}

#[test]
fn over_tcp() {
    let once = "from = \"h*\"\nto = \"all\"\nsizes = \"1 MB\"\narrivals = \"once\"\n";
    let scenario =
        loaded(&format!("{once}over = {{ tcp = {{ preset = \"linux\", reconnect = true }} }}"), None);
    let flow = &scenario.spec.flows[0];
    // 1522 B minus 62 B of headers and 12 B of timestamps.
    let framing = Framing { frame: 1522, header: 74 };
    assert_eq!((flow.source.transfers().unwrap().framing(), scenario.spec.flows.len()), (framing, 4));
    let Some(Application::Transfers(Scheduled::Tcp(spec))) =
        flow.transport.as_ref().map(|it| &it.application)
    else {
        panic!()
    };
    assert!(spec.reconnect && spec.segment == 1_448 && spec.transfers.total == Some(0));
    assert!(!scenario.effective_toml().contains("\nheader ="));
}

#[test]
fn rounds_of_incast() {
    let incast = "from = \"all\"\nto = \"h0\"\nsizes = { uniform = { min = \"1 kB\", max = \"2 kB\" } }\n";
    let scenario =
        loaded(&format!("{incast}arrivals = {{ incast = {{ every = \"1 ms\", senders = 2 }} }}"), None);
    let mut all: Vec<(NodeId, Transfer)> = scenario
        .spec
        .flows
        .iter()
        .flat_map(|flow| rows(flow).into_iter().map(|row| (flow.from, row.1)))
        .collect();
    all.sort_by_key(|row| (row.1.start, row.0));
    assert_eq!(all.len(), 20);
    for (n, pair) in all.chunks(2).enumerate() {
        assert!(
            pair.iter()
                .all(|row| row.1.start == Time::from_ms(n as u64) && (1000..=2000).contains(&row.1.bytes))
        );
        assert!(pair[0].0 < pair[1].0 && pair[0].0 != H0);
    }
    let all =
        loaded(&format!("{incast}arrivals = {{ incast = {{ every = \"4 ms\" }} }}\nstop = \"4 ms\""), None);
    assert_eq!(all.spec.flows.iter().map(|flow| rows(flow).len()).collect::<Vec<_>>(), [1, 1, 1]);
}

/// A directory with these files, which is removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Files {
        let dir = std::env::temp_dir().join(format!("scenario-transfers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        files.iter().for_each(|(file, text)| std::fs::write(dir.join(file), text).unwrap());
        Files(dir)
    }
}
impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const FROM_FILE: &str = "arrivals = { file = \"a.csv\" }";

#[test]
fn a_priority_that_only_a_file_names_is_no_default_of_pfc() {
    let files = Files::new("late", &[("a.csv", "time_us,from,to,bytes,priority\n0,h0,h1,100,5\n")]);
    let wrong = text(&format!("{FROM_FILE}\n[flow_control.pfc]"));
    let found = load(&wrong, "t.toml", Some(&files.0)).unwrap_err();
    let found: Vec<Diagnostic> = found.errors().cloned().collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("priority 5 occurs only in a file"), "{}", found[0].message);
    assert!(found[0].help.contains("priorities = [5]"), "{}", found[0].help);
    assert_eq!(wrong.lines().nth(found[0].line as usize - 1), Some("[flow_control.pfc]"));
    for right in ["[flow_control.pfc]\npriorities = [5]", "[flow_control.pause]"] {
        loaded(&format!("{FROM_FILE}\n{right}"), Some(&files.0));
    }
}

#[test]
fn transfers_from_a_file() {
    let lines = "\u{feff}time_us,from,to,bytes,priority\r\n0,h0,h1,100,3\r\n1.5,h0,h2,200,3\r\n2,h0,h1,300,0\r\n9000,h3,h0,7,0\r\n";
    let files = Files::new("good", &[("a.csv", lines)]);
    let scenario = loaded(&format!("{FROM_FILE}\nstart = \"1 us\"\nstop = \"5 ms\""), Some(&files.0));
    let flows = &scenario.spec.flows;
    let names: Vec<_> = flows.iter().map(|flow| (flow.name.as_str(), flow.priority.0)).collect();
    // One flow per sender and priority. Transfers that start after `stop` are omitted, and so are senders without
    // others.
    assert_eq!(names, [("t[h0].0", 0), ("t[h0].3", 3)]);
    let row = |to, ns, destination, bytes| {
        let ports = Ports::default();
        (NodeId(H0.0 + to), Transfer { start: Time::from_ns(ns), destination, bytes, ports })
    };
    assert_eq!(rows(&flows[0]), [row(1, 3000, 0, 300)]);
    assert_eq!(rows(&flows[1]), [row(1, 1000, 0, 100), row(2, 2500, 1, 200)]);
    assert_eq!(flows[1].source.shares(), [1.0 / 3.0, 2.0 / 3.0]);
    // Other lines give another identity.
    std::fs::write(files.0.join("a.csv"), lines.replace("200,3", "201,3")).unwrap();
    let other =
        load(&text(&format!("{FROM_FILE}\nstart = \"1 us\"\nstop = \"5 ms\"")), "t.toml", Some(&files.0));
    assert_ne!(other.unwrap().identity(), scenario.identity());
}

#[test]
fn parquet_is_read_by_whoever_can() {
    let files = Files::new("parquet", &[("a.parquet", "PAR1")]);
    let text = text("arrivals = { file = \"a.parquet\" }");
    let without = load(&text, "t.toml", Some(&files.0)).unwrap_err();
    assert!(without.render(false).contains("only the Python package reads Parquet"), "{without}");
    let as_csv = |path: &Path| -> Result<Box<dyn Read>, String> {
        assert!(path.ends_with("a.parquet"));
        Ok(Box::new(b"time_ns,from,to,bytes\n5,h0,h1,9\n".as_slice()))
    };
    let access = scenario::Files { base_dir: Some(&files.0), anywhere: false, parquet: &as_csv };
    let scenario = load_with(text.as_bytes(), "t.toml", scenario::Overrides::default(), access).unwrap();
    assert_eq!(rows(&scenario.spec.flows[0]).len(), 1);
}

fn refused(entry: &str, dir: Option<&Path>) -> Vec<Diagnostic> {
    match load(&text(entry), "t.toml", dir) {
        Ok(_) => panic!("loads: {entry}"),
        Err(why) => why.errors().cloned().collect(),
    }
}

fn ports(flow: &FlowSpec) -> Vec<(u16, u16)> {
    let list = flow.source.transfers().unwrap();
    list.iter().map(|one| (one.ports.source, one.ports.destination)).collect()
}

#[test]
fn ports_are_given_or_drawn() {
    let drawn = loaded(POISSON, None);
    let own: Vec<Vec<(u16, u16)>> = drawn.spec.flows.iter().map(ports).collect();
    assert!(own.iter().flatten().all(|&(source, destination)| source >= 49_152 && destination == 9));
    // The transfers are drawn from seed and name.
    let of_h1 = loaded(&POISSON.replace("from = \"all\"", "from = \"h1\""), None);
    assert_eq!(ports(&of_h1.spec.flows[0]), own[1]);
    let given = loaded(&format!("{POISSON}\nports = {{ from = 1234, to = 4791 }}"), None);
    assert!(given.spec.flows.iter().flat_map(ports).all(|ports| ports == (1_234, 4_791)));
    let service = loaded(&format!("{POISSON}\nports = {{ to = 4791 }}"), None);
    let sources = |all: &[(u16, u16)]| all.iter().map(|ports| ports.0).collect::<Vec<_>>();
    assert_eq!(sources(&ports(&service.spec.flows[1])), sources(&own[1]));
    assert!(ports(&service.spec.flows[1]).iter().all(|ports| ports.1 == 4_791));
}

#[test]
fn ports_of_a_file() {
    let lines = "time_us,from,from_port,to,bytes\n0,h0,1024,h1,100\n1,h0,65535,h1,100\n";
    let files = Files::new("ports", &[("a.csv", lines)]);
    let scenario = loaded(&format!("{FROM_FILE}\nports = {{ to = 80 }}"), Some(&files.0));
    assert_eq!(ports(&scenario.spec.flows[0]), [(1_024, 80), (65_535, 80)]);
    let twice = &refused(&format!("{FROM_FILE}\nports = {{ from = 80 }}"), Some(&files.0))[0];
    assert_eq!((twice.file.as_str(), twice.line, twice.column), ("a.csv", 2, 6));
    assert!(twice.message.contains("given twice") && twice.help.contains("from_port"), "{twice:?}");
    std::fs::write(files.0.join("a.csv"), lines.replace("65535", "65536")).unwrap();
    let wrong = &refused(FROM_FILE, Some(&files.0))[0];
    assert_eq!((wrong.line, wrong.column, wrong.help.as_str()), (3, 6, "expected 1 to 65535"));
}

#[test]
fn wrong_files_are_refused_at_their_line() {
    let head = "time_us,from,to,bytes,priority\n1,h0,h1,100,0\n";
    for (name, lines, line, column, what, help) in [
        ("host", "2,h9,h1,1,0", 3, 3, "\"h9\" is not a host", "did you mean"),
        ("switch", "2,h0,sw,1,0", 3, 6, "\"sw\" is a switch", ""),
        ("back", "0.5,h0,h1,1,0", 3, 1, "is before the transfer above", "in order of time"),
        ("zero", "2,h0,h1,0,0", 3, 9, "a transfer of 0 B", "1 to"),
        ("missing", "2,h0,h1,,0", 3, 9, "no bytes", "1 to"),
        ("nan", "nan,h0,h1,1,0", 3, 1, "\"nan\" is not a time", "expected a number"),
        ("nan-bytes", "2,h0,h1,NaN,0", 3, 9, "\"NaN\" is not a number of bytes", ""),
        ("priority", "2,h0,h1,1,8", 3, 11, "priority \"8\"", "0 to 7"),
        ("column", "2,h0,h1,1,0,9", 3, 1, "6 values", "expected 5"),
        ("self", "2,h2,h2,1,0", 3, 6, "\"h2\" sends to itself", "another host"),
    ] {
        let files = Files::new(name, &[("a.csv", &format!("{head}{lines}\n3,h0,h1,1,0\n"))]);
        let found = &refused(FROM_FILE, Some(&files.0))[0];
        assert_eq!((found.file.as_str(), found.line, found.column), ("a.csv", line, column), "{name}");
        assert!(found.message.contains(what) && found.help.contains(help), "{name}: {found:?}");
        assert!(found.render(false).contains(&format!("a.csv:{line}:{column}")), "{}", found.render(false));
    }
    for (name, all, line, what) in [
        ("empty", "", 0, "the file is empty"),
        ("header", "time_us,from,to\n1,h0,h1\n", 1, "no column \"bytes\""),
        ("nothing", "time_us,from,to,bytes\n", 0, "no transfer below the header"),
    ] {
        let files = Files::new(name, &[("a.csv", all)]);
        let found = &refused(FROM_FILE, Some(&files.0))[0];
        assert_eq!((found.file.as_str(), found.line), ("a.csv", line), "{name}");
        assert!(found.message.contains(what), "{name}: {found:?}");
    }
}

#[test]
fn wrong_entries_are_refused() {
    let once = "from = \"h1\"\nto = \"h0\"\nsizes = \"1 MB\"\narrivals = \"once\"";
    let changed = |key: &str, to: &str| {
        let others: Vec<&str> = once.lines().filter(|line| !line.starts_with(key)).collect();
        if to.is_empty() { others.join("\n") } else { format!("{}\n{key} = {to}", others.join("\n")) }
    };
    loaded(once, None);
    for (entry, message, help) in [
        (changed("sizes", "\"0 B\""), "a transfer of 0 B", "expected 1 B"),
        (changed("sizes", "\"web_serch\""), "unknown value `web_serch`", "did you mean \"web_search\""),
        (changed("sizes", "1000"), "1000", "web_search"),
        (changed("sizes", "{ uniform = { min = \"2 kB\", max = \"1 kB\" } }"), "is above max", "min <= max"),
        (changed("sizes", "{ pareto = { mean = \"2 kB\", shape = 1 } }"), "shape 1", "above 1"),
        (changed("sizes", "{ log_normal = { mean = \"2 kB\", sigma = nan } }"), "sigma NaN", "from 0 to 5"),
        (changed("sizes", "{ points = \"none.csv\" }"), "cannot read \"none.csv\"", "bytes,cdf"),
        (changed("sizes", ""), "missing key `sizes`", "required"),
        (changed("from", ""), "missing key `from`", "required"),
        (changed("to", "\"h1\""), "sends to itself", "another host"),
        (
            changed("to", "{ multicast = [\"h0\", \"h2\"] }"),
            "transfers to several hosts at once",
            "one destination for each",
        ),
        (changed("from", "\"sw\""), "\"sw\" is a switch", "frames end at hosts"),
        (changed("arrivals", "{ poisson = {} }"), "neither load nor gap", "load = 0.3"),
        (
            changed("arrivals", "{ poisson = { load = 0.1, gap = \"1 us\" } }"),
            "load and gap at once",
            "one of them",
        ),
        (changed("arrivals", "{ poisson = { load = -1 } }"), "load -1", "above 0"),
        (changed("arrivals", "{ poisson = { load = inf } }"), "load inf", "above 0"),
        (changed("arrivals", "{ poisson = { gap = \"0 s\" } }"), "a gap of 0", "above 0"),
        (changed("arrivals", "{ poisson = { gap = \"1 ps\" } }"), "transfers", "at most 100000000"),
        (changed("arrivals", "{ incast = { every = \"0 s\" } }"), "without time between", "above 0"),
        (changed("arrivals", "{ incast = { every = \"1 ms\", senders = 0 } }"), "no senders", "at least 1"),
        (changed("arrivals", "{ file = \"none.csv\" }"), "from beside a file", "leave this key out"),
        (changed("priority", "8"), "priority 8", "0 to 7"),
        (changed("ports", "{ from = 70000 }"), "port 70000", "1 to 65535"),
        (changed("ports", "{}"), "ports without from and to", "like { to = 4791 }"),
        (changed("header", "\"1522 B\""), "a header of", "less than `frame`"),
        (changed("frame", "\"1 MB\""), "outside the range", "9238"),
        (changed("stop", "\"0 s\""), "is not after start", "start < stop"),
        (changed("over", "\"udp\""), "unknown value `udp`", "tcp"),
        (changed("over", "{ tpc = {} }"), "tpc", "did you mean"),
        (changed("over", "{ tcp = { min_timeout = \"0 s\" } }"), "a timeout of 0", "above 0"),
        (changed("over", "{ tcp = { send_buffer = \"1 kB\" } }"), "smaller than a segment", "1460 B"),
        (changed("over", "{ tcp = { headers = \"1522 B\" } }"), "of headers in a frame", "1 B to 1521 B"),
        (changed("over", "{ tcp = { transfer = \"1 kB\" } }"), "transfer of scheduled", "`sizes`"),
        (changed("over", "{ tcp = { idle = \"1 us\" } }"), "idle of scheduled", "`sizes`"),
        (changed("over", "{ tcp = {} }\nheader = \"18 B\""), "header beside TCP", "`headers`"),
        (changed("over", "{ tcp = {} }\norder = \"fifo\""), "an order beside TCP", "round_robin"),
        (changed("over", "{ rdma = { message = \"1 kB\" } }"), "message of scheduled", "`sizes`"),
        (changed("over", "{ rdma = {} }\nheader = \"18 B\""), "header beside RDMA", "`headers`"),
        (changed("over", "{ rdma = {} }\norder = \"fifo\""), "an order beside RDMA", "round_robin"),
    ] {
        let found = refused(&entry, None);
        let fits =
            |one: &Diagnostic| one.message.contains(message) && one.help.contains(help) && one.line > 6;
        assert!(found.iter().any(fits), "{entry}\n{found:#?}");
    }
    let named = load(&text(once).replace("\"t\"", "\"t[1]\""), "t.toml", None).unwrap_err();
    assert!(named.render(false).contains("\"t[1]\" is not a name for transfers"), "{named}");
    let twice =
        format!("{}[[flows]]\nname = \"t\"\nfrom = \"h1\"\nto = \"h0\"\nsource = \"greedy\"\n", text(once));
    let found = load(&twice, "t.toml", None).unwrap_err();
    assert!(found.render(false).contains("names of flows and transfers must differ"), "{found}");
}

#[test]
fn they_run_the_same_on_threads() {
    let pause = format!(
        "{}[flow_control.pfc]\n",
        text(&POISSON.replace("0.3", "0.9").replace("web_search", "google_rpc"))
    );
    let scenario = load(&pause, "t.toml", None).unwrap();
    let run = |threads: usize| {
        let mut simulation = Simulation::on_threads(&scenario.spec, threads).unwrap();
        simulation.run().unwrap();
        let tables = simulation.tables();
        let found = tables.iter().find(|table| table.spec.name == "transfers").unwrap();
        assert!(found.rows() > 10_000);
        (simulation.fingerprint(), format!("{found:?}"))
    };
    let one = run(1);
    assert!(one == run(2) && one == run(3));
}

/// A trace of frames is converted to transfers of one frame each, without headers.
#[test]
fn a_trace_of_frames() {
    let lines =
        "time_ns,from,to,bytes,priority\n0,h0,h1,64,0\n10,h0,h1,1522,0\n20,h0,h2,300,0\n5000,h0,h1,9000,5\n";
    let files = Files::new("trace", &[("a.csv", lines)]);
    let entry = format!("{FROM_FILE}\nframe = \"9216 B\"\nheader = \"0 B\"\norder = \"fifo\"");
    let scenario = loaded(&entry, Some(&files.0));
    let mut simulation = Simulation::new(&scenario.spec).unwrap();
    simulation.run().unwrap();
    let tables = simulation.tables();
    let column = |table: &str, column: &str| {
        let table = tables.iter().find(|one| one.spec.name == table).unwrap();
        format!("{:?}", table.columns.iter().find(|one| one.spec.name == column).unwrap().values)
    };
    assert_eq!(column("transfers", "frames"), "Integer([1, 1, 1, 1])");
    // The 64 B leave at 0 and take 67.2 ns at 10 Gb/s. The 1542 B then wait for them, and the 320 B for both. The
    // switch sends each frame again, and each link takes 1 us.
    let at = |sent: f64, own: f64| sent + own + 2000.0;
    let expected = [
        at(67.2, 67.2),
        at(67.2 + 1233.6 - 10.0, 1233.6),
        at(67.2 + 1233.6 + 256.0 - 20.0, 256.0),
        at(7216.0, 7216.0),
    ];
    assert_eq!(column("transfers", "completion_ns"), format!("Real({expected:?})"));
    assert_eq!(column("flows", "bytes_delivered"), "Integer([1886, 9000])");
}
