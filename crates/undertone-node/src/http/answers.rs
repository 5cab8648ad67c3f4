//! One answer for each path.

use super::{Desk, metrics};
use crate::daemon::{Event, Question};
use crate::intake::{self, RecordFault, TextFault};
use crate::protocol::TakeInError;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Json, Response};
use serde_json::{Value, json};
use std::sync::mpsc::TrySendError;
use tokio::sync::oneshot;
use undertone_models::{Prediction, Record};

/// An answer that says what is wrong.
pub(super) struct Problem {
    status: StatusCode,
    body: Value,
    /// Whether the same may work in a moment, with nothing done twice.
    again: bool,
}

pub(super) fn problem(status: StatusCode, error: &str) -> Problem {
    Problem { status, body: json!({ "error": error }), again: false }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = (self.status, Json(self.body)).into_response();
        if self.again {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}

/// Asks the learner's thread.
async fn ask<T>(
    desk: &Desk,
    event: impl FnOnce(oneshot::Sender<T>) -> Event,
) -> Result<T, Problem> {
    let (answer, answered) = oneshot::channel();
    desk.learner.try_send(event(answer)).map_err(|error| match error {
        TrySendError::Full(_) => busy("the learner is busy: try again later"),
        TrySendError::Disconnected(_) => stopping(),
    })?;
    answered.await.map_err(|_| stopping())
}

fn stopping() -> Problem {
    problem(StatusCode::SERVICE_UNAVAILABLE, "the learner is stopping")
}

fn busy(error: &str) -> Problem {
    Problem { again: true, ..problem(StatusCode::SERVICE_UNAVAILABLE, error) }
}

/// What is private, and changes all the time, is not to be kept by anybody on the way.
fn uncached(body: impl IntoResponse) -> Response {
    ([(CACHE_CONTROL, "no-store")], body).into_response()
}

pub(super) async fn status(State(desk): State<Desk>) -> Result<Response, Problem> {
    let status = ask(&desk, |answer| Event::Question(Question::Status(answer))).await?;
    Ok(uncached(Json(status)))
}

pub(super) async fn budget(State(desk): State<Desk>) -> Result<Response, Problem> {
    let budget = ask(&desk, |answer| Event::Question(Question::Budget(answer))).await?;
    Ok(uncached(Json(budget)))
}

pub(super) async fn metrics(State(desk): State<Desk>) -> Result<Response, Problem> {
    let status = ask(&desk, |answer| Event::Question(Question::Status(answer))).await?;
    let budget = ask(&desk, |answer| Event::Question(Question::Budget(answer))).await?;
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok(uncached((kind, metrics::text(&status, &budget))))
}

pub(super) async fn public_model(State(desk): State<Desk>) -> Result<Response, Problem> {
    let model = ask(&desk, |answer| Event::Question(Question::PublicModel(answer))).await?;
    let model =
        model.map_err(|error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (
            HeaderName::from_static("content-disposition"),
            "attachment; filename=\"model.safetensors\"",
        ),
    ];
    Ok(uncached((headers, model)))
}

/// Takes all records of a body, or none.
pub(super) async fn records(
    State(desk): State<Desk>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let (kind, text) = checked_body(&headers, body)?;
    let records: Vec<Record> = match kind {
        BodyKind::Lines => desk.intake.lines(&text).map_err(|fault| bad_record(&fault))?,
        BodyKind::Json => each(&text, |object| desk.intake.record(object))?,
    };
    let taken = ask(&desk, |answer| Event::Records { records, position: None, answer }).await?;
    match taken {
        Ok(taken) => {
            Ok(uncached(Json(json!({ "accepted": taken.accepted, "waiting": taken.waiting }))))
        }
        Err(TakeInError::Record(error)) => {
            Err(problem(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()))
        }
        Err(error @ TakeInError::Full { .. }) => Err(busy(&error.to_string())),
        Err(error @ TakeInError::TooMany { .. }) => {
            Err(problem(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string()))
        }
        Err(error @ TakeInError::Over) => Err(problem(StatusCode::GONE, &error.to_string())),
        Err(TakeInError::Halt(_)) => Err(stopping()),
    }
}

pub(super) async fn predict(
    State(desk): State<Desk>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let (kind, text) = checked_body(&headers, body)?;
    if kind != BodyKind::Json {
        return Err(unsupported("application/json"));
    }
    let features = each(&text, |object| desk.intake.unlabelled(object))?;
    let asked = ask(&desk, |answer| Event::Question(Question::Predict(features, answer))).await?;
    let predictions =
        asked.map_err(|error| problem(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()))?;
    let predictions: Vec<Value> =
        predictions.iter().map(|one| prediction_json(&desk, one)).collect();
    Ok(uncached(Json(json!({ "predictions": predictions }))))
}

fn prediction_json(desk: &Desk, prediction: &Prediction) -> Value {
    match prediction {
        Prediction::Value(value) => json!({ "value": value }),
        Prediction::Class { class, probabilities } => {
            let label = match desk.intake.class_name(*class) {
                Some(name) => json!(name),
                None => json!(class),
            };
            json!({ "label": label, "class": class, "probabilities": probabilities })
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Json,
    Lines,
}

/// A body of a kind that no form of another site's page can send without asking first.
fn checked_body(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(BodyKind, String), Problem> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => BodyKind::Json,
        "application/x-ndjson" | "application/jsonl" => BodyKind::Lines,
        _ => return Err(unsupported("application/json or application/x-ndjson")),
    };
    let body = body.map_err(|error| problem(error.status(), &error.body_text()))?;
    let text = String::from_utf8(body.into())
        .map_err(|_| problem(StatusCode::BAD_REQUEST, "the body is not UTF-8"))?;
    Ok((kind, text))
}

fn unsupported(wanted: &str) -> Problem {
    let error = format!("Content-Type must be {wanted}");
    problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error)
}

/// Reads one object, or each of an array.
fn each<T>(text: &str, read: impl Fn(&str) -> Result<T, RecordFault>) -> Result<Vec<T>, Problem> {
    let objects = intake::objects(text)
        .map_err(|fault| problem(StatusCode::BAD_REQUEST, &fault.to_string()))?;
    let read = objects.into_iter().enumerate().map(|(place, object)| {
        read(object).map_err(|fault| bad_record(&TextFault { line: place + 1, fault }))
    });
    read.collect()
}

fn bad_record(fault: &TextFault) -> Problem {
    let body = json!({ "error": fault.to_string(), "line": fault.line, "accepted": 0 });
    Problem { status: StatusCode::BAD_REQUEST, body, again: false }
}

pub(super) async fn healthz(State(desk): State<Desk>) -> Result<Response, Problem> {
    ask(&desk, |answer| Event::Question(Question::Budget(answer))).await?;
    Ok("ok\n".into_response())
}

pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

/// The page asks nobody but this learner, and nobody may put it in a frame.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(super) async fn dashboard() -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, Html(include_str!("dashboard.html"))).into_response()
}

pub(super) async fn nothing_here() -> Problem {
    problem(StatusCode::NOT_FOUND, "there is nothing here; see /v1/openapi.json")
}

pub(super) async fn not_so() -> Problem {
    problem(StatusCode::METHOD_NOT_ALLOWED, "not with this method; see /v1/openapi.json")
}
