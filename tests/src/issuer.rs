//! A build service of a test's own: it says which job somebody is, and gives its keys to whoever asks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// What it answers when it is asked for its keys.
#[derive(Debug, Clone)]
pub enum Answering {
    /// With its keys, and this `Cache-Control`.
    Keys(&'static str),
    /// With other keys each time.
    OtherKeys,
    /// With this, whole.
    Text(String),
    /// That it failed.
    Failing,
    /// Without an end.
    Endless,
    /// With a byte now and then.
    Trickling,
    /// Not at all.
    Silent,
    /// To ask at this URL.
    Elsewhere(String),
}

/// A build service. Its port is its own as long as the process.
#[derive(Debug, Clone)]
pub struct Issuer {
    url: String,
    keys: Arc<Keys>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    answering: Answering,
    /// The name that its discovery document gives.
    name: String,
    /// How often it was asked for its keys.
    asked: usize,
}

#[derive(Debug)]
struct Keys {
    p256: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
    rsa: RsaKeyPair,
}

impl Issuer {
    /// Starts one, at a free port of this machine, with keys of its own: `es`, `ed` and `rs`.
    pub fn start() -> Self {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let p256 = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let keys = Keys {
            p256: EcdsaKeyPair::from_pkcs8(kind, p256.as_ref(), &random).unwrap(),
            ed25519: Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).unwrap(),
            // Nothing here makes keys of this kind: one for tests, that everybody has.
            rsa: RsaKeyPair::from_pkcs8(include_bytes!("issuer.pk8")).unwrap(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = State { answering: Answering::Keys(""), name: url.clone(), asked: 0 };
        let issuer = Self { url, keys: Arc::new(keys), state: Arc::new(Mutex::new(state)) };
        let serving = issuer.clone();
        thread::spawn(move || {
            for peer in listener.incoming().flatten() {
                let serving = serving.clone();
                // Whoever goes away early is no fault of the test.
                thread::spawn(move || serving.serve(peer));
            }
        });
        issuer
    }

    /// Its URL, which is what its identities have in `iss`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Changes what it answers.
    pub fn answer(&self, answering: Answering) {
        self.state.lock().unwrap().answering = answering;
    }

    /// Gives itself another name than its URL.
    pub fn call_itself(&self, name: &str) {
        name.clone_into(&mut self.state.lock().unwrap().name);
    }

    /// How often it was asked for its keys.
    pub fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }

    /// A token with these claims, signed with the key `es`.
    pub fn token(&self, claims: &Value) -> String {
        self.sign(&json!({"alg": "ES256", "kid": "es", "typ": "JWT"}), claims)
    }

    /// A token with this header, signed as its `alg` says, with the issuer's key of that kind: `HS256`
    /// with the public RSA key as if it were a secret, and `none` not at all.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let random = SystemRandom::new();
        let signature = match header["alg"].as_str().unwrap_or_default() {
            "ES256" => self.keys.p256.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec(),
            "EdDSA" => self.keys.ed25519.sign(signed.as_bytes()).as_ref().to_vec(),
            "RS256" => {
                let mut signature = vec![0; self.keys.rsa.public().modulus_len()];
                self.keys
                    .rsa
                    .sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature)
                    .unwrap();
                signature
            }
            "HS256" => {
                let RsaPublicKeyComponents { n, .. } = self.rsa();
                let key = hmac::Key::new(hmac::HMAC_SHA256, &n);
                hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
            }
            _ => Vec::new(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// What it says of a job of GitHub Actions that a push to `main` has started, for `audience`.
    pub fn github(&self, audience: &str) -> Value {
        let now = now();
        json!({
            "iss": self.url, "aud": audience, "sub": "repo:acme/waitlist:ref:refs/heads/main",
            "exp": now + 300, "nbf": now - 5, "iat": now,
            "jti": URL_SAFE_NO_PAD.encode(nonce()),
            "repository": "acme/waitlist", "repository_id": "7001", "repository_owner": "acme",
            "repository_owner_id": "4077", "event_name": "push", "ref": "refs/heads/main",
            "ref_type": "branch", "run_id": "99",
            "workflow_ref": "acme/waitlist/.github/workflows/release.yml@refs/heads/main",
            "job_workflow_ref": "acme/waitlist/.github/workflows/release.yml@refs/heads/main",
        })
    }

    /// What an owner records of such jobs.
    pub fn recorded(&self) -> Value {
        json!({"issuer": self.url, "claims": {
            "repository": "acme/waitlist", "repository_owner_id": "4077",
            "workflow_file": ".github/workflows/release.yml",
        }})
    }

    fn rsa(&self) -> RsaPublicKeyComponents<Vec<u8>> {
        self.keys.rsa.public().into()
    }

    /// Its keys, as it gives them.
    fn set(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let point = self.keys.p256.public_key().as_ref();
        let rsa = self.rsa();
        json!({"keys": [
            {"kty": "EC", "crv": "P-256", "kid": "es", "use": "sig", "alg": "ES256",
             "x": text(&point[1..33]), "y": text(&point[33..])},
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed",
             "x": text(self.keys.ed25519.public_key().as_ref())},
            {"kty": "RSA", "kid": "rs", "use": "sig",
             "n": text(&rsa.n),
             "e": text(&rsa.e)},
        ]})
    }

    fn serve(&self, mut peer: TcpStream) -> std::io::Result<()> {
        let mut head = BufReader::new(peer.try_clone()?);
        let mut line = String::new();
        head.read_line(&mut line)?;
        let mut rest = String::new();
        while head.read_line(&mut rest)? > 2 {
            rest.clear();
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        if path.starts_with("/request?") {
            return self.give_token(&mut peer, &path);
        }
        if path.starts_with("/.well-known/openid-configuration") {
            let name = self.state.lock().unwrap().name.clone();
            let document = json!({"issuer": name, "jwks_uri": format!("{}/keys", self.url)});
            return whole(&mut peer, "200 OK", "", &document.to_string());
        }
        let (answering, asked) = {
            let mut state = self.state.lock().unwrap();
            state.asked += 1;
            (state.answering.clone(), state.asked)
        };
        match answering {
            Answering::Keys(control) => {
                let control = format!("cache-control: {control}\r\n");
                whole(&mut peer, "200 OK", &control, &self.set().to_string())
            }
            Answering::OtherKeys => {
                let mut set = self.set();
                for key in set["keys"].as_array_mut().unwrap() {
                    key["kid"] = format!("{}{asked}", key["kid"].as_str().unwrap()).into();
                }
                whole(&mut peer, "200 OK", "", &set.to_string())
            }
            Answering::Text(text) => whole(&mut peer, "200 OK", "", &text),
            Answering::Failing => whole(&mut peer, "500 Internal Server Error", "", "{}"),
            Answering::Elsewhere(url) => {
                whole(&mut peer, "302 Found", &format!("location: {url}\r\n"), "")
            }
            Answering::Endless => {
                peer.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"keys\":[")?;
                loop {
                    peer.write_all(&[b' '; 4096])?;
                }
            }
            Answering::Trickling => {
                peer.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
                loop {
                    peer.write_all(b" ")?;
                    thread::sleep(Duration::from_millis(50));
                }
            }
            Answering::Silent => {
                thread::sleep(Duration::from_mins(1));
                Ok(())
            }
        }
    }

    /// As GitHub gives a job its identity, for the audience that the job asks for.
    fn give_token(&self, peer: &mut TcpStream, path: &str) -> std::io::Result<()> {
        let audience = path.split(['?', '&']).find_map(|part| part.strip_prefix("audience="));
        let audience = audience.unwrap_or_default().replace("%3A", ":").replace("%2F", "/");
        let answer = json!({"value": self.token(&self.github(&audience))});
        whole(peer, "200 OK", "", &answer.to_string())
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn nonce() -> [u8; 16] {
    let mut nonce = [0; 16];
    SystemRandom::new().fill(&mut nonce).unwrap();
    nonce
}

fn whole(peer: &mut TcpStream, status: &str, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        peer,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}
