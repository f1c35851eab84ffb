//! Where a link of a skill's prose leads, and whether a page follows it.

use skillpkg_schema::Manifest;
use url::Url;

use crate::web::link;

/// Longest address that is a link.
const LONGEST: usize = 2_048;

/// Longest path of an address of which the host alone is told.
const LONGEST_PATH: usize = 60;

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// To a file of the skill.
    File {
        /// Its page.
        page: String,
        /// What is told.
        told: String,
    },
    /// To a host elsewhere, which is told beside it.
    Elsewhere {
        /// The address, as a browser writes it.
        url: String,
        /// What is told.
        told: String,
    },
    /// Nowhere that a page goes: shown as text.
    Nowhere,
}

/// Where an address in the prose of a skill leads.
///
/// The web, mail, and the skill's own files; never a scheme that a browser runs something for, and
/// nothing of this registry's that the author chose.
pub(super) fn of(address: &str, manifest: &Manifest) -> Destination {
    if address.len() > LONGEST {
        return Destination::Nowhere;
    }
    let (path, _) = address.split_once(['#', '?']).unwrap_or((address, ""));
    let path = path.strip_prefix("./").unwrap_or(path);
    let decoded = decoded(path);
    if let Some(file) = manifest.file(&decoded) {
        let page = link::file(&manifest.name, &manifest.version, file.path.as_str());
        let is_plain = path.len() == address.trim_start_matches("./").len();
        let told = if is_plain { String::new() } else { address.to_owned() };
        return Destination::File { page, told };
    }
    let Ok(url) = Url::parse(address) else { return Destination::Nowhere };
    let told = match url.scheme() {
        // An address can say more than where it leads: then all of it is told.
        "http" | "https" if url.username().is_empty() && url.password().is_none() => {
            let is_plain = url.query().is_none()
                && url.fragment().is_none()
                && url.path().len() <= LONGEST_PATH;
            let host = url.host_str().unwrap_or_default();
            if is_plain { host.to_owned() } else { address.to_owned() }
        }
        "mailto" => url.path().to_owned(),
        _ => return Destination::Nowhere,
    };
    Destination::Elsewhere { url: url.into(), told }
}

/// A path without what is written in percent; the path itself where that is no text.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.first_chunk::<2>().filter(|_| *first == b'%');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}
