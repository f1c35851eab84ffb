//! What an agent host embeds: the active skills, their capabilities, and calls.
