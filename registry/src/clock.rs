//! Times as the registry writes them: RFC 3339 in UTC, whole seconds.

use jiff::{SignedDuration, Timestamp};

/// Now, such as `2026-03-01T12:00:00Z`.
pub fn now() -> String {
    text(Timestamp::now())
}

/// Now, in seconds since 1970.
pub fn unix_seconds() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
}

/// Now, with minutes and seconds at zero.
pub fn this_hour() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:00:00Z").to_string()
}

/// This many seconds before now.
pub fn seconds_ago(seconds: u32) -> String {
    text(shifted(-i64::from(seconds)))
}

/// This many seconds after now.
pub fn in_seconds(seconds: u32) -> String {
    text(shifted(i64::from(seconds)))
}

/// A moment in seconds since 1970; the end of all time where it is beyond that.
pub fn at_unix(seconds: i64) -> String {
    text(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
}

/// This many days after now.
pub fn in_days(days: u32) -> String {
    text(shifted(i64::from(days) * 86_400))
}

/// The whole seconds since a time as the registry writes it; none where it is to come, or no time.
pub fn seconds_since(time: &str) -> u32 {
    let since =
        time.parse::<Timestamp>().map(|time| Timestamp::now().as_second() - time.as_second());
    since.ok().and_then(|since| u32::try_from(since).ok()).unwrap_or_default()
}

/// This many days after a time as the registry writes it; the time itself where it is none.
pub fn days_after(time: &str, days: u32) -> String {
    let moved = time.parse::<Timestamp>().ok().and_then(|time| {
        time.checked_add(SignedDuration::from_secs(i64::from(days) * 86_400)).ok()
    });
    moved.map_or_else(|| time.to_owned(), text)
}

/// Texts of this form sort as their times do.
fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn shifted(seconds: i64) -> Timestamp {
    let now = Timestamp::now();
    now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_in_whole_seconds_and_sort_as_texts() {
        assert_eq!(text(Timestamp::UNIX_EPOCH), "1970-01-01T00:00:00Z");
        assert!(seconds_ago(60) < now() && now() < in_days(1));
        assert!(this_hour() <= now() && this_hour().ends_with(":00:00Z"));
        assert!(now() < in_days(u32::MAX));
        assert!(now() < in_seconds(60) && in_seconds(60) < in_days(1));
        assert_eq!(at_unix(1_790_000_000), "2026-09-21T14:13:20Z");
        assert!(now() < at_unix(i64::MAX));
        assert_eq!(days_after("2026-01-31T12:00:00Z", 90), "2026-05-01T12:00:00Z");
        assert!((60..65).contains(&seconds_since(&seconds_ago(60))));
        assert_eq!((seconds_since(&in_days(1)), seconds_since("no time")), (0, 0));
        assert_eq!(days_after("no time", 90), "no time");
    }
}
