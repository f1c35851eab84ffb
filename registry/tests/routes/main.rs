//! The routes over a real server, a real database and real files.

mod support;

mod publish;
