# The speed workloads for ns-2: ns ns2.tcl WORKLOAD SECONDS
#   star: 8 senders at 1.1875 Gb/s to one receiver; fat-tree-K: host i to host i + N/2 at 5 Gb/s, six hops;
#   bottleneck: 10 transfers over TCP with selective acknowledgements share 50 Mb/s behind 100 packets of queue.
# 1500-byte packets, links of 10 Gb/s and 1 us, queues that do not overflow, routes set by hand (computing
# them for a thousand nodes takes ns-2 longer than the run). Prints frame-hops and seconds of the run alone.

set workload [lindex $argv 0]
set duration [lindex $argv 1]
set ns [new Simulator]
$ns rtproto Manual
remove-all-packet-headers
add-packet-header IP TCP
Queue set limit_ 1000000

set hops 0
proc link {a b} {
    global ns
    $ns duplex-link $a $b 10Gb 1us DropTail
}
proc route {node destination next} {
    global ns
    $node add-route [$destination id] [[$ns link $node $next] head]
}
proc flow {i source destination rate} {
    global ns duration
    set agent [new Agent/UDP]
    $agent set packetSize_ 1500
    $ns attach-agent $source $agent
    set sink [new Agent/Null]
    $ns attach-agent $destination $sink
    $ns connect $agent $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1500
    $cbr set rate_ $rate
    $cbr attach-agent $agent
    # A phase of its own for each sender.
    $ns at [expr 1e-6 * fmod($i * 0.6180339887, 1.0) * 10] "$cbr start"
    $ns at $duration "$cbr stop"
}

if {$workload == "star"} {
    set switch [$ns node]
    for {set i 0} {$i < 9} {incr i} {
        set host($i) [$ns node]
        link $host($i) $switch
    }
    for {set i 0} {$i < 8} {incr i} {
        route $host($i) $host(8) $switch
        flow $i $host($i) $host(8) 1187500000
    }
    route $switch $host(8) $host(8)
    set hops [expr round(8 * 2 * $duration * 1187500000.0 / 12000)]
} elseif {$workload == "bottleneck"} {
    Agent/TCP set packetSize_ 1460
    Agent/TCP set window_ 10000
    Agent/TCP set tcpTick_ 0.001
    Agent/TCP set minrto_ 0.2
    Agent/TCPSink set packetSize_ 64
    set router [$ns node]
    set receiver [$ns node]
    # One packet is being sent.
    Queue set limit_ 101
    $ns duplex-link $router $receiver 50Mb 5ms DropTail
    Queue set limit_ 1000000
    route $router $receiver $receiver
    set senders {}
    for {set i 0} {$i < 10} {incr i} {
        set host [$ns node]
        $ns duplex-link $host $router 1Gb 5ms DropTail
        route $host $receiver $router
        route $router $host $host
        route $receiver $host $router
        set tcp [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1]
        $ns attach-agent $host $tcp
        $ns attach-agent $receiver $sink
        $ns connect $tcp $sink
        $ns at [expr 0.1 * ($i + 1)] "[new Application/FTP] attach-agent $tcp; $tcp send -1"
        lappend senders $tcp
    }
} else {
    scan $workload "fat-tree-%d" k
    set h [expr $k / 2]
    for {set c 0} {$c < $h * $h} {incr c} { set core($c) [$ns node] }
    for {set p 0} {$p < $k} {incr p} {
        for {set a 0} {$a < $h} {incr a} {
            set agg($p,$a) [$ns node]
            for {set c 0} {$c < $h} {incr c} { link $agg($p,$a) $core([expr $a * $h + $c]) }
        }
        for {set e 0} {$e < $h} {incr e} {
            set edge($p,$e) [$ns node]
            for {set a 0} {$a < $h} {incr a} { link $edge($p,$e) $agg($p,$a) }
            for {set x 0} {$x < $h} {incr x} {
                set i [expr ($p * $h + $e) * $h + $x]
                set host($i) [$ns node]
                link $host($i) $edge($p,$e)
            }
        }
    }
    set n [expr $k * $h * $h]
    for {set i 0} {$i < $n} {incr i} {
        set d [expr ($i + $n / 2) % $n]
        set p [expr $i / ($h * $h)]; set e [expr $i / $h % $h]; set x [expr $i % $h]
        set q [expr $d / ($h * $h)]; set f [expr $d / $h % $h]
        set c [expr $x * $h + $e]
        route $host($i) $host($d) $edge($p,$e)
        route $edge($p,$e) $host($d) $agg($p,$x)
        route $agg($p,$x) $host($d) $core($c)
        route $core($c) $host($d) $agg($q,$x)
        route $agg($q,$x) $host($d) $edge($q,$f)
        route $edge($q,$f) $host($d) $host($d)
        flow $i $host($i) $host($d) 5000000000
    }
    set hops [expr round($n * 6 * $duration * 5000000000.0 / 12000)]
}

$ns at 0.0 "set begun \[clock milliseconds\]"
$ns at [expr $duration] "finish"
# Every packet has a hop to the router; those that are not lost have one more, and two of their acknowledgement.
proc tcp_hops {} {
    global senders
    set hops 0
    foreach tcp $senders {
        set sent [$tcp set ndatapack_]
        incr hops [expr {$sent + 3 * ($sent - [$tcp set nrexmitpack_])}]
    }
    return $hops
}
proc finish {} {
    global begun hops workload
    set wall [expr ([clock milliseconds] - $begun) / 1000.0]
    if {$workload == "bottleneck"} { set hops [tcp_hops] }
    puts "{\"peer\": \"ns-2\", \"workload\": \"$workload\", \"frame_hops\": $hops, \"wall_s\": $wall}"
    exit 0
}
$ns run
