-- A dissector for what Wireshark does not know: the CN-TAG (type 0x22E9) and the congestion notification message
-- (0x22E7) of IEEE 802.1Qau, and Penstock's own rate discovery tag of FECN (0x88B5) and message of L2CI (0x88B6).
--     tshark -X lua_script:penstock.lua -r FILE
-- or in the personal folder of Lua plugins that Help / About Wireshark / Folders names.

local ethertype = DissectorTable.get("ethertype")

local function bad(protocol, name, text, group, severity)
  return ProtoExpert.new(protocol .. "." .. name, text, group, severity)
end

-- CN-TAG

local cntag = Proto("cntag", "802.1Qau CN-TAG")
cntag.fields.flowid = ProtoField.uint16("cntag.flowid", "Flow Id", base.DEC_HEX)
cntag.fields.etype = ProtoField.uint16("cntag.etype", "Type", base.HEX)

function cntag.dissector(bytes, packet, tree)
  if bytes:len() < 4 then return 0 end
  local shown = tree:add(cntag, bytes(0, 4))
  shown:add(cntag.fields.flowid, bytes(0, 2))
  shown:add(cntag.fields.etype, bytes(2, 2))
  shown:append_text(", Flow Id " .. bytes(0, 2):uint())
  ethertype:try(bytes(2, 2):uint(), bytes(4):tvb(), packet, tree)
  return bytes:len()
end

-- CNM

local cnm = Proto("cnm", "802.1Qau Congestion Notification Message")
local c = cnm.fields
c.version = ProtoField.uint16("cnm.version", "Version", base.DEC, nil, 0xF000)
c.reserved = ProtoField.uint16("cnm.reservedv", "ReservedV", base.HEX, nil, 0x0FC0)
c.qntzfb = ProtoField.uint16("cnm.qntzfb", "Quantized Feedback", base.DEC, nil, 0x003F)
c.cpid = ProtoField.bytes("cnm.cpid", "Congestion Point Identifier", base.COLON)
c.qoffset = ProtoField.int16("cnm.qoffset", "cnmQOffset")
c.qdelta = ProtoField.int16("cnm.qdelta", "cnmQDelta")
c.priority = ProtoField.uint16("cnm.encap.priority", "Encapsulated priority", base.DEC, nil, 0xE000)
c.destination = ProtoField.ether("cnm.encap.dst", "Encapsulated destination MAC address")
c.len = ProtoField.uint16("cnm.encap.len", "Encapsulated MSDU length")
c.msdu = ProtoField.bytes("cnm.encap.msdu", "Encapsulated MSDU")
local warn, err = expert.severity.WARN, expert.severity.ERROR
local cnm_version = bad("cnm", "version.unknown", "CNM version is not 0", expert.group.PROTOCOL, warn)
local cnm_len = bad("cnm", "encap.len.bad", "MSDU length exceeds 64 or the frame", expert.group.MALFORMED, err)
local cnm_short = bad("cnm", "short", "CNM shorter than 24 octets", expert.group.MALFORMED, err)
cnm.experts = { cnm_version, cnm_len, cnm_short }

function cnm.dissector(bytes, packet, tree)
  packet.cols.protocol = "CNM"
  if bytes:len() < 24 then
    tree:add(cnm, bytes()):add_proto_expert_info(cnm_short)
    return bytes:len()
  end
  local len = bytes(22, 2):uint()
  local there = math.min(len, bytes:len() - 24)
  local shown = tree:add(cnm, bytes(0, 24 + there))
  local version = shown:add(c.version, bytes(0, 2))
  if bytes(0, 1):bitfield(0, 4) ~= 0 then version:add_proto_expert_info(cnm_version) end
  shown:add(c.reserved, bytes(0, 2))
  shown:add(c.qntzfb, bytes(0, 2))
  shown:add(c.cpid, bytes(2, 8))
  shown:add(c.qoffset, bytes(10, 2))
  shown:add(c.qdelta, bytes(12, 2))
  shown:add(c.priority, bytes(14, 2))
  shown:add(c.destination, bytes(16, 6))
  local told = shown:add(c.len, bytes(22, 2))
  if len > 64 or len > bytes:len() - 24 then told:add_proto_expert_info(cnm_len) end
  if there > 0 then shown:add(c.msdu, bytes(24, there)) end
  packet.cols.info = string.format(
    "CNM QntzFb %d, QOffset %d, QDelta %d, for %s priority %d", bytes(1, 1):bitfield(2, 6), bytes(10, 2):int(),
    bytes(12, 2):int(), tostring(bytes(16, 6):ether()), bytes(14, 1):bitfield(0, 3))
  return bytes:len()
end

-- FECN

local fecn = Proto("fecnrd", "FECN rate discovery tag (Penstock)")
local f = fecn.fields
local ways = { [0] = "forward", [1] = "returning" }
f.proto = ProtoField.uint8("fecnrd.proto", "Sub-protocol")
f.version = ProtoField.uint8("fecnrd.version", "Version", base.DEC, nil, 0xF0)
f.direction = ProtoField.uint8("fecnrd.direction", "Direction", base.DEC, ways, 0x08)
f.rlq = ProtoField.uint16("fecnrd.rlq", "Rate limiting queue")
f.rate = ProtoField.uint32("fecnrd.rate", "Rate (kb/s, 0xffffffff = unlimited)", base.DEC_HEX)
f.etype = ProtoField.uint16("fecnrd.etype", "Type", base.HEX)

function fecn.dissector(bytes, packet, tree)
  if bytes:len() < 10 or bytes(0, 1):uint() ~= 1 then return 0 end
  local shown = tree:add(fecn, bytes(0, 10))
  shown:add(f.proto, bytes(0, 1))
  shown:add(f.version, bytes(1, 1))
  shown:add(f.direction, bytes(1, 1))
  shown:add(f.rlq, bytes(2, 2))
  shown:add(f.rate, bytes(4, 4))
  shown:add(f.etype, bytes(8, 2))
  packet.cols.protocol = "FECN"
  local next_type = bytes(8, 2):uint()
  if next_type ~= 0 and bytes:len() > 10 then ethertype:try(next_type, bytes(10):tvb(), packet, tree) end
  return bytes:len()
end

-- L2CI

local l2ci = Proto("l2ci", "L2CI message (Penstock)")
local l = l2ci.fields
local kinds = { "discover", "discover-echo", "feedback", "probe", "probe-echo" }
l.proto = ProtoField.uint8("l2ci.proto", "Sub-protocol")
l.version = ProtoField.uint8("l2ci.version", "Version", base.DEC, nil, 0xF0)
l.kind = ProtoField.uint8("l2ci.kind", "Kind", base.DEC, kinds, 0x0F)
l.seq = ProtoField.uint16("l2ci.seq", "Sequence")
l.congestion = ProtoField.uint16("l2ci.congestion", "Congestion (0.1 % of receive buffer)")
l.hops = ProtoField.uint8("l2ci.hops", "Hop count")
l.priority = ProtoField.uint8("l2ci.priority", "Priority", base.DEC, nil, 0xE0)
l.speed = ProtoField.uint32("l2ci.speed", "Slowest link (Mb/s)")
l.stamp = ProtoField.uint64("l2ci.stamp", "Time stamp (ns)")
l.path = ProtoField.ether("l2ci.path", "Path destination")

function l2ci.dissector(bytes, packet, tree)
  if bytes:len() < 26 or bytes(0, 1):uint() ~= 2 then return 0 end
  local shown = tree:add(l2ci, bytes(0, 26))
  shown:add(l.proto, bytes(0, 1))
  shown:add(l.version, bytes(1, 1))
  shown:add(l.kind, bytes(1, 1))
  shown:add(l.seq, bytes(2, 2))
  shown:add(l.congestion, bytes(4, 2))
  shown:add(l.hops, bytes(6, 1))
  shown:add(l.priority, bytes(7, 1))
  shown:add(l.speed, bytes(8, 4))
  shown:add(l.stamp, bytes(12, 8))
  shown:add(l.path, bytes(20, 6))
  packet.cols.protocol = "L2CI"
  return bytes:len()
end

ethertype:add(0x22E9, cntag)
ethertype:add(0x22E7, cnm)
ethertype:add(0x88B5, fecn)
ethertype:add(0x88B6, l2ci)
