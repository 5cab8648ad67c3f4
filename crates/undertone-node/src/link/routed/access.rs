//! Access rules, by the name in a certificate. What is not allowed here is denied.

use super::super::{Identity, certificate_name};
use serde_json::{Value, json};
use undertone::LearnerId;
use undertone::agreement::NetworkId;
use undertone::graph::Graph;

/// The name in a router's certificate.
pub(crate) const ROUTER: &str = "router";

/// The keys of one network.
pub(super) struct Keys(String);

impl Keys {
    pub(super) fn of(network: NetworkId) -> Keys {
        Keys(format!("undertone/{network}"))
    }

    pub(super) fn release(&self, by: LearnerId) -> String {
        format!("{}/release/{by}", self.0)
    }

    pub(super) fn farewell(&self, by: LearnerId) -> String {
        format!("{}/farewell/{by}", self.0)
    }

    pub(super) fn request(&self, of: LearnerId, by: LearnerId) -> String {
        format!("{}/ask/{of}/{by}", self.0)
    }

    pub(super) fn request_by_anyone(&self, of: LearnerId) -> String {
        format!("{}/ask/{of}/*", self.0)
    }

    /// The keys that a learner publishes on: its releases, its farewell and its answers.
    fn published(&self, by: LearnerId) -> [String; 3] {
        [self.release(by), self.farewell(by), self.request_by_anyone(by)]
    }

    /// The keys by which a learner subscribes to another, and sends it requests.
    fn subscribed(&self, of: LearnerId, by: LearnerId) -> [String; 3] {
        [self.release(of), self.farewell(of), self.request(of, by)]
    }
}

const PUBLISHING: [&str; 3] = ["put", "reply", "declare_queryable"];
const SUBSCRIBING: [&str; 2] = ["declare_subscriber", "query"];

fn rule(id: &str, flow: &str, messages: &[&str], keys: &[String]) -> Value {
    json!({ "id": id, "permission": "allow", "flows": [flow], "messages": messages, "key_exprs": keys })
}

/// The rules of a learner: a neighbour may publish and send requests under its own number only.
///
/// All neighbours share one connection, whose certificate is the router's. The router tells them apart.
pub(super) fn learner_access(identity: &Identity) -> Value {
    let (keys, own) = (Keys::of(identity.network), identity.own);
    let mut access = Access::default();
    access.rules.push(rule("own", "egress", &PUBLISHING, &keys.published(own)));
    let mut all = vec!["own".to_string()];
    for &neighbour in &identity.neighbours {
        let ids = [
            format!("hears-{neighbour}"),
            format!("wants-{neighbour}"),
            format!("asked-by-{neighbour}"),
        ];
        access.rules.push(rule(&ids[0], "ingress", &PUBLISHING, &keys.published(neighbour)));
        access.rules.push(rule(&ids[1], "egress", &SUBSCRIBING, &keys.subscribed(neighbour, own)));
        access.rules.push(rule(&ids[2], "ingress", &SUBSCRIBING, &keys.subscribed(own, neighbour)));
        all.extend(ids);
    }
    access.allow(ROUTER, &all);
    access.into_json()
}

/// The rules of a router: a learner may publish under its own number only, and receives from its neighbours.
pub(super) fn router_access(network: NetworkId, graph: &Graph) -> Value {
    let keys = Keys::of(network);
    let mut access = Access::default();
    for learner in graph.ids() {
        let mut rules = vec![format!("speaks-{learner}"), format!("queried-{learner}")];
        access.rules.push(rule(&rules[0], "ingress", &PUBLISHING, &keys.published(learner)));
        // Its neighbours' subscriptions and requests are forwarded to it.
        let subscribed: Vec<String> = graph
            .neighbours(learner)
            .iter()
            .flat_map(|&(by, _)| keys.subscribed(learner, by))
            .collect();
        access.rules.push(rule(&rules[1], "egress", &SUBSCRIBING, &subscribed));
        for &(neighbour, _) in graph.neighbours(learner) {
            let ids =
                [format!("{learner}-hears-{neighbour}"), format!("{learner}-wants-{neighbour}")];
            access.rules.push(rule(&ids[0], "egress", &PUBLISHING, &keys.published(neighbour)));
            let subscribed = keys.subscribed(neighbour, learner);
            access.rules.push(rule(&ids[1], "ingress", &SUBSCRIBING, &subscribed));
            rules.extend(ids);
        }
        access.allow(&certificate_name(learner), &rules);
    }
    access.into_json()
}

#[derive(Default)]
struct Access {
    rules: Vec<Value>,
    subjects: Vec<Value>,
    policies: Vec<Value>,
}

impl Access {
    /// Applies rules to the holder of a certificate.
    fn allow(&mut self, name: &str, rules: &[String]) {
        self.subjects.push(json!({ "id": name, "cert_common_names": [name] }));
        self.policies.push(json!({ "rules": rules, "subjects": [name] }));
    }

    fn into_json(self) -> Value {
        json!({
            "enabled": true,
            "default_permission": "deny",
            "rules": self.rules,
            "subjects": self.subjects,
            "policies": self.policies,
        })
    }
}
