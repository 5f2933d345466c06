# ns-2's TCP over one bottleneck: ns tcp.tcl RECOVERY QUEUE JITTER WARMUP END START...
#   RECOVERY is Newreno or Sack1, QUEUE is drop, red or ecn, times are in seconds, one START a connection. All send over
# links of 1 Gb/s to a router, whose link of 50 Mb/s to the receiver has the queue; each takes 5 ms. Prints bits, drops and
# marks of that link and its mean queue in packets, all of the time from WARMUP to END.

foreach {recovery kind jitter warmup end} $argv break
set starts [lrange $argv 5 end]

Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 10000
Agent/TCP set maxcwnd_ 0
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
Agent/TCP set overhead_ $jitter
Agent/TCP set windowInit_ 2
Agent/TCP set maxburst_ 0
Agent/TCP set ecn_ [expr {$kind == "ecn"}]
Agent/TCPSink set packetSize_ 64

Queue set limit_ 101
set queue DropTail
if {$kind != "drop"} {
    set queue RED
    Queue set limit_ 1000
    Queue/RED set thresh_ 10
    Queue/RED set maxthresh_ 60
    Queue/RED set q_weight_ 0.002
    Queue/RED set linterm_ 20
    Queue/RED set gentle_ true
    Queue/RED set wait_ false
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set mean_pktsize_ 1500
    Queue/RED set adaptive_ 0
    Queue/RED set setbit_ [expr {$kind == "ecn"}]
}

set ns [new Simulator]
set router [$ns node]
set receiver [$ns node]
$ns simplex-link $router $receiver 50Mb 5ms $queue
Queue set limit_ 100000
$ns simplex-link $receiver $router 50Mb 5ms DropTail
set link [$ns link $router $receiver]
set monitor [new QueueMonitor/ED]
set integral [new Integrator]
$monitor set-pkts-integrator $integral
$link attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] [new SnoopQueue/Drop] $monitor
set early [new SnoopQueue/EDrop]
$early set-monitor $monitor
if {$kind != "drop"} { [$link queue] early-drop-target $early ; $early target [$ns set nullAgent_] }

foreach start $starts {
    set node [$ns node]
    $ns duplex-link $node $router 1Gb 5ms DropTail
    set tcp [new Agent/TCP/$recovery]
    set sink [new Agent/TCPSink[expr {$recovery == "Sack1" ? "/Sack1" : ""}]]
    $ns attach-agent $node $tcp
    $ns attach-agent $receiver $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
}
proc counts {} {
    global monitor integral ns
    set now [$ns now]
    $integral newpoint $now [$monitor set pkts_]
    list [$monitor set bdepartures_] [$monitor set pdrops_] [$monitor set epdrops_] [$monitor set pmarks_] [$integral set sum_]
}
$ns at $warmup { set before [counts] }
$ns at $end {
    set found {}
    foreach old $before new [counts] { lappend found [expr {$new - $old}] }
    foreach {bytes drops early marks area} $found break
    set span [expr {$end - $warmup}]
    puts "{\"bps\": [expr {8.0 * $bytes / $span}], \"drops\": $drops, \"early\": $early, \"marks\": $marks, \"queue\": [expr {$area / $span}]}"
    exit 0
}
$ns run
