//! What records have paid for a published model: one account for each learner whose records may have shaped it.

use super::UNIT;
use super::accountant::Accountant;
use super::cost::{Cost, larger};
use crate::noise::NoiseKind;
use crate::persist::{Fields, Persist};
use crate::{LearnerId, Round};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What a record of one learner has paid for a model.
///
/// It holds the account and not an ε, so that ε is known at every δ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaidAccount {
    /// Whose records.
    pub learner: LearnerId,
    /// How many starts ago the learner released: 0 in the network that made the model, 1 in the one that made the model
    /// which that network started from, and so on.
    pub starts_ago: u32,
    /// Nothing that the learner released in a later round is in the model.
    pub through: Round,
    /// The noise of its releases.
    pub noise: NoiseKind,
    /// What a record that was used once has paid; infinite where that is not known.
    pub one_use: Cost,
    /// How often the record that was used most was used.
    pub uses: u64,
    /// Where the cost is from.
    pub basis: PaidBasis,
}

/// Where a learner's cost in a [`PaidAccount`] is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaidBasis {
    /// The learner's own account, of who was heard and which records arrived.
    OwnAccount,
    /// Computed from the agreement by another learner, as if all neighbours had been heard and all records had arrived as
    /// planned. The learner's own account may be higher.
    AsPlanned,
    /// Not known to the learner that published the model.
    NotKnown,
}

impl PaidAccount {
    /// What the record that was used most has paid, all its uses together.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.one_use.of_repeated(self.uses)
    }

    /// The same as ε at δ; infinite where there is no bound, or none is known.
    ///
    /// # Panics
    /// When δ is not inside (0, 1): configs are checked before.
    #[must_use]
    pub fn epsilon(&self, delta: f64) -> f64 {
        self.cost().epsilon(self.noise, delta)
    }

    /// Whether a learner can have paid this.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.one_use.pure >= 0.0 && self.one_use.zcdp >= 0.0 && self.uses >= 1
    }

    /// Whether this one has paid at least as much as another at every δ, and both are known in the same way.
    fn covers(&self, other: &PaidAccount) -> bool {
        let (cost, theirs) = (self.cost(), other.cost());
        (self.noise, self.basis) == (other.noise, other.basis)
            && cost.pure >= theirs.pure
            && cost.zcdp >= theirs.zcdp
    }
}

impl Accountant {
    /// What a record of this learner has paid for a model of its releases, given how often the most used one was used.
    #[must_use]
    pub fn paid_account(&self, learner: LearnerId, uses: u64) -> PaidAccount {
        PaidAccount {
            learner,
            starts_ago: 0,
            through: self.round(),
            noise: self.mechanism().noise.kind,
            one_use: self.spent(),
            uses: uses.max(1),
            basis: PaidBasis::OwnAccount,
        }
    }
}

/// What records have paid for one model, learner by learner.
///
/// Two histories that are compared differ in one record, which is one learner's. So the largest ε of any account holds
/// for every record, and accounts are not added up: not those of the learners of a network, nor those of a model that a
/// learner started from and its own, as long as no record is behind both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAccounts {
    accounts: Vec<PaidAccount>,
    unlisted: u64,
}

/// The most accounts that are listed.
const LISTED_MAX: usize = 1000;

impl ModelAccounts {
    /// These accounts. Of more than 1000 only those remain that may be the largest at some δ; the others are counted.
    #[must_use]
    pub fn new(accounts: Vec<PaidAccount>) -> ModelAccounts {
        ModelAccounts { accounts, unlisted: 0 }.shortened()
    }

    /// The same with a number of accounts that are covered by those listed.
    #[must_use]
    pub fn and_unlisted(self, unlisted: u64) -> ModelAccounts {
        ModelAccounts { unlisted: self.unlisted.saturating_add(unlisted), ..self }
    }

    /// The accounts that are listed.
    pub fn iter(&self) -> impl Iterator<Item = &PaidAccount> {
        self.accounts.iter()
    }

    /// How many accounts are not listed, because another has paid at least as much at every δ.
    #[must_use]
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// The unit of privacy of all of them.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        UNIT
    }

    /// The account with the largest ε at δ.
    ///
    /// # Panics
    /// As [`PaidAccount::epsilon`].
    #[must_use]
    pub fn worst(&self, delta: f64) -> Option<&PaidAccount> {
        let mut worst: Option<(f64, &PaidAccount)> = None;
        for account in &self.accounts {
            let epsilon = account.epsilon(delta);
            if worst.is_none_or(|(most, _)| !(epsilon <= most)) {
                worst = Some((epsilon, account));
            }
        }
        worst.map(|(_, account)| account)
    }

    /// The largest ε at δ that any record has paid.
    ///
    /// # Panics
    /// As [`PaidAccount::epsilon`].
    #[must_use]
    pub fn epsilon(&self, delta: f64) -> f64 {
        self.accounts.iter().map(|account| account.epsilon(delta)).fold(0.0, larger)
    }

    /// The accounts of a model from now on one start ago, and those of the network that started from it.
    #[must_use]
    pub fn continued_by(&self, own: impl IntoIterator<Item = PaidAccount>) -> ModelAccounts {
        let mut accounts: Vec<PaidAccount> = own.into_iter().collect();
        accounts.extend(self.accounts.iter().map(|&account| PaidAccount {
            starts_ago: account.starts_ago.saturating_add(1),
            ..account
        }));
        ModelAccounts { accounts, unlisted: self.unlisted }.shortened()
    }

    /// Drops accounts that others cover, if there are too many.
    fn shortened(mut self) -> ModelAccounts {
        if self.accounts.len() <= LISTED_MAX {
            return self;
        }
        let all = self.accounts.len();
        // The largest first, so that an account is compared with few others.
        self.accounts.sort_by(|one, other| {
            let (one, other) = (one.cost().zcdp, other.cost().zcdp);
            other.partial_cmp(&one).unwrap_or(Ordering::Equal)
        });
        let mut kept: Vec<PaidAccount> = Vec::new();
        for account in self.accounts {
            if !kept.iter().any(|other| other.covers(&account)) {
                kept.push(account);
            }
        }
        ModelAccounts { unlisted: self.unlisted + (all - kept.len()) as u64, accounts: kept }
    }
}

impl Persist for ModelAccounts {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.unlisted);
        let length = fields.length(self.accounts.len(), 8 * 8);
        self.accounts.resize(length, PaidAccount::NOTHING);
        for account in &mut self.accounts {
            account.visit(fields);
            if !account.is_possible() {
                fields.reject();
            }
        }
    }
}

impl PaidAccount {
    /// To load another into.
    const NOTHING: PaidAccount = PaidAccount {
        learner: LearnerId(0),
        starts_ago: 0,
        through: Round::ZERO,
        noise: NoiseKind::Laplace,
        one_use: Cost { pure: 0.0, zcdp: 0.0 },
        uses: 1,
        basis: PaidBasis::OwnAccount,
    };
}

impl Persist for PaidAccount {
    fn visit(&mut self, fields: &mut dyn Fields) {
        let noises = [NoiseKind::Laplace, NoiseKind::Gaussian];
        let bases = [PaidBasis::OwnAccount, PaidBasis::AsPlanned, PaidBasis::NotKnown];
        visit_small(fields, &mut self.learner.0);
        visit_small(fields, &mut self.starts_ago);
        fields.count(&mut self.through.0);
        visit_one_of(fields, &mut self.noise, &noises);
        fields.number(&mut self.one_use.pure);
        fields.number(&mut self.one_use.zcdp);
        fields.count(&mut self.uses);
        visit_one_of(fields, &mut self.basis, &bases);
    }
}

fn visit_small(fields: &mut dyn Fields, value: &mut u32) {
    let mut count = u64::from(*value);
    fields.count(&mut count);
    match u32::try_from(count) {
        Ok(count) => *value = count,
        Err(_) => fields.reject(),
    }
}

/// A value by its place among all there are.
fn visit_one_of<T: Copy + PartialEq>(fields: &mut dyn Fields, value: &mut T, all: &[T]) {
    let mut place = all.iter().position(|one| one == value).unwrap_or(all.len()) as u64;
    fields.count(&mut place);
    match usize::try_from(place).ok().and_then(|place| all.get(place)) {
        Some(&found) => *value = found,
        None => fields.reject(),
    }
}
