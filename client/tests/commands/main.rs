//! The author's commands as a person and a script see them: the real binary, in directories of its
//! own.

mod accounts;
mod answers;
mod checking;
mod help;
mod inspecting;
mod packing;
mod starting;
mod support;
mod wrong;
