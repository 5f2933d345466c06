# Shares under ns-2's own schedulers: ns shares.tcl QUEUE SECONDS SIZE:RATE...
#   QUEUE is DRR, SFQ or FQ. Each SIZE:RATE is a sender of packets of SIZE bytes at RATE b/s (constant). All send over links of
# 10 Gb/s to a router, whose link of 10 Gb/s to the receiver has the queue. Prints bytes received of each sender
# after a fifth of the time.

set kind [lindex $argv 0]
set duration [lindex $argv 1]
set senders [lrange $argv 2 end]

set ns [new Simulator]
set router [$ns node]
set receiver [$ns node]
Queue/DRR set buckets_ 64
Queue/DRR set blimit_ 250000
Queue/DRR set quantum_ 1522
Queue/DRR set mask_ 0
Queue/SFQ set maxqueue_ 400
Queue/SFQ set buckets_ 64
Queue set limit_ 400
$ns simplex-link $router $receiver 10Gb 1us $kind
$ns simplex-link $receiver $router 10Gb 1us DropTail

set i 0
foreach sender $senders {
    foreach {size rate} [split $sender :] break
    set node [$ns node]
    $ns duplex-link $node $router 10Gb 1us DropTail
    set agent [new Agent/UDP]
    $agent set packetSize_ $size
    $agent set fid_ $i
    $ns attach-agent $node $agent
    set sink($i) [new Agent/LossMonitor]
    $ns attach-agent $receiver $sink($i)
    $ns connect $agent $sink($i)
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $size
    $cbr set rate_ $rate
    $cbr attach-agent $agent
    $ns at [expr 1e-6 * (0.1 + 0.37 * $i)] "$cbr start"
    incr i
}
$ns at [expr 0.2 * $duration] "begin"
$ns at $duration "finish"
proc begin {} {
    global sink i before
    for {set n 0} {$n < $i} {incr n} { set before($n) [$sink($n) set bytes_] }
}
proc finish {} {
    global sink i before
    set words {}
    for {set n 0} {$n < $i} {incr n} { lappend words [expr [$sink($n) set bytes_] - $before($n)] }
    puts "\[[join $words {, }]\]"
    exit 0
}
$ns run
