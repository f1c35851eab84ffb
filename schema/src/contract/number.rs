//! Decimal numbers compared exactly.
//!
//! Through a binary float 9007199254740993 would not exceed 9007199254740992, and 1e400 would be
//! infinite.

use std::cmp::Ordering;

/// Exponents are read exactly up to this many digits; a longer one is beyond every bound.
const EXPONENT_DIGITS: usize = 17;
/// Greatest magnitude of a bound's exponent: far from where exponents are no longer told apart.
const GREATEST_EXPONENT: i64 = 1_000_000_000;

/// A decimal number, exact.
///
/// Its magnitude is `0.DIGITS × 10^exponent`, where the digits neither begin nor end with 0; zero
/// has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a number as JSON writes it.
    pub(super) fn of(number: &str) -> Self {
        let (negative, magnitude) = match number.strip_prefix('-') {
            Some(magnitude) => (true, magnitude),
            None => (false, number),
        };
        let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let from_first = all.trim_start_matches('0');
        let digits = from_first.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let leading_zeros = all.len() - from_first.len();
        let point = length(whole) - length_of(leading_zeros);
        Self { negative, digits, exponent: read_exponent(exponent) + point }
    }

    /// Whether a bound may be this number: whether it is told apart from every other.
    pub(super) fn may_bound(&self) -> bool {
        self.exponent.abs() <= GREATEST_EXPONENT
    }

    /// Its whole part towards zero, at most 10^25 in magnitude, and whether there is a fraction.
    fn whole(&self) -> (i128, bool) {
        const WIDEST: i64 = 25;
        if self.exponent <= 0 {
            return (0, !self.digits.is_empty());
        }
        let places = usize::try_from(self.exponent.min(WIDEST)).unwrap_or(0);
        let digits = self.digits.bytes().chain(std::iter::repeat(b'0')).take(places);
        let magnitude = if self.exponent > WIDEST {
            10_i128.pow(25)
        } else {
            digits.fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'))
        };
        let fraction = self.exponent <= WIDEST && self.digits.len() > places;
        (if self.negative { -magnitude } else { magnitude }, fraction)
    }

    fn floor(&self) -> i128 {
        let (whole, fraction) = self.whole();
        whole - i128::from(fraction && self.negative)
    }

    fn ceiling(&self) -> i128 {
        let (whole, fraction) = self.whole();
        whole + i128::from(fraction && !self.negative)
    }
}

fn length(digits: &str) -> i64 {
    length_of(digits.len())
}

fn length_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 4)
}

fn read_exponent(text: &str) -> i64 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.trim_start_matches('0');
    let magnitude = if digits.len() > EXPONENT_DIGITS {
        i64::MAX / 2
    } else {
        digits.bytes().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    if negative { -magnitude } else { magnitude }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |one: &Self| match (one.digits.is_empty(), one.negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        };
        let magnitude = || (self.exponent, &self.digits).cmp(&(other.exponent, &other.digits));
        match (sign(self), sign(other)) {
            (1, 1) => magnitude(),
            (-1, -1) => magnitude().reverse(),
            (left, right) => left.cmp(&right),
        }
    }
}

/// The bounds of a number.
#[derive(Debug, Default)]
pub(super) struct Range {
    pub(super) minimum: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) exclusive_minimum: Option<Decimal>,
    pub(super) exclusive_maximum: Option<Decimal>,
    /// The bounds in words, as they are written.
    pub(super) shown: Vec<String>,
}

impl Range {
    /// Whether no bound excludes `number`.
    pub(super) fn holds(&self, number: &Decimal) -> bool {
        self.minimum.as_ref().is_none_or(|bound| number >= bound)
            && self.maximum.as_ref().is_none_or(|bound| number <= bound)
            && self.exclusive_minimum.as_ref().is_none_or(|bound| number > bound)
            && self.exclusive_maximum.as_ref().is_none_or(|bound| number < bound)
    }

    /// Whether the bounds exclude every number.
    pub(super) fn is_empty(&self) -> bool {
        let crossed =
            |low: &Option<Decimal>, high: &Option<Decimal>, inclusive: bool| match (low, high) {
                (Some(low), Some(high)) => low > high || (!inclusive && low == high),
                _ => false,
            };
        crossed(&self.minimum, &self.maximum, true)
            || crossed(&self.minimum, &self.exclusive_maximum, false)
            || crossed(&self.exclusive_minimum, &self.maximum, false)
            || crossed(&self.exclusive_minimum, &self.exclusive_maximum, false)
    }

    /// Whether the bounds exclude every integer that fits i64.
    pub(super) fn holds_no_integer(&self) -> bool {
        let mut least = i128::from(i64::MIN);
        let mut most = i128::from(i64::MAX);
        if let Some(bound) = &self.minimum {
            least = least.max(bound.ceiling());
        }
        if let Some(bound) = &self.exclusive_minimum {
            least = least.max(bound.floor() + 1);
        }
        if let Some(bound) = &self.maximum {
            most = most.min(bound.floor());
        }
        if let Some(bound) = &self.exclusive_maximum {
            most = most.min(bound.ceiling() - 1);
        }
        least > most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_compared_exactly_however_they_are_written() {
        let ascending = [
            "-1e99999999999999999999",
            "-1e400",
            "-12",
            "-0.001",
            "0",
            "1e-99999999999999999999",
            "0.0000001",
            "1",
            "1.00000000000000000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "9.9e15",
            "1e400",
            "1.1e400",
            "1e99999999999999999999",
        ];
        for (left, smaller) in ascending.iter().enumerate() {
            for (right, greater) in ascending.iter().enumerate() {
                let order = Decimal::of(smaller).cmp(&Decimal::of(greater));
                assert_eq!(order, left.cmp(&right), "{smaller} and {greater}");
            }
        }
        for (one, same) in [
            ("0", "-0.0e7"),
            ("100", "1e2"),
            ("0.01", "1E-2"),
            ("120e-1", "12.00"),
            ("1e+05", "100000"),
        ] {
            assert_eq!(Decimal::of(one), Decimal::of(same));
        }
    }

    #[test]
    fn a_range_that_leaves_nothing_is_known() {
        let bound = |text: &str| (!text.is_empty()).then(|| Decimal::of(text));
        for (minimum, exclusive_minimum, maximum, exclusive_maximum, empty, no_integer) in [
            ("1", "", "1", "", false, false),
            ("1", "", "", "1", true, true),
            ("", "1", "1", "", true, true),
            ("", "1", "", "1", true, true),
            ("", "0", "", "1", false, true),
            ("0.2", "", "0.8", "", false, true),
            ("-0.8", "", "-0.2", "", false, true),
            ("-0.8", "", "0.2", "", false, false),
            ("-1.5", "", "-1", "", false, false),
            ("", "-1.5", "", "-0.5", false, false),
            ("9223372036854775807", "", "", "", false, false),
            ("9223372036854775808", "", "", "", false, true),
            ("", "", "-9223372036854775809", "", false, true),
            ("1e400", "", "", "", false, true),
            ("-1e400", "", "1e400", "", false, false),
        ] {
            let range = Range {
                minimum: bound(minimum),
                maximum: bound(maximum),
                exclusive_minimum: bound(exclusive_minimum),
                exclusive_maximum: bound(exclusive_maximum),
                shown: Vec::new(),
            };
            assert_eq!(
                (range.is_empty(), range.holds_no_integer()),
                (empty, no_integer),
                "{range:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn integers_are_ordered_as_integers(left in any::<i64>(), right in any::<i64>()) {
            let order = Decimal::of(&left.to_string()).cmp(&Decimal::of(&right.to_string()));
            prop_assert_eq!(order, left.cmp(&right));
        }

        #[test]
        fn floats_are_ordered_as_floats(
            left in prop::num::f64::NORMAL | prop::num::f64::ZERO,
            right in prop::num::f64::NORMAL | prop::num::f64::ZERO,
        ) {
            let order = Decimal::of(&format!("{left:e}")).cmp(&Decimal::of(&format!("{right:e}")));
            prop_assert_eq!(Some(order), left.partial_cmp(&right));
        }

        #[test]
        fn a_number_equals_itself_scaled(digits in "[1-9][0-9]{0,12}", by in 0_u32..12) {
            let by = usize::try_from(by).unwrap();
            let scaled = format!("{digits}{}e-{by}", "0".repeat(by));
            prop_assert_eq!(Decimal::of(&digits), Decimal::of(&scaled));
        }
    }
}
