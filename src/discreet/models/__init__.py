"""Private estimators with scikit-learn's interface."""
