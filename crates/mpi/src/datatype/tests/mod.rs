mod examples;
mod external;
mod made;
mod naive;
mod random;
mod wrong;
