//! Times and spans of time as they are shown.

use std::time::{SystemTime, UNIX_EPOCH};

/// This machine's clock, in seconds since 1970; 0 where it stands before that.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A time, RFC 3339 in UTC; its number where no calendar reaches it.
pub fn shown(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
        .map_or_else(|| format!("{seconds} seconds after 1970"), |time| time.to_string())
}

/// A span of time in the largest unit that it fills.
pub fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_spans_are_shown_as_people_say_them() {
        assert_eq!(shown(0), "1970-01-01T00:00:00Z");
        assert_eq!(shown(4_070_908_800), "2099-01-01T00:00:00Z");
        assert_eq!(shown(u64::MAX), format!("{} seconds after 1970", u64::MAX));
        for (seconds, said) in [
            (1, "1 second"),
            (119, "119 seconds"),
            (180, "3 minutes"),
            (7_200, "2 hours"),
            (31_536_000, "365 days"),
        ] {
            assert_eq!(span(seconds), said);
        }
    }
}
