"""Running configurations of switches, in the syntax of their vendors' documentation."""

from __future__ import annotations

NXOS = """\
!Command: show running-config
hostname leaf-101
class-map type qos match-all ROCE-DATA
  match dscp 24,26
class-map type qos match-all ROCE-CNP
  match dscp cs6
policy-map type qos ROCE-INGRESS
  class ROCE-DATA
    set qos-group 3
  class ROCE-CNP
    set qos-group 7
  class class-default
    set qos-group 0
policy-map type queuing ROCE-EGRESS
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q3
    bandwidth remaining percent 60
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 40
policy-map type network-qos ROCE-NETWORK-QOS
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
system qos
  service-policy type network-qos ROCE-NETWORK-QOS
  service-policy type queuing output ROCE-EGRESS
priority-flow-control watch-dog-interval on
priority-flow-control watch-dog interval 200
priority-flow-control watch-dog shutdown-multiplier 2
priority-flow-control auto-restore multiplier 5
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type qos input ROCE-INGRESS
  speed 100000
interface Ethernet1/2
  priority-flow-control mode on
  service-policy type qos input ROCE-INGRESS
  speed 100000
interface Ethernet1/3
  priority-flow-control mode on
  service-policy type qos input ROCE-INGRESS
  speed 400000
"""
"""Cisco NX-OS, Nexus 9000 Series NX-OS Quality of Service Configuration Guide."""
NXOS_NAMED = """\
class-map type qos match-all RDMA
  match cos 3
class-map type queuing RDMA
  match qos-group 3
policy-map type qos QOS_MARKING
class RDMA
    set qos-group 3
class class-default
policy-map type queuing QOS_QUEUEING
  class type queuing RDMA
    bandwidth percent 50
    random-detect minimum-threshold 300 kbytes maximum-threshold 300 kbytes drop-probability 100 weight 0 ecn
  class type queuing class-default
    bandwidth percent 50
policy-map type queuing INPUT_QUEUING
  class type queuing RDMA
    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320
class-map type network-qos RDMA
  match qos-group 3
policy-map type network-qos QOS_NETWORK
  class type network-qos RDMA
    mtu 9216
    pause no-drop
policy-map type network-qos jumbo-queuing
  class type network-qos class-default
    mtu 9216
system qos
  service-policy type qos input QOS_MARKING
  service-policy type queuing output QOS_QUEUEING
  service-policy type queuing input INPUT_QUEUING
  service-policy type network-qos QOS_NETWORK
interface Ethernet1/1-8
  priority-flow-control mode on
  speed 25000
"""
"""Cisco NX-OS with classes that are named, as on the Nexus 3000."""
EOS = """\
! Command: show running-config
hostname leaf1
priority-flow-control pause watchdog action drop
priority-flow-control pause watchdog default timeout 0.2
priority-flow-control pause watchdog default recovery-time 0.5
qos map dscp 26 to traffic-class 3
qos map dscp 48 to traffic-class 6
qos map traffic-class 6 to tx-queue 5
platform trident mmu headroom-pool limit bytes 4194304
platform trident mmu queue profile ROCE
   ingress reserved bytes 1664
   ingress threshold 1/8
   ingress headroom bytes 180000
   egress unicast queue 3 threshold 2
platform trident mmu queue profile ROCE apply
qos profile ROCE-LEAF
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   uc-tx-queue 1
      bandwidth percent 5
      no priority
   uc-tx-queue 3
      bandwidth percent 90
      no priority
      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes max-mark-probability 50
   uc-tx-queue 5
      priority strict
interface Ethernet1/1
   mtu 9214
   speed forced 100gfull
   no switchport
   service-profile ROCE-LEAF
interface Ethernet2/1
   mtu 9214
   speed forced 100gfull
   no switchport
   service-profile ROCE-LEAF
interface Ethernet3/1
   mtu 9214
   speed 400g-8
   qos trust dscp
   service-profile ROCE-LEAF
"""
"""Arista EOS, EOS User Manual and the schema of Arista AVD."""
JUNOS = """\
/* leaf of an AI fabric */
system {
    host-name GPU-R1-L1;
}
interfaces {
    et-0/0/0 {
        number-of-sub-ports 2;
        speed 400g;
    }
    et-0/0/0:0 {
        mtu 9216;
    }
    et-0/0/0:1 {
        mtu 9216;
    }
    et-0/0/2 {
        mtu 9216;
        speed 800g;
    }
}
class-of-service {
    classifiers {
        dscp mydscp {
            forwarding-class CNP {
                loss-priority low code-points 110000;
            }
            forwarding-class NO-LOSS {
                loss-priority low code-points [ 011010 af41 ];
            }
        }
    }
    drop-profiles {
        dp1 {
            interpolate {
                fill-level [ 55 90 ];
                drop-probability [ 0 100 ];
            }
        }
    }
    shared-buffer {
        ingress {
            buffer-partition lossless {
                percent 66;
                dynamic-threshold 10;
            }
            buffer-partition lossless-headroom {
                percent 24;
            }
            buffer-partition lossy {
                percent 10;
            }
        }
        egress {
            buffer-partition lossless {
                percent 66;
            }
            buffer-partition lossy {
                percent 10;
            }
        }
    }
    forwarding-classes {
        class CNP queue-num 3;
        class NO-LOSS queue-num 4 no-loss pfc-priority 3;
    }
    congestion-notification-profile {
        cnp {
            pfc-watchdog;
            input {
                dscp {
                    code-point 011010 {
                        pfc;
                    }
                }
                cable-length 40;
            }
            output {
                ieee-802.1 {
                    code-point 011 {
                        flow-control-queue 4;
                    }
                }
            }
        }
    }
    interfaces {
        et-* {
            congestion-notification-profile cnp;
            scheduler-map sm1;
            unit * {
                classifiers {
                    dscp mydscp;
                }
            }
        }
    }
    scheduler-maps {
        sm1 {
            forwarding-class CNP scheduler s2-cnp;
            forwarding-class NO-LOSS scheduler s1;
        }
    }
    schedulers {
        s1 {
            drop-profile-map loss-priority any protocol any drop-profile dp1;
            explicit-congestion-notification;
        }
        s2-cnp {
            transmit-rate percent 5;
            priority strict-high;
        }
    }
}
"""
"""Juniper Junos Evolved, Traffic Management User Guide (QFX Series)."""
JUNOS_SET = """\
set system host-name leaf2
set interfaces xe-0/0/1 mtu 9216
set interfaces xe-0/0/2 mtu 9216
set class-of-service classifiers ieee-802.1 fc forwarding-class fcoe loss-priority low code-points 011
set class-of-service classifiers ieee-802.1 fc forwarding-class network-control code-points 110
set class-of-service classifiers ieee-802.1 fc forwarding-class network-control code-points [ 111 ]
set class-of-service congestion-notification-profile fcoe-cnp input ieee-802.1 code-point 011 pfc
set class-of-service scheduler-maps sm forwarding-class fcoe scheduler half
set class-of-service scheduler-maps sm forwarding-class best-effort scheduler rest
set class-of-service scheduler-maps sm forwarding-class network-control scheduler first
set class-of-service schedulers half transmit-rate 5g
set class-of-service schedulers rest transmit-rate remainder
set class-of-service schedulers first priority strict-high
set class-of-service interfaces xe-0/0/1 unit 0 classifiers ieee-802.1 fc
set class-of-service interfaces xe-0/0/1 congestion-notification-profile fcoe-cnp
set class-of-service interfaces xe-0/0/1 scheduler-map sm
set class-of-service interfaces xe-0/0/2 unit 0 classifiers ieee-802.1 fc
set class-of-service interfaces xe-0/0/2 congestion-notification-profile fcoe-cnp
set class-of-service interfaces xe-0/0/2 scheduler-map sm
"""
"""Juniper Junos as commands, with forwarding classes by default."""
NVUE_YAML = """\
- header:
    model: MSN3700C
    nvue-api-version: nvue_v1
    rev-id: 1.0
    version: Cumulus Linux 5.9.2
- set:
    interface:
      swp1-2,swp4:
        link:
          mtu: 9216
        qos:
          congestion-control:
            profile: C
          egress-scheduler:
            profile: S
          pfc:
            profile: P
        type: swp
    qos:
      congestion-control:
        C:
          traffic-class:
            '3':
              ecn: enable
              max-threshold: 200000
              min-threshold: 40000
              probability: 5
              red: disable
      egress-scheduler:
        S:
          traffic-class:
            0-2,4-5:
              bw-percent: 10
              mode: dwrr
            '3':
              bw-percent: 50
              mode: dwrr
            6,7:
              mode: strict
      pfc:
        P:
          cable-length: 40
          rx: enable
          switch-priority:
            '3': {}
          tx: enable
          xoff-threshold: 40000
          xon-threshold: 20000
      roce:
        enable: 'off'
      traffic-pool:
        default-lossless:
          memory-percent: 80
          switch-priority:
            '3': {}
        default-lossy:
          memory-percent: 20
          switch-priority:
            0-2,4-7: {}
    system:
      hostname: leaf01
"""
"""YAML of NVUE, NVIDIA Cumulus Linux User Guide."""
LLDPTOOL = """\
Chassis ID TLV
\tMAC: 00:00:5e:00:53:01
Port ID TLV
\tMAC: 00:00:5e:00:53:01
Time to Live TLV
\t120
IEEE 8021QAZ ETS Configuration TLV
\t Willing: no
\t CBS: not supported
\t MAX_TCS: 8
\t PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2
\t TC Bandwidth: 70% 30% 0% 0% 0% 0% 0% 0%
\t TSA_MAP: 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict
IEEE 8021QAZ PFC TLV
\t Willing: no
\t MACsec Bypass Capable: no
\t PFC capable traffic classes: 8
\t PFC enabled: 3
IEEE 8021QAZ APP TLV
\tApp#0:
\t Priority: 3
\t Sel: 3
\t UDP or DCCP Port: 4791

\tApp#1:
\t Priority: 4
\t Sel: 2
\t {S}TCP Port: 3260

End of LLDPDU TLV
"""
"""Output of lldptool -t -i PORT (open-lldp)."""
LLDPTOOL_CEE = """\
CEE DCBX TLV
\tControl TLV:
\t  SeqNo: 8, AckNo: 2
\tPriority Groups TLV:
\t  Enabled, Not Willing, No Error
\t  PGID Priorities:  0:[0,1,2,5] 1:[3,4] 15:[6,7]
\t  PGID Percentages: 0:60% 1:40% 2:0% 3:0% 4:0% 5:0% 6:0% 7:0%
\t  Number of TC's supported: 8
\tPriority Flow Control TLV:
\t  Enabled, Not Willing, No Error
\t  PFC enabled priorities: 3, 4
\t  Number of TC's supported: 8
\tApplication TLV:
\t  Enabled, Not Willing, No Error
\t  Ethertype: 0x8906, Priority Map: 0x08
End of LLDPDU TLV
"""
"""Output of lldptool for DCBX before IEEE 802.1Qaz."""
NS3_CONFIG = """\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1

PACKET_PAYLOAD_SIZE 1000

SIMULATOR_STOP_TIME 4.00

CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 40Mb/s
RATE_HAI 400Mb/s
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s

L2_ACK_INTERVAL 1
HAS_WIN 1
U_TARGET 0.95
MI_THRESH 5

KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.25
BUFFER_SIZE 32
"""
"""`config.txt` of the HPCC fork of ns-3."""
