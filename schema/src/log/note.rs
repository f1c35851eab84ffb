//! Signed notes (C2SP signed-note): a text, and lines of signatures under it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::address::text_serde;
use crate::diagnostic::escape;
use crate::signature::{PublicKey, SIGNATURE_BYTES, SigningKey};

/// Most signatures of one note.
const MAX_SIGNATURES: usize = 64;
/// What a line of a signature begins with: an em dash and a space.
const SIGNATURE_START: &str = "\u{2014} ";

/// Why a note is not read, or vouches for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Not UTF-8, or with control characters other than line feeds.
    #[error("the note holds a control character or is not UTF-8")]
    Characters,
    /// No text, an empty line and lines of signatures.
    #[error("this is no signed note: {0}")]
    Shape(&'static str),
    /// A line of a signature is not spelled as one.
    #[error("signature line {0} of the note is not spelled as one")]
    SignatureLine(usize),
    /// A key that is known is said to have signed, and has not.
    #[error("the signature of `{}` does not verify: the note was changed, or is another's", escape(.0))]
    BadSignature(String),
    /// A key is not spelled as a verifier key.
    #[error("`{}` is not a verifier key: expected NAME+ID+KEY of an Ed25519 key", escape(.0))]
    Key(String),
}

/// What a signature is over: the algorithm byte of signed-note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureKind {
    /// Over the text itself: Ed25519, byte 1.
    Ed25519,
    /// Over the text and a time: a cosignature (C2SP tlog-cosignature), byte 4.
    Cosignature,
}

impl SignatureKind {
    fn byte(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::Cosignature => 4,
        }
    }
}

/// A key that notes are verified with: a `vkey`, written `NAME+ID+KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    kind: SignatureKind,
    key: PublicKey,
}

impl NoteKey {
    /// The key under this name, which must not be empty nor hold spaces, control characters or `+`.
    pub fn new(name: &str, kind: SignatureKind, key: PublicKey) -> Result<Self, NoteError> {
        if !is_name(name) {
            return Err(NoteError::Key(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), kind, key })
    }

    /// Whose it is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its signatures are over.
    pub fn kind(&self) -> SignatureKind {
        self.kind
    }

    /// The public key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// What a signature tells it by, beside the name.
    pub fn id(&self) -> u32 {
        let hash = Sha256::new()
            .chain_update(self.name.as_bytes())
            .chain_update([b'\n', self.kind.byte()])
            .chain_update(self.key.to_bytes())
            .finalize();
        hash.first_chunk().map_or(0, |id| u32::from_be_bytes(*id))
    }

    /// What a signature of this key over `text` tells, where it verifies.
    fn verified(&self, text: &str, signature: &[u8]) -> Option<Witnessed> {
        let (message, time, signature) = match self.kind {
            SignatureKind::Ed25519 => (text.to_owned(), None, signature),
            SignatureKind::Cosignature => {
                let (time, signature) = signature.split_first_chunk()?;
                let time = Some(u64::from_be_bytes(*time)).filter(|time| *time < 1 << 63)?;
                (cosigned(text, time), Some(time), signature)
            }
        };
        let signature: &[u8; SIGNATURE_BYTES] = signature.try_into().ok()?;
        let holds = self.key.verifies(message.as_bytes(), signature);
        holds.then(|| Witnessed { key: self.clone(), time })
    }
}

fn is_name(name: &str) -> bool {
    let refused = |c: char| c == '+' || c.is_whitespace() || c.is_control();
    !name.is_empty() && !name.contains(refused)
}

/// What a cosignature is over.
fn cosigned(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

impl fmt::Display for NoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![self.kind.byte()];
        bytes.extend_from_slice(&self.key.to_bytes());
        write!(f, "{}+{:08x}+{}", self.name, self.id(), STANDARD.encode(bytes))
    }
}

impl FromStr for NoteKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let read = || {
            let mut parts = text.splitn(3, '+');
            let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
            let key = STANDARD.decode(key).ok()?;
            let (kind, key) = key.split_first()?;
            let kind = match kind {
                1 => SignatureKind::Ed25519,
                4 => SignatureKind::Cosignature,
                _ => return None,
            };
            let key = PublicKey::from_bytes(key.try_into().ok()?).ok()?;
            let read = Self::new(name, kind, key).ok()?;
            (format!("{:08x}", read.id()) == id).then_some(read)
        };
        read().ok_or_else(|| NoteError::Key(text.to_owned()))
    }
}

text_serde!(NoteKey);

/// A private key that signs notes under a name.
#[derive(Debug, Clone)]
pub struct NoteSigner {
    key: NoteKey,
    signing: SigningKey,
}

impl NoteSigner {
    /// Signs as `name`.
    pub fn new(name: &str, kind: SignatureKind, signing: SigningKey) -> Result<Self, NoteError> {
        Ok(Self { key: NoteKey::new(name, kind, signing.public())?, signing })
    }

    /// What its signatures are verified with.
    pub fn key(&self) -> &NoteKey {
        &self.key
    }

    /// The private key.
    pub fn signing(&self) -> &SigningKey {
        &self.signing
    }

    /// Signs a text; `time`, in seconds since 1970, is told by a cosignature alone.
    fn sign(&self, text: &str, time: u64) -> NoteSignature {
        let bytes = match self.key.kind {
            SignatureKind::Ed25519 => self.signing.sign(text.as_bytes()).to_vec(),
            SignatureKind::Cosignature => {
                let signature = self.signing.sign(cosigned(text, time).as_bytes());
                [time.to_be_bytes().as_slice(), &signature].concat()
            }
        };
        NoteSignature { name: self.key.name.clone(), id: self.key.id(), bytes }
    }
}

/// One signature of a note, unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// Whose it is said to be.
    pub name: String,
    /// The id of the key.
    pub id: u32,
    /// The signature, with its time where it tells one.
    pub bytes: Vec<u8>,
}

/// A text and its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

/// That a key signed a note, verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    /// The key.
    pub key: NoteKey,
    /// When, in seconds since 1970, where the signature tells.
    pub time: Option<u64>,
}

impl Note {
    /// A text that nobody has signed yet; it must end with a line feed.
    pub fn unsigned(text: String) -> Result<Self, NoteError> {
        if !text.ends_with('\n') {
            return Err(NoteError::Shape("its text does not end with a line feed"));
        }
        if text.contains(is_refused) {
            return Err(NoteError::Characters);
        }
        Ok(Self { text, signatures: Vec::new() })
    }

    /// Adds a signature; an earlier one of the same key goes.
    #[must_use]
    pub fn signed(mut self, signer: &NoteSigner, time: u64) -> Self {
        let signature = signer.sign(&self.text, time);
        self.signatures.retain(|other| (&other.name, other.id) != (&signature.name, signature.id));
        self.signatures.push(signature);
        self
    }

    /// With a signature of somebody else's, unverified.
    #[must_use]
    pub fn with(mut self, signature: NoteSignature) -> Self {
        self.signatures.push(signature);
        self
    }

    /// Reads a note. The caller has bounded its length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoteError> {
        let note = std::str::from_utf8(bytes).map_err(|_| NoteError::Characters)?;
        if note.contains(is_refused) {
            return Err(NoteError::Characters);
        }
        let no_signatures = NoteError::Shape("no empty line with signatures after it");
        let split = note.rfind("\n\n").ok_or(no_signatures)?;
        let (text, signatures) = (note.get(..=split), note.get(split + 2..));
        let (text, signatures) = (text.unwrap_or_default(), signatures.unwrap_or_default());
        if text == "\n" {
            return Err(NoteError::Shape("it has no text"));
        }
        let Some(signatures) = signatures.strip_suffix('\n') else {
            return Err(NoteError::Shape("it does not end with a line feed"));
        };
        let signatures: Vec<&str> = signatures.split('\n').collect();
        if signatures.len() > MAX_SIGNATURES {
            return Err(NoteError::Shape("it has more than 64 signatures"));
        }
        let signatures = signatures
            .iter()
            .enumerate()
            .map(|(at, line)| signature_of(line).ok_or(NoteError::SignatureLine(at + 1)))
            .collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// The text, with its last line feed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, unverified.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Those of `keys` that signed it.
    ///
    /// A signature of another key counts for nothing; one of these keys that does not verify
    /// refuses the whole note.
    pub fn verified_by(&self, keys: &[NoteKey]) -> Result<Vec<Witnessed>, NoteError> {
        let mut verified: Vec<Witnessed> = Vec::new();
        for signature in &self.signatures {
            let known = |key: &&NoteKey| key.name == signature.name && key.id() == signature.id;
            for key in keys.iter().filter(known) {
                let Some(witnessed) = key.verified(&self.text, &signature.bytes) else {
                    return Err(NoteError::BadSignature(signature.name.clone()));
                };
                match verified.iter_mut().find(|one| one.key == *key) {
                    Some(one) => one.time = one.time.max(witnessed.time),
                    None => verified.push(witnessed),
                }
            }
        }
        Ok(verified)
    }
}

fn is_refused(character: char) -> bool {
    character != '\n' && character.is_ascii_control()
}

fn signature_of(line: &str) -> Option<NoteSignature> {
    let (name, signature) = line.strip_prefix(SIGNATURE_START)?.split_once(' ')?;
    let signature = STANDARD.decode(signature).ok()?;
    let (id, bytes) = signature.split_first_chunk()?;
    if !is_name(name) || bytes.is_empty() {
        return None;
    }
    Some(NoteSignature {
        name: name.to_owned(),
        id: u32::from_be_bytes(*id),
        bytes: bytes.to_vec(),
    })
}

impl fmt::Display for NoteSignature {
    /// Its line, without the line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signature = [self.id.to_be_bytes().as_slice(), &self.bytes].concat();
        write!(f, "{SIGNATURE_START}{} {}", self.name, STANDARD.encode(signature))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}
