//! The archive profile: what is written, what is read, and what is refused.

mod round_trip;
mod support;
