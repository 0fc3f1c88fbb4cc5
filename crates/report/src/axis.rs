//! Maps values to pixels and places the ticks of an axis.

/// The approximate number of steps on a linear or narrow axis, small enough that labels do not
/// overlap on a narrow plot.
const STEPS: f64 = 3.0;

/// The ticks of the available ratio axes, narrowest first. An axis starts at its first tick and
/// ends at its last.
const RATIOS: [[f64; 5]; 7] = [
    [0.9, 0.95, 1.0, 1.05, 1.1],
    [0.8, 0.9, 1.0, 1.1, 1.25],
    [0.67, 0.8, 1.0, 1.25, 1.5],
    [0.5, 0.7, 1.0, 1.4, 2.0],
    [0.2, 0.5, 1.0, 2.0, 5.0],
    [0.1, 0.3, 1.0, 3.0, 10.0],
    [0.01, 0.1, 1.0, 10.0, 100.0],
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Linear {
        step: f64,
    },
    Logarithmic,
    /// A logarithmic axis whose ends differ by a small factor, with this step between adjacent
    /// ticks.
    Narrow {
        step: f64,
    },
}

/// An axis is narrow if its largest value is less than this many times the smallest. Ticks at 1, 2
/// and 5 would then be too far apart.
const NARROW: f64 = 3.0;

/// A narrow axis spans at least this share of its largest value, so that slight growth looks
/// slight.
const NARROW_SHARE_MIN: f64 = 0.2;

/// A map from values to pixels, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    kind: Kind,
    domain: (f64, f64),
    pixels: (f64, f64),
}

impl Axis {
    fn new(kind: Kind, domain: (f64, f64)) -> Self {
        let pixels = (0.0, 1.0);
        Self {
            kind,
            domain,
            pixels,
        }
    }

    /// Returns the same axis between these two pixel positions. A new axis spans pixels 0 to 1.
    pub fn on(self, pixels: (f64, f64)) -> Self {
        Self { pixels, ..self }
    }

    /// Creates a linear axis from zero to a round number at or above `max`.
    pub fn from_zero(max: f64) -> Self {
        let step = round_step(max, STEPS);
        let top = (max / step).ceil() * step;
        Self::new(Kind::Linear { step }, (0.0, top.max(step)))
    }

    /// Creates a linear axis over exactly this domain.
    pub fn linear(domain: (f64, f64)) -> Self {
        let step = round_step(domain.1 - domain.0, STEPS);
        Self::new(Kind::Linear { step }, domain)
    }

    /// Creates a logarithmic axis that covers the positive values. Both ends are 1, 2 or 5 times a
    /// power of ten.
    pub fn covering_log(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extremes(values).unwrap_or((1.0, 10.0));
        let (low, mut top) = (step_down(low), step_up(high));
        if top <= low {
            top = low * 10.0;
        }
        Self::new(Kind::Logarithmic, (low, top))
    }

    /// Creates a logarithmic axis that fits the values closely: like [`Axis::covering_log`], but
    /// with ticks at round steps if the values are close together.
    pub fn covering_log_closely(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = match extremes(values) {
            Some((low, high)) if high < NARROW * low => (low, high),
            found => return Self::covering_log(found.into_iter().flat_map(<[f64; 2]>::from)),
        };
        let spread = (NARROW_SHARE_MIN * high - (high - low)).max(0.0);
        let (from, to) = (low - spread / 2.0, high + spread / 2.0);
        let step = round_step(to - from, STEPS);
        let bottom = (from / step + 1e-9).floor() * step;
        // A logarithmic axis cannot begin at zero.
        let domain = (bottom.max(step / 2.0), (to / step - 1e-9).ceil() * step);
        Self::new(Kind::Narrow { step }, domain)
    }

    /// Returns the narrowest logarithmic axis in [`RATIOS`] that covers all finite values, or the
    /// widest if none does, and its ticks. The ratio 1 is at or near the middle of the axis. Values
    /// below 0.01 or above 100 are drawn at the ends.
    pub fn of_ratios(values: impl IntoIterator<Item = f64>) -> (Self, &'static [f64]) {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let covers = |ticks: &&[f64; 5]| values.iter().all(|v| (ticks[0]..=ticks[4]).contains(v));
        let widest = &RATIOS[RATIOS.len() - 1];
        let ticks = RATIOS.iter().find(covers).unwrap_or(widest);
        (Self::new(Kind::Logarithmic, (ticks[0], ticks[4])), ticks)
    }

    /// Returns the pixel position of a value. A value outside the domain is drawn at the nearer
    /// end.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = (self.project(self.domain.0), self.project(self.domain.1));
        let share = match high - low {
            0.0 => 0.0,
            span => (self.project(value) - low) / span,
        };
        self.pixels.0 + share.clamp(0.0, 1.0) * (self.pixels.1 - self.pixels.0)
    }

    /// Returns the tick values: multiples of the step or, on a wide logarithmic axis, 1, 2 and 5
    /// times each power of ten. If a wide logarithmic axis would have more than eight ticks, only
    /// the powers of ten remain.
    pub fn ticks(&self) -> Vec<f64> {
        let (Kind::Linear { step } | Kind::Narrow { step }) = self.kind else {
            return self.log_ticks();
        };
        let (low, high) = self.domain;
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }

    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    fn log_ticks(&self) -> Vec<f64> {
        let (low, high) = self.domain;
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let within = |value: &f64| *value >= low * 0.999 && *value <= high * 1.001;
        let steps = |decade: i32| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade));
        let mut ticks: Vec<f64> = decades.flat_map(steps).filter(within).collect();
        if ticks.len() > 8 {
            ticks.retain(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-9);
        }
        ticks
    }

    fn project(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear { .. } => value,
            Kind::Logarithmic | Kind::Narrow { .. } => value.max(f64::MIN_POSITIVE).log10(),
        }
    }
}

/// Returns the smallest and largest of the positive finite values, or `None` if there are none.
fn extremes(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let positive = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
    let pairs = positive.map(|value| (value, value));
    pairs.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Returns the position of a percentile on the axis of nines, `log10(1 / (1 - share))`, where 90 %,
/// 99 % and 99.9 % are one step apart. `share` is between 0 and 1; the position of 1 is infinite.
pub fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// Returns a step of 1, 2 or 5 times a power of ten that divides `span` into about `count` parts,
/// or 1 if `span` is not positive and finite.
fn round_step(span: f64, count: f64) -> f64 {
    if !(span.is_finite() && span > 0.0) {
        return 1.0;
    }
    let rough = span / count;
    let decade = 10f64.powi(rough.log10().floor() as i32);
    let factor = match rough / decade {
        share if share < 1.5 => 1.0,
        share if share < 3.0 => 2.0,
        share if share < 7.0 => 5.0,
        _ => 10.0,
    };
    factor * decade
}

fn step_down(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| f * decade <= value);
    factor.unwrap_or(1.0) * decade
}

fn step_up(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * decade >= value);
    factor.unwrap_or(10.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_linear_axis_are_round() {
        let axis = Axis::from_zero(41_200.0).on((0.0, 100.0));
        assert_eq!(axis.ticks(), [0.0, 10e3, 20e3, 30e3, 40e3, 50e3]);
        assert_eq!(axis.at(25e3), 50.0);
        assert_eq!(axis.at(1e9), 100.0);
    }

    #[test]
    fn a_logarithmic_axis_ends_on_round_values() {
        let axis = Axis::covering_log([31.0, 640.0, 0.0, f64::NAN]).on((100.0, 0.0));
        assert_eq!(axis.domain(), (20.0, 1000.0));
        assert_eq!(axis.ticks(), [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(axis.at(20.0), 100.0);
        assert_eq!(axis.at(1000.0), 0.0);
    }

    #[test]
    fn a_close_axis_is_hardly_wider_than_its_values() {
        let close = |values: &[f64]| {
            let axis = Axis::covering_log_closely(values.iter().copied());
            let (low, high) = axis.domain();
            assert!(
                values.iter().all(|it| (low..=high).contains(it)),
                "{axis:?}"
            );
            assert!((3..=8).contains(&axis.ticks().len()), "{axis:?}");
            high / low
        };
        // With ticks at 1, 2 and 5, the axis of these close values would span 5 to 20.
        assert!(close(&[9.9, 10.1]) < 1.5);
        assert!(close(&[31.0]) < 1.5);
        assert!(close(&[6.1, 14.0]) < 3.5);
        assert!(close(&[0.0012, 0.0013]) < 1.5);
        let wide = Axis::covering_log_closely([31.0, 640.0]);
        assert_eq!(wide.domain(), (20.0, 1000.0));
        let none = Axis::covering_log_closely([]);
        assert_eq!(none.domain(), (1.0, 10.0));
    }

    #[test]
    fn wide_logarithmic_axes_show_decades_only() {
        let axis = Axis::covering_log([1.0, 1e6]);
        assert_eq!(axis.ticks().len(), 7);
    }

    #[test]
    fn an_axis_without_values_is_valid() {
        assert_eq!(Axis::from_zero(0.0).domain(), (0.0, 1.0));
        assert_eq!(Axis::covering_log([]).domain(), (1.0, 10.0));
        assert!(Axis::covering_log([10.0]).at(10.0).is_finite());
    }

    #[test]
    fn an_axis_of_ratios_is_the_narrowest_that_fits() {
        let (axis, ticks) = Axis::of_ratios([0.97, 1.02]);
        let axis = axis.on((0.0, 100.0));
        assert_eq!((axis.domain(), ticks.len()), ((0.9, 1.1), 5));
        assert!((axis.at(1.0) - 50.0).abs() < 3.0);
        let (wide, _) = Axis::of_ratios([0.001, 1.0]);
        assert_eq!((wide.domain(), wide.at(0.001)), ((0.01, 100.0), 0.0));
    }

    #[test]
    fn nines_are_one_step_apart() {
        assert!((nines(0.9) - 1.0).abs() < 1e-9);
        assert!((nines(0.999) - 3.0).abs() < 1e-9);
    }
}
