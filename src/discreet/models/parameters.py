"""What the parameters of all models by objective perturbation mean, for their docstrings."""

COMMON = """epsilon, delta : float
        The promise. `epsilon` is required; `delta` is required, or 1/rows^2 when `rows` is given, or 0 with
        ``noise="laplace"``.
    domain : Domain, optional
        Public bounds and levels of the columns, for frames; or give
    {bounds} : optional
        public facts about arrays, and
    data_norm : float, optional
        a public bound on the Euclidean norm of a row of X.
    fit_intercept : bool
        Whether the model has an intercept. It is penalised as the other coefficients are, for the proof needs it.
    rows : int, optional
        The public, rounded number of rows, declared by you. Tables of more than twice as many, or of more than 2^20
        where it is not given, are refused."""
PENALTY = """penalty : {"l2", "l1", "elasticnet"}
        alpha |theta|^2/2; alpha |theta|_1; or alpha (l1_ratio |theta|_1 + (1 - l1_ratio) |theta|^2/2); beside the *sum*
        of the rows' losses, for columns mapped to [-1, 1]. The quadratic part that privacy needs and the penalty does
        not have is added to it; `modulus_` says how much there is in all.
    alpha : float, optional
        By default a rule chooses it from epsilon, delta, the bounds and the number of coefficients only.
    l1_ratio : float
        Of the elastic net.
    noise : {"gaussian", "laplace"}
        Spherical Laplace noise needs no delta; it is much larger unless there are few coefficients.
    adaptive : bool
        Whether a private pilot, which takes part of the budget, decides which coefficients are penalised more.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    n_jobs : int, optional
        Threads; all cores by default.
    random_state : None
        For simulation only: a release made with a seed promises nothing."""
