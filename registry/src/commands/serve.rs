//! `serve`.

use std::future::{Future, pending};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ipnet::IpNet;
use skillpkg_registry::attendance;
use skillpkg_registry::data::{Data, DataError};
use skillpkg_registry::names::judgement::Confusable;
use skillpkg_registry::names::popular;
use skillpkg_registry::rates;
use skillpkg_registry::routes;
use skillpkg_registry::server::{self, Limits};
use skillpkg_registry::state::{Options, Registry};
use tokio::task::JoinHandle;

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
    /// New names that one account may take within an hour
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
        let data = Data::open_or_create(self.directory.places()).await?;
        let claim = data.claim()?;
        data.blobs.probe().await.map_err(DataError::Bucket)?;
        let listening = format!("listening on {}", self.listen);
        let listener = server::listen(self.listen).await.map_err(failed(&listening))?;
        let address = listener.local_addr().map_err(failed(&listening))?;
        let options = Options {
            new_names_per_hour: self.new_names_per_hour,
            confusable_names: self.confusable_names,
            popular_names,
            rates: self.rates(),
            origin: self.origin.clone(),
            ..Options::default()
        };
        let mirror = self.mirror.open(&data).await?;
        let registry = Registry::open_mirroring(data, options, mirror).await?;
        let (router, _) = routes::router(&registry);
        // Where nobody reads it, the registry is there all the same.
        if let Err(failure) = output::line(&format!("listening on http://{address}")) {
            output::tell(&format!("{listening}; {failure}"));
        }
        let limits = Limits {
            connections_per_address: self.connections_per_address,
            open: registry.metrics.connections.clone(),
            proxies: self.trusted_proxies.clone(),
            ..Limits::default()
        };
        let watched = self.serve_metrics(&registry).await?;
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
        server::serve(listener, router, stop, limits).await;
        attendance.abort();
        if let Some(watched) = watched {
            watched.abort();
        }
        attendance::note(&registry).await;
        registry.close().await;
        drop(claim);
        Ok(ExitCode::SUCCESS)
    }
}

impl Serve {
    /// Serves the metrics where that is asked for; the second line on stdout says where.
    async fn serve_metrics(&self, registry: &Registry) -> Result<Option<JoinHandle<()>>, Failure> {
        let Some(address) = self.metrics_listen else { return Ok(None) };
        let failed = |source| Failure::Io { doing: format!("listening on {address}"), source };
        let listener = server::listen(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let line = format!("metrics on http://{address}/metrics");
        if let Err(failure) = output::line(&line) {
            output::tell(&format!("{line}; {failure}"));
        }
        let serving =
            server::serve(listener, routes::metrics(registry), pending(), Limits::default());
        Ok(Some(tokio::spawn(serving)))
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

/// Reads an address or a network.
fn network(text: &str) -> Result<IpNet, String> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.ok_or_else(|| {
        "expected an IP address or a network, such as `127.0.0.1`, `10.0.0.0/8` or `2001:db8::/48`"
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
