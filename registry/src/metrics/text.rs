//! The counts as Prometheus reads them, text format 0.0.4.

use std::fmt::{Display, Write as _};

use super::Metrics;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Metrics {
    /// Every count as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        metric(&mut text, "build_info", "gauge", "The version that runs.");
        sample(&mut text, "build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);

        let what = "Requests answered, by route and status; those of no route have an empty one.";
        metric(&mut text, "requests_total", "counter", what);
        for (method, route, status, count) in self.answers() {
            let labels = [("method", method), ("route", route), ("status", status.as_str())];
            sample(&mut text, "requests_total", &labels, count);
        }
        let counts = [
            ("published_versions_total", "Versions published.", &self.published),
            ("sent_bytes_total", "Bytes of the bodies of answers.", &self.sent),
        ];
        for (name, what, count) in counts {
            metric(&mut text, name, "counter", what);
            sample(&mut text, name, &[], count.so_far());
        }
        let caches = [("documents", &self.documents), ("contents", &self.contents)];
        metric(&mut text, "cache_hits_total", "counter", "Answers that were ready in memory.");
        for (cache, of) in caches {
            sample(&mut text, "cache_hits_total", &[("cache", cache)], of.hits.so_far());
        }
        metric(&mut text, "cache_misses_total", "counter", "Answers that had to be made.");
        for (cache, of) in caches {
            sample(&mut text, "cache_misses_total", &[("cache", cache)], of.misses.so_far());
        }
        metric(&mut text, "open_connections", "gauge", "Connections open now.");
        sample(&mut text, "open_connections", &[], self.connections.now());
        text
    }
}

/// What a metric is.
fn metric(text: &mut String, name: &str, kind: &str, what: &str) {
    let _ = writeln!(text, "# HELP skillpkg_{name} {what}\n# TYPE skillpkg_{name} {kind}");
}

/// One line: labels hold paths of our own and numbers, nothing that would have to be escaped.
fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let labels: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(text, "skillpkg_{name}{labels} {value}");
}
