//! `serve`.

use std::future::{Future, pending};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use ipnet::IpNet;
use skillpkg_registry::attendance;
use skillpkg_registry::data::{Data, DataError};
use skillpkg_registry::faces::{Face, Faces};
use skillpkg_registry::names::judgement::Confusable;
use skillpkg_registry::names::popular;
use skillpkg_registry::oidc::{self, Issuer, Oidc, Pace};
use skillpkg_registry::rates;
use skillpkg_registry::routes;
use skillpkg_registry::server::{self, Limits};
use skillpkg_registry::state::{Options, Registry};
use skillpkg_registry::upstream::UpstreamError;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

use super::mirror::MirrorArguments;
use super::{Directory, Failure, output};

/// The first line on stdout is `listening on http://ADDRESS:PORT`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  skillpkg-registry serve --data /var/lib/skillpkg")]
pub(super) struct Serve {
    #[command(flatten)]
    directory: Directory,
    /// Where to listen; port 0 picks a free one
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:7770",
        value_parser = address
    )]
    listen: SocketAddr,
    /// The log's origin, a line that names it for good; counts at the first start alone
    #[arg(long, value_name = "ORIGIN")]
    origin: Option<String>,
    /// New bare names that one account may take within an hour; 0 for any number
    #[arg(long, value_name = "COUNT", default_value_t = Options::default().new_names_per_hour)]
    new_names_per_hour: u32,
    /// What is done with a new bare name that reads like one which many use: `allow`, `flag` (it is
    /// published and listed by `name list`), `hold` (it waits for `name release`) or `refuse`
    #[arg(long, value_name = "CHOICE", default_value_t)]
    confusable_names: Confusable,
    /// A file of bare names that count as used by many, one a line
    #[arg(long, value_name = "FILE")]
    popular_names: Option<PathBuf>,
    /// Changes that one account may make at once, and again within a minute; 0 for any number
    #[arg(long, value_name = "COUNT", default_value_t = rates::Limits::default().writes)]
    writes_per_minute: u32,
    /// Other requests that one account, or an address without a token, may make at once, and again
    /// within a minute; 0 for any number
    #[arg(long, value_name = "COUNT", default_value_t = rates::Limits::default().requests)]
    requests_per_minute: u32,
    /// Where to serve `/metrics` alone, to anybody who can reach it
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    metrics_listen: Option<SocketAddr>,
    /// Count no requests
    #[arg(long)]
    no_rate_limit: bool,
    /// A proxy whose `X-Forwarded-For` is believed, as an address or a network; may be repeated
    #[arg(long = "trusted-proxy", value_name = "CIDR", value_parser = network)]
    trusted_proxies: Vec<IpNet>,
    /// Connections that one address may have open; 0 for any number, as behind a proxy
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = Limits::default().connections_per_address
    )]
    connections_per_address: usize,
    /// Do not speak a protocol of other people's clients: `agent-skills`, `apm` or `clawhub`; may be
    /// repeated
    #[arg(long = "no-face", value_name = "FACE")]
    faces_off: Vec<Face>,
    /// Let nobody publish through those protocols, whose clients sign nothing
    #[arg(long)]
    no_face_publish: bool,
    /// The URL that this registry is reached at, for absolute URLs in answers; without, the host that
    /// each request names. Where it is `https`, the cookies of pages are sent over that alone. Where it
    /// has a path, pages lead beneath that; the proxy before the registry takes it away
    #[arg(long, value_name = "URL", value_parser = public_url)]
    public_url: Option<Url>,
    /// An issuer of identities (OIDC) whose jobs may publish what owners trust them with, such
    /// as `https://token.actions.githubusercontent.com` or `gitlab=https://git.example`; may be repeated
    #[arg(long = "oidc-issuer", value_name = "[SERVICE=]URL", requires = "public_url")]
    oidc_issuers: Vec<Issuer>,
    #[command(flatten)]
    mirror: MirrorArguments,
}

impl Serve {
    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        let failed = |doing: &str| {
            let doing = doing.to_owned();
            move |source| Failure::Io { doing, source }
        };
        let popular_names = match &self.popular_names {
            Some(list) => popular::read_list(list)?,
            None => Vec::new(),
        };
        // Asked for first: a signal that comes while the registry opens is not lost.
        let stop = stop_signal().map_err(failed("waiting for signals"))?;
        // Before anything is made: an address in use leaves nothing behind.
        let (listener, address) = listen(self.listen).await?;
        let watching = match self.metrics_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let data = Data::open_or_create(self.directory.places()).await?;
        let claim = data.claim()?;
        data.blobs.probe().await.map_err(DataError::Bucket)?;
        let options = Options {
            new_names_per_hour: self.new_names_per_hour,
            confusable_names: self.confusable_names,
            popular_names,
            rates: self.rates(),
            origin: self.origin.clone(),
            faces: Faces {
                off: self.faces_off.clone(),
                read_only: self.no_face_publish,
                public_url: self.public_url.clone(),
            },
            oidc: self.oidc()?,
            ..Options::default()
        };
        let mirror = self.mirror.open(&data).await?;
        let registry = Registry::open_mirroring(data, options, mirror).await?;
        let (router, _) = routes::router(&registry);
        announce(&format!("listening on http://{address}"));
        let limits = Limits {
            connections_per_address: self.connections_per_address,
            open: registry.metrics.connections.clone(),
            proxies: self.trusted_proxies.clone(),
            ..Limits::default()
        };
        let watched = watching.map(|watching| serve_metrics(&registry, watching));
        let attended = registry.clone();
        let attendance = tokio::spawn(async move {
            let mirroring = async {
                match &attended.mirror {
                    Some(mirror) => mirror.attend().await,
                    None => std::future::pending().await,
                }
            };
            tokio::join!(attendance::attend(&attended), mirroring);
        });
        let overtaken = AtomicBool::new(false);
        let ends = async {
            tokio::select! {
                () = stop => {}
                () = registry.log.overtaken() => overtaken.store(true, Ordering::Release),
            }
        };
        server::serve(listener, router, ends, limits).await;
        attendance.abort();
        if let Some(watched) = watched {
            watched.abort();
        }
        attendance::note(&registry).await;
        registry.close().await;
        drop(claim);
        if overtaken.into_inner() { Err(Failure::Overtaken) } else { Ok(ExitCode::SUCCESS) }
    }

    /// The issuers, where there are any; none is asked yet.
    fn oidc(&self) -> Result<Option<Arc<Oidc>>, Failure> {
        let (false, Some(public_url)) = (self.oidc_issuers.is_empty(), &self.public_url) else {
            return Ok(None);
        };
        let (issuers, allowed) = (self.oidc_issuers.clone(), self.mirror.allowed());
        let oidc = Oidc::new(issuers, public_url, &allowed, oidc::patience(), Pace::default());
        oidc.map(|oidc| Some(Arc::new(oidc))).map_err(|error| {
            Failure::Issuer(match error {
                UpstreamError::Refused { url, reason } => {
                    format!("the issuer `{url}` cannot be asked: {reason}")
                }
                other => other.to_string(),
            })
        })
    }

    fn rates(&self) -> rates::Limits {
        let proxies = self.trusted_proxies.clone();
        if self.no_rate_limit {
            return rates::Limits { proxies, ..rates::Limits::none() };
        }
        let (writes, requests) = (self.writes_per_minute, self.requests_per_minute);
        rates::Limits { writes, requests, proxies, ..rates::Limits::default() }
    }
}

/// Opens an address to listen on; answers with the one that it is.
async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |source| Failure::Io { doing: format!("listening on {address}"), source };
    let listener = server::listen(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Says something on stdout. Where nobody reads it, it is so all the same.
fn announce(line: &str) {
    if let Err(failure) = output::line(line) {
        output::tell(&format!("{line}; {failure}"));
    }
}

/// Serves the metrics alone; the second line on stdout says where.
fn serve_metrics(
    registry: &Registry,
    (listener, address): (TcpListener, SocketAddr),
) -> JoinHandle<()> {
    announce(&format!("metrics on http://{address}/metrics"));
    let serving = server::serve(listener, routes::metrics(registry), pending(), Limits::default());
    tokio::spawn(serving)
}

/// Reads an address or a network.
fn network(text: &str) -> Result<IpNet, String> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.ok_or_else(|| {
        "expected an IP address or a network, such as `127.0.0.1`, `10.0.0.0/8` or `2001:db8::/48`"
            .to_owned()
    })
}

/// Reads the URL of a registry: of a host, and perhaps of a path.
fn public_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_plain = url.query().is_none() && url.fragment().is_none();
        // It is written into pages and cookies as it is.
        let is_written = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte);
        let path = url.path();
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && is_plain
            && path.bytes().all(is_written)
            && !path.contains("//")
    });
    url.ok_or_else(|| {
        "expected a URL such as `https://skills.example` or `https://example.org/skills`, whose path \
         is of letters, digits and `-._~/`"
            .to_owned()
    })
}

/// Reads where to listen.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an IP address and a port, such as `127.0.0.1:7770`, `0.0.0.0:80` or `[::1]:0`"
            .to_owned()
    })
}

/// Answers when the process is told to stop.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Answers when the process is told to stop: by a key, or since its console or the system ends.
#[cfg(windows)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
    let (mut interrupt, mut terminate) = (ctrl_c()?, ctrl_break()?);
    let (mut close, mut shutdown) = (ctrl_close()?, ctrl_shutdown()?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = close.recv() => {}
            _ = shutdown.recv() => {}
        }
    })
}
