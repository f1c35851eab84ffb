//! What must not be published by mistake: private keys, tokens, files of secrets.
//!
//! The rules look for few things and are sure of each: a skill that explains how to set a key shows
//! one that is made up, and is packed.

use crate::path::SkillPath;

/// How much of a file's start is looked at.
pub const SCANNED_BYTES: usize = 1024 * 1024;
/// Most findings of one file: enough to know what it is.
const MAX_FINDINGS: usize = 20;
/// A line that is longer is looked at no further.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How many lines after its first a private key's own may start: encrypted ones have a few headers.
const KEY_HEADER_LINES: usize = 4;
/// Fewest characters of base64 in a row that make a key: PEM breaks its lines at 64 (RFC 7468), and
/// the shortest private key fills one.
const KEY_RUN: usize = 60;

/// Names of files that hold secrets and nothing else, in lower case.
const SECRET_FILES: [&str; 10] = [
    ".env",
    ".git-credentials",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
];
/// Ends of names of containers of private keys.
const SECRET_ENDS: [&str; 4] = [".p12", ".pfx", ".jks", ".keystore"];
/// Ends of `.env.…` files that show what to set.
const SHOWN_ENDS: [&str; 6] = ["example", "sample", "template", "dist", "defaults", "schema"];

/// The characters that a kind of token is made of.
#[derive(Debug, Clone, Copy)]
enum Alphabet {
    /// `A-Z0-9`.
    Upper,
    /// `a-f0-9`.
    Hex,
    /// `A-Za-z0-9`.
    Alphanumeric,
    /// `A-Za-z0-9_-`.
    Url,
    /// `A-Za-z0-9_.-`.
    Dotted,
}

impl Alphabet {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => Self::Url.holds(byte) || byte == b'.',
        }
    }
}

/// A kind of token: what it is called, how it starts, what follows and how much of that.
struct Token {
    what: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
}

const fn token(
    what: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> Token {
    Token { what, prefix, alphabet, least, most }
}

/// The longer of two prefixes that start alike stands first.
const TOKENS: [Token; 28] = [
    token("an AWS access key", "AKIA", Alphabet::Upper, 16, 16),
    token("an AWS session key", "ASIA", Alphabet::Upper, 16, 16),
    token("a GitHub token", "ghp_", Alphabet::Alphanumeric, 36, 255),
    token("a GitHub token", "gho_", Alphabet::Alphanumeric, 36, 255),
    token("a GitHub token", "ghu_", Alphabet::Alphanumeric, 36, 255),
    token("a GitHub token", "ghs_", Alphabet::Alphanumeric, 36, 255),
    token("a GitHub token", "ghr_", Alphabet::Alphanumeric, 36, 255),
    token("a GitHub token", "github_pat_", Alphabet::Url, 60, 255),
    token("a GitLab token", "glpat-", Alphabet::Dotted, 20, 255),
    token("a registry token", "skp_", Alphabet::Url, 40, 80),
    token("a Slack token", "xoxb-", Alphabet::Url, 24, 255),
    token("a Slack token", "xoxp-", Alphabet::Url, 24, 255),
    token("a Slack token", "xoxa-", Alphabet::Url, 24, 255),
    token("a Slack token", "xoxs-", Alphabet::Url, 24, 255),
    token("a Google API key", "AIza", Alphabet::Url, 35, 35),
    token("an Anthropic API key", "sk-ant-", Alphabet::Url, 40, 255),
    token("an OpenRouter API key", "sk-or-v1-", Alphabet::Hex, 64, 64),
    token("an OpenAI API key", "sk-proj-", Alphabet::Url, 40, 255),
    token("an OpenAI API key", "sk-svcacct-", Alphabet::Url, 40, 255),
    token("an OpenAI API key", "sk-", Alphabet::Alphanumeric, 48, 48),
    token("a Stripe key", "sk_live_", Alphabet::Alphanumeric, 24, 255),
    token("a Stripe key", "rk_live_", Alphabet::Alphanumeric, 24, 255),
    token("an npm token", "npm_", Alphabet::Alphanumeric, 36, 36),
    token("a PyPI token", "pypi-AgEIcHlwaS5vcmc", Alphabet::Url, 50, 255),
    token("a Hugging Face token", "hf_", Alphabet::Alphanumeric, 34, 34),
    token("a SendGrid key", "SG.", Alphabet::Dotted, 66, 66),
    token("a Docker token", "dckr_pat_", Alphabet::Url, 27, 27),
    token("a DigitalOcean token", "dop_v1_", Alphabet::Hex, 64, 64),
];

/// Parts of a token, in lower case, that tell a made-up one.
const MADE_UP: [&str; 14] = [
    "example",
    "sample",
    "dummy",
    "fake",
    "test",
    "your",
    "placeholder",
    "redacted",
    "secret",
    "xxxx",
    "0000",
    "1234567",
    "abcdefg",
    "changeme",
];

/// Something that looks like a secret. Says what it is and never repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it looks like, as `a GitHub token`.
    pub what: &'static str,
    /// The line of the file, from 1; [`None`] where the whole file is meant.
    pub line: Option<usize>,
}

/// What looks like a secret in the file at `path`, whose first [`SCANNED_BYTES`] are `start`.
pub fn find(path: &SkillPath, start: &[u8]) -> Vec<Secret> {
    if let Some(what) = secret_file(path.file_name()) {
        return vec![Secret { what, line: None }];
    }
    if start.contains(&0) {
        return Vec::new();
    }
    let lines: Vec<&[u8]> = start
        .split(|byte| *byte == b'\n')
        .map(|line| &line[..line.len().min(MAX_LINE_BYTES)])
        .collect();
    let found = lines.iter().enumerate().filter_map(|(number, line)| {
        let what =
            if has_private_key(&lines[number..]) { "a private key" } else { token_in(line)? };
        Some(Secret { what, line: Some(number + 1) })
    });
    found.take(MAX_FINDINGS).collect()
}

fn secret_file(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if SECRET_FILES.contains(&name.as_str()) {
        return Some("secrets (by its name)");
    }
    if let Some(end) = name.strip_prefix(".env.") {
        let is_shown = end.split(['.', '-', '_']).any(|part| SHOWN_ENDS.contains(&part));
        return (!is_shown).then_some("secrets (by its name)");
    }
    SECRET_ENDS.iter().any(|end| name.ends_with(end)).then_some("private keys (by its name)")
}

/// Whether a private key starts on the first of `lines`: its PEM header, and base64 soon after.
///
/// A header alone is how texts and parsers speak of keys.
fn has_private_key(lines: &[&[u8]]) -> bool {
    let Some((first, following)) = lines.split_first() else { return false };
    let Some(begin) = position(first, b"-----BEGIN ") else { return false };
    let header = &first[begin..];
    let Some(end) = position(header, b"PRIVATE KEY") else { return false };
    // In JSON and in source the whole key stands on one line, its line ends written `\n`.
    let rest = &header[end..];
    std::iter::once(&rest)
        .chain(following.iter().take(KEY_HEADER_LINES + 1))
        .any(|line| longest_base64(line) >= KEY_RUN)
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn longest_base64(line: &[u8]) -> usize {
    line.split(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')))
        .filter(|run| !is_made_up(run))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

fn token_in(line: &[u8]) -> Option<&'static str> {
    let mut starts = (0..line.len()).filter(|at| {
        let before = at.checked_sub(1).map(|before| line[before]);
        // A token's start in the midst of a word is no token.
        !before.is_some_and(|before| Alphabet::Url.holds(before))
            && matches!(
                line[*at],
                b'A' | b'S' | b'd' | b'g' | b'h' | b'n' | b'p' | b'r' | b's' | b'x'
            )
    });
    starts.find_map(|at| token_at(&line[at..]))
}

fn token_at(text: &[u8]) -> Option<&'static str> {
    TOKENS.iter().find_map(|token| {
        let rest = text.strip_prefix(token.prefix.as_bytes())?;
        let length = rest.iter().take_while(|byte| token.alphabet.holds(**byte)).count();
        let fits = (token.least..=token.most).contains(&length);
        (fits && !is_made_up(&rest[..length])).then_some(token.what)
    })
}

/// Whether a token is one that a text shows: with a word in it, a row of keys, or few characters.
fn is_made_up(token: &[u8]) -> bool {
    let lower = token.to_ascii_lowercase();
    let mut seen = [false; 256];
    for byte in token {
        seen[usize::from(*byte)] = true;
    }
    let distinct = seen.iter().filter(|seen| **seen).count();
    distinct < 8 || MADE_UP.iter().any(|word| position(&lower, word.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joined here so that no scanner takes this file for what it describes.
    fn made(prefix: &str, rest: &str) -> String {
        format!("{prefix}{rest}")
    }

    fn found(name: &str, text: &str) -> Vec<(&'static str, Option<usize>)> {
        let path = name.parse().unwrap();
        find(&path, text.as_bytes()).into_iter().map(|one| (one.what, one.line)).collect()
    }

    const RANDOM: &str = "Zq8Lw3Vt6Yb1Nc5Md9Kf2Hg7Js4Rp0XuAeTiOoQyWbUvCzPl";
    const HEX: &str = "9f8e1d6c3b5a7042e8d1c6b9a3f5704e2d8c1b6f9a3e5d7048c2b1f6e9a3d570";

    #[test]
    fn tokens_are_found_with_their_line() {
        for (what, token) in [
            ("an AWS access key", made("AKIA", "Q3EGRZT7WPLXNV5K")),
            ("a GitHub token", made("ghp_", &RANDOM[..36])),
            ("a GitHub token", made("github_pat_", &format!("{}_{RANDOM}", &RANDOM[..22]))),
            ("a registry token", made("skp_", &RANDOM[..43])),
            ("a Slack token", made("xoxb-", "918273645546-9182736455-Zq8Lw3Vt6Yb1")),
            ("a Google API key", made("AIza", &RANDOM[..35])),
            ("an Anthropic API key", made("sk-ant-api03-", RANDOM)),
            ("an OpenAI API key", made("sk-proj-", RANDOM)),
            ("an OpenAI API key", made("sk-", RANDOM)),
            ("an OpenRouter API key", made("sk-or-v1-", HEX)),
            ("a Stripe key", made("sk_live_", &RANDOM[..24])),
            ("an npm token", made("npm_", &RANDOM[..36])),
        ] {
            for line in [format!("key = \"{token}\""), format!("KEY={token}"), token.clone()] {
                let text = format!("# a\r\n{line}\nend\n");
                assert_eq!(found("a.py", &text), [(what, Some(2))], "{line}");
            }
        }
    }

    #[test]
    fn what_texts_show_is_no_secret() {
        for line in [
            "AKIAIOSFODNN7EXAMPLE",
            "sk-or-v1-your-key-here",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
            "sk-ant-...",
            "sk-ant-api03-YOUR_KEY_HERE_YOUR_KEY_HERE_YOUR_KEY_HERE",
            "./task-reviewer-prompt.md",
            "sk-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
            "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
            "if text.startswith('-----BEGIN PRIVATE KEY-----'):",
            "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF...\n",
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAZq8Lw3Vt6Yb1Nc5Md9Kf2Hg7Js4Rp0XuAeTiOoQyWbUvCzPl\n",
        ] {
            assert_eq!(found("a.md", line), [], "{line}");
        }
    }

    #[test]
    fn private_keys_are_found_however_they_are_written() {
        let begin = made("-----BEGIN ", "PRIVATE KEY-----");
        let openssh = made("-----BEGIN OPENSSH ", "PRIVATE KEY-----");
        let body = &format!("{RANDOM}{RANDOM}")[..64];
        for text in [
            format!("x\n{begin}\n{body}\n"),
            format!("x\n{openssh}\r\n{body}\r\n"),
            format!("x\n    {begin}\n    {body}\n"),
            format!("x\n\"private_key\": \"{begin}\\n{body}\\n\"\n"),
            format!("x\n{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0011\n\n{body}\n"),
        ] {
            assert_eq!(found("a.txt", &text), [("a private key", Some(2))], "{text}");
        }
    }

    #[test]
    fn files_of_secrets_are_told_by_name() {
        for name in [".env", "a/.env", ".env.local", ".env.production", "id_rsa", "x/cert.PFX"] {
            assert_eq!(found(name, "").len(), 1, "{name}");
        }
        for name in [".env.example", ".env.local.sample", "env", "x.env", "id_rsa.pub", ".envrc"] {
            assert_eq!(found(name, ""), [], "{name}");
        }
    }

    #[test]
    fn what_is_no_text_is_not_looked_at() {
        assert_eq!(found("a.bin", &format!("\0{}", made("ghp_", &RANDOM[..36]))), []);
    }

    #[test]
    fn a_file_of_tokens_is_told_of_a_bounded_number_of_times() {
        let text = format!("{}\n", made("ghp_", &RANDOM[..36])).repeat(1000);
        assert_eq!(found("a.txt", &text).len(), MAX_FINDINGS);
    }
}
