//! What a registry counts of itself while it serves, for those who watch over it.
//!
//! Every count is of this process, since it began. No name, account or address is among them.

mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::body::{Body, HttpBody as _};
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::BodyExt as _;

pub(crate) use self::text::MEDIA_TYPE;
use crate::access::TABLE;

/// Status codes start here, and there are as many.
const FIRST_STATUS: u16 = 100;
const STATUSES: usize = 900;

/// A number that only grows.
#[derive(Debug, Clone, Default)]
pub struct Count(Arc<AtomicU64>);

impl Count {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many of something there are now.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicI64>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Present(Gauge);

impl Gauge {
    /// One more, until the answer is dropped.
    pub fn enter(&self) -> Present {
        self.0.fetch_add(1, Ordering::Relaxed);
        Present(self.clone())
    }

    /// How many there are.
    pub fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        (self.0).0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How often something was in memory, and how often not.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    /// It was.
    pub hits: Count,
    /// It had to be fetched.
    pub misses: Count,
}

/// The row of the table of access that a request was for, beside its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Routed(pub(crate) usize);

/// Every count.
#[derive(Debug)]
pub struct Metrics {
    /// By row of the table of access, one more for what has no row; by status.
    requests: Vec<Vec<AtomicU64>>,
    /// Versions that were published.
    pub published: Count,
    /// Bytes of bodies that were sent.
    pub sent: Count,
    /// Open connections.
    pub connections: Gauge,
    /// Documents.
    pub documents: Cache,
    /// Small content.
    pub contents: Cache,
}

impl Default for Metrics {
    fn default() -> Self {
        let statuses = || (0..STATUSES).map(|_| AtomicU64::new(0)).collect();
        Self {
            requests: (0..=TABLE.len()).map(|_| statuses()).collect(),
            published: Count::default(),
            sent: Count::default(),
            connections: Gauge::default(),
            documents: Cache::default(),
            contents: Cache::default(),
        }
    }
}

impl Metrics {
    /// Counts an answer, and its body while it is sent.
    pub(crate) fn answered(&self, response: Response) -> Response {
        let row = response.extensions().get().map_or(TABLE.len(), |Routed(row)| *row);
        let status = usize::from(response.status().as_u16() - FIRST_STATUS);
        if let Some(count) = self.requests.get(row).and_then(|statuses| statuses.get(status)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(length) = response.body().size_hint().exact() {
            self.sent.add(length);
            return response;
        }
        let sent = self.sent.clone();
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                if let Some(piece) = frame.data_ref() {
                    sent.add(piece.len() as u64);
                }
                frame
            }))
        })
    }

    /// The answers so far: method, path and status, and how many.
    fn answers(&self) -> impl Iterator<Item = (&'static str, &'static str, StatusCode, u64)> {
        self.requests.iter().enumerate().flat_map(|(row, statuses)| {
            let (method, path) =
                TABLE.get(row).map_or(("", ""), |row| (row.method.as_str(), row.path));
            statuses.iter().zip(FIRST_STATUS..).filter_map(move |(count, status)| {
                let count = count.load(Ordering::Relaxed);
                let status = StatusCode::from_u16(status).ok()?;
                (count > 0).then_some((method, path, status, count))
            })
        })
    }
}
