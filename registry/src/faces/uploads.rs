//! Files that a client uploads one by one before it publishes them together.
//!
//! Each upload is promised first: a ticket for one file of a known digest and length, of one account,
//! for a while. What is uploaded lies beneath `tmp` and is gone with a restart; a client then begins
//! again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::limits::MAX_FILES;
use tempfile::TempPath;

use crate::problem::{Answer, Code, Refusal};
use crate::random;

/// Most bytes of one file.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Most bytes that one account has promised and not published.
const MAX_ACCOUNT_BYTES: u64 = 64 * 1024 * 1024;
/// Most bytes of all accounts together.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// How long a ticket is good.
const GOOD_FOR: Duration = Duration::from_mins(15);

/// One promised file, and where it lies once it is here.
#[derive(Debug)]
struct Upload {
    account: i64,
    promised: Promised,
    until: Instant,
    file: Option<TempPath>,
}

/// What a file is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promised {
    /// Its SHA-256.
    pub sha256: Sha256Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// Uploads by their tickets.
#[derive(Debug, Default)]
pub struct Uploads(Mutex<HashMap<String, Upload>>);

impl Uploads {
    /// A ticket for one file of the account.
    pub fn promise(&self, account: i64, promised: Promised) -> Answer<String> {
        self.promise_for(account, promised, GOOD_FOR)
    }

    fn promise_for(&self, account: i64, promised: Promised, time: Duration) -> Answer<String> {
        if promised.size > MAX_FILE_BYTES {
            let detail = format!("a file is at most {MAX_FILE_BYTES} bytes here");
            return Err(Refusal::new(Code::TooLarge, detail));
        }
        let ticket = random::hex::<32>()?;
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        uploads.retain(|_, upload| upload.until > now);
        let of_account = uploads.values().filter(|upload| upload.account == account);
        let (count, bytes) = of_account
            .fold((0, promised.size), |(count, sum), one| (count + 1, sum + one.promised.size));
        let all = uploads.values().fold(promised.size, |sum, one| sum + one.promised.size);
        if count >= MAX_FILES || bytes > MAX_ACCOUNT_BYTES {
            let detail = "the account has uploaded as much as it may without publishing it; publish \
                          it, or come again in a quarter of an hour";
            return Err(Refusal::rate_limited(detail, 60));
        }
        if all > MAX_BYTES {
            return Err(Refusal::unavailable("too much is being uploaded; try again", 60));
        }
        let upload = Upload { account, promised, until: now + time, file: None };
        uploads.insert(ticket.clone(), upload);
        Ok(ticket)
    }

    /// What was promised under a ticket of the account.
    pub fn promised(&self, account: i64, ticket: &str) -> Option<Promised> {
        let uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.get(ticket).filter(|upload| upload.is_of(account)).map(|upload| upload.promised)
    }

    /// Keeps the file that was promised under a ticket; whoever calls has compared it.
    pub fn keep(&self, account: i64, ticket: &str, file: TempPath) {
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(upload) = uploads.get_mut(ticket).filter(|upload| upload.is_of(account)) {
            upload.file = Some(file);
        }
    }

    /// Takes the file out that was uploaded under a ticket.
    pub fn take(&self, account: i64, ticket: &str) -> Option<(Promised, TempPath)> {
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ready = |upload: &Upload| upload.is_of(account) && upload.file.is_some();
        if !uploads.get(ticket).is_some_and(is_ready) {
            return None;
        }
        let Upload { promised, file, .. } = uploads.remove(ticket)?;
        file.map(|file| (promised, file))
    }
}

impl Upload {
    fn is_of(&self, account: i64) -> bool {
        self.account == account && self.until > Instant::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promised(size: u64) -> Promised {
        Promised { sha256: Sha256Digest::of(b"x"), size }
    }

    fn file() -> TempPath {
        tempfile::NamedTempFile::new().unwrap().into_temp_path()
    }

    #[test]
    fn a_ticket_is_good_for_one_file_of_its_account() {
        let uploads = Uploads::default();
        let ticket = uploads.promise(1, promised(3)).unwrap();
        assert_eq!(uploads.promised(1, &ticket), Some(promised(3)));
        assert_eq!(uploads.promised(2, &ticket), None);
        assert!(uploads.take(1, &ticket).is_none(), "nothing was uploaded");
        uploads.keep(2, &ticket, file());
        assert!(uploads.take(1, &ticket).is_none(), "another account uploaded it");
        uploads.keep(1, &ticket, file());
        assert!(uploads.take(2, &ticket).is_none());
        assert!(uploads.take(1, &ticket).is_some());
        assert!(uploads.take(1, &ticket).is_none(), "it was taken already");
    }

    #[test]
    fn what_is_not_published_takes_no_more_than_its_bound_and_goes_after_a_while() {
        let uploads = Uploads::default();
        let code = |answer: Answer<String>| answer.map(|_| ()).map_err(|refused| refused.code());
        assert_eq!(code(uploads.promise(1, promised(MAX_FILE_BYTES + 1))), Err(Code::TooLarge));
        let gone = uploads.promise_for(1, promised(MAX_FILE_BYTES), Duration::ZERO).unwrap();
        assert_eq!(uploads.promised(1, &gone), None);
        for _ in 0..6 {
            uploads.promise(1, promised(MAX_FILE_BYTES)).unwrap();
        }
        assert_eq!(code(uploads.promise(1, promised(MAX_FILE_BYTES))), Err(Code::RateLimited));
        assert!(uploads.promise(2, promised(MAX_FILE_BYTES)).is_ok());
    }
}
