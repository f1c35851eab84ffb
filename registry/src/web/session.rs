//! Who is signed in: sessions in the memory of this process, each begun with a token.
//!
//! The cookie is 256 random bits that mean nothing elsewhere. Of it and of the token the hash alone is
//! kept, so that neither can be read out of memory; the token is looked up at each request, and a
//! session ends with it. A restart ends them all.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use skillpkg_schema::Sha256Digest;

use super::root::Root;
use crate::problem::{Answer, Refusal};
use crate::random;

/// How long a session lives that nobody uses.
const IDLE: Duration = Duration::from_hours(12);
/// How long any session lives.
const LONGEST: Duration = Duration::from_hours(7 * 24);
/// Sessions at once; who has used none for longest is signed out for one more.
const MOST: usize = 10_000;
/// Sessions of one account at once.
const MOST_OF_ACCOUNT: usize = 20;
/// Digits of a cookie.
const DIGITS: usize = 64;

/// The cookies of this registry, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Names a session.
    Session,
    /// Names a browser that has none yet, so that a form is known to be its own.
    Visit,
}

#[derive(Debug)]
struct Session {
    /// The hash of the token.
    token: String,
    account: i64,
    began: Instant,
    used: Instant,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) > IDLE || now.duration_since(self.began) > LONGEST
    }
}

/// The sessions that there are.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Whether browsers come by HTTPS alone.
    encrypted: bool,
    /// Where they are sent to.
    root: Root,
    /// By the hash of the cookie.
    live: Mutex<HashMap<Sha256Digest, Session>>,
    /// What the tokens of forms are made with.
    key: OnceLock<[u8; 32]>,
}

impl Sessions {
    /// None yet.
    pub(super) fn new(encrypted: bool, root: Root) -> Self {
        Self { encrypted, root, live: Mutex::default(), key: OnceLock::new() }
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashMap<Sha256Digest, Session>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of a cookie. Where all is encrypted a prefix keeps whatever is not encrypted from
    /// setting it, and other hosts as well where the registry has a host of its own: browsers take
    /// that one with the path `/` alone.
    fn name(&self, cookie: Cookie) -> &'static str {
        match (self.encrypted, self.root.is_host(), cookie) {
            (true, true, Cookie::Session) => "__Host-skillpkg-session",
            (true, true, Cookie::Visit) => "__Host-skillpkg-visit",
            (true, false, Cookie::Session) => "__Secure-skillpkg-session",
            (true, false, Cookie::Visit) => "__Secure-skillpkg-visit",
            (false, _, Cookie::Session) => "skillpkg-session",
            (false, _, Cookie::Visit) => "skillpkg-visit",
        }
    }

    /// The value of a cookie in these headers; [`None`] where there is none that this program could
    /// have set, or more than one.
    pub(super) fn cookie<'h>(&self, headers: &'h HeaderMap, cookie: Cookie) -> Option<&'h str> {
        let name = self.name(cookie);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
        let value = values.next().filter(|value| is_ours(value))?;
        values.next().is_none().then_some(value)
    }

    /// The header that sets a cookie; without a value, that removes it.
    pub(super) fn set(&self, cookie: Cookie, value: Option<&str>) -> Answer<HeaderValue> {
        let secure = if self.encrypted { "; Secure" } else { "" };
        let ended = if value.is_none() { "; Max-Age=0" } else { "" };
        let (name, value) = (self.name(cookie), value.unwrap_or_default());
        let path = self.root.of_cookies();
        let text = format!("{name}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}{ended}");
        HeaderValue::try_from(text).map_err(|error| Refusal::internal(&error))
    }

    /// Begins a session of a token; answers with its cookie's value, which nobody has had before.
    pub(super) fn begin(&self, token: String, account: i64) -> Answer<String> {
        let value = random::hex::<32>()?;
        let now = Instant::now();
        let mut live = self.live();
        live.retain(|_, session| !session.is_over(now));
        while live.values().filter(|session| session.account == account).count() >= MOST_OF_ACCOUNT
        {
            drop_oldest(&mut live, |session| session.account == account);
        }
        if live.len() >= MOST {
            drop_oldest(&mut live, |_| true);
        }
        let session = Session { token, account, began: now, used: now };
        live.insert(Sha256Digest::of(value.as_bytes()), session);
        Ok(value)
    }

    /// The hash of the token of the session that these headers name.
    pub(super) fn token(&self, headers: &HeaderMap) -> Option<String> {
        let value = self.cookie(headers, Cookie::Session)?;
        let key = Sha256Digest::of(value.as_bytes());
        let now = Instant::now();
        let mut live = self.live();
        let session = live.get_mut(&key)?;
        if session.is_over(now) {
            live.remove(&key);
            return None;
        }
        session.used = now;
        Some(session.token.clone())
    }

    /// Ends the session that these headers name, if there is one.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(value) = self.cookie(headers, Cookie::Session) {
            self.live().remove(&Sha256Digest::of(value.as_bytes()));
        }
    }

    /// What a form of the browser with this cookie carries: nobody without the cookie, and without the
    /// key of this process, can make it (CSRF).
    pub(super) fn form_token(&self, cookie: &str) -> Answer<String> {
        let key = if let Some(key) = self.key.get() {
            *key
        } else {
            let made = random::bytes::<32>()?;
            *self.key.get_or_init(|| made)
        };
        // Parts of fixed lengths: no other parts give these bytes.
        let bytes = [key.as_slice(), b"skillpkg form", cookie.as_bytes()].concat();
        Ok(Sha256Digest::of(&bytes).to_string())
    }
}

fn drop_oldest(live: &mut HashMap<Sha256Digest, Session>, among: impl Fn(&Session) -> bool) {
    let of = live.iter().filter(|(_, session)| among(session));
    if let Some(key) = of.min_by_key(|(_, session)| session.used).map(|(key, _)| *key) {
        live.remove(&key);
    }
}

fn is_ours(value: &str) -> bool {
    value.len() == DIGITS
        && value.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(line: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(line).unwrap());
        headers
    }

    #[test]
    fn a_session_is_found_by_its_cookie_alone_and_ends() {
        let sessions = Sessions::new(false, Root::default());
        let value = sessions.begin("hash".to_owned(), 1).unwrap();
        let cookie = format!("a=b; skillpkg-session={value} ;c=d");
        assert_eq!(sessions.token(&headers(&cookie)).as_deref(), Some("hash"));
        for other in [
            format!("skillpkg-session={}", "0".repeat(64)),
            format!("skillpkg-session={value}; skillpkg-session={value}"),
            format!("__Host-skillpkg-session={value}"),
            format!("skillpkg-visit={value}"),
            "skillpkg-session=".to_owned(),
        ] {
            assert_eq!(sessions.token(&headers(&other)), None, "{other}");
        }
        sessions.end(&headers(&cookie));
        assert_eq!(sessions.token(&headers(&cookie)), None);
    }

    #[test]
    fn a_cookie_is_for_this_registry_and_for_no_script() {
        let plain = Sessions::new(false, Root::default()).set(Cookie::Session, Some("v")).unwrap();
        assert_eq!(plain, "skillpkg-session=v; Path=/; HttpOnly; SameSite=Strict");
        let secure = Sessions::new(true, Root::default()).set(Cookie::Visit, None).unwrap();
        assert_eq!(
            secure,
            "__Host-skillpkg-visit=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0"
        );
        let beneath = Root::of(Some(&"https://a.example/some".parse().unwrap()));
        let secure = Sessions::new(true, beneath).set(Cookie::Visit, Some("v")).unwrap();
        assert_eq!(
            secure,
            "__Secure-skillpkg-visit=v; Path=/some; HttpOnly; SameSite=Strict; Secure"
        );
    }

    #[test]
    fn an_account_has_so_many_sessions_and_no_more() {
        let sessions = Sessions::new(false, Root::default());
        let first = sessions.begin("first".to_owned(), 1).unwrap();
        let other = sessions.begin("other".to_owned(), 2).unwrap();
        for _ in 0..MOST_OF_ACCOUNT {
            sessions.begin("more".to_owned(), 1).unwrap();
        }
        let token = |value: &str| sessions.token(&headers(&format!("skillpkg-session={value}")));
        assert_eq!((token(&first), token(&other).as_deref()), (None, Some("other")));
        assert_eq!(sessions.live().len(), MOST_OF_ACCOUNT + 1);
    }

    #[test]
    fn the_token_of_a_form_is_of_one_cookie_and_one_process() {
        let (one, other) =
            (Sessions::new(false, Root::default()), Sessions::new(false, Root::default()));
        let token = one.form_token("a").unwrap();
        assert_eq!(token, one.form_token("a").unwrap());
        assert_ne!(token, one.form_token("b").unwrap());
        assert_ne!(token, other.form_token("a").unwrap());
    }
}
