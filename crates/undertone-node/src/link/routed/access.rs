//! Who may say what, by the name in a certificate. What is not allowed here is denied.

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

    pub(super) fn ask(&self, of: LearnerId, by: LearnerId) -> String {
        format!("{}/ask/{of}/{by}", self.0)
    }

    pub(super) fn asked_by_anyone(&self, of: LearnerId) -> String {
        format!("{}/ask/{of}/*", self.0)
    }

    /// Where a learner speaks: its releases, its farewell and its answers.
    fn spoken(&self, by: LearnerId) -> [String; 3] {
        [self.release(by), self.farewell(by), self.asked_by_anyone(by)]
    }

    /// Where a learner listens to another, and asks it.
    fn wanted(&self, of: LearnerId, by: LearnerId) -> [String; 3] {
        [self.release(of), self.farewell(of), self.ask(of, by)]
    }
}

const SPEAKING: [&str; 3] = ["put", "reply", "declare_queryable"];
const LISTENING: [&str; 2] = ["declare_subscriber", "query"];

fn rule(id: &str, flow: &str, messages: &[&str], keys: &[String]) -> Value {
    json!({ "id": id, "permission": "allow", "flows": [flow], "messages": messages, "key_exprs": keys })
}

/// The rules of a learner: each neighbour speaks for itself, and asks for itself.
///
/// All neighbours come on one link, whose certificate is the router's: it is the router that tells them apart.
pub(super) fn learner_access(identity: &Identity) -> Value {
    let (keys, own) = (Keys::of(identity.network), identity.own);
    let mut access = Access::default();
    access.rules.push(rule("own", "egress", &SPEAKING, &keys.spoken(own)));
    let mut all = vec!["own".to_string()];
    for &neighbour in &identity.neighbours {
        let ids = [
            format!("hears-{neighbour}"),
            format!("wants-{neighbour}"),
            format!("asked-by-{neighbour}"),
        ];
        access.rules.push(rule(&ids[0], "ingress", &SPEAKING, &keys.spoken(neighbour)));
        access.rules.push(rule(&ids[1], "egress", &LISTENING, &keys.wanted(neighbour, own)));
        access.rules.push(rule(&ids[2], "ingress", &LISTENING, &keys.wanted(own, neighbour)));
        all.extend(ids);
    }
    access.allow(ROUTER, &all);
    access.into_json()
}

/// The rules of a router: each learner speaks for itself, and hears its neighbours.
pub(super) fn router_access(network: NetworkId, graph: &Graph) -> Value {
    let keys = Keys::of(network);
    let mut access = Access::default();
    for learner in graph.ids() {
        let mut rules = vec![format!("speaks-{learner}"), format!("queried-{learner}")];
        access.rules.push(rule(&rules[0], "ingress", &SPEAKING, &keys.spoken(learner)));
        // What its neighbours want of it is passed on to it.
        let wanted: Vec<String> = graph
            .neighbours(learner)
            .iter()
            .flat_map(|&(by, _)| keys.wanted(learner, by))
            .collect();
        access.rules.push(rule(&rules[1], "egress", &LISTENING, &wanted));
        for &(neighbour, _) in graph.neighbours(learner) {
            let ids =
                [format!("{learner}-hears-{neighbour}"), format!("{learner}-wants-{neighbour}")];
            access.rules.push(rule(&ids[0], "egress", &SPEAKING, &keys.spoken(neighbour)));
            let wanted = keys.wanted(neighbour, learner);
            access.rules.push(rule(&ids[1], "ingress", &LISTENING, &wanted));
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
    /// Lets the holder of a certificate do what the rules say.
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
