//! The keys of DCQCN, and its presets by name.

use super::checks::with_article;
use super::control::RdmaControlConfiguration;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use units::{BitRate, Bytes, Never, Or, Time, Unlimited};

/// Preset of DCQCN: defaults of the keys that a scenario omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcqcnPreset {
    /// The paper of 2015, for links of 40 Gb/s: a CNP takes effect immediately, timer and alpha of 55 us, 10 MB, 40 Mb/s.
    #[default]
    Paper,
    /// Factory settings of NVIDIA NICs (2024): alpha every microsecond, cuts every 4 us, a timer of 300 us, 5 Mb/s.
    Mlx,
    /// Older defaults of the same vendor (2016): a timer of 2 us, 10 Mb/s, cuts every 2 us.
    #[serde(rename = "mlx-2016")]
    Mlx2016,
    /// Baseline of the HPCC paper: `mlx` with rates in proportion to the line rate (5 and 50 Mb/s at 25 Gb/s).
    Hpcc,
}

/// Declares the keys and records which of them were given; the others take their values from the preset.
macro_rules! dcqcn_keys {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Keys of dcqcn.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct DcqcnKeys {
            /// Preset that sets the defaults of the other keys. The name of a preset. Default: "paper".
            pub preset: DcqcnPreset,
            $($(#[$doc])* pub $name: $type,)*
        }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            #[serde(default)]
            preset: DcqcnPreset,
            $(#[serde(default)] $name: Option<$type>,)*
        }

        impl<'de> Deserialize<'de> for DcqcnKeys {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DcqcnKeys, D::Error> {
                let written = Written::deserialize(deserializer)?;
                let preset = written.preset.keys();
                Ok(DcqcnKeys {
                    preset: written.preset,
                    $($name: written.$name.unwrap_or(preset.$name),)*
                })
            }
        }
    };
}

dcqcn_keys! {
    /// Weight g of the newest observation in alpha (`dce_tcp_g`: 1 - g in units of 1/1024). A number, above 0 and at most 1. Default: 0.00390625 (preset "paper": 1/256).
    g: f64,
    /// Initial value of alpha, before the first CNP (`initial_alpha_value`). A number, 0 to 1. Default: 1 (preset "paper").
    initial_alpha: f64,
    /// Update period of alpha without CNPs (`dce_tcp_rtt`). A time with unit, at least "10 ns". Default: "55 us" (preset "paper").
    alpha_period: Time,
    /// Period with at most one cut, which takes place at the beginning of the next period after a CNP (`rate_reduce_monitor_period`). A time with unit; "0 s": each CNP cuts the rate immediately, as in the paper. Default: "0 s" (preset "paper").
    monitor_period: Time,
    /// Period of the rate increase timer (`rpg_time_reset`). A time with unit, at least "10 ns". Default: "55 us" (preset "paper").
    time_reset: Time,
    /// Period of the rate increase byte counter, in bytes sent (DA to FCS) (`rpg_byte_reset`). A size with unit, at least "1 B"; or "never". Default: "10000000 B" (10 MB, preset "paper").
    byte_reset: Or<Bytes, Never>,
    /// Number of steps of timer or byte counter in fast recovery (F, `rpg_threshold`). A count, 1 to 1000. Default: 5 (preset "paper").
    #[schemars(range(min = 1, max = 1000))]
    threshold: u64,
    /// Increase of the target rate in each step of additive increase (`rpg_ai_rate`). A rate with unit. Default: "40 Mb/s" (preset "paper").
    ai_rate: BitRate,
    /// Increase of the target rate in each step of hyper increase (`rpg_hai_rate`). A rate with unit. Default: "200 Mb/s" (preset "paper").
    hai_rate: BitRate,
    /// If true, `ai_rate` and `hai_rate` apply to 25 Gb/s and scale in proportion to the line rate. Default: false (preset "paper").
    scale_rates: bool,
    /// Exponent of the decrease: a cut reduces the rate by the fraction 1024 alpha / 2^gd; 11 is alpha / 2 (`rpg_gd`). A count, 0 to 30. Default: 11 (preset "paper").
    #[schemars(range(min = 0, max = 30))]
    gd: u64,
    /// Minimum decrease factor: a cut leaves at least this fraction of the rate (`rpg_min_dec_fac`, there in percent). A number, above 0 and at most 1. Default: 0.5 (preset "paper").
    min_factor: f64,
    /// Minimum rate (`rpg_min_rate`). A rate with unit, above 0. Default: "10 Mb/s" (preset "paper"; a choice).
    min_rate: BitRate,
    /// Maximum rate, at which the rate limiter is released (`rpg_max_rate`). A rate with unit, not below `min_rate`; or "unlimited": that of the link. Default: "unlimited".
    max_rate: Or<BitRate, Unlimited>,
    /// Factor by which the first CNP multiplies the rate, before any other step (`rate_to_set_on_first_cnp`); with a `monitor_period`. A number, above 0 and at most 1. Default: 1.
    first_factor: f64,
    /// If true, each cut sets the target rate to the current one (`clamp_tgt_rate`). Default: true (preset "paper").
    clamp_target: bool,
    /// If true, a cut sets the target rate to the current one if the timer has increased the rate since the last cut (`clamp_tgt_rate_after_time_inc`). Default: true (preset "paper").
    clamp_target_after_time: bool,
}

/// Minimum of the periods. Shorter periods would require too many updates for a queue pair that was idle for a long
/// time.
const SHORTEST: Time = Time::from_ns(10);

impl Default for DcqcnKeys {
    fn default() -> DcqcnKeys {
        DcqcnPreset::Paper.keys()
    }
}

impl DcqcnPreset {
    /// All presets.
    pub const ALL: &'static [DcqcnPreset] =
        &[DcqcnPreset::Paper, DcqcnPreset::Mlx, DcqcnPreset::Mlx2016, DcqcnPreset::Hpcc];

    /// Returns all keys of the preset.
    pub fn keys(self) -> DcqcnKeys {
        let keys = match self {
            DcqcnPreset::Paper => paper(),
            DcqcnPreset::Mlx => mlx(),
            DcqcnPreset::Mlx2016 => mlx_2016(),
            DcqcnPreset::Hpcc => hpcc(),
        };
        DcqcnKeys { preset: self, ..keys }
    }
}

fn mbps(mbps: u64) -> BitRate {
    BitRate::from_bps(mbps * 1_000_000)
}

/// Values of SIGCOMM 2015, table 14 and section 5.
fn paper() -> DcqcnKeys {
    DcqcnKeys {
        preset: DcqcnPreset::Paper,
        g: 1.0 / 256.0,
        initial_alpha: 1.0,
        alpha_period: Time::from_us(55),
        monitor_period: Time::ZERO,
        time_reset: Time::from_us(55),
        byte_reset: Or::Value(Bytes::new(10_000_000)),
        threshold: 5,
        ai_rate: mbps(40),
        hai_rate: mbps(200),
        scale_rates: false,
        gd: 11,
        min_factor: 0.5,
        min_rate: mbps(10),
        max_rate: Or::word(),
        first_factor: 1.0,
        clamp_target: true,
        clamp_target_after_time: true,
    }
}

/// Values of NVIDIA DOCA, "DCQCN CC Parameters", and of a public query of a NIC's factory settings.
fn mlx() -> DcqcnKeys {
    DcqcnKeys {
        g: 5.0 / 1024.0,
        initial_alpha: 1023.0 / 1024.0,
        alpha_period: Time::from_us(1),
        monitor_period: Time::from_us(4),
        time_reset: Time::from_us(300),
        byte_reset: Or::word(),
        threshold: 1,
        ai_rate: mbps(5),
        hai_rate: mbps(50),
        min_rate: mbps(1),
        clamp_target: false,
        ..paper()
    }
}

/// Default values of the same parameters in 2016.
fn mlx_2016() -> DcqcnKeys {
    DcqcnKeys {
        g: 64.0 / 1024.0,
        initial_alpha: 1.0,
        alpha_period: Time::from_us(2),
        monitor_period: Time::from_us(2),
        time_reset: Time::from_us(2),
        byte_reset: Or::Value(Bytes::new(150_000)),
        threshold: 5,
        ai_rate: mbps(10),
        hai_rate: mbps(50),
        gd: 7,
        min_rate: mbps(2_000),
        ..mlx()
    }
}

/// Values of the runs in the HPCC paper, as generated by its public simulator.
fn hpcc() -> DcqcnKeys {
    DcqcnKeys { g: 1.0 / 256.0, initial_alpha: 1.0, scale_rates: true, min_rate: mbps(1_000), ..mlx() }
}

impl RdmaControlConfiguration for DcqcnKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
    fn dcqcn_rest(&self, crowd: &super::dcqcn_rest::Crowd) -> Option<super::dcqcn_rest::Rest> {
        self.rest(crowd)
    }
}

impl DcqcnKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = Vec::new();
        let mut number = |key: &str, value: f64, low: bool| {
            let fits = (value > 0.0 || low && value == 0.0) && value <= 1.0;
            if !fits {
                let help = if low {
                    "expected a number from 0 to 1"
                } else {
                    "expected a number above 0 and at most 1"
                };
                wrong.push(Remark::about(key, format!("{} of {value}", with_article(key)), help));
            }
        };
        number("g", self.g, false);
        number("initial_alpha", self.initial_alpha, true);
        number("min_factor", self.min_factor, false);
        number("first_factor", self.first_factor, false);
        for (key, time) in [("alpha_period", self.alpha_period), ("time_reset", self.time_reset)] {
            if time < SHORTEST {
                let help = format!("expected at least \"{SHORTEST}\", like \"55 us\"");
                wrong.push(Remark::about(key, format!("{} of {time}", with_article(key)), help));
            }
        }
        for (key, count, range) in [("threshold", self.threshold, 1..=1_000), ("gd", self.gd, 0..=30)] {
            if !range.contains(&count) {
                let help = format!("expected {} to {}", range.start(), range.end());
                wrong.push(Remark::about(key, format!("{} of {count}", with_article(key)), help));
            }
        }
        if self.byte_reset.value() == Some(Bytes::new(0)) {
            let help = "expected at least \"1 B\", or \"never\"";
            wrong.push(Remark::about("byte_reset", "a byte_reset of 0", help));
        }
        if self.min_rate.bps() == 0 {
            let help = "a queue pair with rate 0 never sends again; expected a rate above 0";
            wrong.push(Remark::about("min_rate", "a min_rate of 0", help));
        }
        if let Some(max) = self.max_rate.value()
            && max < self.min_rate
        {
            let message = format!("max_rate ({max}) is below min_rate ({})", self.min_rate);
            wrong.push(Remark::about(
                "max_rate",
                message,
                format!("expected at least \"{}\"", self.min_rate),
            ));
        }
        wrong
    }

    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &self.preset.keys())
            .unless(self.monitor_period > Time::ZERO, "a `monitor_period` above 0", &["first_factor"])
            .unless(!self.clamp_target, "clamp_target = false", &["clamp_target_after_time"])
            .remarks()
    }
}
