//! Lengths of time as a policy writes them: `30m`, `12h`, `3d`, `2w`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use skillpkg_schema::diagnostic::escape;

/// The units, the longest first.
const UNITS: [(char, u64); 4] = [('w', 7 * 24 * 3600), ('d', 24 * 3600), ('h', 3600), ('m', 60)];
/// The longest that can be written: a hundred years.
const MOST_SECONDS: u64 = 100 * 365 * 24 * 3600;

/// A length of time in whole minutes, as a policy writes it. Shown in the longest unit that it is
/// whole in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age(u64);

/// Why a text is no [`Age`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgeError {
    /// Not a number and a unit.
    #[error("`{}` is no length of time: write a number and a unit, as `30m`, `12h`, `3d` or `2w`", escape(.0))]
    Syntax(String),
    /// Over a hundred years.
    #[error("`{}` is over a hundred years", escape(.0))]
    TooLong(String),
}

impl Age {
    /// As the standard library has it.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }

    /// In whole seconds.
    pub fn seconds(self) -> u64 {
        self.0
    }
}

impl FromStr for Age {
    type Err = AgeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let syntax = || AgeError::Syntax(text.to_owned());
        let unit = text.chars().next_back().ok_or_else(syntax)?;
        let (_, seconds) = UNITS.into_iter().find(|(one, _)| *one == unit).ok_or_else(syntax)?;
        let digits = text.strip_suffix(unit).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(syntax());
        }
        let count: Option<u64> = digits.parse().ok();
        count
            .and_then(|count| count.checked_mul(seconds))
            .filter(|seconds| *seconds <= MOST_SECONDS)
            .map(Self)
            .ok_or_else(|| AgeError::TooLong(text.to_owned()))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits =
            |(_, seconds): &(char, u64)| self.0 >= *seconds && self.0.is_multiple_of(*seconds);
        match UNITS.into_iter().find(fits) {
            Some((unit, seconds)) => write!(f, "{}{unit}", self.0 / seconds),
            None => write!(f, "{}m", self.0 / 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_length_of_time_is_a_number_and_a_unit() {
        for (text, seconds) in
            [("30m", 1800), ("12h", 43_200), ("3d", 259_200), ("2w", 1_209_600), ("0m", 0)]
        {
            assert_eq!(text.parse::<Age>().unwrap().seconds(), seconds, "{text}");
        }
        for text in ["", "3", "d", "3 d", "-3d", "3.5d", "3D", "3s", "3y", "1d12h", "\u{0663}d"] {
            assert!(matches!(text.parse::<Age>(), Err(AgeError::Syntax(_))), "{text}");
        }
        for text in ["6000w", "99999999999999999999d", "18446744073709551615w"] {
            assert!(matches!(text.parse::<Age>(), Err(AgeError::TooLong(_))), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_shown_reads_back_as_the_same(count in 0u64..5000, unit in "[mhdw]") {
            let age: Age = format!("{count}{unit}").parse().unwrap();
            prop_assert_eq!(age.to_string().parse::<Age>().unwrap(), age);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,30}") {
            let _ = text.parse::<Age>();
        }
    }
}
