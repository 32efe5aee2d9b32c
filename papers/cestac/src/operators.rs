//! The operators, which both forms define by their own functions.

/// Implements the operators of a form from its `operate_…`, `compare_at` and `write`.
macro_rules! operators {
    ($form:ident) => {
        operators!($form, Add add operate_add, AddAssign add_assign);
        operators!($form, Sub sub operate_sub, SubAssign sub_assign);
        operators!($form, Mul mul operate_mul, MulAssign mul_assign);
        operators!($form, Div div operate_div, DivAssign div_assign);

        impl<F: Float> std::ops::Neg for $form<F> {
            type Output = Self;

            #[inline]
            fn neg(self) -> Self {
                Self(self.0.map(F::negated))
            }
        }

        /// Returns true if the difference is a computed zero. This is not transitive.
        impl<F: Float> PartialEq for $form<F> {
            #[track_caller]
            fn eq(&self, other: &Self) -> bool {
                self.compare_at(*other, Location::caller()) == Some(Ordering::Equal)
            }
        }

        /// Returns `Equal` if the difference is a computed zero, else the order of the means.
        impl<F: Float> PartialOrd for $form<F> {
            #[track_caller]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.compare_at(*other, Location::caller())
            }

            // The functions below override those of the trait, which would log their own place.
            #[track_caller]
            fn lt(&self, other: &Self) -> bool {
                self.compare_at(*other, Location::caller()).is_some_and(Ordering::is_lt)
            }

            #[track_caller]
            fn le(&self, other: &Self) -> bool {
                self.compare_at(*other, Location::caller()).is_some_and(Ordering::is_le)
            }

            #[track_caller]
            fn gt(&self, other: &Self) -> bool {
                self.compare_at(*other, Location::caller()).is_some_and(Ordering::is_gt)
            }

            #[track_caller]
            fn ge(&self, other: &Self) -> bool {
                self.compare_at(*other, Location::caller()).is_some_and(Ordering::is_ge)
            }
        }
    };
    ($form:ident, $operator:ident $function:ident $operate:ident, $assigning:ident $assign:ident) => {
        impl<F: Float> std::ops::$operator for $form<F> {
            type Output = Self;

            #[inline]
            #[track_caller]
            fn $function(self, other: Self) -> Self {
                self.$operate(other, Location::caller())
            }
        }

        impl<F: Float> std::ops::$assigning for $form<F> {
            #[inline]
            #[track_caller]
            fn $assign(&mut self, other: Self) {
                *self = self.$operate(other, Location::caller());
            }
        }
    };
}

pub(crate) use operators;
