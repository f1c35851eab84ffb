//! `log`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use skillpkg_registry::data::{Data, Places};
use skillpkg_registry::log::audit::{self, Files};
use skillpkg_registry::log::rotation::{self, Asked, Next, Offered};
use skillpkg_schema::log::IdentityChain;
use skillpkg_schema::signature::{PublicKey, SigningKey};

use super::directory::Elsewhere;
use super::{Directory, Failure, Format, output};

/// Most bytes of a file with a key or an identity.
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(super) enum Log {
    /// Show who the log is; with --next, print the identity that waits for signatures
    #[command(after_help = "Example:\n  skillpkg-registry log identity --data /var/lib/skillpkg")]
    Identity {
        /// The identity that waits for signatures, as `log sign` takes it
        #[arg(long)]
        next: bool,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Give the log new keys; the registry that serves takes them at once
    #[command(
        after_help = "Example:\n  skillpkg-registry log rotate --new-rotation-key a.pem --new-rotation-key b.pem --threshold 2 --data /var/lib/skillpkg"
    )]
    Rotate(Rotate),
    /// Sign an identity with a rotation key, on whichever machine that key is
    #[command(
        after_help = "Example:\n  skillpkg-registry log sign next.json --key rotation.pem > signed.json"
    )]
    Sign {
        /// The identity, as `log rotate` and `log identity --next` print it
        file: PathBuf,
        /// The private key, PKCS#8 PEM
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Take an identity that enough rotation keys have signed
    #[command(
        after_help = "Example:\n  skillpkg-registry log adopt signed.json --data /var/lib/skillpkg"
    )]
    Adopt {
        /// The signed identity
        file: PathBuf,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Audit the whole log: every leaf, every tile, the checkpoint, and the database beside it
    #[command(after_help = "Example:\n  skillpkg-registry log verify --data /var/lib/skillpkg")]
    Verify {
        /// The data directory
        #[arg(
            long,
            value_name = "DIR",
            env = "SKILLPKG_REGISTRY_DATA",
            required_unless_present = "files"
        )]
        data: Option<PathBuf>,
        #[command(flatten)]
        elsewhere: Elsewhere,
        /// A directory with `checkpoint`, `tile/…` and `identities.json` alone
        #[arg(long, value_name = "DIR", conflicts_with = "data")]
        files: Option<PathBuf>,
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Args)]
pub(super) struct Rotate {
    /// A key that is to name the identities from now on, public or private; again for more
    #[arg(long, value_name = "FILE")]
    new_rotation_key: Vec<PathBuf>,
    /// How many of the rotation keys must sign
    #[arg(long, value_name = "NUMBER")]
    threshold: Option<u32>,
    /// A private key that signs the identity now; again for more
    #[arg(long, value_name = "FILE")]
    sign_with: Vec<PathBuf>,
    /// Give up the identity that waits for signatures, where one does
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    directory: Directory,
    #[command(flatten)]
    format: Format,
}

impl Log {
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Identity { format, .. }
            | Self::Rotate(Rotate { format, .. })
            | Self::Adopt { format, .. }
            | Self::Verify { format, .. } => format.json,
            Self::Sign { .. } => false,
        }
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Identity { next, directory, format } => {
                let data = Data::open(directory.places()).await?;
                if *next {
                    let Some(offered) = rotation::next(&data.log())? else {
                        output::tell("no identity waits for signatures; `log rotate` makes one");
                        return Ok(ExitCode::from(1));
                    };
                    output::json(&offered)?;
                } else {
                    show(&rotation::chain(&data.log())?, format)?;
                }
            }
            Self::Rotate(rotate) => rotate.run().await?,
            Self::Sign { file, key } => {
                let signed = rotation::sign(read_offered(file)?, &read_private(key)?)?;
                output::json(&signed)?;
            }
            Self::Adopt { file, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let chain = rotation::adopt(&data.log(), &read_offered(file)?.envelope)?;
                show(&chain, format)?;
            }
            Self::Verify { data, elsewhere, files, format } => {
                let places = data.clone().map(|root| elsewhere.places(root));
                return verify(places, files.as_deref(), format).await;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Rotate {
    async fn run(&self) -> Result<(), Failure> {
        let data = Data::open(self.directory.places()).await?;
        let mut asked =
            Asked { threshold: self.threshold, replace: self.replace, ..Asked::default() };
        for path in &self.new_rotation_key {
            let pem = read_pem(path)?;
            if let Ok(private) = SigningKey::from_pem(&pem) {
                asked.rotation.push(private.public());
                asked.signers.push(private);
            } else {
                asked
                    .rotation
                    .push(PublicKey::from_pem(&pem).map_err(|error| unreadable(path, &error))?);
            }
        }
        for path in &self.sign_with {
            asked.signers.push(read_private(path)?);
        }
        match rotation::rotate(&data.log(), &asked)? {
            Next::Adopted(chain) => {
                let number = chain.latest().map_or(0, |latest| latest.number);
                output::tell(&format!(
                    "identity {number} is adopted: the private keys that are here were enough, and \
                     nothing is left to sign"
                ));
                show(&chain, &self.format)
            }
            Next::Unsigned(offered, reason) => {
                output::tell(&format!(
                    "{reason}; sign what is printed with `log sign`, and hand it to `log adopt`"
                ));
                output::json(&offered)
            }
        }
    }
}

fn show(chain: &IdentityChain, format: &Format) -> Result<(), Failure> {
    let Some(latest) = chain.latest() else { return Ok(()) };
    if format.json {
        return output::json(&serde_json::json!({
            "origin": chain.origin(),
            "fingerprint": chain.fingerprint(),
            "number": latest.number,
            "keys": latest.keys,
            "rotation": latest.rotation,
        }));
    }
    output::line(&format!("origin\t{}", chain.origin()))?;
    output::line(&format!("fingerprint\t{}", chain.fingerprint()))?;
    output::line(&format!("number\t{}", latest.number))?;
    for key in &latest.keys {
        output::line(&format!("key\t{key}"))?;
    }
    for pem in &latest.rotation.keys {
        let id = PublicKey::from_pem(pem).map(|key| key.id().to_string()).unwrap_or_default();
        output::line(&format!("rotation key\t{id}"))?;
    }
    output::line(&format!("threshold\t{}", latest.rotation.threshold))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::Io { doing: format!("reading `{}`", path.display()), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unreadable(path, &"it is longer than any key or identity"));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string());
    Failure::Io { doing: format!("reading `{}`", path.display()), source }
}

fn read_pem(path: &Path) -> Result<String, Failure> {
    let text = String::from_utf8(read(path)?);
    text.map_err(|_| unreadable(path, &"it is no text, and a key in PEM is one"))
}

fn read_private(path: &Path) -> Result<SigningKey, Failure> {
    SigningKey::from_pem(&read_pem(path)?).map_err(|error| unreadable(path, &error))
}

fn read_offered(path: &Path) -> Result<Offered, Failure> {
    Ok(rotation::parse(path, &read(path)?)?)
}

async fn verify(
    data: Option<Places>,
    files: Option<&Path>,
    format: &Format,
) -> Result<ExitCode, Failure> {
    let report = match (data, files) {
        (Some(data), _) => audit::audit_data(&Data::open(data).await?).await?,
        (None, Some(files)) => audit::audit(&Files::bare(files)?).await?,
        (None, None) => audit::Report::default(),
    };
    let ok = report.problems.is_empty();
    if format.json {
        output::json(&serde_json::json!({
            "ok": ok,
            "origin": report.origin,
            "leaves": report.leaves,
            "tiles": report.tiles,
            "problems": report.problems,
        }))?;
    } else {
        for damage in &report.problems {
            output::line(&format!("{}: {}", damage.subject, damage.detail))?;
        }
        let (leaves, tiles, count) = (report.leaves, report.tiles, report.problems.len());
        output::tell(&format!("{leaves} leaves and {tiles} tiles read, {count} problems"));
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(3) })
}
