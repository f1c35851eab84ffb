mod answers;
mod encrypted;
mod requests;
mod server;

use std::time::Duration;

use self::server::Server;
use super::connect::Patience;
use super::{Registry, Transport};
use crate::meter::Meter;
use crate::settings::{Connection, registry_url};

/// Little patience, so that tests of it are quick.
fn patience() -> Patience {
    Patience {
        connect: Duration::from_secs(5),
        answer: Duration::from_millis(300),
        window: Duration::from_millis(200),
        least_bytes: 100,
    }
}

fn registry_at(url: &str, token: Option<&str>) -> Registry {
    let url = registry_url(url).unwrap();
    let token = token.map(str::to_owned);
    let transport = Transport::new(url, token, &Connection::default(), patience()).unwrap();
    Registry { transport, shelf: None, meter: Meter::default(), withheld: None }
}

fn registry(server: &Server) -> Registry {
    registry_at(&server.url, None)
}
