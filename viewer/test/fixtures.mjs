/**
 * Made-up results for testing the page: shaped like those of a run, with numbers from formulas, not from a simulation.
 */

/** A small linear congruential generator: fixtures must be the same every time. */
function random(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

function columns(rows) {
  const names = Object.keys(rows[0] ?? {});
  return { columns: Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? null)])) };
}

function run(name, more = {}) {
  return {
    schema: "penstock-result/1", name, description: "", seed: 1, engine_version: "0.1.0", fingerprint: "5b1c-93f0-a2de-1177",
    simulated_s: 0.01, duration_s: 0.01, wall_s: 0.041, events: 131072, frame_hops: 65536, complete: true, warnings: [], ...more,
  };
}

const description = {
  flows: {
    about: "One row a flow: what it offered, what arrived, how late.",
    columns: [
      { name: "flow", unit: "", about: "Name of the flow in the scenario" },
      { name: "offered_bps", unit: "bit/s", about: "Mean rate that the source offered, frames without preamble and gap" },
      { name: "throughput_bps", unit: "bit/s", about: "Mean rate received, whole frames" },
      { name: "latency_p99_ns", unit: "ns", about: "99 of 100 frames were faster than this" },
    ],
  },
  ports: { about: "One row a port: what it sent, how long it was told to stop.", columns: [{ name: "paused_s", unit: "s", about: "Time in which the port had to stop" }] },
};

function flowRow(flow, source, destination, priority, offered, throughput, latency, dropped = 0) {
  const frames = Math.round((throughput * 0.01) / 8 / 1522);
  return {
    flow, class: priority, source, destination, offered_bps: offered, throughput_bps: throughput, goodput_bps: (throughput * 1504) / 1522,
    frames_sent: frames + dropped + 12, frames_delivered: frames, frames_dropped: dropped, bytes_sent: (frames + dropped + 12) * 1522, bytes_delivered: frames * 1522,
    latency_mean_ns: latency, latency_p50_ns: latency * 0.95, latency_p90_ns: latency * 1.5, latency_p99_ns: latency * 2.1, latency_p999_ns: latency * 2.4,
    latency_min_ns: 5300, latency_max_ns: latency * 2.6, jitter_ns: latency * 0.2, throughput_stddev_bps: throughput * 0.08,
  };
}

function portRow(node, number, peer, rate, utilisation, more = {}) {
  const frames = Math.round((rate * utilisation * 0.01) / 8 / 1542);
  return {
    port: `${node}.${number}->${peer}`, node, peer, rate_bps: rate, utilisation, frames_sent: frames, bytes_sent: frames * 1522, frames_received: frames,
    bytes_received: frames * 1522, queue_bytes_mean: 0, queue_bytes_max: 1522, drops: 0, pauses_sent: 0, pauses_received: 0, resumes_sent: 0, paused_s: 0, headroom_violations: 0, ...more,
  };
}

function queueRow(port, priority, frames, wait, depth) {
  return {
    port, class: priority, frames, wait_mean_ns: wait, wait_p50_ns: wait * 0.9, wait_p90_ns: wait * 1.6, wait_p99_ns: wait * 2, wait_p999_ns: wait * 2.3, wait_max_ns: wait * 2.5,
    queue_bytes_mean: depth * 0.6, queue_bytes_max: depth, queue_frames_mean: (depth * 0.6) / 1522, queue_frames_max: Math.round(depth / 1522), drops: 0,
  };
}

/** The tiers of a topology as the report has them. */
function fabric({ nodes, links }, ports) {
  const number = new Map(nodes.map((node, index) => [node.name, index]));
  const of = new Map(nodes.map((node) => [node.name, node]));
  const port = new Map(ports.map((row) => [`${row.node}>${row.peer}`, row]));
  const byLayers = new Map();
  for (const { a, b } of links) {
    const [low, high] = of.get(a).level <= of.get(b).level ? [a, b] : [b, a];
    const key = `${of.get(high).level}/${of.get(low).level}`;
    byLayers.set(key, [...(byLayers.get(key) ?? []), [low, high]]);
  }
  const word = (name) => (of.get(name).role === "host" ? "host" : name.replace(/[\d.].*/, ""));
  const tiers = [...byLayers].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, pairs]) => {
    const key = ([low, high]) => number.get(of.get(low).role === "host" ? high : low);
    const sorted = [...pairs].sort((x, y) => key(x) - key(y));
    const groups = [...new Set(sorted.map(key))];
    const end = (from, to) => {
      const rows = sorted.map((pair) => port.get(`${pair[from]}>${pair[to]}`));
      return { name: `${word(sorted[0][from])} -> ${word(sorted[0][to])}`, utilisation: rows.map((row) => (row ? Math.round(1000 * row.utilisation) : -1)), paused: rows.map((row) => Math.ceil(((row?.paused_s ?? 0) / 0.01) * 1000)), drops: rows.map((row) => row?.drops ?? 0), ports: rows.map((row) => ports.indexOf(row)) };
    };
    return { groups, sizes: groups.map((group) => sorted.filter((pair) => key(pair) === group).length), low: sorted.map(([low]) => number.get(low)), high: sorted.map(([, high]) => number.get(high)), ends: [end(0, 1), end(1, 0)] };
  });
  return { nodes: nodes.map((node) => node.name), tiers, film: film(ports) };
}

/** Twenty stretches, in which one port after the other is full, has the longest queue and is paused, for three stretches more. */
function film(ports) {
  const lines = (here, elsewhere) => Array.from({ length: 20 }, (_, stretch) => ports.map((_, port) => (port % 20 === stretch ? here : elsewhere)).join(""));
  const paused = lines("0", "0").map((line, stretch) => [...line].map((_, port) => (stretch >= port % 20 && stretch < (port % 20) + 4 ? "9" : "0")).join(""));
  return { stretch_ns: 500_000, ports: ports.map((row) => row.port), used: lines("5", "1"), paused, queued: lines("9", "0"), queue_bytes_max: 100_000, marked: lines("6", "0"), marks_max: 30 };
}

function document(run, topology, tables, scenario_toml = "", flow_control = "") {
  return { schema: "penstock-report/1", run, scenario_toml, facts: { flow_control, fairness: (tables.flows ?? []).length > 1 ? [{ name: "burst", flows: 2, jain: 0.984 }] : [] }, topology, fabric: fabric(topology, tables.ports ?? []), description, tables: Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, columns(rows)])) };
}

/** Three senders into one sink behind one switch, with PFC: two burst, one is the victim. */
export function small() {
  const next = random(7);
  const G = 1e9;
  const nodes = [{ name: "sw", role: "switch", level: 1 }, ...["h0", "h1", "h2", "h3"].map((name) => ({ name, role: "host", level: 0 }))];
  const links = ["h0", "h1", "h2", "h3"].map((b) => ({ a: "sw", b, rate_bps: 10 * G, delay_ns: 1000 }));
  const series = [];
  const pauses = [];
  const bins = 500;
  const width = 20_000;
  const depth = [0, 0, 0];
  const paused = [null, null, null];
  for (let bin = 0; bin < bins; bin++) {
    const congested = bin > 100 && bin < 400;
    const rates = congested ? [4.1, 3.4, 2.3] : [1.9, bin >= 100 ? 3 : 0, 2.5];
    rates.forEach((rate, flow) => series.push({ metric: "flow_throughput_bps", entity: ["burst[h0]", "burst[h1]", "victim"][flow], time_ns: bin * width, value: Math.max(0, rate * G * (0.94 + 0.12 * next())) }));
    const fill = congested ? 52 + 22 * Math.sin(bin / 5.1) + 6 * next() : Math.max(0, 5 * next() - 3);
    series.push({ metric: "queue_bytes", entity: "sw.3->h3 p3", time_ns: bin * width, value: Math.round(fill) * 1522 });
    series.push({ metric: "queue_frames", entity: "sw.3->h3 p3", time_ns: bin * width, value: Math.round(fill) });
    for (let host = 0; host < 2; host++) {
      const over = fill > 66 - 4 * host;
      const key = host;
      if (over && paused[key] === null) paused[key] = bin * width + 3000 * next();
      else if (!over && paused[key] !== null) {
        pauses.push({ port: `h${host}.0->sw`, priority: 3, start_ns: paused[key], end_ns: bin * width, sent_by: `sw.${host}->h${host}`, reason: "xoff", queue: "sw.3->h3 p3", occupancy: 66 - 4 * host, watermark: 66, unit: "frames" });
        paused[key] = null;
      }
    }
    depth[0] = fill;
  }
  for (let start = 2_300_000; start < 7_900_000; start += 420_000) pauses.push({ port: "h2.0->sw", priority: 3, start_ns: start, end_ns: start + 38_000, sent_by: "sw.2->h2", reason: "target", queue: "sw.3->h3 p3", occupancy: 55, watermark: 55, unit: "frames" });
  const pausedS = (port) => pauses.filter((pause) => pause.port === port).reduce((sum, pause) => sum + (pause.end_ns - pause.start_ns) * 1e-9, 0);
  const times = (port) => pauses.filter((pause) => pause.port === port).length;
  const tables = {
    flows: [flowRow("burst[h0]", "h0", "h3", 3, 5 * G, 3.22 * G, 92_000), flowRow("burst[h1]", "h1", "h3", 3, 5 * G, 2.66 * G, 88_000), flowRow("victim", "h2", "h3", 3, 2.5 * G, 2.38 * G, 41_000)],
    classes: [{ class: 3, flows: 3, offered_bps: 12.5 * G, throughput_bps: 8.26 * G, frames_sent: 6800, frames_delivered: 6784, frames_dropped: 0, latency_mean_ns: 76_000, latency_p99_ns: 190_000, latency_max_ns: 239_000, jain: 0.984 }],
    ports: [
      ...[0.33, 0.27, 0.24].map((use, host) => portRow(`h${host}`, 0, "sw", 10 * G, use, { paused_s: pausedS(`h${host}.0->sw`), pauses_received: times(`h${host}.0->sw`), queue_bytes_max: 48_000 })),
      portRow("h3", 0, "sw", 10 * G, 0),
      ...[0, 1, 2].map((host) => portRow("sw", host, `h${host}`, 10 * G, 0.0004, { pauses_sent: times(`h${host}.0->sw`) })),
      portRow("sw", 3, "h3", 10 * G, 0.84, { queue_bytes_mean: 46_000, queue_bytes_max: 121_760 }),
    ],
    queues: [queueRow("sw.3->h3", 3, 6784, 61_000, 121_760), ...[0, 1, 2].map((host) => queueRow(`h${host}.0->sw`, 3, 2200, 20_000, 48_000))],
    pauses,
    congestion: [0, 1, 2].map((host) => ({
      tree: 1, root: "sw.3->h3/3", why: "oversubscribed", depth: 1, queue: "sw.3->h3/3", sent_by: `sw.${host}->h${host}`, port: `h${host}.0->sw`, priority: 3,
      pauses: times(`h${host}.0->sw`), paused_ns: pausedS(`h${host}.0->sw`) * 1e9, first_ns: 500_000, last_ns: 7_900_000,
    })),
    congestion_flows: [["burst[h0]", 0.5], ["burst[h1]", 0.3], ["victim", 0.2]].map(([flow, share], host) => ({
      tree: 1, root: "sw.3->h3/3", flow, part: "culprit", frames: 6784 * share, share, paused_ns: pausedS(`h${host}.0->sw`) * 1e9, paused_at: `h${host}.0->sw`,
    })),
    drops: [],
    series,
    watermarks: [["xoff", 66], ["xon", 11], ["target", 55], ["limit", 400]].map(([watermark, value]) => ({ entity: "sw.3->h3 p3", watermark, value, unit: "frames" })),
    summary: [],
  };
  const scenario = `[simulation]\nname = "first-light"\nduration = "10 ms"\nwarmup = "0 s"\nseed = 1\n\n[topology.star]\nhosts = 4\nrate = "10 Gb/s"\ndelay = "1 us"\n\n[flow_control.pfc]\npriorities = [3]\naccounting = "egress"\nxoff = "66 frames"\nxon = "11 frames"\n\n[flow_control.pfc.target]\nmethod = "fair_bandwidth"\nwatermark = "55 frames"\n\n[[flows]]\nname = "burst"\nfrom = ["h0", "h1"]\nto = "h3"\npriority = 3\nframe = "1522 B"\nsource = { constant = { rate = "5 Gb/s" } }\n\n[[flows]]\nname = "victim"\nfrom = "h2"\nto = "h3"\npriority = 3\nsource = { constant = { rate = "2.5 Gb/s" } }\n`;
  return document(run("first-light", { description: "Two bursts and a victim meet at one port of a lossless switch." }), { nodes, links }, tables, scenario, "under targeted priority flow control (TPFC)");
}

/** The small run as queue pairs would have it, with transfers of all sizes and of one. */
export function rdma() {
  const made = small();
  const { metric, entity, time_ns, value } = made.tables.series.columns;
  for (const [name, of] of [["queue_pair_rate_bps", (bin) => 1e10 / (1 + (bin % 50))], ["queue_pair_in_flight_bytes", () => 64_000], ["queue_pair_cnps", (bin) => bin % 3], ["queue_pair_sent_again", (bin) => Number(bin === 7)]]) {
    for (const pair of ["burst[h0]/0", "burst[h1]/0", "victim/0"]) {
      for (let bin = 0; bin < 500; bin++) [metric, entity, time_ns, value].forEach((column, at) => column.push([name, pair, bin * 20_000, of(bin)][at]));
    }
  }
  const ns = Array.from({ length: 60 }, (_, at) => 5_000 * 1.07 ** at);
  const above = Object.fromEntries(["burst[h0]", "burst[h1]", "victim"].map((flow, nth) => [flow, ns.map((_, at) => (at >= 59 - nth ? 0 : Math.exp(-at / (8 - nth))))]));
  const ranks = { mean: 2.5, p50: 2, p95: 5.5, p99: 9, max: 12 };
  const bins = Array.from({ length: 20 }, (_, at) => ({ transfers: 50, bytes_min: 900 * 1.6 ** at, bytes_max: Math.round(1000 * 1.6 ** at), mean: 1.5 + at / 15, p50: 1.2 + at / 20, p95: 3 + at / 5, p99: 4 + at / 2, max: 5 + at }));
  const steps = { slowdown: ns.map((_, at) => 1.1 * 1.04 ** at), share: ns.map((_, at) => (at + 1) / 60) };
  const slowdown = [{ name: "web", begun: 1002, complete: 1000, slowdown: ranks, bins }, { name: "answers", begun: 60, complete: 60, slowdown: ranks, bins: [{ ...bins[5], transfers: 60 }], steps }];
  return { ...made, delays: { latency: { flows: 12, ns, above }, slowdown } };
}

/** A fat tree of 1,024 hosts (k = 16) with 1,024 flows and 204,800 points of throughput, cut short, with drops. */
export function big() {
  const next = random(11);
  const k = 16;
  const G = 1e9;
  const rate = 100 * G;
  const nodes = [];
  const links = [];
  const half = k / 2;
  for (let core = 0; core < half * half; core++) nodes.push({ name: `core${core}`, role: "switch", level: 3 });
  for (let pod = 0; pod < k; pod++) {
    for (let i = 0; i < half; i++) {
      nodes.push({ name: `agg${pod}.${i}`, role: "switch", level: 2 }, { name: `edge${pod}.${i}`, role: "switch", level: 1 });
      for (let j = 0; j < half; j++) {
        const host = `h${(pod * half + i) * half + j}`;
        nodes.push({ name: host, role: "host", level: 0 });
        links.push({ a: `edge${pod}.${i}`, b: host, rate_bps: rate, delay_ns: 100 }, { a: `agg${pod}.${i}`, b: `edge${pod}.${j}`, rate_bps: rate, delay_ns: 500 }, { a: `core${i * half + j}`, b: `agg${pod}.${i}`, rate_bps: rate, delay_ns: 500 });
      }
    }
  }
  const ports = [];
  const numbers = new Map();
  const number = (node) => {
    const own = numbers.get(node) ?? 0;
    numbers.set(node, own + 1);
    return own;
  };
  for (const { a, b } of links) {
    for (const [node, peer] of [[a, b], [b, a]]) {
      const hot = /^(edge3|agg3|h2[0-2])/.test(node);
      const use = Math.min(1, hot ? 0.7 + 0.3 * next() : 0.15 + 0.55 * next() * next() * 2);
      const paused_s = use > 0.93 && next() < 0.5 ? 1e-4 + 0.002 * next() : 0;
      ports.push(portRow(node, number(node), peer, rate, use, { paused_s, pauses_received: paused_s > 0 ? 40 : 0, queue_bytes_max: Math.round(use * 90_000), drops: use > 0.995 ? 17 : 0 }));
    }
  }
  const hosts = 1024;
  const flows = [];
  const series = [];
  for (let host = 0; host < hosts; host++) {
    const got = rate * (0.12 + 0.5 * next()) * (next() < 0.06 ? 0.3 : 1);
    const flow = `permutation[h${host}]`;
    flows.push(flowRow(flow, `h${host}`, `h${(host + 511) % hosts}`, host % 8 === 0 ? 0 : 3, rate * 0.6, got, 9_000 + 80_000 * next(), host % 97 === 0 ? 5 : 0));
    for (let bin = 0; bin < 200; bin++) series.push({ metric: "flow_throughput_bps", entity: flow, time_ns: bin * 50_000, value: got * (0.8 + 0.4 * next()) * Math.min(1, bin / 10) });
  }
  const pausedPorts = ports.filter((port) => port.paused_s > 0);
  const pauses = pausedPorts.flatMap((port, index) => Array.from({ length: 40 }, (_, time) => {
    const start = time * 245_000 + 90_000 * next() + index * 500;
    return { port: port.port, priority: 3, start_ns: start, end_ns: start + port.paused_s * 1e9 / 40, sent_by: `${port.peer}->${port.node}`, reason: "xoff", queue: `${port.peer} p3`, occupancy: 96_000, watermark: 95_000, unit: "bytes" };
  }));
  for (const port of pausedPorts.slice(0, 40)) for (let bin = 0; bin < 200; bin++) series.push({ metric: "queue_bytes", entity: port.port, time_ns: bin * 50_000, value: Math.round(95_000 * (0.4 + 0.6 * next())) });
  const tables = {
    flows,
    classes: [0, 3].map((priority) => ({ class: priority, flows: priority === 0 ? 128 : 896, offered_bps: 5e13, throughput_bps: 3e13, frames_sent: 24e6, frames_delivered: 23e6, frames_dropped: 11, latency_mean_ns: 49_000, latency_p99_ns: 160_000, latency_max_ns: 220_000, jain: priority === 0 ? 0.871 : 0.882 })),
    ports,
    queues: ports.map((port) => queueRow(port.port, 3, port.frames_sent, 30_000 * next(), port.queue_bytes_max)),
    pauses,
    drops: [{ port: ports[0].port, class: 3, flow: flows[0].flow, cause: "total_limit", frames: 5, bytes: 7610 }],
    series,
    watermarks: pausedPorts.slice(0, 40).flatMap((port) => [{ entity: port.port, watermark: "xoff", value: 95_000, unit: "bytes" }, { entity: port.port, watermark: "xon", value: 38_000, unit: "bytes" }]),
    summary: [],
  };
  return document(run("fat-tree-1024", { description: "A permutation of 1,024 hosts over a fat tree, one pod overloaded.", wall_s: 214, frame_hops: 1.84e9, events: 1.9e9, complete: false, duration_s: 0.02, warnings: ["on_lossless_drop = \"count\": frames were lost in a lossless class and the run went on."] }), { nodes, links }, tables, "[flow_control.pfc]\npriorities = [3]\n");
}

/** Two leaves and two spines, a ring beside them in `ring()`: small named fabrics of several layers. */
export function leafSpine() {
  const nodes = [];
  const links = [];
  for (let spine = 0; spine < 2; spine++) nodes.push({ name: `spine${spine}`, role: "switch", level: 2 });
  for (let leaf = 0; leaf < 4; leaf++) {
    nodes.push({ name: `leaf${leaf}`, role: "switch", level: 1 });
    for (let spine = 0; spine < 2; spine++) links.push({ a: `leaf${leaf}`, b: `spine${spine}`, rate_bps: 4e10, delay_ns: 500 });
    for (let host = 0; host < 4; host++) {
      nodes.push({ name: `h${leaf * 4 + host}`, role: "host", level: 0 });
      links.push({ a: `leaf${leaf}`, b: `h${leaf * 4 + host}`, rate_bps: 1e10, delay_ns: 100 });
    }
  }
  const next = random(3);
  const ports = links.flatMap(({ a, b, rate_bps }, index) => [portRow(a, index, b, rate_bps, next(), { drops: index === 3 ? 12 : 0 }), portRow(b, index, a, rate_bps, next(), { paused_s: next() < 0.2 ? 0.002 * next() : 0 })]);
  return document(run("leaf-spine"), { nodes, links }, { flows: [flowRow("one", "h0", "h9", 0, 1e10, 9.4e9, 12_000)], ports }, "[topology.leaf_spine]\n");
}

/** Four switches in a ring with parallel links between two of them. */
export function ring() {
  const nodes = [];
  const links = [];
  for (let sw = 0; sw < 4; sw++) {
    nodes.push({ name: `sw${sw}`, role: "switch", level: 1 }, { name: `h${sw}.0`, role: "host", level: 0 }, { name: `h${sw}.1`, role: "host", level: 0 });
    links.push({ a: `sw${sw}`, b: `sw${(sw + 1) % 4}`, rate_bps: 1e10, delay_ns: 1000 }, { a: `sw${sw}`, b: `h${sw}.0`, rate_bps: 1e10, delay_ns: 10 }, { a: `sw${sw}`, b: `h${sw}.1`, rate_bps: 1e10, delay_ns: 10 });
  }
  links.push({ a: "sw1", b: "sw2", rate_bps: 1e10, delay_ns: 1000 });
  const ports = links.flatMap(({ a, b, rate_bps }, index) => [portRow(a, index, b, rate_bps, (index % 7) / 6), portRow(b, index, a, rate_bps, (index % 5) / 4, { paused_s: index === 0 ? 0.004 : 0 })]);
  return document(run("ring"), { nodes, links }, { flows: [flowRow("round", "h0.0", "h2.0", 0, null, 5e9, 12_000)], ports });
}

/** Probes off, no flows, no tables, no topology: every panel must say so in a sentence. */
export function empty() {
  return document(run("empty", { simulated_s: 0, wall_s: 0, frame_hops: 0, events: 0 }), { nodes: [], links: [] }, { flows: [], ports: [] });
}

/** A result of a later version. */
export function later() {
  return { ...small(), schema: "penstock-report/2" };
}

/** Four switches in a circle that wait for each other, two tiers of pauses, a storm. */
export function stuck() {
  const names = ["sw0", "sw1", "sw2", "sw3"];
  const nodes = names.flatMap((name, i) => [{ name, role: "switch", level: 1 }, { name: `h${i}`, role: "host", level: 0 }]);
  const links = names.flatMap((a, i) => [{ a, b: names[(i + 1) % 4], rate_bps: 1e10, delay_ns: 100 }, { a, b: `h${i}`, rate_bps: 1e10, delay_ns: 100 }]);
  const ring = (i) => `sw${i % 4}.1->sw${(i + 1) % 4}`;
  const edge = (tree, depth, queue, sent_by, port, pauses, paused_ns) => ({ tree, root: `${ring(tree)}/0`, why: "oversubscribed", depth, queue, sent_by, port, priority: 0, pauses, paused_ns, first_ns: 11_000, last_ns: 100_000 });
  const trees = [0, 1, 2, 3].flatMap((i) => [
    edge(i + 1, 1, `${ring(i + 1)}/0`, `sw${(i + 1) % 4}.0->sw${i}`, ring(i), 1, 63_000),
    edge(i + 1, 1, `${ring(i + 1)}/0`, `sw${(i + 1) % 4}.2->h${(i + 1) % 4}`, `h${(i + 1) % 4}.0->sw${(i + 1) % 4}`, 3, 8_000),
    edge(i + 1, 2, `${ring(i)}/0`, `sw${i}.2->h${i}`, `h${i}.0->sw${i}`, 2, 55_000),
  ]);
  const tables = {
    flows: names.map((_, i) => flowRow(`f${i}`, `h${i}`, `h${(i + 2) % 4}`, 0, 3.5e9, 1.3e9, 17_000)),
    classes: [], ports: names.map((name, i) => portRow(name, 1, names[(i + 1) % 4], 1e10, 0.36, { paused_s: 6.3e-5, pauses_received: 1 })), queues: [], pauses: [], drops: [], series: [], watermarks: [], summary: [],
    congestion: trees,
    congestion_flows: names.map((_, i) => ({ tree: i + 1, root: `${ring(i + 1)}/0`, flow: `f${i}`, part: i % 2 ? "victim" : "culprit", frames: 29, share: i % 2 ? 0 : 1, paused_ns: 55_000, paused_at: ring(i) })),
    deadlocks: names.map((_, i) => ({ deadlock: 1, closed_ns: 36_476.4, seen_ns: 100_000, ended_ns: null, port: ring(i), class: 0, waits_for: ring(i + 1), paused_since_ns: 36_476.4, frames: 17, bytes: 25_874, counted_frames: 9 })),
    storms: [{ port: ring(0), class: 0, action: "drop", began_ns: 36_476, detected_ns: 86_476, over_ns: null, frames_dropped: 17, bytes_dropped: 25_874 }],
  };
  const findings = [{ state: "deadlocked", text: "4 queues wait for each other in a circle from 36.4764 us on" }, { state: "stopped_early", text: "at 100 us of 10 ms, on_deadlock = \"stop\"" }];
  const verdict = { state: "deadlocked", text: findings.map(({ state, text }) => `${state}: ${text}`).join("; "), tone: "bad", findings };
  return { ...document(run("stuck", { complete: false, simulated_s: 1e-4, ended_by: "a deadlock of 4 queues closed at 36.4764 us" }), { nodes, links }, tables), verdict };
}
