//! The defaults of schedulers, written out.

use super::scheduler::*;
use crate::quantity::{Or, SizeText, TimeText};
use units::{Bytes, Time};

impl Scheduler {
    /// One queue in order of arrival.
    pub const FIFO: Scheduler = Scheduler::Named(SchedulerWord::Fifo);
    /// The highest class first.
    pub const STRICT: Scheduler = Scheduler::Named(SchedulerWord::StrictPriority);

    /// The table of this scheduler, every default written out; `None` if it has no keys.
    pub fn table(self) -> Option<SchedulerTable> {
        let mut table = match self {
            Scheduler::Table(table) => *table,
            Scheduler::Named(word) => match word {
                SchedulerWord::Fifo | SchedulerWord::StrictPriority => return None,
                SchedulerWord::Wrr => SchedulerTable::Wrr(WrrKeys::default()),
                SchedulerWord::Drr => SchedulerTable::Drr(DrrKeys::default()),
                SchedulerWord::DrrAwc => SchedulerTable::DrrAwc(DrrAwcKeys::default()),
                SchedulerWord::Wfq => SchedulerTable::Wfq(WireKeys::default()),
                SchedulerWord::Wf2qPlus => SchedulerTable::Wf2qPlus(FrameKeys::default()),
                SchedulerWord::Scfq => SchedulerTable::Scfq(FrameKeys::default()),
                SchedulerWord::ScfqCa => SchedulerTable::ScfqCa(FrameKeys::default()),
                SchedulerWord::MinBw => SchedulerTable::MinBw(MinBwKeys::default()),
            },
        };
        table.fill();
        Some(table)
    }
    /// With every default written out.
    pub fn filled(self) -> Scheduler {
        let plain = self.clone();
        self.table().map_or(plain, |table| Scheduler::Table(Box::new(table)))
    }
}

fn fill_weights(weights: &mut Option<Weights>) {
    weights.get_or_insert(Weights::Word(WeightsWord::Equal));
}

impl SchedulerTable {
    fn fill(&mut self) {
        match self {
            SchedulerTable::Wrr(keys) => {
                fill_weights(&mut keys.weights);
                keys.interleaved.get_or_insert(false);
            }
            SchedulerTable::Drr(keys) => {
                if keys.quanta.is_none() {
                    fill_weights(&mut keys.weights);
                    keys.quantum.get_or_insert(Or::word());
                }
                keys.fill_charge();
            }
            SchedulerTable::DrrAwc(keys) => {
                match *keys.formula.get_or_insert(Formula::Published) {
                    Formula::Published => {
                        keys.top_bin.get_or_insert(TopBin::Formula);
                        keys.representative.get_or_insert(Representative::UpperEdge);
                    }
                    Formula::Analytic | Formula::Learned => {
                        keys.metric.get_or_insert(Metric::Payload);
                    }
                }
                keys.interval.get_or_insert(TimeText::from(Time::from_ms(1)));
                keys.mix.get_or_insert(Mix::Frames);
                fill_weights(&mut keys.weights);
                keys.fill_charge();
            }
            SchedulerTable::Wfq(keys) => {
                fill_weights(&mut keys.weights);
                keys.fill_charge();
            }
            SchedulerTable::Wf2qPlus(keys) | SchedulerTable::Scfq(keys) | SchedulerTable::ScfqCa(keys) => {
                fill_weights(&mut keys.weights);
                keys.fill_charge();
            }
            SchedulerTable::VcTable(_) => {}
            SchedulerTable::DTable(keys) => {
                keys.weight.get_or_insert(34);
                keys.credit.get_or_insert(SizeText::from(Bytes::new(64)));
                keys.fill_charge();
            }
            SchedulerTable::MinBw(keys) => {
                fill_weights(&mut keys.weights);
                keys.rate.get_or_insert(RateOrShare::Share(ShareOfLink { share: 0.25 }));
                keys.depth.get_or_insert(SizeText::from(Bytes::new(4352)));
                keys.use_idle_link.get_or_insert(true);
                keys.fill_charge();
            }
            SchedulerTable::Ets(keys) => keys.fill_charge(),
            SchedulerTable::Shaper(keys) => {
                let behind =
                    keys.scheduler.take().unwrap_or(ShapedScheduler::Named(SchedulerWord::StrictPriority));
                let plain = behind.clone();
                let table = Scheduler::from(behind).table().and_then(SchedulerTable::shaped);
                keys.scheduler = Some(table.map_or(plain, ShapedScheduler::Table));
                keys.fill_charge();
            }
        }
    }
}
