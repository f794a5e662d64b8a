"""What people use: private estimators with scikit-learn's interface."""
