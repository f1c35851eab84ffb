//! Numbers as JSON writes them.

/// Divides a JSON number into sign, whole digits, fraction digits and exponent.
fn divide(text: &str) -> Option<(bool, &str, &str, &str)> {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, rest) = rest.split_at(digits(rest));
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("0", rest),
    };
    let (exponent, is_exponent) = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            (exponent, !unsigned.is_empty() && digits(unsigned) == unsigned.len())
        }
        None => ("0", rest.is_empty()),
    };
    (!fraction.is_empty() && is_exponent).then_some((is_negative, whole, fraction, exponent))
}

/// Whether `text` is a JSON number that a double holds.
pub(super) fn is_finite(text: &str) -> bool {
    divide(text).is_some() && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The integer that a JSON number is, exactly; [`None`] with a fraction, or outside i64.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (is_negative, whole, fraction, exponent) = divide(text)?;
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let shift = exponent
        .parse::<i64>()
        .ok()?
        .checked_add(i64::try_from(trailing).ok()?)?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let zeros = usize::try_from(shift).ok()?;
    if significant.len().checked_add(zeros)? > 19 {
        return None;
    }
    let sign = if is_negative { "-" } else { "" };
    format!("{sign}{significant}{}", "0".repeat(zeros)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_over_all_of_i64() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("3.0", 3),
            ("1e3", 1000),
            ("12.50e1", 125),
            ("500e-2", 5),
            ("0e999999999999", 0),
            ("9007199254740993", 9_007_199_254_740_993),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("9223372036854775807.000", i64::MAX),
        ] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_integer_of_json_is_refused() {
        for text in [
            "",
            "-",
            "+1",
            "01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "0x10",
            "1_000",
            " 1",
            "1 ",
            "3.5",
            "1e-1",
            "9223372036854775808",
            "1e400",
            "1e99999999999999999999",
            "NaN",
            "Infinity",
            "٣",
            "1,5",
        ] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_is_finite() {
        for text in ["1.5", "-2", "1e2", "2.0"] {
            assert!(is_finite(text), "{text}");
        }
        for text in ["1e400", "NaN", "inf", "1,5", "0x10", ".5", "+1"] {
            assert!(!is_finite(text), "{text}");
        }
    }
}
