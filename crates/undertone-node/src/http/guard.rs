//! Who may ask: the owner, from this machine or with the token, and no other site's page in the owner's browser.

use super::answers::problem;
use super::{BODY_MAX, Desk, TIME_MAX};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// What the owner has to show. Private.
pub struct Token(Box<[u8]>);

/// Why a text is no token.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a token is one line of at least {} visible ASCII characters", Token::LENGTH_MIN)]
pub struct TokenError;

impl Token {
    /// A token that is shorter could be guessed.
    pub const LENGTH_MIN: usize = 16;

    /// A token, from the only line of a text.
    ///
    /// # Errors
    /// When it is too short, or has characters that a header cannot hold.
    pub fn new(text: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.len() < Token::LENGTH_MIN || !visible {
            return Err(TokenError);
        }
        Ok(Token(text.as_bytes().into()))
    }

    /// Compares in a time that does not depend on where the first difference is.
    fn is(&self, shown: &[u8]) -> bool {
        self.0.ct_eq(shown).into()
    }
}

/// What is asked of everybody.
pub(super) struct Guard {
    pub(super) token: Option<Token>,
    /// Whether only this machine can connect.
    pub(super) loopback: bool,
}

pub(super) async fn require_token(
    State(desk): State<Desk>,
    request: Request,
    next: Next,
) -> Response {
    let shown = request.headers().get(AUTHORIZATION).and_then(bearer);
    match &desk.guard.token {
        Some(token) if !shown.is_some_and(|shown| token.is(shown)) => {
            let answer = problem(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
            let mut answer = answer.into_response();
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            answer
        }
        _ => next.run(request).await,
    }
}

fn bearer(header: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = header.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// A page of another site, open in the owner's browser, can make it call this machine. Such a call says where it
/// comes from, or (where another name was made to lead here) names another host.
pub(super) async fn keep_out_other_sites(
    State(desk): State<Desk>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let Some(host) = host(headers) else {
        return problem(StatusCode::BAD_REQUEST, "the Host header is missing or wrong")
            .into_response();
    };
    if desk.guard.loopback && !is_local(&host) {
        return problem(
            StatusCode::FORBIDDEN,
            "this learner is called localhost or 127.0.0.1, and by no other name",
        )
        .into_response();
    }
    if !is_own_page(headers, &host) {
        return problem(StatusCode::FORBIDDEN, "pages of other sites may not ask").into_response();
    }
    next.run(request).await
}

fn host(headers: &HeaderMap) -> Option<Authority> {
    headers.get(HOST)?.to_str().ok()?.parse().ok()
}

fn is_local(host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Browsers name the site of the page that asks; other programs name none.
fn is_own_page(headers: &HeaderMap, host: &Authority) -> bool {
    let from_here = match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        Some(site) => site == b"same-origin" || site == b"none",
        None => true,
    };
    let named_here = match headers.get(ORIGIN).map(HeaderValue::to_str) {
        Some(Ok(origin)) => {
            let origin = origin.split_once("://").map(|(_, authority)| authority);
            origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host.as_str()))
        }
        Some(Err(_)) => false,
        None => true,
    };
    from_here && named_here
}

/// A body that is too large is refused before it is read, and nothing takes for ever.
pub(super) async fn limit_size_and_time(request: Request, next: Next) -> Response {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: u64| length > BODY_MAX as u64)
    {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large: send it in parts")
            .into_response();
    }
    match tokio::time::timeout(TIME_MAX, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => problem(
            StatusCode::GATEWAY_TIMEOUT,
            "the learner did not answer in time; records that were sent may have been taken",
        )
        .into_response(),
    }
}
