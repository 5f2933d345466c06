//! Pools compared with results computed by hand, and errors of keys.

use crate::dynamic_threshold::Alpha;
use crate::pools::{Attachment, MemoryKeys, PoolKeys, PoolMode, PoolsSpec, ProfileKeys, Side};
use crate::port_selector::PortFacts;
use crate::shared_memory::{Holding, Part, Refused, SharedMemory};
use units::{BitRate, Bytes, Length, Time};

fn pool(side: Side, size: u64, headroom: Option<u64>) -> PoolKeys {
    PoolKeys { side, size: Bytes::new(size), mode: PoolMode::Dynamic, headroom: headroom.map(Bytes::new) }
}

/// Returns a profile with α = 2^n and these values in bytes: reserved, headroom, XON and its offset.
fn profile(n: i32, reserved: u64, headroom: u64, xon: Option<u64>, offset: Option<u64>) -> ProfileKeys {
    ProfileKeys {
        discard_action: Default::default(),
        pool: "in".into(),
        reserved: Bytes::new(reserved),
        alpha: Alpha::new(2f64.powi(n)),
        threshold: None,
        headroom: Bytes::new(headroom),
        xon: xon.map(Bytes::new),
        xon_offset: offset.map(Bytes::new),
    }
}

fn attached(profile: &str) -> Attachment {
    Attachment {
        profile: profile.into(),
        groups: None,
        queues: None,
        ports: None,
        to: None,
        rate: None,
        length: None,
    }
}

fn keys(size: u64, shared_headroom: Option<u64>, own: ProfileKeys) -> MemoryKeys {
    MemoryKeys {
        pools: [("in".into(), pool(Side::Ingress, size, shared_headroom))].into(),
        profiles: [("pg".into(), own)].into(),
        attach: vec![attached("pg")],
        groups: None,
    }
}

fn spec(keys: &MemoryKeys) -> PoolsSpec {
    keys.spec().unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

/// Returns the facts of a leaf's port to a host.
fn to_host(neighbour: &str, gbps: u64, delay: Time) -> PortFacts<'_> {
    let rate = BitRate::from_gbps(gbps);
    PortFacts { neighbour, to_host: true, heights: [1, 0], rate, delay, is_named: &|_| false }
}

fn memory(spec: &PoolsSpec, ports: usize) -> SharedMemory {
    let port = spec.of_port(&to_host("h0", 100, Time::ZERO));
    spec.memory(&vec![port; ports])
}

/// Fills a group one byte at a time until XOFF, then drains it until it may resume. Returns the bytes at XOFF and at
/// XON.
fn xoff_and_xon(memory: &mut SharedMemory) -> (u64, u64) {
    let mut group = Holding::default();
    while !memory.must_pause(0, &group) {
        assert_eq!(memory.admit(0, &group, 1), Ok(Part::Own));
        memory.add(0, &mut group, 1, Part::Own);
    }
    let xoff = group.own;
    while !memory.may_resume(0, &group) {
        assert!(memory.remove(0, &mut group, 1));
    }
    (xoff, group.own)
}

#[test]
fn trident_of_the_dcqcn_paper() {
    // 12 MB; 32 ports of 8 classes with 22.4 KB of headroom each.
    let (memory, ports, classes, flight) = (12_000_000, 32, 8, 22_400);
    let shared = memory - classes * ports * flight;
    assert_eq!(shared, 6_265_600);
    // Static threshold: 24.47 KB each.
    let xoff = shared / (classes * ports);
    assert_eq!(xoff, 24_475);
    let mut own = profile(0, 0, flight, None, None);
    (own.alpha, own.threshold) = (None, Some(Bytes::new(xoff)));
    let fixed = spec(&keys(shared, None, own));
    assert_eq!(fixed.levels(0, 1), (24_475, 24_475));
    // All groups are at XOFF and use their headroom. The memory is full to less than a byte per group, and no frame was
    // refused.
    let mut at_work = self::memory(&fixed, ports as usize);
    let mut groups = vec![Holding::default(); (ports * classes) as usize];
    for group in &mut groups {
        while !at_work.must_pause(0, group) {
            at_work.add(0, group, 1, Part::Own);
        }
        for _ in 0..flight / 100 {
            assert_eq!(at_work.admit(0, group, 100), Ok(Part::Headroom));
            at_work.add(0, group, 100, Part::Headroom);
        }
        assert_eq!(at_work.admit(0, group, 1), Err(Refused::Headroom));
    }
    let held: u64 = groups.iter().map(|group| group.own + group.headroom).sum();
    assert_eq!(memory - held, 0);
    // Dynamic threshold, β = 8: α = β / 8. ECN marking has to begin at 21.75 KB at most.
    let alpha = Alpha::ONE;
    assert_eq!(alpha.marks_before_pauses(shared, ports, classes), 21_755);
    // At that length the worst case just holds: all queues of all ports have it, with frames of a single ingress port.
    let at = 21_755;
    assert!(shared - classes * ports * at >= ports * at);
    let at = at + 1;
    assert!(shared - classes * ports * at < ports * at);
}

#[test]
fn the_memory_of_the_hpcc_simulator() {
    // 16 MiB at 50G correspond to 32 MiB at 100G. There are 4 KiB per port and class, 37.5 KB of headroom per port at
    // 100G and 1 us, an offset of 3 KiB, and an α of 1/8 at the rate of hosts.
    let (ports, classes, headroom) = (33u64, 8, 37_500);
    assert_eq!(3 * 100_000_000_000u64 / 1_000_000 / 8, headroom);
    let shared = 32 * 1024 * 1024 - ports * headroom - ports * classes * 4096;
    assert_eq!(shared, 31_235_588);
    let own = spec(&keys(shared, None, profile(-3, 4096, headroom, None, Some(3072))));
    // T = (shared - used) / 8 equals the used bytes when a ninth is used.
    assert_eq!(own.levels(0, 1), (4096 + 3_470_620, 4096 + 3_470_620 - 3072));
    let (xoff, xon) = xoff_and_xon(&mut memory(&own, 1));
    // With one byte at a time, XOFF is the first length that reaches floor((shared - used) / 8); the fixed point is
    // 3,470,620.9.
    assert_eq!((xoff, xon), (4096 + 3_470_621, 4096 + 3_467_890));
    // XON by the simulator's rule: shared + 3 KiB <= T, where T has risen while the group drained.
    assert!(3_467_890 + 3072 <= (shared - 3_467_890) / 8 && 3_467_891 + 3072 > (shared - 3_467_891) / 8);
}

#[test]
fn shipped_profiles() {
    // Tomahawk (7060CX-32S T0, 100G, 40 m), Tomahawk 5 (7060X6-64PE), Spectrum-4 (SN5600, 400G, 40 m). Columns: pool,
    // shared headroom, exponent, size, xoff, xon and its offset; XOFF and XON of a single busy group.
    for (size, shared, n, reserved, xoff, xon, offset, levels) in [
        (10_875_072, Some(4_194_112), -3, 1_248, 177_632, Some(2_288), Some(2_288), (1_209_589, 1_207_301)),
        (166_115_492, Some(29_423_360), 0, 18_796, 612_140, Some(0), Some(3_556), (83_076_542, 83_072_986)),
        (142_703_616, None, 0, 19_456, 104_448, Some(19_456), None, (71_371_264, 19_456)),
    ] {
        let own = spec(&keys(size, shared, profile(n, reserved, xoff, xon, offset)));
        assert_eq!(own.levels(0, 1), levels);
        let (found_xoff, found_xon) = xoff_and_xon(&mut memory(&own, 1));
        assert!(found_xoff.abs_diff(levels.0) <= 1, "{found_xoff} for {}", levels.0);
        // With an offset, the threshold rises while the group drains, and XON is the length at which own = reserved + α
        // free - offset.
        match offset {
            None => assert_eq!(found_xon, levels.1),
            Some(offset) => {
                let alpha = 2f64.powi(n);
                let by_hand = (alpha * size as f64 - offset as f64) / (1.0 + alpha) + reserved as f64;
                assert!((found_xon as f64 - by_hand).abs() <= 1.0, "{found_xon} for {by_hand}");
            }
        }
    }
    // 128 ports with two groups each reserve 156.7 MB, with a shared headroom of 29.4 MB in total.
    let own = spec(&keys(166_115_492, Some(29_423_360), profile(0, 18_796, 612_140, Some(0), Some(3_556))));
    let mut port = own.of_port(&to_host("h0", 400, Time::ZERO));
    port.ingress = [3, 4].iter().fold([None; 8], |mut all, &group| {
        all[group] = port.ingress[group];
        all
    });
    assert_eq!(own.reserved(&[port; 128]), [156_707_840]);
}

#[test]
fn headroom_of_ones_own_and_of_all_end_apart() {
    let own = spec(&keys(10_000, Some(1_500), profile(0, 0, 1_000, None, None)));
    let mut memory = memory(&own, 2);
    let mut groups = [Holding { own: 5_000, headroom: 0 }, Holding::default()];
    memory.add(0, &mut Holding::default(), 5_000, Part::Own);
    for _ in 0..10 {
        assert_eq!(memory.admit(0, &groups[0], 100), Ok(Part::Headroom));
        memory.add(0, &mut groups[0], 100, Part::Headroom);
    }
    assert_eq!(memory.admit(0, &groups[0], 100), Err(Refused::Headroom));
    groups[1].own = 5_000;
    for _ in 0..5 {
        assert_eq!(memory.admit(0, &groups[1], 100), Ok(Part::Headroom));
        memory.add(0, &mut groups[1], 100, Part::Headroom);
    }
    assert_eq!(memory.admit(0, &groups[1], 100), Err(Refused::SharedHeadroom));
}

#[test]
fn profiles_by_rate_and_cable() {
    let mut both = keys(1_000_000, None, profile(0, 0, 1_000, None, None));
    for name in ["short", "long", "slow"] {
        both.profiles.insert(name.into(), profile(0, 0, 2_000, None, None));
    }
    both.profiles.remove("pg");
    let fast = Some(BitRate::from_gbps(400));
    both.attach = vec![
        Attachment {
            rate: fast,
            length: Some(Length::from_m(5)),
            groups: Some(vec![3]),
            ..attached("short")
        },
        Attachment {
            rate: fast,
            length: Some(Length::from_m(40)),
            groups: Some(vec![3]),
            ..attached("long")
        },
        Attachment { to: Some(vec!["h1".into()]), ..attached("slow") },
    ];
    let own = spec(&both);
    let name = |neighbour, gbps, metres, group: usize| {
        let delay = Length::from_m(metres).fibre_delay();
        let found = own.of_port(&to_host(neighbour, gbps, delay)).ingress[group];
        found.map(|at| own.profiles[at].name.as_str())
    };
    assert_eq!(name("h0", 400, 5, 3), Some("short"));
    assert_eq!(name("h0", 400, 6, 3), Some("long"));
    assert_eq!(name("h0", 400, 6, 4), None);
    assert_eq!(name("h0", 400, 41, 3), None);
    assert_eq!(name("h1", 100, 41, 3), Some("slow"));
}

#[test]
fn what_is_wrong_is_said_where_it_is() {
    let good = || keys(1_000, None, profile(0, 0, 0, None, None));
    let error = |change: &dyn Fn(&mut MemoryKeys)| {
        let mut wrong = good();
        change(&mut wrong);
        let found = wrong.spec().err().unwrap_or_default();
        found.iter().map(|why| format!("{}; {}", why.message, why.help)).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(error(&|_| {}), "");
    assert!(
        error(&|keys| keys.profiles.get_mut("pg").unwrap().pool = "im".into())
            .contains("did you mean \"in\"?")
    );
    assert!(error(&|keys| keys.attach[0].profile = "pgs".into()).contains("did you mean \"pg\"?"));
    let both = error(&|keys| keys.profiles.get_mut("pg").unwrap().threshold = Some(Bytes::new(1)));
    assert!(both.contains("both alpha and threshold"), "{both}");
    assert!(error(&|keys| keys.attach[0].queues = Some(vec![1])).contains("expected groups"));
    assert!(error(&|keys| keys.attach[0].groups = Some(vec![8])).contains("expected 0 to 7"));
    assert!(error(&|keys| keys.attach[0].groups = Some(vec![])).contains("an empty list"));
    assert!(error(&|keys| keys.groups = Some(vec![0; 7])).contains("expected eight numbers"));
    let egress = error(&|keys| {
        let of_pool = keys.pools.get_mut("in").unwrap();
        (of_pool.side, of_pool.headroom) = (Side::Egress, Some(Bytes::new(1)));
        keys.profiles.get_mut("pg").unwrap().xon = Some(Bytes::new(1));
    });
    assert!(
        egress.contains("headroom of an egress pool") && egress.contains("xon of an egress profile"),
        "{egress}"
    );
    let mut idle = good();
    idle.attach.clear();
    idle.pools.insert("out".into(), pool(Side::Egress, 1, None));
    let idle: Vec<String> = idle.idle().into_iter().map(|why| why.message).collect();
    assert_eq!(idle, ["profile \"pg\" is attached to nothing", "no profile takes memory of pool \"out\""]);
}
