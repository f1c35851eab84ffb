//! The first line of a script that says which program runs it.

/// Most bytes of a file's beginning that [`interpreter`] looks at: as many as Linux does.
pub const INTERPRETER_LINE_BYTES: usize = 256;

/// The program that a system starts for a file whose first line is `#!…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpreter {
    /// By its name, which `env` looks up on PATH.
    Named(String),
    /// By its path.
    At(String),
}

impl Interpreter {
    /// The name or the path, as it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Named(name) | Self::At(name) => name,
        }
    }
}

/// Which program a system starts for a file that begins with these bytes; [`None`] where the file
/// says none.
///
/// A carriage return at the line's end is a part of the name, as it is to the system.
pub fn interpreter(beginning: &[u8]) -> Option<Interpreter> {
    let is_cut = beginning.len() >= INTERPRETER_LINE_BYTES;
    let bytes = beginning.get(..INTERPRETER_LINE_BYTES).unwrap_or(beginning);
    let bytes = bytes.strip_prefix(b"#!")?;
    let line = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => bytes.get(..end)?,
        // Half of a word is no name.
        None if is_cut => bytes.get(..bytes.iter().rposition(|byte| b" \t".contains(byte))?)?,
        None => bytes,
    };
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let program = words.next()?;
    if program.rsplit('/').next() != Some("env") {
        return Some(Interpreter::At(program.to_owned()));
    }
    named(words).map(|name| Interpreter::Named(name.to_owned()))
}

/// The program among the words that `env` is given: behind its options and the variables it sets.
fn named<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    loop {
        let word = words.next()?;
        match word {
            // What they take is the next word.
            "-u" | "--unset" | "-C" | "--chdir" => drop(words.next()?),
            "-S" | "--split-string" => {}
            _ => match word.strip_prefix("-S").or(word.strip_prefix("--split-string=")) {
                Some(attached) if !attached.is_empty() => return Some(attached),
                _ if word.starts_with('-') || word.contains('=') => {}
                _ => return Some(word),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_program_of_the_first_line_is_read() {
        let named = |name: &str| Some(Interpreter::Named(name.to_owned()));
        let at = |path: &str| Some(Interpreter::At(path.to_owned()));
        for (text, expected) in [
            ("#!/usr/bin/env python3\nprint()", named("python3")),
            ("#!/usr/bin/env -S uv run --script\n", named("uv")),
            ("#!/usr/bin/env -Snode --flag\n", named("node")),
            ("#!/usr/bin/env --split-string=deno run\n", named("deno")),
            ("#!/usr/bin/env -i -u HOME A=b ruby -w\n", named("ruby")),
            ("#! /bin/sh -eu\n", at("/bin/sh")),
            ("#!\t/opt/x/python", at("/opt/x/python")),
            ("#!bin/own\n", at("bin/own")),
            ("#!/usr/bin/env bash\r\n", named("bash\r")),
            ("#!/usr/bin/env\n", None),
            ("#!/usr/bin/env -S\n", None),
            ("#!\n", None),
            ("#! \n/bin/sh", None),
            (" #!/bin/sh\n", None),
            ("//bin/sh", None),
            ("", None),
        ] {
            assert_eq!(interpreter(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(interpreter(b"#!/bin/\xff\n"), None);
        let long = format!("#!/usr/bin/env {}x", "A=b ".repeat(100));
        assert_eq!(interpreter(long.as_bytes()), None, "what the system does not read is not read");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn whatever_a_file_begins_with_is_read_without_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            options in prop::collection::vec("(-[a-zA-Z]|[A-Z]=[a-z]|--[a-z-]+)", 0..4),
            name in "[a-z][a-z0-9.]{0,10}",
        ) {
            let _ = interpreter(&bytes);
            let _ = interpreter(&[b"#!/usr/bin/env ".as_slice(), &bytes].concat());
            let options: Vec<String> = options
                .into_iter()
                .filter(|one| !matches!(one.as_str(), "-u" | "-C" | "--unset" | "--chdir"))
                .filter(|one| !one.starts_with("-S"))
                .collect();
            let line = format!("#!/usr/bin/env {} {name}\n", options.join(" "));
            prop_assert_eq!(interpreter(line.as_bytes()), Some(Interpreter::Named(name)));
        }
    }
}
