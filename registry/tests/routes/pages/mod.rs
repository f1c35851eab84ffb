//! The pages as a browser gets them.

mod answers;
mod beneath;
mod forms;
mod hiding;
mod hostile;
mod proof;
mod sizes;
mod table;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};

use crate::support::{TestRegistry, client};

/// A browser: it follows nothing by itself, and sends the cookies that it is told to.
pub(super) struct Browser<'r> {
    registry: &'r TestRegistry,
    client: Client,
    pub(super) cookie: Option<String>,
}

/// What came back.
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Got {
    async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The value of a cookie that is set.
    pub(super) fn cookie(&self, name: &str) -> Option<String> {
        let set = self.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
        let mut values = set.filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        values.next().map(|line| line.split(';').next().unwrap().to_owned())
    }

    /// What the form of the page carries.
    pub(super) fn form_token(&self) -> &str {
        let (_, rest) = self.text.split_once("name=\"form\" value=\"").unwrap();
        rest.split('"').next().unwrap()
    }
}

impl<'r> Browser<'r> {
    pub(super) fn new(registry: &'r TestRegistry) -> Self {
        let _ = client();
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { registry, client, cookie: None }
    }

    /// One that is signed in.
    pub(super) async fn signed_in(registry: &'r TestRegistry, token: &str) -> Self {
        let mut browser = Self::new(registry);
        let got = browser.sign_in(token, "").await;
        assert_eq!(got.status, 303, "{}", got.text);
        browser.cookie =
            Some(format!("skillpkg-session={}", got.cookie("skillpkg-session").unwrap()));
        browser
    }

    /// What comes of signing in with a token.
    pub(super) async fn sign_in(&self, token: &str, to: &str) -> Got {
        let form = self.get("/sign-in").await;
        let visit = form.cookie("skillpkg-visit").unwrap();
        let fields = [("form", form.form_token()), ("token", token), ("to", to)];
        let request = self.post("/sign-in", &fields);
        Got::of(request.header("cookie", format!("skillpkg-visit={visit}")).send().await.unwrap())
            .await
    }

    pub(super) fn request(&self, path: &str) -> RequestBuilder {
        let request = self.client.get(format!("{}{path}", self.registry.url));
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    pub(super) async fn get(&self, path: &str) -> Got {
        Got::of(self.request(path).send().await.unwrap()).await
    }

    /// A form that is sent as this browser sends it, its cookies aside.
    pub(super) fn post(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        self.client
            .post(format!("{}{path}", self.registry.url))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.finish())
    }
}
