//! GOAL schedules: real files, every rule of the two formats, malicious files, and round trips.

use program::{
    Direction, Place, Program, Rank, RankBuilder, Work, read_binary, read_text, write_binary, write_text,
};
use proptest::prelude::*;
use std::path::Path;
use units::Time;

/// Returns the error of an invalid schedule as text.
fn refused(text: &str) -> String {
    read_text(text.as_bytes()).expect_err(text).to_string()
}

fn two(block: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{block}\n}}\nrank 1 {{\n}}\n")
}

fn works(text: &str) -> Vec<Work> {
    let read = read_text(text.as_bytes()).unwrap_or_else(|why| panic!("{why}: {text}"));
    read.program.ranks().iter().flat_map(Rank::operations).map(|one| one.work()).collect()
}

/// Returns the files of this crate and of the Python tests.
fn data(extension: &str) -> Vec<(String, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/data", "../../tests/traces"].map(|folder| here.join(folder));
    let listed = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut files: Vec<_> = listed.map(|one| one.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files.into_iter().map(|file| (file.display().to_string(), std::fs::read(file).expect("a file"))).collect()
}

/// Real binaries are read completely, and written identically unless an end marker was repaired.
#[test]
fn real_binaries_are_read_without_remainder_and_written_byte_for_byte() {
    let files = data("bin");
    assert!(files.len() >= 6, "{files:?}");
    let mut repaired = 0;
    for (name, file) in files {
        let read = read_binary(&file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let written = write_binary(&read.program).expect("whole nanoseconds");
        repaired += read.repairs.len();
        assert_eq!(written == file, read.repairs.is_empty(), "{name}");
        let text = write_text(&read.program).expect("whole nanoseconds");
        assert_eq!(read_text(text.as_bytes()).expect(&name).program, read.program, "{name}");
        assert_eq!(read_binary(&written).expect(&name).program, read.program, "{name}");
    }
    assert_eq!(repaired, 2);
}

#[test]
fn real_texts_are_read() {
    let files = data("goal");
    assert!(files.len() >= 3, "{files:?}");
    for (name, file) in files {
        let read = read_text(&file).unwrap_or_else(|why| panic!("{name}: {why}"));
        let binary = write_binary(&read.program).expect("whole nanoseconds");
        assert_eq!(read_binary(&binary).expect(&name).program, read.program, "{name}");
    }
}

#[test]
fn the_binary_of_a_real_text_equals_it_operation_by_operation() {
    let files = [data("bin"), data("goal")].concat();
    let file = |name: &str| &files.iter().find(|one| one.0.ends_with(name)).expect(name).1;
    let (binary, text) =
        (read_binary(file("/perm64.bin")).expect("binary"), read_text(file("/perm64.goal")).expect("text"));
    assert_eq!(binary, text);
    assert_eq!(&write_binary(&text.program).expect("whole nanoseconds"), file("/perm64.bin"));
    assert_eq!((text.program.ranks().len(), text.program.operations()), (64, 128));
}

#[test]
fn end_markers_become_computations_of_no_time() {
    let read = read_text(two("a: send 0b to 9999999 tag 4\nsend 0b to 2").as_bytes()).expect("repaired");
    assert_eq!(read.program.ranks()[0].operations()[0].work(), Work::Calc { time: Time::ZERO });
    assert_eq!(read.repairs.len(), 1);
    assert!(read.repairs[0].starts_with("2 sends of 0 bytes"), "{:?}", read.repairs);
    assert!(read.repairs[0].ends_with("the first: line 3, rank 0 to 9999999"), "{:?}", read.repairs);
    assert_eq!(refused(&two("send 1b to 2")), "line 3: the peer is rank 2: the program has ranks 0 to 1");
    assert_eq!(refused(&two("\nrecv 0b from 2")), "line 4: the peer is rank 2: the program has ranks 0 to 1");
}

#[test]
fn every_form_of_the_lexer_is_read() {
    let send = |to, bytes, tag| Work::Send { to, bytes, tag };
    let recv = |from, bytes, tag| Work::Recv { from, bytes, tag };
    for (block, expected) in [
        ("send 7b to 1", send(1, 7, 0)),
        ("send 7 b to 1", send(1, 7, 0)),
        ("\tl1\t:  send\t7b  to\t1 tag 3", send(1, 7, 3)),
        ("send 7bto1tag3cpu2nic1", send(1, 7, 3)),
        ("send 18446744073709551615b to 0", send(0, u64::MAX, 0)),
        ("send 007b to 01", send(1, 7, 0)),
        ("send 7b to 1 tag -1", send(1, 7, u32::MAX)),
        ("recv 7b from 1 cpu 255 nic 255", recv(Some(1), 7, Some(0))),
        ("recv 7b from -1 tag -1", recv(None, 7, None)),
        ("recv 7b from 1 tag 4294967295", recv(Some(1), 7, None)),
        ("recv 7b from -1 tag 5 nic 2", recv(None, 7, Some(5))),
        ("calc 1500 cpu 3", Work::Calc { time: Time::from_ns(1500) }),
        ("calc 18446744073709551", Work::Calc { time: Time::from_ns(18_446_744_073_709_551) }),
        ("// send 1b to 1\ncalc 1 // note\n/* more */ // again", Work::Calc { time: Time::from_ns(1) }),
        ("/* over\nseveral * / lines */ calc 1 /* behind */", Work::Calc { time: Time::from_ns(1) }),
        ("tag: calc 1", Work::Calc { time: Time::from_ns(1) }),
        ("b_2 : calc 1 }\nrank 1 { } // }", Work::Calc { time: Time::from_ns(1) }),
        ("sender: calc 1", Work::Calc { time: Time::from_ns(1) }),
        ("calc 1}\n /* end */ rank 1{", Work::Calc { time: Time::from_ns(1) }),
    ] {
        let text = two(block);
        let text = if block.contains("rank 1") {
            format!("num_ranks 2\nrank 0 {{\n{block}{}", if block.ends_with('{') { "\n}" } else { "" })
        } else {
            text
        };
        assert_eq!(works(&text), [expected], "{text}");
        assert_eq!(works(&text.replace('\n', "\r\n")), [expected], "{text:?} with CRLF");
        assert_eq!(works(text.trim_end()), [expected], "{text:?} without a final newline");
    }
    let read =
        read_text(b"\xef\xbb\xbfnum_ranks 1 rank 0 { calc 1 cpu 9\nsend 1b to 0 nic 8 }").expect("a program");
    let operations = read.program.ranks()[0].operations();
    assert_eq!((operations[0].cpu(), operations[1].cpu(), operations[1].nic()), (9, 0, 8));
}

#[test]
fn dependencies_of_both_kinds_are_read() {
    let read = read_text(two("a: calc 1\nb: calc 2\nb irequires a\nc: calc 3\na requires c\nc requires b // why\nb irequires a").as_bytes());
    assert_eq!(
        read.expect_err("a cycle").message,
        "rank 0: operations wait for each other in a cycle: b (line 4), c (line 6), a (line 3)"
    );
    let read = read_text(
        two("a: calc 1\nb: calc 2\nb irequires a\nc: calc 3\na requires c\nb requires c").as_bytes(),
    )
    .expect("acyclic");
    let rank = &read.program.ranks()[0];
    assert_eq!((rank.after_end(0), rank.after_start(0), rank.after_end(2)), (&[][..], &[1][..], &[0, 1][..]));
    assert_eq!(rank.roots().collect::<Vec<_>>(), [2]);
    // Labels are local to their rank.
    let text = "num_ranks 2\nrank 0 {\nl1: calc 1\n}\nrank 1 {\nl1: calc 2\nl1 requires l2\n}\n";
    assert!(refused(text).starts_with("line 7: label l2 is unknown"));
}

#[test]
fn bad_texts_are_refused_with_line_and_remedy() {
    for (text, expected) in [
        (String::new(), "line 1: the end of the file; expected num_ranks and a number, such as num_ranks 16"),
        ("\n\nranks 2".into(), "line 3: \"ranks\"; expected num_ranks and a number, such as num_ranks 16"),
        ("num_ranks 0\n".into(), "line 1: num_ranks is 0; at least 1 is expected"),
        ("num_ranks -3".into(), "line 1: \"-3\"; expected the number of ranks"),
        (
            "num_ranks 4294967295".into(),
            "line 1: the number of ranks is 4294967295; at most 4294967294 is accepted",
        ),
        ("num_ranks 4000000000".into(), "line 1: num_ranks is 4000000000; the file has 0 blocks of ranks"),
        ("num_ranks 2\nrank 0 {\n}\n".into(), "line 1: num_ranks is 2; the file has 1 blocks of ranks"),
        ("num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n".into(), "line 4: rank 1: num_ranks is 1"),
        ("num_ranks 2\nrank 1 {\n}\n".into(), "line 2: rank 1; expected rank 0: blocks are in order"),
        ("num_ranks 1\nrank 0\n{\n}\n".into(), "line 2: the end of the line; expected {"),
        (
            "num_ranks 1\nrank 0 {\ncalc 1\n".into(),
            "line 4: the file ends within rank 0 (line 2); expected }",
        ),
        ("num_ranks 1\nrank 0 {\n/* calc 1\n}\n".into(), "line 3: the comment /* has no end; expected */"),
        ("num_ranks 1\ncalc 1\n".into(), "line 2: \"calc\"; expected rank 0 {, the next block"),
        (two("rank 1 {"), "line 3: rank within rank 0; expected } before it"),
        (two("send: calc 1"), "line 3: \":\"; expected the number of bytes"),
        (two("a: rank 1"), "line 3: \"rank\"; expected send, recv or calc"),
        (two("send 5 to 1"), "line 3: \"to\"; expected b behind the number of bytes, such as 64b"),
        (two("send 5b from 1"), "line 3: \"from\"; expected to"),
        (two("send 5b to -1"), "line 3: \"-1\"; expected the peer"),
        (
            two("send 5b to 1 cpu 0 tag 3"),
            "line 3: \"tag\"; expected tag, cpu, nic (in this order) or the end of the line",
        ),
        (two("send 5b to 1 cpu 256"), "line 3: the cpu is 256; at most 255 is accepted"),
        (two("send 5.5b to 1"), "line 3: \".5b\"; expected b behind the number of bytes, such as 64b"),
        (
            two("send 18446744073709551616b to 1"),
            "line 3: the number of bytes is 18446744073709551616; at most 18446744073709551615 is accepted",
        ),
        (
            two("calc 18446744073709552"),
            "line 3: the duration in ns is 18446744073709552; at most 18446744073709551 is accepted",
        ),
        (two("calc 5 nic 1"), "line 3: \"nic\"; expected cpu or the end of the line"),
        (two("a: calc 1\n\na: calc 2"), "line 5: label a is that of line 3 too; labels are unique in a rank"),
        (
            two("a: calc 1\na after a"),
            "line 4: \"a after\"; expected a: and an operation, or requires or irequires and a label",
        ),
        (two("a: calc 1\na requires"), "line 4: the end of the line; expected a label"),
        (two("a: calc 1\nb: calc 2\na requires b c"), "line 5: \"c\"; expected the end of the line"),
        (
            two("a: calc 1\na requires a"),
            "line 2: rank 0: operations wait for each other in a cycle: a (line 3)",
        ),
        (
            two("7: calc 1"),
            "line 3: \"7:\"; expected an operation (send, recv, calc), a dependency (label requires label) or }",
        ),
    ] {
        assert_eq!(refused(&text), expected, "{text}");
    }
}

/// Returns a valid schedule in which rank 0 has three nodes and two edges.
fn binary() -> Vec<u8> {
    let text = two("a: send 5b to 1\nb: recv 6b from 1\nb requires a\nc: calc 7\nc irequires b");
    write_binary(&read_text(text.as_bytes()).expect("valid").program).expect("whole nanoseconds")
}

fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = binary();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn bad_binaries_are_refused_with_offset_and_reason() {
    // The table takes bytes 14 to 45; of rank 0, the counts and the root take bytes 46 to 57, the nodes start at 58, 97
    // and 136, and the appendix at 175.
    let max = [0xff; 4];
    for (file, at, expected) in [
        (patched(0, &2342u64.to_le_bytes()), 0, "--save-mem"),
        (patched(0, &4223u64.to_be_bytes()), 0, "this is big-endian; expected 4223"),
        (patched(0, b"num_rank"), 0, "expected 4223, little-endian"),
        (patched(8, &max), 8, "4294967295 ranks: their table of 16 B each exceeds the file of 191 B"),
        (patched(14, &[39]), 14, "rank 0 begins at byte 47; expected byte 46"),
        (patched(22, &[0xff, 1]), 14, "rank 0 is not within the file"),
        (patched(30, &[38]), 30, "rank 1 begins at byte 46"),
        (patched(46, &max), 46, "rank 0 has 4294967295 nodes and 1 roots, which exceed its 137 B"),
        (patched(50, &max), 46, "rank 0 has 3 nodes and 4294967295 roots"),
        (patched(54, &[2]), 54, "1 roots; 1 nodes wait for nothing: node 2 instead of 0"),
        (patched(58, &[1]), 58, "node 0 waits for 1 others; 0 others name it"),
        (patched(62, &[4]), 62, "kind 4; expected 1 (send), 2 (receive) or 3 (computation)"),
        (patched(63, &[2]), 63, "the peer is rank 2: the program has ranks 0 to 1"),
        (patched(102, &[2]), 102, "the peer is rank 2"),
        (
            patched(145, &[0xff; 8]),
            145,
            "a computation of 18446744073709551615 ns; at most 18446744073709551 ns",
        ),
        (patched(79, &[1]), 12, "declares cpu 0 to 0 and nic 0 to 0; nodes have cpu 1 and nic 0"),
        (patched(81, &[2]), 128, "the lists up to here have 3 entries; the appendix has 2"),
        (patched(81, &[0]), 175, "the nodes name 1 entries of the appendix, which has 2"),
        (patched(85, &max), 81, "entries 4294967295 to 4294967295 of an appendix of 2"),
        (patched(175, &[3]), 175, "names node 3: the rank has 3 nodes"),
        (patched(175, &[0]), 46, "rank 0: nodes 0 wait for each other in a cycle"),
    ] {
        let why = read_binary(&file).expect_err(expected);
        assert!(why.message.contains(expected), "{why} instead of {expected}");
        assert_eq!(why.place, Place::Byte(at), "{why}");
    }
    let file = binary();
    assert_eq!(file.len(), 191);
    for cut in 0..file.len() {
        let why = read_binary(&file[..cut]).expect_err("truncated");
        assert!(!why.message.is_empty());
    }
    assert!(
        read_binary(&[file.clone(), vec![0; 4]].concat())
            .expect_err("too long")
            .message
            .contains("4 B are left")
    );
}

#[test]
fn lists_of_old_files_may_have_any_index_if_they_are_empty() {
    let read = read_binary(&patched(93, &[0xff; 4])).expect("read");
    assert_eq!(read, read_binary(&binary()).expect("read"));
}

#[test]
fn fields_without_meaning_are_reported() {
    let read = read_binary(&patched(158, &[7])).expect("read");
    assert_eq!(read.program, read_binary(&binary()).expect("read").program);
    assert_eq!(
        read.repairs,
        [
            "1 computations with a peer, tag or nic, which have no meaning: ignored; the first: byte 136, rank 0"
        ]
    );
}

/// In a file of 3 MB, 65,536 nodes that each refer to the whole appendix would imply 4 * 10^9 dependencies.
#[test]
fn shared_lists_do_not_multiply() {
    let (nodes, entries) = (65_536u32, 65_536u32);
    let mut file = 4223u64.to_le_bytes().to_vec();
    file.extend(1u32.to_le_bytes());
    file.extend([0, 0]);
    let length = 8 + 39 * u64::from(nodes) + 4 * u64::from(entries);
    file.extend(22u64.to_le_bytes());
    file.extend((22 + length).to_le_bytes());
    file.extend([nodes, 0].into_iter().flat_map(u32::to_le_bytes));
    for _ in 0..nodes {
        file.extend(u32::MAX.to_le_bytes());
        file.push(3);
        file.extend([0; 18]);
        file.extend([entries, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes));
    }
    file.extend((0..entries).flat_map(u32::to_le_bytes));
    let why = read_binary(&file).expect_err("refused");
    assert!(why.message.contains("have 131072 entries; the appendix has 65536"), "{why}");
}

#[test]
fn messages_without_a_partner_are_found() {
    let text = "num_ranks 3\nrank 0 {\nsend 1b to 1 tag 4\nsend 1b to 1 tag 4\nsend 1b to 2\n}\n\
                rank 1 {\nrecv 1b from 0 tag 4\nrecv 1b from 2\nrecv 1b from 2\n}\nrank 2 {\nrecv 9b from -1\n}\n";
    let found = read_text(text.as_bytes()).expect("a program").program.unmatched();
    let found: Vec<_> =
        found.iter().map(|one| (one.from, one.to, one.tag, one.direction, one.count)).collect();
    assert_eq!(found, [(0, 1, 4, Direction::Sends, 1), (2, 1, 0, Direction::Receives, 2)]);
}

#[test]
fn fractions_of_a_nanosecond_are_not_written() {
    let mut builder = RankBuilder::new();
    builder.push(Work::Calc { time: Time::from_ps(1_500) }, 0, 0);
    let program = Program::new(vec![builder.finish().expect("acyclic")]).expect("a program");
    let expected = "rank 0, operation 0: a computation of 1500 ps; GOAL has whole nanoseconds";
    assert_eq!(write_text(&program).expect_err("refused").to_string(), expected);
    assert_eq!(write_binary(&program).expect_err("refused").to_string(), expected);
}

fn any_work(ranks: u32) -> impl Strategy<Value = (Work, u8, u8)> {
    let tag = prop_oneof![0..4u32, 0..u32::MAX];
    let work = prop_oneof![
        (0..ranks, any::<u64>(), prop_oneof![tag.clone(), Just(u32::MAX)])
            .prop_map(|(to, bytes, tag)| Work::Send { to, bytes, tag }),
        (proptest::option::of(0..ranks), any::<u64>(), proptest::option::of(tag))
            .prop_map(|(from, bytes, tag)| Work::Recv { from, bytes, tag }),
        (0..=u64::MAX / 1_000).prop_map(|ns| Work::Calc { time: Time::from_ns(ns) }),
    ];
    (work, any::<u8>(), any::<u8>())
}

/// Generates operations and dependencies without cycles. Dependencies lead from earlier to later operations in a random
/// order.
fn any_rank(ranks: u32) -> impl Strategy<Value = Rank> {
    let works = prop::collection::vec(any_work(ranks), 0..12);
    let edges = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()),
        0..20,
    );
    (works, edges, any::<bool>()).prop_map(|(works, edges, backward)| {
        let mut builder = RankBuilder::new();
        for (work, cpu, nic) in &works {
            builder.push(*work, *cpu, *nic);
        }
        for (one, other, on_start) in edges.iter().filter(|_| !works.is_empty()) {
            let (one, other) = (one.index(works.len()) as u32, other.index(works.len()) as u32);
            if one == other {
                continue;
            }
            let (before, after) = if (one < other) != backward { (one, other) } else { (other, one) };
            if *on_start { builder.irequires(after, before) } else { builder.requires(after, before) }
        }
        builder.finish().expect("acyclic")
    })
}

fn any_program() -> impl Strategy<Value = Program> {
    (1..5u32).prop_flat_map(|ranks| {
        prop::collection::vec(any_rank(ranks), ranks as usize)
            .prop_map(|ranks| Program::new(ranks).expect("peers are ranks"))
    })
}

proptest! {
    #[test]
    fn programs_come_back_from_both_formats(program in any_program()) {
        let text = write_text(&program).expect("whole nanoseconds");
        let read = read_text(text.as_bytes()).expect(&text);
        prop_assert_eq!(&read.program, &program);
        prop_assert!(read.repairs.is_empty());
        let binary = write_binary(&program).expect("whole nanoseconds");
        let read = read_binary(&binary).expect("valid");
        prop_assert_eq!(&read.program, &program);
        prop_assert!(read.repairs.is_empty());
        prop_assert_eq!(write_binary(&read.program).expect("whole nanoseconds"), binary);
    }

    #[test]
    fn any_change_of_a_binary_is_refused_or_read(at in 0..191usize, value: u8) {
        match read_binary(&patched(at, &[value])) {
            Ok(read) => prop_assert_eq!(read_binary(&write_binary(&read.program).expect("ns")).expect("valid").program, read.program),
            Err(why) => prop_assert!(!why.message.is_empty()),
        }
    }

    #[test]
    fn any_text_is_refused_with_a_line_of_it_or_read(text in "(num_ranks 1 rank 0 \\{\n)?[a-b:0-9\\{\\}\r\n /*-]{0,40}") {
        match read_text(text.as_bytes()) {
            Ok(read) => prop_assert_eq!(read.program.ranks().len(), 1),
            Err(why) => {
                let Place::Line(line) = why.place else { panic!("{why}") };
                prop_assert!((1..=text.matches('\n').count() + 2).contains(&line));
            }
        }
    }
}
